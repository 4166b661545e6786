/**
 * What the two sides of a connection, and datagram sockets, are made with.
 *
 * @since 0.1.0
 */
import type * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const between = (minimum: number, maximum: number, value: number) =>
  Schema.Int.check(Schema.isBetween({ minimum, maximum })).pipe(Schema.withDecodingDefault(Effect.succeed(value)))

/**
 * How many messages may be under way: `sendDepth` to the other side, `receiveDepth` from it that nobody has taken yet. Each
 * has its place in registered memory.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Depths = Schema.Struct({
  sendDepth: between(1, 0x4000, 16),
  receiveDepth: between(1, 0x4000, 16)
})

/**
 * `messageSize` is the most bytes of a message, and both sides must have the same: one that is too long for its receiver ends
 * the connection. `retryCount` is how often a packet is repeated that nobody acknowledges (Soft-RoCE takes 7 for ever),
 * `rnrRetryCount` how often one that finds no receive: 7, the default, is until there is one.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ConnectionOptions = Schema.Struct({
  ...Depths.fields,
  messageSize: between(1, 0x4000_0000, 4096),
  retryCount: between(0, 7, 6),
  rnrRetryCount: between(0, 7, 7)
})

/**
 * The type of {@link ConnectionOptions}.
 *
 * @category models
 * @since 0.1.0
 */
export type ConnectionOptions = typeof ConnectionOptions.Type

/**
 * What a caller may give for {@link ConnectionOptions}. Connections that share memory are made with one `domain`, on a
 * context of `RdmaDevices.get` or `CmId.context`; otherwise each has its own.
 *
 * `keepAlive` is how often this side asks the adapter of the other one for an answer, with a write of no bytes, for which it takes
 * one of the `sendDepth`. Without it a side that only receives never learns that the other host is gone: a process that ends is told
 * of by its kernel, a host that stops by nobody. With it the connection fails with a `WorkCompletionError` of `retryExcErr` once
 * the adapter here has given up.
 *
 * @category models
 * @since 0.1.0
 */
export interface Input extends Partial<typeof ConnectionOptions.Encoded> {
  readonly domain?: ProtectionDomain.ProtectionDomain
  readonly keepAlive?: Duration.Input
}
