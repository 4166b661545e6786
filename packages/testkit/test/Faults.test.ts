import * as NativeReason from "@effect-rdma/core/NativeReason"
import * as Pointer from "@effect-rdma/core/Pointer"
import * as CmId from "@effect-rdma/rdmacm/CmId"
import * as EventChannel from "@effect-rdma/rdmacm/EventChannel"
import * as RdmaDevices from "@effect-rdma/rdmacm/RdmaDevices"
import * as Fabric from "@effect-rdma/testkit/Fabric"
import * as Faults from "@effect-rdma/testkit/Faults"
import * as CaDeviceList from "@effect-rdma/umad/CaDeviceList"
import { Umad } from "@effect-rdma/umad/Umad"
import * as UmadCa from "@effect-rdma/umad/UmadCa"
import * as UmadLibrary from "@effect-rdma/umad/UmadLibrary"
import * as UmadPort from "@effect-rdma/umad/UmadPort"
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as ResourceDomain from "@effect-rdma/verbs/ResourceDomain"
import { Verbs } from "@effect-rdma/verbs/Verbs"
import { VerbsError } from "@effect-rdma/verbs/VerbsError"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { assertRefused } from "./observe.ts"

const peer = { portNum: 1, grh: { dgid: "::ffff:10.0.0.2", sgidIndex: 1 } } as const

const twoHandles = Effect.gen(function*() {
  const context = yield* DeviceContext.openByName("rxe0")
  const pd = yield* ProtectionDomain.alloc(context)
  yield* AddressHandle.make(pd, peer)
  yield* AddressHandle.make(pd, peer)
})

/** Something of all three libraries. */
const everything = Effect.gen(function*() {
  const context = yield* DeviceContext.openByName("mlx5_0")
  yield* ResourceDomain.make(context, { threadModel: "single", msgModel: "forceLowLatency" })
  const pd = yield* ProtectionDomain.alloc(context)
  yield* AddressHandle.make(pd, { portNum: 1, dlid: 2 })
  yield* RdmaDevices.get()
  const channel = yield* EventChannel.make()
  yield* CmId.make(channel, "tcp")
  const library = yield* UmadLibrary.init()
  yield* CaDeviceList.get(library)
  yield* UmadCa.get(library)
  yield* UmadPort.get(library)
})

const isRelease = (call: string): boolean => /dealloc|destroy|close|release|done/.test(call)

const objects = Effect.flatMap(Fabric.Fabric, (fabric) => fabric.objects)

describe("Faults", () => {
  it.effect("the n-th call fails with the errno, the others are made", () =>
    Effect.gen(function*() {
      const faulty = twoHandles.pipe(
        Effect.scoped,
        Faults.inject([{ call: "ibv_create_ah", nth: 2, errno: "ENOMEM" }])
      )
      yield* assertRefused(Effect.catchTag(faulty, "SchemaError", Effect.die), "ibv_create_ah", "ENOMEM")
      const { calls } = yield* Fabric.Fabric
      const made = (yield* calls).filter(({ call }) => call === "ibv_create_ah")
      assert.strictEqual(made.length, 1)
      assert.deepStrictEqual(yield* objects, [])
    }).pipe(Effect.provide(Fabric.layer)))

  it.effect("errno 0 is NULL without an errno", () =>
    Effect.gen(function*() {
      const error = yield* Verbs.use(({ getDeviceList }) => getDeviceList).pipe(
        Faults.inject([{ call: "ibv_get_device_list", nth: 1, errno: 0 }]),
        Effect.flip
      )
      assert.strictEqual(error.reason._tag, "UnknownErrno")
      assert.strictEqual(error.reason.errno, 0)
    }).pipe(Effect.provide(Fabric.layer)))

  it.effect("each library fails with its own error", () =>
    Effect.gen(function*() {
      const faulty = Faults.inject([
        { call: "ibv_open_device", nth: 1, errno: "EACCES" },
        { call: "rdma_create_event_channel", nth: 1, errno: "EMFILE" },
        { call: "umad_get_port", nth: 1, errno: "EIO" }
      ])
      const tags = Effect.gen(function*() {
        const umad = yield* UmadLibrary.init()
        return [
          yield* Effect.flip(DeviceContext.openByName("rxe0")),
          yield* Effect.flip(EventChannel.make()),
          yield* Effect.flip(UmadPort.get(umad))
        ].map(({ _tag }) => _tag)
      })
      assert.deepStrictEqual(yield* faulty(tags), ["VerbsError", "RdmaCmError", "UmadError"])
    }).pipe(Effect.provide(Fabric.layer)))

  it.effect("a failed release is in the exit, and what was not released is still there", () =>
    Effect.gen(function*() {
      const exit = yield* twoHandles.pipe(
        Effect.scoped,
        Faults.inject([{ call: "ibv_close_device", nth: 1, errno: "EINVAL" }]),
        Effect.exit
      )
      assert(Exit.isFailure(exit))
      assert.match(Cause.pretty(exit.cause), /ibv_close_device did not release DeviceContext/)
      assert.deepStrictEqual((yield* objects).map(({ kind }) => kind), ["DeviceContext"])
    }).pipe(Effect.provide(Fabric.layer)))

  it.effect("after a release, it is a failed one whose object is gone", () =>
    Effect.gen(function*() {
      const exit = yield* twoHandles.pipe(
        Effect.scoped,
        Faults.inject([{ call: "ibv_destroy_ah", nth: 1, errno: "EINVAL", when: "after" }]),
        Effect.exit
      )
      assert(Exit.isFailure(exit))
      assert.match(Cause.pretty(exit.cause), /ibv_destroy_ah did not release AddressHandle/)
      assert.deepStrictEqual(yield* objects, [])
    }).pipe(Effect.provide(Fabric.layer)))

  it.effect("after a post, the request is under way all the same, and completes", () =>
    Effect.gen(function*() {
      const context = yield* DeviceContext.openByName("rxe0")
      const domain = yield* ProtectionDomain.alloc(context)
      const queue = yield* CompletionQueue.make(context, { cqe: 8 })
      const cap = { maxSendWr: 2, maxRecvWr: 2 }
      const queuePair = yield* QueuePair.make(domain, { qpType: "rc", sendCq: queue, recvCq: queue, cap })
      const local = yield* QueuePair.endpoint(queuePair)
      yield* QueuePair.connect(queuePair, local, local)
      yield* QueuePair.postRecv(queuePair, [{ wrId: 1n, sgList: [] }, { wrId: 2n, sgList: [] }])
      const sends = [3n, 4n].map((wrId) =>
        QueuePair.postSend(queuePair, [{ opcode: "send", wrId, flags: ["signaled"] }])
      )
      yield* assertRefused(sends[0]!, "ibv_post_send", "EIO")
      yield* sends[1]!
      yield* assertRefused(sends[1]!, "ibv_post_send", "ENOMEM")
      const completions = yield* CompletionQueue.poll(queue, 8)
      assert.deepStrictEqual(completions.map(({ status, wrId }) => `${wrId} ${status}`).toSorted(), [
        "1 success",
        "2 success",
        "3 success",
        "4 success"
      ])
    }).pipe(
      Effect.scoped,
      Faults.inject([{ call: "ibv_post_send", nth: 1, errno: "EIO", when: "after" }]),
      Effect.provide(Fabric.layer)
    ))

  it.effect("after a call that failed by itself, its own error stays", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs
      yield* assertRefused(verbs.deallocPd(Pointer.make<"ibv_pd">(0x10n)), "ibv_dealloc_pd", "EBUSY")
    }).pipe(Effect.provide(
      Layer.mock(Verbs, {
        deallocPd: () =>
          Effect.fail(
            new VerbsError({ call: "ibv_dealloc_pd", reason: NativeReason.fromErrno(16), input: {} })
          )
      }).pipe(Faults.layer([{ call: "ibv_dealloc_pd", nth: 1, errno: "EINVAL", when: "after" }]))
    )))

  it.effect("counts from the start at each run", () =>
    Effect.gen(function*() {
      const faulty = twoHandles.pipe(
        Effect.scoped,
        Faults.inject([{ call: "ibv_create_ah", nth: 2, errno: "EBUSY" }]),
        Effect.exit
      )
      assert.isTrue(Exit.isFailure(yield* faulty))
      assert.isTrue(Exit.isFailure(yield* faulty))
    }).pipe(Effect.provide(Fabric.layer)))

  it.effect("tells every call, those that cannot fail too, and what failed", () =>
    Effect.gen(function*() {
      const injection = yield* Faults.start([{ call: "ibv_alloc_pd", nth: 1, errno: "ENOMEM" }])
      yield* twoHandles.pipe(Effect.scoped, Faults.injectInto(injection), Effect.exit)
      const calls = yield* injection.calls
      assert.deepStrictEqual(calls.map(({ call, canFail, failedWith }) => ({ call, canFail, failedWith })), [
        { call: "ibv_get_device_list", canFail: true, failedWith: undefined },
        { call: "ibv_open_device", canFail: true, failedWith: undefined },
        { call: "ibv_free_device_list", canFail: false, failedWith: undefined },
        { call: "ibv_alloc_pd", canFail: true, failedWith: 12 },
        { call: "ibv_close_device", canFail: true, failedWith: undefined }
      ])
      assert.strictEqual(yield* injection.fallible, 4)
      // The context that is closed is the argument of the call before as well.
      assert.deepStrictEqual(calls.map(({ args }) => args.length), [0, 1, 1, 1, 1])
      assert.deepStrictEqual(calls[4]?.args, calls[3]?.args)
    }).pipe(Effect.provide(Fabric.layer)))

  it.effect("every single failure of a program: nothing is left, or the release that failed is named", () =>
    Effect.gen(function*() {
      const dry = yield* Faults.start([])
      yield* everything.pipe(Effect.scoped, Faults.injectInto(dry), Effect.provide(Fabric.layer))
      const runs = yield* dry.fallible
      assert.isAtLeast(runs, 25)
      for (let nth = 1; nth <= runs; nth++) {
        yield* Effect.gen(function*() {
          const injection = yield* Faults.start([{ nth, errno: "EINVAL" }])
          const exit = yield* everything.pipe(Effect.scoped, Faults.injectInto(injection), Effect.exit)
          const failed = (yield* injection.calls).find(({ failedWith }) => failedWith !== undefined)
          assert(failed !== undefined && Exit.isFailure(exit))
          if (isRelease(failed.call)) assert.include(Cause.pretty(exit.cause), `${failed.call} did not release`)
          else assert.deepStrictEqual(yield* objects, [], failed.call)
        }).pipe(Effect.provide(Fabric.layer))
      }
    }))

  it.effect("works on a layer, and on the layer of one library", () =>
    Effect.gen(function*() {
      const injection = yield* Faults.Injection
      yield* assertRefused(Umad.use(({ getCasNames }) => getCasNames), "umad_get_cas_names", "ENOMEM")
      yield* Verbs.use(({ getDeviceList }) => getDeviceList)
      assert.strictEqual(yield* injection.fallible, 2)
    }).pipe(Effect.provide(
      Fabric.layer.pipe(Faults.layer([{ call: "umad_get_cas_names", nth: 1, errno: "ENOMEM" }]))
    )))

  it.effect("works on a mock", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs
      const pd = Pointer.make<"ibv_pd">(0x10n)
      yield* verbs.deallocPd(pd)
      yield* assertRefused(verbs.deallocPd(pd), "ibv_dealloc_pd", "EBUSY")
      yield* verbs.deallocPd(pd)
    }).pipe(Effect.provide(
      Layer.mock(Verbs, { deallocPd: () => Effect.void }).pipe(
        Faults.layer([{ call: "ibv_dealloc_pd", nth: 2, errno: "EBUSY" }])
      )
    )))

  it("a C function that returns nothing cannot be made to fail", () => {
    const faults: ReadonlyArray<Faults.Fault> = [
      // @ts-expect-error void
      { call: "ibv_free_device_list", nth: 1, errno: "EIO" },
      // @ts-expect-error void
      { call: "rdma_destroy_event_channel", nth: 1, errno: "EIO" },
      // @ts-expect-error no C function
      { call: "ibv_frobnicate", nth: 1, errno: "EIO" },
      // @ts-expect-error no errno
      { call: "ibv_alloc_pd", nth: 1, errno: "ENOPE" }
    ]
    assert.strictEqual(faults.length, 4)
  })

  it.effect("a fault that could never fire is refused", () =>
    Effect.gen(function*() {
      for (const nth of [0, Number.NaN, 1.5]) {
        const exit = yield* Effect.exit(Faults.start([{ call: "ibv_alloc_pd", nth, errno: "ENOMEM" }]))
        assert.match(String(exit), /a fault counts calls from 1/)
      }
      // @ts-expect-error void
      const exit = yield* Effect.exit(Faults.start([{ call: "ibv_free_device_list", nth: 1, errno: "EIO" }]))
      assert.match(String(exit), /ibv_free_device_list is not a call that can fail/)
    }))
})
