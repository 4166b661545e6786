/**
 * How threads share a resource domain, and what its messages are for: the two attributes of
 * `struct ibv_exp_res_domain_init_attr`.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * - `safe`: the library protects its objects (the default).
 * - `unsafe`: the application serialises its calls.
 * - `single`: one thread only.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ThreadModel = Schema.Literals(["safe", "unsafe", "single"])

/**
 * The type of {@link ThreadModel}.
 *
 * @category models
 * @since 0.1.0
 */
export type ThreadModel = typeof ThreadModel.Type

/**
 * - `default`: no wish (the default).
 * - `lowLatency`, `highBandwidth`: hints.
 * - `forceLowLatency`: a demand; without a register of its own the creation fails.
 *
 * @category schemas
 * @since 0.1.0
 */
export const MessageModel = Schema.Literals(["default", "lowLatency", "highBandwidth", "forceLowLatency"])

/**
 * The type of {@link MessageModel}.
 *
 * @category models
 * @since 0.1.0
 */
export type MessageModel = typeof MessageModel.Type

/**
 * Attributes of a resource domain. An absent field keeps the default of the library, as an unset bit of `comp_mask` does.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ResourceDomainAttributes = Schema.Struct({
  threadModel: Schema.optionalKey(ThreadModel),
  msgModel: Schema.optionalKey(MessageModel)
})

/**
 * The type of {@link ResourceDomainAttributes}.
 *
 * @category models
 * @since 0.1.0
 */
export type ResourceDomainAttributes = typeof ResourceDomainAttributes.Type
