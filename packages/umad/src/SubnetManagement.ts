/**
 * Attributes of subnet management: asked of a node by its LID, or by the ports that lead to it, where no LIDs are yet.
 *
 * A node answers directed routes always, and LIDs once a subnet manager gave it one. QP0 is needed, which the kernel lends to
 * who may open the port; a switch or an adapter with an M_Key answers without it what its protection bits allow.
 *
 * @since 0.1.0
 */
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SmpCodec from "./internal/smpCodec.ts"
import type * as MadAttribute from "./MadAttribute.ts"
import type * as MadLayout from "./MadLayout.ts"
import type { MadStatus } from "./MadStatus.ts"
import type { MadTimeout } from "./MadTimeout.ts"
import type { UmadError } from "./UmadError.ts"
import * as UmadPort from "./UmadPort.ts"

/**
 * The ways to a node: its LID, or the port by which each hop goes out, 63 at most. No hop is the own node.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Route = Schema.Union([
  Schema.Struct({ lid: Lid.Lid }),
  Schema.Struct({ path: Schema.Array(Identifier.PortNumber).check(Schema.isMaxLength(63)) })
])

/**
 * A way to a node as it is passed: `{ lid: 4 }` or `{ path: [1, 13] }`.
 *
 * @category models
 * @since 0.1.0
 */
export type Route = typeof Route.Encoded

/**
 * How to ask. `modifier` (0) is the attribute modifier: what it selects, such as a port or a block, is told with the attribute;
 * `mKey` (0) the M_Key. A request is sent once, and `retries` (3) times more, each time with `timeout` (1 s) for the answer.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly modifier?: number
  readonly mKey?: bigint
  readonly timeout?: Duration.Input
  readonly retries?: number
}

/**
 * Asks for an attribute, without a thread; it can be interrupted at any time. Fails with `MadTimeout` when no answer came, with
 * `MadStatus` when the node refuses, as when it has no such attribute, with a `UmadError` when the MAD cannot be sent, and
 * as a `SchemaError` for a route that is none.
 *
 * ```ts
 * import { PortInfo, SubnetManagement, UmadLibrary, UmadPort } from "@effect-rdma/umad"
 * import { Effect } from "effect"
 *
 * // What is behind port 1 of the own node, as `smpquery -D portinfo 0,1` tells it.
 * const neighbour = Effect.scoped(Effect.gen(function*() {
 *   const port = yield* UmadPort.open(yield* UmadLibrary.init())
 *   const { linkWidthActive, portState } = yield* SubnetManagement.get(port, { path: [1] }, PortInfo.PortInfo)
 *   return { linkWidthActive, portState }
 * }))
 * ```
 *
 * @category operations
 * @since 0.1.0
 */
export const get = <F extends MadLayout.Fields>(
  port: UmadPort.OpenPort,
  route: Route,
  attribute: MadAttribute.MadAttribute<F>,
  options: Options = {}
): Effect.Effect<MadLayout.Record<F>, UmadError | MadTimeout | MadStatus | Schema.SchemaError> =>
  request(port, "get", route, attribute, undefined, options)

/**
 * Sets an attribute, as {@link get} asks for one; the answer is what the node has now. A field that is left out is zero, so
 * that a PortInfo is best read, changed and set.
 *
 * @category operations
 * @since 0.1.0
 */
export const set = <F extends MadLayout.Fields>(
  port: UmadPort.OpenPort,
  route: Route,
  attribute: MadAttribute.MadAttribute<F>,
  values: Partial<MadLayout.Record<F>>,
  options: Options = {}
): Effect.Effect<MadLayout.Record<F>, UmadError | MadTimeout | MadStatus | Schema.SchemaError> =>
  request(port, "set", route, attribute, values, options)

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const decodeRoute = Schema.decodeEffect(Route)

const request = <F extends MadLayout.Fields>(
  port: UmadPort.OpenPort,
  method: "get" | "set",
  route: Route,
  attribute: MadAttribute.MadAttribute<F>,
  values: Partial<MadLayout.Record<F>> | undefined,
  { mKey, modifier, ...patience }: Options
): Effect.Effect<MadLayout.Record<F>, UmadError | MadTimeout | MadStatus | Schema.SchemaError> =>
  Effect.gen(function*() {
    const way = yield* decodeRoute(route)
    const mad = yield* Effect.fromResult(SmpCodec.encode(method, way, attribute, { mKey, modifier, values }))
    const answer = yield* UmadPort.request(port, {
      address: { lid: "lid" in way ? way.lid : Lid.permissive },
      mad,
      ...patience
    })
    return yield* Effect.fromResult(SmpCodec.decode(attribute, answer.mad))
  })
