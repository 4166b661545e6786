/**
 * Conformance of resource domains.
 *
 * @since 0.1.0
 */
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as ResourceDomain from "@effect-rdma/verbs/ResourceDomain"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertReason, namesOf, recorded, timesCalled } from "../../internal/conformance.ts"
import { verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { domain, has, itWhere, open } = verbsSuite(lane)

  // Each of these has its opposite below: what is not offered is refused.
  const hasThreadDomains = "the provider has thread domains"
  const hasNoThreadDomains = "the provider has no thread domains"
  const isExperimental = "the library has experimental verbs"
  const itExperimental = itWhere(has("experimental"), "the library has no experimental verbs")
  const itUpstream = itWhere(!has("experimental"), isExperimental)
  const itThreadOrigin = itWhere(
    !has("experimental") && has("threadDomains"),
    has("experimental") ? isExperimental : hasNoThreadDomains
  )
  const itRefused = itWhere(
    !has("experimental") && !has("threadDomains"),
    has("experimental") ? isExperimental : hasThreadDomains
  )

  itUpstream(
    "a safe resource domain shares what the device has: nothing is made for it",
    () =>
      recorded(function*(calls) {
        const context = yield* open
        const before = (yield* calls).length
        for (const attributes of [{}, { threadModel: "safe" }, { msgModel: "lowLatency" }] as const) {
          const { origin } = yield* ResourceDomain.make(context, attributes)
          assert.deepStrictEqual(origin, { _tag: "Shared", refusal: undefined })
        }
        const made = namesOf((yield* calls).slice(before))
        assert.deepStrictEqual([...new Set(made)], ["ibv_exp_create_res_domain"])
      })
  )

  itUpstream("a safe resource domain that demands low latency is EOPNOTSUPP", () =>
    Effect.gen(function*() {
      const context = yield* open
      for (const threadModel of [undefined, "safe"] as const) {
        const error = yield* Effect.flip(ResourceDomain.make(context, {
          msgModel: "forceLowLatency",
          ...(threadModel === undefined ? {} : { threadModel })
        }))
        assertReason(error, "ibv_exp_create_res_domain", "EOPNOTSUPP")
      }
    }))

  itRefused(
    "a hint that the provider cannot follow falls back to sharing and keeps the refusal",
    () =>
      Effect.gen(function*() {
        const context = yield* open
        for (const threadModel of ["single", "unsafe"] as const) {
          for (const msgModel of ["default", "lowLatency", "highBandwidth"] as const) {
            const { origin } = yield* ResourceDomain.make(context, { threadModel, msgModel })
            if (origin._tag !== "Shared" || origin.refusal === undefined) return assert.fail(origin._tag)
            assertReason(origin.refusal, "ibv_alloc_td", "EOPNOTSUPP")
          }
        }
      })
  )

  itRefused(
    "a demand for low latency that the provider cannot meet is EOPNOTSUPP, and nothing is left of the attempt",
    () =>
      Effect.gen(function*() {
        const context = yield* open
        for (const threadModel of ["single", "unsafe"] as const) {
          const error = yield* Effect.flip(ResourceDomain.make(context, { threadModel, msgModel: "forceLowLatency" }))
          assertReason(error, "ibv_alloc_td", "EOPNOTSUPP")
        }
      })
  )

  itThreadOrigin(
    "an unlocked resource domain is a thread domain with a parent domain",
    () =>
      recorded(function*(calls) {
        const context = yield* open
        yield* Effect.scoped(Effect.gen(function*() {
          const made = yield* ResourceDomain.make(context, { threadModel: "single", msgModel: "forceLowLatency" })
          assert.strictEqual(made.origin._tag, "ThreadDomain")
          const pd = yield* ProtectionDomain.alloc(context)
          const inside = yield* ResourceDomain.domainFor(made, pd)
          assert.strictEqual(inside.kind, "ParentDomain")
        }))
        assert.strictEqual(timesCalled(yield* calls, "ibv_dealloc_td"), 1)
        assert.strictEqual(timesCalled(yield* calls, "ibv_alloc_pd"), 2)
        assert.strictEqual(timesCalled(yield* calls, "ibv_dealloc_pd"), 4)
      })
  )

  itExperimental("a resource domain is the library's own where it has them", () =>
    recorded(function*(calls) {
      const context = yield* open
      yield* Effect.scoped(Effect.gen(function*() {
        const made = yield* ResourceDomain.make(context, { threadModel: "single" })
        assert.strictEqual(made.origin._tag, "Experimental")
        const pd = yield* ProtectionDomain.alloc(context)
        assert.strictEqual(yield* ResourceDomain.domainFor(made, pd), pd)
      }))
      assert.strictEqual(timesCalled(yield* calls, "ibv_exp_destroy_res_domain"), 1)
      assert.strictEqual(timesCalled(yield* calls, "ibv_alloc_td"), 0)
    }))

  itUpstream(
    "the queues of a shared resource domain are made in the protection domain itself",
    () =>
      Effect.gen(function*() {
        const pd = yield* domain
        const shared = yield* ResourceDomain.make(pd.context)
        assert.strictEqual(yield* ResourceDomain.domainFor(shared, pd), pd)
      })
  )
}
