/**
 * Conformance of open devices.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as DeviceList from "@effect-rdma/verbs/DeviceList"
import * as Port from "@effect-rdma/verbs/Port"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as ThreadDomain from "@effect-rdma/verbs/ThreadDomain"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import {
  assertReason,
  assertUnsigned,
  namesOf,
  recorded,
  timesCalled,
  usesDeadHandle
} from "../../internal/conformance.ts"
import { deviceNamed, verbsSuite } from "../../internal/conformanceVerbs.ts"
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

  it("an unknown device name is ENODEV and the message tells the names that there are", () =>
    recorded(function*(calls) {
      const error = yield* Effect.flip(DeviceContext.openByName("no-such-device"))
      assertReason(error, "ibv_open_device", "ENODEV")
      assert.include(error.message, "no-such-device")
      assert.include(error.message, lane.device)
      assert.strictEqual(timesCalled(yield* calls, "ibv_open_device"), 0)
      assert.strictEqual(
        timesCalled(yield* calls, "ibv_free_device_list"),
        timesCalled(yield* calls, "ibv_get_device_list")
      )
    }))

  it("a device opened twice is two contexts, and each can be closed without the other", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const first = yield* open.pipe(Scope.provide(scope))
      const second = yield* open
      assert.notStrictEqual(Resource.raw(first), Resource.raw(second))
      yield* Scope.close(scope, Exit.void)
      assert.isFalse(Resource.isLive(first))
      assert.strictEqual((yield* Port.query(second, lane.port)).state, "active")
      yield* ProtectionDomain.alloc(second)
    }))

  it("a context outlives the list that it was opened from", () =>
    Effect.gen(function*() {
      const scope = yield* Effect.scope
      const context = yield* Effect.scoped(Effect.gen(function*() {
        const { devices } = yield* DeviceList.get()
        return yield* Scope.provide(DeviceContext.open(deviceNamed(lane.device, devices)), scope)
      }))
      assert.strictEqual(context.name, lane.device)
      yield* DeviceContext.query(context)
      yield* ProtectionDomain.alloc(context)
    }))

  it("opening by name has freed its list before anything is made on the context", () =>
    recorded(function*(calls) {
      yield* domain
      const names = namesOf(yield* calls)
      assert.deepStrictEqual(names, ["ibv_get_device_list", "ibv_open_device", "ibv_free_device_list", "ibv_alloc_pd"])
    }))

  it("a closed context cannot be asked anything, and the library is not called", () =>
    recorded(function*(calls) {
      const context = yield* Effect.scoped(open)
      const before = (yield* calls).length
      yield* usesDeadHandle(DeviceContext.query(context))
      yield* usesDeadHandle(DeviceContext.gidTable(context))
      yield* usesDeadHandle(Port.query(context, lane.port))
      yield* usesDeadHandle(Port.gid(context, lane.port, 0))
      yield* usesDeadHandle(Port.pkey(context, lane.port, 0))
      yield* usesDeadHandle(ThreadDomain.alloc(context))
      const dead = yield* usesDeadHandle(Effect.scoped(ProtectionDomain.alloc(context)))
      assert.include(dead.message, "DeviceContext#")
      assert.strictEqual((yield* calls).length, before)
    }))

  it("a device can be opened and closed a hundred times", () =>
    recorded(function*(calls) {
      yield* Effect.repeat(Effect.scoped(open), { times: 99 })
      assert.strictEqual(timesCalled(yield* calls, "ibv_open_device"), 100)
      assert.strictEqual(timesCalled(yield* calls, "ibv_close_device"), 100)
      assert.strictEqual(timesCalled(yield* calls, "ibv_free_device_list"), 100)
      yield* LeakCheck.assertNothingAlive
    }))

  it("twenty fibers open the device at once and each has a context of its own", () =>
    Effect.gen(function*() {
      const contexts = yield* Effect.all(Array.from({ length: 20 }, () => Effect.andThen(Effect.yieldNow, open)), {
        concurrency: "unbounded"
      })
      assert.strictEqual(new Set(contexts.map(Resource.raw)).size, 20)
      assert.deepStrictEqual([...new Set(contexts.map(({ name }) => name))], [lane.device])
    }))

  it("query_device reports every field in the range of its C type", () =>
    Effect.gen(function*() {
      const { devices } = yield* DeviceList.get()
      const device = yield* Effect.flatMap(open, DeviceContext.query)
      const { atomicCap, fwVer, maxMrSize, nodeGuid, pageSizeCap, sysImageGuid, ...numbers } = device
      assert.strictEqual(typeof fwVer, "string")
      assert.isBelow(fwVer.length, 64)
      assert.strictEqual(nodeGuid, devices.find(({ name }) => name === lane.device)?.guid)
      assert.isTrue(sysImageGuid > 0n && sysImageGuid < 1n << 64n)
      assert.isTrue(maxMrSize > 0n && maxMrSize < 1n << 64n)
      assert.isTrue(pageSizeCap > 0n && pageSizeCap < 1n << 64n)
      assert.include(["none", "hca", "glob"], atomicCap)
      const { deviceCapFlags, localCaAckDelay, maxPkeys, physPortCnt, hwVer, vendorId, vendorPartId, ...counts } =
        numbers
      assertUnsigned(8, { localCaAckDelay, physPortCnt })
      assertUnsigned(16, { maxPkeys })
      assertUnsigned(32, { deviceCapFlags, hwVer, vendorId, vendorPartId })
      assertUnsigned(31, counts)
      const { maxAh, maxCq, maxCqe, maxMr, maxPd, maxQp, maxQpWr, maxSge } = device
      for (const count of [physPortCnt, maxAh, maxCq, maxCqe, maxMr, maxPd, maxPkeys, maxQp, maxQpWr, maxSge]) {
        assert.isAbove(count, 0)
      }
    }))

  it("query_device answers the same twice, on one context and on another", () =>
    Effect.gen(function*() {
      const first = yield* open
      const second = yield* open
      const attributes = yield* DeviceContext.query(first)
      assert.deepStrictEqual(yield* DeviceContext.query(first), attributes)
      assert.deepStrictEqual(yield* DeviceContext.query(second), attributes)
    }))
}
