/**
 * What a flow is made from: `struct ibv_flow_attr` of `ibv_create_flow(3)`, as a schema with the true range of each field.
 *
 * @since 0.1.0
 */
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as FlowSpecification from "./FlowSpecification.ts"

/**
 * `type` says what the flow takes: what its `specs` match (`"normal"`), all Ethernet packets that no other flow takes
 * (`"allDefault"`), the multicast ones of them (`"mcDefault"`), or a copy of everything (`"sniffer"`). The smaller
 * `priority` wins. With `"dontTrap"` a packet goes on to flows of a greater priority, with `"egress"` the flow is for sent
 * packets.
 *
 * @category schemas
 * @since 0.1.0
 */
export const FlowAttributes = Schema.Struct({
  type: Schema.Literals(["normal", "allDefault", "mcDefault", "sniffer"]).pipe(
    Schema.withDecodingDefault(Effect.succeed("normal" as const))
  ),
  priority: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff })).pipe(
    Schema.withDecodingDefault(Effect.succeed(0))
  ),
  port: Identifier.PortNumber,
  flags: Schema.Array(Schema.Literals(["dontTrap", "egress"])).pipe(Schema.withDecodingDefault(Effect.succeed([]))),
  specs: Schema.Array(FlowSpecification.FlowSpecification).check(Schema.isMaxLength(0xff)).pipe(
    Schema.withDecodingDefault(Effect.succeed([]))
  )
})

/**
 * @category models
 * @since 0.1.0
 */
export type FlowAttributes = typeof FlowAttributes.Type

/**
 * What a caller writes.
 *
 * @category models
 * @since 0.1.0
 */
export type Input = typeof FlowAttributes.Encoded
