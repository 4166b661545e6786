/**
 * Conformance of completion counters.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as CompletionCounter from "@effect-rdma/verbs/CompletionCounter"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { assertReason, namesOf, recorded } from "../../internal/conformance.ts"
import { pairOn, verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { has, it, open } = verbsSuite(lane)

  // Where there are none the refusal is a test that runs, so that no lane is without one.
  if (!has("completionCounters")) {
    it("a library or device without completion counters says EOPNOTSUPP", () =>
      Effect.gen(function*() {
        const context = yield* open
        assertReason(yield* Effect.flip(CompletionCounter.make(context)), "ibv_create_comp_cntr", "EOPNOTSUPP")
        assertReason(
          yield* Effect.flip(CompletionCounter.capabilities(context)),
          "ibv_query_comp_cntr_caps",
          "EOPNOTSUPP"
        )
      }))
  } else {
    it("completion counters are set, added to and read, both values of each on their own", () =>
      Effect.gen(function*() {
        const context = yield* open
        const { maxValue } = yield* CompletionCounter.capabilities(context)
        const counter = yield* CompletionCounter.make(context)
        const other = yield* CompletionCounter.make(context, { type: "bytes" })
        assert.strictEqual(yield* CompletionCounter.read(counter), 0n)
        yield* CompletionCounter.set(counter, 40n)
        yield* CompletionCounter.inc(counter, 2n)
        yield* CompletionCounter.setErr(counter, 6n)
        yield* CompletionCounter.incErr(counter, 1n)
        assert.strictEqual(yield* CompletionCounter.read(counter), 42n)
        assert.strictEqual(yield* CompletionCounter.readErr(counter), 7n)
        assert.strictEqual(yield* CompletionCounter.read(other), 0n)
        if (maxValue < 0xffff_ffff_ffff_ffffn) {
          const error = yield* Effect.flip(CompletionCounter.set(counter, maxValue + 1n))
          assertReason(error, "ibv_set_comp_cntr", "EINVAL")
        }
      }))

    it("a counter goes before its context and after the queue pairs that it is attached to", () =>
      recorded(function*(calls) {
        const context = yield* open
        const queuePair = yield* pairOn(yield* ProtectionDomain.alloc(context), "rc")
        const scope = yield* Scope.make()
        const counter = yield* CompletionCounter.make(context).pipe(Scope.provide(scope))
        yield* CompletionCounter.attach(counter, queuePair, ["send", "recv"])
        assertReason(
          yield* Effect.flip(context.verbs.destroyCompCntr(Resource.raw(counter))),
          "ibv_destroy_comp_cntr",
          "EBUSY"
        )
        const before = (yield* calls).length
        yield* Scope.close(scope, Exit.void)
        assert.isFalse(Resource.isLive(queuePair))
        assert.deepStrictEqual(namesOf(yield* calls).slice(before), ["ibv_destroy_qp", "ibv_destroy_comp_cntr"])
      }))
  }
}
