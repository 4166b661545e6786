/**
 * Conformance of memory windows.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import type * as AccessFlags from "@effect-rdma/verbs/AccessFlags"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import * as MemoryWindow from "@effect-rdma/verbs/MemoryWindow"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { assertPath, assertReason, namesOf, recorded, timesCalled, usesDeadHandle } from "../../internal/conformance.ts"
import { pairOn, verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { domain, it, ready } = verbsSuite(lane)

  for (const type of [1, 2] as const) {
    it(`a window of type ${type} has a key of its own and goes before its domain`, () =>
      recorded(function*(calls) {
        yield* Effect.scoped(Effect.gen(function*() {
          const pd = yield* domain
          const window = yield* MemoryWindow.alloc(pd, type)
          const other = yield* MemoryWindow.alloc(pd, type)
          assert.strictEqual(window.type, type)
          assert.notStrictEqual(window.rkey, other.rkey)
        }))
        assert.deepStrictEqual(namesOf(yield* calls).slice(-4, -1), [
          "ibv_dealloc_mw",
          "ibv_dealloc_mw",
          "ibv_dealloc_pd"
        ])
      }))
  }

  it("a window of another type is a SchemaError, and the library is not called", () =>
    recorded(function*(calls) {
      const pd = yield* domain
      // As from a program without types.
      const type: 1 = JSON.parse("3")
      assertPath(yield* Effect.flip(MemoryWindow.alloc(pd, type)), [])
      assert.strictEqual(timesCalled(yield* calls, "ibv_alloc_mw"), 0)
    }))

  it("the library refuses to deallocate a domain with a region or a window as EBUSY", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const { verbs } = pd.context
      const dealloc = Effect.suspend(() => verbs.deallocPd(Resource.raw(pd)))
      yield* Effect.scoped(Effect.andThen(
        MemoryRegion.alloc(pd, { length: 1 }),
        Effect.map(Effect.flip(dealloc), (error) => assertReason(error, "ibv_dealloc_pd", "EBUSY"))
      ))
      yield* Effect.scoped(Effect.andThen(
        MemoryWindow.alloc(pd, 2),
        Effect.map(Effect.flip(dealloc), (error) => assertReason(error, "ibv_dealloc_pd", "EBUSY"))
      ))
    }))

  const connected = Effect.gen(function*() {
    const on = yield* domain
    const self = yield* pairOn(on, "rc")
    yield* ready.rc(self)
    return { on, self }
  })

  it("a bind gives a window another key, and the window goes before its region", () =>
    recorded(function*(calls) {
      const { on, self } = yield* connected
      const window = yield* MemoryWindow.alloc(on, 1)
      const scope = yield* Scope.make()
      const region = yield* bindable(on).pipe(Scope.provide(scope))
      const { rkey } = window
      yield* MemoryWindow.bind(window, self, { region, offset: 4096, access: ["remoteRead", "remoteWrite"] })
      assert.notStrictEqual(window.rkey, rkey)
      assert.strictEqual(window.rkey >>> 8, rkey >>> 8)
      const before = (yield* calls).length
      yield* Scope.close(scope, Exit.void)
      assert.isFalse(Resource.isLive(window))
      assert.deepStrictEqual(namesOf(yield* calls).slice(before), ["ibv_dealloc_mw", "ibv_dereg_mr"])
    }))

  it(`the library refuses to deregister a region with a window on it as ${lane.boundRegion}`, () =>
    Effect.gen(function*() {
      const { on, self } = yield* connected
      const region = yield* bindable(on)
      const window = yield* MemoryWindow.alloc(on, 1)
      yield* MemoryWindow.bind(window, self, { region, access: ["remoteRead"] })
      const error = yield* Effect.flip(on.context.verbs.deregMr(Resource.raw(region).mr))
      assertReason(error, "ibv_dereg_mr", lane.boundRegion)
    }))

  it("a window that was unbound or bound elsewhere stays when the region goes", () =>
    recorded(function*(calls) {
      const { on, self } = yield* connected
      const window = yield* MemoryWindow.alloc(on, 1)
      const last = yield* bindable(on)
      yield* Effect.scoped(Effect.gen(function*() {
        const region = yield* bindable(on)
        yield* MemoryWindow.bind(window, self, { region, access: ["remoteRead"] })
        yield* MemoryWindow.bind(window, self, { region, length: 0, access: [] })
      }))
      yield* Effect.scoped(Effect.gen(function*() {
        const region = yield* bindable(on)
        yield* MemoryWindow.bind(window, self, { region, access: ["remoteRead"] })
        yield* MemoryWindow.bind(window, self, { region: last, access: ["remoteRead"] })
      }))
      assert.isTrue(Resource.isLive(window))
      assert.strictEqual(timesCalled(yield* calls, "ibv_dereg_mr"), 2)
      assert.strictEqual(yield* QueuePair.state(self), "rts")
    }))

  it("a bind that no device permits is EINVAL or EPERM with the rule, and the library is not called", () =>
    recorded(function*(calls) {
      const { on, self } = yield* connected
      const window = yield* MemoryWindow.alloc(on, 1)
      const region = yield* bindable(on)
      const withAccess = (access: ReadonlyArray<AccessFlags.AccessFlag>) =>
        MemoryRegion.alloc(on, { length: 1, access })
      const refused = Effect.fnUntraced(function*(
        reason: "EINVAL" | "EPERM",
        hint: string,
        window: MemoryWindow.MemoryWindow,
        options: MemoryWindow.BindOptions
      ) {
        const error = yield* Effect.flip(MemoryWindow.bind(window, self, options))
        assertReason(error, "ibv_bind_mw", reason)
        assert.include(error.message, hint)
      })
      yield* refused("EINVAL", "type 1", yield* MemoryWindow.alloc(on, 2), { region, access: [] })
      yield* refused("EINVAL", "8192 bytes", window, { region, offset: 1, length: 8192, access: [] })
      yield* refused("EINVAL", "8192 bytes", window, { region, offset: 8193, access: [] })
      yield* refused("EINVAL", "mwBind", window, { region: yield* withAccess(["localWrite"]), access: [] })
      yield* refused("EINVAL", "localWrite", window, {
        region: yield* withAccess(["mwBind"]),
        access: ["remoteWrite"]
      })
      const elsewhere = yield* bindable(yield* ProtectionDomain.alloc(on.context))
      yield* refused("EPERM", "one domain", window, { region: elsewhere, access: [] })
      const far = yield* bindable(yield* domain)
      yield* refused("EINVAL", "one device context", window, { region: far, access: [] })
      // As from a program without types.
      const access: ["remoteRead"] = JSON.parse(`["localWrite"]`)
      assertPath(yield* Effect.flip(MemoryWindow.bind(window, self, { region, access })), ["access"])
      assert.strictEqual(timesCalled(yield* calls, "ibv_bind_mw"), 0)
    }))

  it("the library refuses another type of window, another domain and a zero based window itself", () =>
    Effect.gen(function*() {
      const { on, self } = yield* connected
      const { verbs } = on.context
      const [first, second] = [yield* MemoryWindow.alloc(on, 1), yield* MemoryWindow.alloc(on, 2)]
      const region = yield* bindable(on)
      const elsewhere = yield* bindable(yield* ProtectionDomain.alloc(on.context))
      const bind = (
        window: MemoryWindow.MemoryWindow,
        region: MemoryRegion.MemoryRegion,
        access: AccessFlags.AccessFlags = []
      ) =>
        Effect.flip(verbs.bindMw(Resource.raw(self), Resource.raw(window), {
          wrId: 1n,
          flags: [],
          mr: Resource.raw(region).mr,
          addr: region.address,
          length: 1n,
          access
        }))
      assertReason(yield* bind(second, region), "ibv_bind_mw", "EINVAL")
      assertReason(yield* bind(first, elsewhere), "ibv_bind_mw", "EPERM")
      assertReason(yield* bind(first, region, ["zeroBased"]), "ibv_bind_mw", "EINVAL")
    }))

  it("a bind in a state that cannot send is EINVAL before any call", () =>
    recorded(function*(calls) {
      const on = yield* domain
      const self = yield* pairOn(on, "rc")
      const region = yield* bindable(on)
      const window = yield* MemoryWindow.alloc(on, 1)
      const { rkey } = window
      const bind = MemoryWindow.bind(window, self, { region, access: ["remoteRead"] })
      assertReason(yield* Effect.flip(bind), "ibv_bind_mw", "EINVAL")
      assert.strictEqual(window.rkey, rkey)
      assert.strictEqual(timesCalled(yield* calls, "ibv_bind_mw"), 0)
    }))

  it("a released window is not bound, and the library is not called", () =>
    recorded(function*(calls) {
      const { on, self } = yield* connected
      const region = yield* bindable(on)
      const window = yield* Effect.scoped(MemoryWindow.alloc(on, 1))
      yield* usesDeadHandle(MemoryWindow.bind(window, self, { region, access: [] }))
      assert.strictEqual(timesCalled(yield* calls, "ibv_bind_mw"), 0)
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const bindable = (on: ProtectionDomain.ProtectionDomain) =>
  MemoryRegion.alloc(on, { length: 8192, access: ["localWrite", "mwBind"] })
