/**
 * Conformance of thread domains and parent domains.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as ParentDomain from "@effect-rdma/verbs/ParentDomain"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as ThreadDomain from "@effect-rdma/verbs/ThreadDomain"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
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

  const itWithThreadDomains = itWhere(has("threadDomains"), "the provider has no thread domains")

  itWithThreadDomains("a thread domain is allocated and deallocated with its scope", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(Effect.flatMap(open, ThreadDomain.alloc))
      assert.deepStrictEqual(namesOf(yield* calls).slice(-3), ["ibv_alloc_td", "ibv_dealloc_td", "ibv_close_device"])
    }))

  itWithThreadDomains(
    "a parent domain goes before both of its parts, whatever scope they are in",
    () =>
      recorded(function*(calls) {
        const outer = yield* Effect.scope
        const context = yield* open
        yield* Effect.scoped(Effect.gen(function*() {
          const td = yield* ThreadDomain.alloc(context)
          const pd = yield* ProtectionDomain.alloc(context).pipe(Scope.provide(outer))
          const parent = yield* ParentDomain.alloc(pd, td).pipe(Scope.provide(outer))
          yield* AddressHandle.make(parent, lane.peer).pipe(Scope.provide(outer))
        }))
        assert.deepStrictEqual(namesOf(yield* calls).slice(-3), ["ibv_destroy_ah", "ibv_dealloc_pd", "ibv_dealloc_td"])
      })
  )

  itWithThreadDomains("a parent domain can do without a thread domain", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const parent = yield* ParentDomain.alloc(pd)
      assert.strictEqual(parent.protectionDomain, pd)
      assert.isUndefined(parent.threadDomain)
      assert.notStrictEqual(Resource.raw(parent), Resource.raw(pd))
    }))

  itWithThreadDomains(
    "parts of two contexts do not make a parent domain: EINVAL before the call",
    () =>
      recorded(function*(calls) {
        const pd = yield* domain
        const td = yield* Effect.flatMap(open, ThreadDomain.alloc)
        const error = yield* Effect.flip(ParentDomain.alloc(pd, td))
        assertReason(error, "ibv_alloc_parent_domain", "EINVAL")
        assert.strictEqual(timesCalled(yield* calls, "ibv_alloc_parent_domain"), 0)
      })
  )

  itWhere(!has("threadDomains"), "the provider has thread domains")(
    "a provider without thread domains says EOPNOTSUPP to both kinds",
    () =>
      Effect.gen(function*() {
        const pd = yield* domain
        assertReason(yield* Effect.flip(ThreadDomain.alloc(pd.context)), "ibv_alloc_td", "EOPNOTSUPP")
        assertReason(yield* Effect.flip(ParentDomain.alloc(pd)), "ibv_alloc_parent_domain", "EOPNOTSUPP")
      })
  )
}
