/**
 * The part of the conformance suite for queue pairs that binds memory windows.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import type * as AccessFlags from "@effect-rdma/verbs/AccessFlags"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import * as MemoryWindow from "@effect-rdma/verbs/MemoryWindow"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import type * as Verbs from "@effect-rdma/verbs/Verbs"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Lane from "../conformance/Lane.ts"
import type { QueuesLane } from "../conformance/Queues.ts"
import { assertPath, assertReason, namesOf, recorded, timesCalled, usesDeadHandle } from "./conformance.ts"

export const suite = <Others>(lane: QueuesLane<Others>): void => {
  const it = Lane.test<Verbs.Verbs | Others>(lane)
  const domain = Effect.flatMap(DeviceContext.openByName(lane.device), ProtectionDomain.alloc)
  const connected = Effect.gen(function*() {
    const on = yield* domain
    const self = yield* pairOn(on)
    yield* QueuePair.toInit(self, { portNum: lane.port })
    yield* QueuePair.toRtr(self, { ahAttr: lane.loop, rqPsn: 1, destQpNum: self.qpNum })
    yield* QueuePair.toRts(self, { sqPsn: 1 })
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

  it("a bind in a state that cannot send is EINVAL where the kernel looks", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const self = yield* pairOn(on)
      const region = yield* bindable(on)
      const window = yield* MemoryWindow.alloc(on, 1)
      const { rkey } = window
      const bound = yield* Effect.result(MemoryWindow.bind(window, self, { region, access: ["remoteRead"] }))
      assert.strictEqual(Result.isFailure(bound), lane.checkedBatches)
      if (Result.isSuccess(bound)) return
      assertReason(bound.failure, "ibv_bind_mw", "EINVAL")
      assert.strictEqual(window.rkey, rkey)
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

const pairOn = Effect.fnUntraced(function*(on: ProtectionDomain.ProtectionDomain) {
  const queue = yield* CompletionQueue.make(on.context, { cqe: 16 })
  return yield* QueuePair.make(on, {
    qpType: "rc",
    sendCq: queue,
    recvCq: queue,
    cap: { maxSendWr: 8, maxRecvWr: 8 }
  })
})

const bindable = (on: ProtectionDomain.ProtectionDomain) =>
  MemoryRegion.alloc(on, { length: 8192, access: ["localWrite", "mwBind"] })
