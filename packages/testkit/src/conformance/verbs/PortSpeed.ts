/**
 * Conformance of how fast a port is.
 *
 * @since 0.1.0
 */
import * as Port from "@effect-rdma/verbs/Port"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertPath, assertReason, recorded, timesCalled, usesDeadHandle } from "../../internal/conformance.ts"
import { verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

const speeds = "ibv_query_port_speed"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { it, open } = verbsSuite(lane)

  it("a port has its speed and one that is not there EINVAL, or no port an answer: EOPNOTSUPP", () =>
    Effect.gen(function*() {
      const context = yield* open
      const absent = yield* Effect.flip(Port.speed(context, 200))
      assertReason(absent, speeds, lane.portSpeed === undefined ? "EOPNOTSUPP" : "EINVAL")
      if (lane.portSpeed !== undefined) return assert.strictEqual(yield* Port.speed(context, lane.port), lane.portSpeed)
      assertReason(yield* Effect.flip(Port.speed(context, lane.port)), speeds, "EOPNOTSUPP")
    }))

  it("neither a number that is no port's nor a closed context reaches the library for a speed", () =>
    recorded(function*(calls) {
      const context = yield* open
      for (const port of [0, 256, 0.5]) assertPath(yield* Effect.flip(Port.speed(context, port)), [])
      const dead = yield* Effect.scoped(open)
      yield* usesDeadHandle(Port.speed(dead, lane.port))
      assert.strictEqual(timesCalled(yield* calls, speeds), 0)
    }))
}
