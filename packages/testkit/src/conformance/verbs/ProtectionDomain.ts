/**
 * Conformance of protection domains.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as ParentDomain from "@effect-rdma/verbs/ParentDomain"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { namesOf, recorded, timesCalled, usesDeadHandle } from "../../internal/conformance.ts"
import { verbsSuite } from "../../internal/conformanceVerbs.ts"
import * as LeakCheck from "../../LeakCheck.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { domain, it, open } = verbsSuite(lane)

  it("a protection domain is deallocated when its scope closes, before the context", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(domain)
      assert.deepStrictEqual(namesOf(yield* calls).slice(-3), ["ibv_alloc_pd", "ibv_dealloc_pd", "ibv_close_device"])
    }))

  it("a hundred protection domains live at once on one context, each its own", () =>
    Effect.gen(function*() {
      const context = yield* open
      const domains = yield* Effect.all(Array.from({ length: 100 }, () => ProtectionDomain.alloc(context)))
      assert.strictEqual(new Set(domains.map(Resource.raw)).size, 100)
    }))

  it("a protection domain in an outer scope goes with its context in an inner one, before it", () =>
    recorded(function*(calls) {
      const outer = yield* Effect.scope
      const made = yield* Effect.scoped(
        Effect.flatMap(open, (context) => Scope.provide(ProtectionDomain.alloc(context), outer))
      )
      assert.isFalse(Resource.isLive(made))
      assert.deepStrictEqual(namesOf(yield* calls).slice(-2), ["ibv_dealloc_pd", "ibv_close_device"])
      yield* LeakCheck.assertNothingAlive
    }))

  for (const where of ["the scope of their domain", "a longer scope"]) {
    it(`children in ${where} are released before their domain, last created first`, () =>
      recorded(function*(calls) {
        const context = yield* open
        const outer = yield* Effect.scope
        const pointers = yield* Effect.scoped(Effect.gen(function*() {
          const domain = yield* ProtectionDomain.alloc(context)
          const scope = where === "a longer scope" ? outer : yield* Effect.scope
          const makeOne = AddressHandle.make(domain, lane.peer).pipe(Scope.provide(scope))
          const handles = yield* Effect.all([makeOne, makeOne, makeOne])
          return [...handles.map(Resource.raw).toReversed(), Resource.raw(domain)]
        }))
        const released = (yield* calls).filter(({ call }) => call === "ibv_destroy_ah" || call === "ibv_dealloc_pd")
        assert.deepStrictEqual(released.map(({ args }) => args[0]), pointers)
        assert.strictEqual(released.at(-1)?.call, "ibv_dealloc_pd")
      }))
  }

  it("a deallocated domain cannot be used, and the library is not called", () =>
    recorded(function*(calls) {
      const context = yield* open
      const dead = yield* Effect.scoped(ProtectionDomain.alloc(context))
      const before = (yield* calls).length
      assert.include((yield* usesDeadHandle(AddressHandle.make(dead, lane.peer))).message, "ProtectionDomain#")
      yield* usesDeadHandle(ParentDomain.alloc(dead))
      assert.strictEqual((yield* calls).length, before)
    }))

  it("a domain that was released early is not released again by its scope", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(Effect.gen(function*() {
        const context = yield* open
        const early = yield* Scope.fork(yield* Effect.scope)
        yield* ProtectionDomain.alloc(context).pipe(Scope.provide(early))
        yield* Scope.close(early, Exit.void)
        yield* Scope.close(early, Exit.void)
        assert.strictEqual(timesCalled(yield* calls, "ibv_dealloc_pd"), 1)
      }))
      assert.strictEqual(timesCalled(yield* calls, "ibv_dealloc_pd"), 1)
    }))

  it("two contexts of one device each have domains of their own", () =>
    Effect.gen(function*() {
      const [first, second] = yield* Effect.all([open, open])
      const [domain, other] = yield* Effect.all([ProtectionDomain.alloc(first), ProtectionDomain.alloc(second)])
      assert.strictEqual(domain.context, first)
      assert.strictEqual(other.context, second)
      yield* AddressHandle.make(domain, lane.peer)
      yield* AddressHandle.make(other, lane.peer)
    }))
}
