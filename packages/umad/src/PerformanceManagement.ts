/**
 * Counters of ports: asked of the performance management agent of a node over QP1.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type * as MadAddress from "./MadAddress.ts"
import type * as MadAttribute from "./MadAttribute.ts"
import type * as MadLayout from "./MadLayout.ts"
import type { MadStatus } from "./MadStatus.ts"
import type { MadTimeout } from "./MadTimeout.ts"
import * as PerformanceMad from "./PerformanceMad.ts"
import type { UmadError } from "./UmadError.ts"
import * as UmadPort from "./UmadPort.ts"

/**
 * How to ask. A request is sent once, and `retries` (3) times more, each time with `timeout` (1 s) for the answer.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly timeout?: Duration.Input
  readonly retries?: number
}

/**
 * Asks for an attribute; its `portSelect` is among the values. Fails with `MadTimeout` when no answer came, with `MadStatus` when
 * the agent refuses, as when it has no such attribute or port, with a `UmadError` when the MAD cannot be sent, and as a
 * `SchemaError` for what does not fit.
 *
 * ```ts
 * import { Identifier } from "@effect-rdma/core"
 * import { PerformanceManagement, PortCounters, UmadLibrary, UmadPort } from "@effect-rdma/umad"
 * import { Effect } from "effect"
 *
 * // As `perfquery LID PORT` tells them.
 * const counters = (lid: number, port: Identifier.AnyPortNumber) =>
 *   Effect.scoped(Effect.gen(function*() {
 *     const own = yield* UmadPort.open(yield* UmadLibrary.init())
 *     return yield* PerformanceManagement.get(own, { lid }, PortCounters.PortCounters, { portSelect: port })
 *   }))
 * ```
 *
 * @category operations
 * @since 0.1.0
 */
export const get = <F extends MadLayout.Fields>(
  port: UmadPort.OpenPort,
  destination: typeof MadAddress.Destination.Encoded,
  attribute: MadAttribute.MadAttribute<F>,
  values: Partial<MadLayout.Record<F>>,
  options: Options = {}
): Effect.Effect<MadLayout.Record<F>, UmadError | MadTimeout | MadStatus | Schema.SchemaError> =>
  request(port, "get", destination, attribute, values, options)

/**
 * Sets an attribute, as {@link get} asks for one: of `PortCounters` those counters that `counterSelect` names, to what is
 * given, which is 0 where nothing is.
 *
 * @category operations
 * @since 0.1.0
 */
export const set = <F extends MadLayout.Fields>(
  port: UmadPort.OpenPort,
  destination: typeof MadAddress.Destination.Encoded,
  attribute: MadAttribute.MadAttribute<F>,
  values: Partial<MadLayout.Record<F>>,
  options: Options = {}
): Effect.Effect<MadLayout.Record<F>, UmadError | MadTimeout | MadStatus | Schema.SchemaError> =>
  request(port, "set", destination, attribute, values, options)

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const dataOffset = 64

const request = <F extends MadLayout.Fields>(
  port: UmadPort.OpenPort,
  method: "get" | "set",
  address: typeof MadAddress.Destination.Encoded,
  attribute: MadAttribute.MadAttribute<F>,
  values: Partial<MadLayout.Record<F>>,
  options: Options
): Effect.Effect<MadLayout.Record<F>, UmadError | MadTimeout | MadStatus | Schema.SchemaError> =>
  Effect.gen(function*() {
    const data = new Uint8Array(192)
    data.set(yield* Effect.fromResult(attribute.encode(values)))
    const mad = yield* Effect.fromResult(PerformanceMad.PerformanceMad.encode({
      baseVersion: 1,
      mgmtClass: "perfMgmt",
      classVersion: 1,
      method,
      attributeId: attribute.attributeId,
      data
    }))
    const answer = yield* UmadPort.request(port, { address, mad, ...options })
    return yield* Effect.fromResult(attribute.decode(answer.mad, dataOffset))
  })
