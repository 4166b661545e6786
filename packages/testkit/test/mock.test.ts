import { Guid, Ledger, NativeReason, Pointer, ReleaseError, Resource } from "@effect-rdma/core"
import { Fabric, Faults, LeakCheck } from "@effect-rdma/testkit"
import {
  AddressHandle,
  DeviceContext,
  DeviceList,
  ParentDomain,
  ProtectionDomain,
  ThreadDomain,
  Verbs,
  VerbsError
} from "@effect-rdma/verbs"
import type { DeviceArray } from "@effect-rdma/verbs/operations/Device"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Scope } from "effect"

/** The function of an application that is to be tested: it knows nothing of mocks. */
const deviceNames = Effect.scoped(
  Effect.map(DeviceList.get(), ({ devices }) => devices.map(({ name, guid }) => `${name} ${guid.toString(16)}`))
).pipe(
  Effect.catchReason("VerbsError", "RdmaUnavailable", () => Effect.succeed(["(no RDMA)"]))
)

const list = Pointer.make<"ibv_device *">(0x1000n)
const guid = 0xe41d_2d03_0050_ab12n

const listOf = (...names: ReadonlyArray<string>): DeviceArray => ({
  list,
  devices: names.map((name, index) => ({
    pointer: Pointer.make<"ibv_device">(0x2000n + BigInt(index)),
    name,
    nodeType: "ca",
    transportType: "ib",
    guid: Guid.Guid.make(guid),
    index
  }))
})

const failing = (reason: NativeReason.NativeReason) =>
  Layer.mock(Verbs.Verbs, {
    getDeviceList: Effect.fail(new VerbsError.VerbsError({ call: "ibv_get_device_list", reason, input: {} }))
  })

describe("an application on a mock of libibverbs", () => {
  it.effect("needs only the members that it calls", () =>
    Effect.gen(function*() {
      const freed: Array<bigint> = []
      const mock = Layer.mock(Verbs.Verbs, {
        getDeviceList: Effect.succeed(listOf("mlx5_0", "mlx5_1")),
        freeDeviceList: (list) => Effect.sync(() => void freed.push(list))
      })
      assert.deepStrictEqual(yield* Effect.provide(LeakCheck.check(deviceNames), mock), [
        "mlx5_0 e41d2d030050ab12",
        "mlx5_1 e41d2d030050ab12"
      ])
      assert.deepStrictEqual(freed, [list])
    }))

  it.effect("handles the failure that the mock returns", () =>
    Effect.gen(function*() {
      const names = yield* Effect.provide(deviceNames, failing(new NativeReason.RdmaUnavailable({ errno: 38 })))
      assert.deepStrictEqual(names, ["(no RDMA)"])
    }))

  it.effect("fails with the error that it does not handle", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Effect.provide(deviceNames, failing(NativeReason.fromErrno(12))))
      assert.strictEqual(error.reason._tag, "ENOMEM")
      assert.strictEqual(error.call, "ibv_get_device_list")
    }))

  it.effect("dies when it calls a member that the mock does not have", () =>
    Effect.gen(function*() {
      const mock = Layer.mock(Verbs.Verbs, {
        getDeviceList: Effect.succeed(listOf("mlx5_0")),
        freeDeviceList: () => Effect.void
      })
      const exit = yield* Effect.exit(Effect.scoped(DeviceContext.openByName("mlx5_0")).pipe(Effect.provide(mock)))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      assert.include(String(exit), "openDevice")
    }))

  it.effect("sees a release that fails in the exit, and the handle as leaked", () =>
    Effect.gen(function*() {
      const ebusy = new VerbsError.VerbsError({
        call: "ibv_close_device",
        reason: NativeReason.fromErrno(16),
        input: {}
      })
      const mock = Layer.mock(Verbs.Verbs, {
        getDeviceList: Effect.succeed(listOf("mlx5_0")),
        freeDeviceList: () => Effect.void,
        openDevice: () => Effect.succeed(Pointer.make<"ibv_context">(0x3000n)),
        closeDevice: () => Effect.fail(ebusy)
      })
      const ledger = Ledger.makeUnsafe()
      const exit = yield* Effect.scoped(DeviceContext.openByName("mlx5_0")).pipe(
        Effect.provide(mock),
        Effect.provideService(Ledger.Ledger, ledger),
        Effect.exit
      )
      const defect = Exit.isFailure(exit) && Cause.squash(exit.cause)
      if (!(defect instanceof ReleaseError.ReleaseError)) return assert.fail(String(exit))
      assert.strictEqual(defect.call, "ibv_close_device")
      assert.strictEqual(defect.errno, 16)
      assert.deepStrictEqual(ledger.live().map(({ kind, state }) => ({ kind, state })), [
        { kind: "DeviceContext", state: "leaked" }
      ])
    }))
})

/** Runs a program on the fabric with the names of its native calls. */
const counted = <A, E>(
  program: (calls: Effect.Effect<ReadonlyArray<string>>) => Effect.Effect<A, E, Verbs.Verbs | Scope.Scope>
) =>
  Effect.gen(function*() {
    const injection = yield* Faults.start([])
    const calls = Effect.map(injection.calls, (calls) => calls.map(({ call }) => call))
    return yield* program(calls).pipe(Faults.injectInto(injection), LeakCheck.check)
  }).pipe(Effect.provide(Fabric.layer))

const dies = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.exit(effect), (exit) => {
    assert.isTrue(Exit.isFailure(exit) && Cause.squash(exit.cause) instanceof Resource.UseAfterRelease, String(exit))
  })

describe("what never reaches native code", () => {
  it.effect("a use after the release", () =>
    counted((calls) =>
      Effect.gen(function*() {
        const context = yield* DeviceContext.openByName("rxe0")
        const { handle, pd } = yield* Effect.scoped(Effect.gen(function*() {
          const pd = yield* ProtectionDomain.alloc(context)
          const handle = yield* AddressHandle.make(pd, { portNum: 1, grh: { dgid: "::ffff:10.0.0.2", sgidIndex: 1 } })
          return { handle, pd }
        }))
        const before = yield* calls
        yield* dies(AddressHandle.make(pd, { portNum: 1, grh: { dgid: "::ffff:10.0.0.2", sgidIndex: 1 } }))
        yield* dies(ParentDomain.alloc(pd))
        yield* dies(Effect.sync(() => Resource.raw(handle)))
        assert.deepStrictEqual(yield* calls, before)
      })
    ))

  it.effect("a second release", () =>
    counted((calls) =>
      Effect.gen(function*() {
        const context = yield* DeviceContext.openByName("rxe0")
        const scope = yield* Scope.make()
        yield* ProtectionDomain.alloc(context).pipe(Scope.provide(scope))
        yield* Effect.all([Scope.close(scope, Exit.void), Scope.close(scope, Exit.void)], { concurrency: "unbounded" })
        yield* Scope.close(scope, Exit.void)
        assert.strictEqual((yield* calls).filter((call) => call === "ibv_dealloc_pd").length, 1)
      })
    ))

  it.effect("a mix of two devices", () =>
    counted((calls) =>
      Effect.gen(function*() {
        const pd = yield* Effect.flatMap(DeviceContext.openByName("mlx5_0"), ProtectionDomain.alloc)
        const td = yield* Effect.flatMap(DeviceContext.openByName("mlx5_0"), ThreadDomain.alloc)
        const before = yield* calls
        const error = yield* Effect.flip(ParentDomain.alloc(pd, td))
        assert.strictEqual(error.reason._tag, "EINVAL")
        assert.include(error.message, "one device context")
        assert.deepStrictEqual(yield* calls, before)
      })
    ))

  it.effect("a mix of two fabrics", () =>
    Effect.gen(function*() {
      const scope = yield* Effect.scope
      const on = <A, E>(effect: Effect.Effect<A, E, Verbs.Verbs | Scope.Scope>) =>
        effect.pipe(Effect.provideService(Scope.Scope, scope), Effect.provide(Fabric.layer))
      const pd = yield* on(Effect.flatMap(DeviceContext.openByName("mlx5_0"), ProtectionDomain.alloc))
      const td = yield* on(Effect.flatMap(DeviceContext.openByName("mlx5_0"), ThreadDomain.alloc))
      assert.strictEqual(Resource.raw(pd.context), Resource.raw(td.context), "the same address in two processes")
      assert.strictEqual((yield* Effect.flip(ParentDomain.alloc(pd, td))).reason._tag, "EINVAL")
    }))
})
