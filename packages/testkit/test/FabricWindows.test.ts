import { NativeMemory, Resource } from "@effect-rdma/core"
import { Fabric, LeakCheck } from "@effect-rdma/testkit"
import {
  type AccessFlags,
  CompletionQueue,
  DeviceContext,
  DeviceMemory,
  MemoryRegion,
  MemoryWindow,
  ProtectionDomain,
  QueuePair
} from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { assertReason } from "../src/internal/conformance.ts"

const run = (program: Effect.Effect<void, unknown, Fabric.Fabric | Fabric.Seams | Scope.Scope>) =>
  LeakCheck.check(program).pipe(Effect.provide(Fabric.layer))

const setup = Effect.fnUntraced(function*(device: "rxe0" | "mlx5_0") {
  const context = yield* DeviceContext.openByName(device)
  const domain = yield* ProtectionDomain.alloc(context)
  const queue = yield* CompletionQueue.make(context, { cqe: 8 })
  const queuePair = yield* QueuePair.make(domain, {
    qpType: "rc",
    sendCq: queue,
    recvCq: queue,
    cap: { maxSendWr: 1 }
  })
  const region = yield* MemoryRegion.alloc(domain, { length: 4096, access: ["localWrite", "mwBind"] })
  const window = yield* MemoryWindow.alloc(domain, 1)
  return { context, domain, queue, queuePair, region, window }
})

const toRts = Effect.fnUntraced(function*(self: QueuePair.QueuePair<"rc">) {
  const ahAttr = self.context.name === "rxe0"
    ? { portNum: 1, grh: { dgid: "::ffff:10.0.0.1", sgidIndex: 1 } }
    : { portNum: 1, dlid: 1 }
  yield* QueuePair.toInit(self, { portNum: 1 })
  yield* QueuePair.toRtr(self, { ahAttr, rqPsn: 1, destQpNum: self.qpNum })
  yield* QueuePair.toRts(self, { sqPsn: 1 })
})

/** So many operations before the ones that are tested. */
const steps = (count: number) => Effect.forEach(Array.from({ length: count }), () => Effect.void, { discard: true })

/** A bind as C takes it, with nothing looked at before. */
const post = (
  queuePair: QueuePair.QueuePair,
  window: MemoryWindow.MemoryWindow,
  region: MemoryRegion.MemoryRegion,
  options: { readonly access?: AccessFlags.AccessFlags; readonly addr?: bigint; readonly length?: bigint } = {}
) =>
  window.context.verbs.bindMw(Resource.raw(queuePair), Resource.raw(window), {
    wrId: 1n,
    flags: [],
    mr: Resource.raw(region).mr,
    addr: options.addr ?? NativeMemory.addressOf(region.bytes),
    length: options.length ?? 1n,
    access: options.access ?? ["remoteRead"]
  })

describe("windows of the fabric", () => {
  for (const device of ["rxe0", "mlx5_0"] as const) {
    it.effect(`what the device does not permit brings the queue pair to ERR, and binds nothing: ${device}`, () =>
      run(Effect.gen(function*() {
        const { domain, queuePair, region, window } = yield* setup(device)
        const without = yield* MemoryRegion.alloc(domain, { length: 64 })
        const readOnly = yield* MemoryRegion.alloc(domain, { length: 64, access: ["mwBind"] })
        const addr = NativeMemory.addressOf(region.bytes)
        const attempts: ReadonlyArray<readonly [MemoryRegion.MemoryRegion, Parameters<typeof post>[3]]> = [
          [without, {}],
          [readOnly, { access: ["remoteWrite"] }],
          [region, { addr: addr - 1n }],
          [region, { length: 4097n }]
        ]
        for (const [target, options] of attempts) {
          yield* toRts(queuePair)
          yield* post(queuePair, yield* MemoryWindow.alloc(domain, 1), target, options)
          assert.strictEqual(yield* QueuePair.state(queuePair), "err")
          yield* QueuePair.toReset(queuePair)
        }
        // The window whose bind failed has another key in its struct than in the device.
        yield* toRts(queuePair)
        yield* post(queuePair, window, without)
        yield* QueuePair.toReset(queuePair)
        yield* toRts(queuePair)
        yield* post(queuePair, window, region)
        assert.strictEqual(yield* QueuePair.state(queuePair), "err")
      })))

    it.effect(`a queue pair of another type is EINVAL, a full one ENOMEM: ${device}`, () =>
      run(Effect.gen(function*() {
        const { domain, queue, queuePair, region, window } = yield* setup(device)
        const datagrams = yield* QueuePair.make(domain, {
          qpType: "ud",
          sendCq: queue,
          recvCq: queue,
          cap: { maxSendWr: 4 }
        })
        assertReason(yield* Effect.flip(post(datagrams, window, region)), "ibv_bind_mw", "EINVAL")
        const without = yield* QueuePair.make(domain, {
          qpType: "rc",
          sendCq: queue,
          recvCq: queue,
          cap: { maxSendWr: 0 }
        })
        yield* toRts(without)
        assertReason(yield* Effect.flip(post(without, window, region)), "ibv_bind_mw", "ENOMEM")
        yield* toRts(queuePair)
        // On rxe the room is free once the kernel has done it, on mlx5 once a completion behind it was polled.
        yield* post(queuePair, window, region)
        if (device === "rxe0") {
          for (let index = 0; index < 300; index++) yield* post(queuePair, window, region)
        } else assertReason(yield* Effect.flip(post(queuePair, window, region)), "ibv_bind_mw", "ENOMEM")
        assert.strictEqual(yield* QueuePair.state(queuePair), "rts")
      })))
  }

  it.live(
    "wherever Effect yields in a bind, the region that goes meanwhile takes the window with it or is not bound",
    () =>
      run(Effect.gen(function*() {
        const seen = new Set<string>()
        for (let lead = 1900; lead < 2060; lead++) {
          yield* Effect.scoped(Effect.gen(function*() {
            const { domain, queuePair, window } = yield* setup("mlx5_0")
            yield* toRts(queuePair)
            const scope = yield* Scope.make()
            const region = yield* MemoryRegion.alloc(domain, { length: 64, access: ["mwBind"] }).pipe(
              Scope.provide(scope)
            )
            const { rkey } = window
            const binder = yield* Effect.forkChild(
              Effect.andThen(steps(lead), MemoryWindow.bind(window, queuePair, { region, access: [] }))
            )
            yield* Effect.yieldNow
            yield* Scope.close(scope, Exit.void)
            const exit = yield* Fiber.await(binder)
            // What was bound is gone with the region.
            assert.strictEqual(Resource.isLive(window), window.rkey === rkey)
            assert.strictEqual(Exit.isSuccess(exit), window.rkey !== rkey)
            seen.add(exit._tag)
          }))
        }
        assert.deepStrictEqual(Array.from(seen).toSorted(), ["Failure", "Success"])
      })),
    30_000
  )

  it.effect("the key is counted up in its lowest byte, and around", () =>
    run(Effect.gen(function*() {
      const { queuePair, region, window } = yield* setup("rxe0")
      yield* toRts(queuePair)
      const keys: Array<number> = []
      const start = window.rkey
      for (let index = 0; index < 256; index++) {
        yield* MemoryWindow.bind(window, queuePair, { region, access: [] })
        keys.push(window.rkey)
      }
      assert.strictEqual(window.rkey, start)
      assert.strictEqual(new Set(keys).size, 256)
      assert.isTrue(keys.every((key) => key >>> 8 === start >>> 8))
    })))

  it.effect("mlx5 queues a bind before RTS, and has room for so many", () =>
    run(Effect.gen(function*() {
      const { queuePair, region, window } = yield* setup("mlx5_0")
      const { rkey } = window
      yield* MemoryWindow.bind(window, queuePair, { region, access: ["remoteRead"] })
      assert.notStrictEqual(window.rkey, rkey)
      const error = yield* Effect.flip(MemoryWindow.bind(window, queuePair, { region, access: ["remoteRead"] }))
      assertReason(error, "ibv_bind_mw", "ENOMEM")
    })))

  it.effect("mlx5 binds to memory of the process only, and not where addresses count from 0", () =>
    run(Effect.gen(function*() {
      const { context, domain, queuePair, window } = yield* setup("mlx5_0")
      const memory = yield* DeviceMemory.alloc(context, { length: 64 })
      const ofDevice = yield* MemoryRegion.registerDeviceMemory(domain, memory, { length: 64 })
      const ofNothing = yield* MemoryRegion.allocNull(domain)
      assertReason(yield* Effect.flip(post(queuePair, window, ofDevice, { addr: 0n })), "ibv_bind_mw", "EINVAL")
      assertReason(yield* Effect.flip(post(queuePair, window, ofNothing, { addr: 0n })), "ibv_bind_mw", "EOPNOTSUPP")
    })))

  for (const device of ["rxe0", "mlx5_0"] as const) {
    it.effect(`without the device the kernel says EIO, and a doorbell nothing: ${device}`, () =>
      run(Effect.gen(function*() {
        const { queuePair, region, window } = yield* setup(device)
        yield* toRts(queuePair)
        yield* Effect.flatMap(Fabric.Fabric, (fabric) => fabric.unplug("host-a", device))
        const bind = MemoryWindow.bind(window, queuePair, { region, access: [] })
        if (device === "mlx5_0") return yield* bind
        assertReason(yield* Effect.flip(bind), "ibv_bind_mw", "EIO")
      })))
  }
})
