/**
 * A flow steering rule: `ibv_create_flow(3)` and `ibv_destroy_flow`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as Counters from "./Counters.ts"
import * as DeviceContext from "./DeviceContext.ts"
import type * as FlowAction from "./FlowAction.ts"
import * as FlowAttributes from "./FlowAttributes.ts"
import type * as FlowSpecification from "./FlowSpecification.ts"
import type * as QueuePair from "./QueuePair.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * A rule that steers packets to a queue pair, while it lives.
 *
 * @category models
 * @since 0.1.0
 */
export interface Flow extends Resource.Resource<"Flow", Pointer.Pointer<"ibv_flow">> {
  readonly context: DeviceContext.DeviceContext
  readonly queuePair: QueuePair.QueuePair
  readonly attributes: FlowAttributes.FlowAttributes
}

/**
 * Attaches a queue pair to a flow, owned by the scope. It is released before the queue pair and before the actions and
 * counters that it names. Blocks for a system call.
 *
 * Bad attributes fail as a `SchemaError` with the path of the field, before any call. `EPERM` without `CAP_NET_RAW`;
 * `EINVAL` for a queue pair that is neither UD nor raw packet, a port that the device does not have, more specifications
 * or others than the device takes, or an object of another device; `EOPNOTSUPP` where the provider has no flows, as
 * Soft-RoCE, or not this match; `EBUSY` when a rule stands in the way; `ENOMEM`.
 *
 * ```ts
 * import { Flow } from "@effect-rdma/verbs"
 * import type { QueuePair } from "@effect-rdma/verbs"
 *
 * const https = (queuePair: QueuePair.QueuePair<"rawPacket">) =>
 *   Flow.make(queuePair, {
 *     port: 1,
 *     specs: [
 *       { _tag: "Eth", val: { dstMac: "02:00:00:00:00:01" } },
 *       { _tag: "Ipv4", val: { dstIp: "10.0.0.0" }, mask: { dstIp: "255.255.255.0" } },
 *       { _tag: "Tcp", val: { dstPort: 443 } }
 *     ]
 *   })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  queuePair: QueuePair.QueuePair,
  attributes: FlowAttributes.Input
): Effect.Effect<Flow, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(make)
  const { context } = queuePair
  return Effect.flatMap(Schema.decodeEffect(FlowAttributes.FlowAttributes)(attributes), (attributes) => {
    const named = new Set(attributes.specs.flatMap(namedBy))
    return Resource.make({
      kind: "Flow",
      pair: ["ibv_create_flow", "ibv_destroy_flow"],
      site,
      parents: [queuePair, ...named],
      goneWithDevice: true,
      acquire: Effect.andThen(
        Effect.forEach(named, (handle) => DeviceContext.ensureSame("ibv_create_flow", queuePair, handle), {
          discard: true
        }),
        Effect.suspend(() =>
          context.verbs.createFlow(Resource.raw(queuePair), { ...attributes, specs: attributes.specs.map(rawOf) })
        )
      ),
      release: context.verbs.destroyFlow,
      fields: () => ({ context, queuePair, attributes })
    })
  })
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const namedBy = (
  spec: FlowSpecification.FlowSpecification
): ReadonlyArray<FlowAction.FlowAction | Counters.Counters> =>
  spec._tag === "ActionHandle" ? [spec.action] : spec._tag === "ActionCount" ? [spec.counters] : []

const rawOf = (spec: FlowSpecification.FlowSpecification): FlowSpecification.Raw =>
  spec._tag === "ActionHandle"
    ? { _tag: spec._tag, action: Resource.raw(spec.action) }
    : spec._tag === "ActionCount"
    ? { _tag: spec._tag, counters: Resource.raw(spec.counters) }
    : spec
