/** What went wrong for others, where no suite has it already: `docs/field-reports.md` tells which report is which test. */
import { Ledger, Resource } from "@effect-rdma/core"
import { Connection, Listener } from "@effect-rdma/rdmacm"
import { Fabric, Faults, Topology } from "@effect-rdma/testkit"
import {
  CompletionQueue,
  DeviceContext,
  MemoryRegion,
  Port,
  ProtectionDomain,
  QueuePair,
  Verbs,
  WaitStrategy
} from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Context, type Duration, Effect, Exit, Fiber, Layer, ManagedRuntime, Option, Scope, Stream } from "effect"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { bytes } from "./explored/program.ts"
import { side } from "./seeded/world.ts"

/** What an application makes its requests with. */
class Application extends Context.Service<Application, { readonly domain: ProtectionDomain.ProtectionDomain }>()(
  "Application"
) {
  static readonly layer = Layer.effect(
    Application,
    Effect.gen(function*() {
      const context = yield* DeviceContext.openByName("rxe0")
      return { domain: yield* ProtectionDomain.alloc(context) }
    })
  )
}

const makeRuntime = () =>
  ManagedRuntime.make(Layer.provideMerge(Application.layer, Layer.mergeAll(Fabric.layer, Ledger.layer)))

const register = Effect.flatMap(Application, ({ domain }) => MemoryRegion.alloc(domain, { length: 64, access: [] }))

const liveKinds = Effect.map(Ledger.live, (live) => live.map(({ kind }) => kind))

describe("a runtime that lives long", () => {
  it.live("each of a hundred requests releases what it made, and the runtime what is its own", () =>
    Effect.promise(async () => {
      const runtime = makeRuntime()
      const ledger = await runtime.runPromise(Ledger.Ledger)
      const requests = Array.from({ length: 100 }, () => runtime.runPromise(Effect.scoped(register)))
      await Promise.all(requests)
      assert.deepStrictEqual(await runtime.runPromise(liveKinds), ["DeviceContext", "ProtectionDomain"])
      await runtime.dispose()
      assert.deepStrictEqual(ledger.live(), [])
      const regions = ledger.totals().find(({ pair }) => pair[0] === "ibv_reg_mr")
      assert.deepStrictEqual([regions?.acquired, regions?.released], [100, 100])
    }))

  it.live("that is disposed while fibers are anywhere in their work leaves nothing", () =>
    Effect.promise(async () => {
      const runtime = makeRuntime()
      const { fabric, ledger } = await runtime.runPromise(
        Effect.all({ fabric: Fabric.Fabric, ledger: Ledger.Ledger })
      )
      const work = Effect.forever(Effect.scoped(Effect.andThen(register, Effect.yieldNow)))
      const waiting = Effect.scoped(Effect.andThen(register, Effect.never))
      const fibers = [work, work, waiting, work].map((effect) => runtime.runFork(effect))
      await runtime.runPromise(Effect.sleep("5 millis"))
      assert.isAbove(ledger.live().length, 2)
      await runtime.dispose()
      assert.deepStrictEqual(ledger.live(), [])
      assert.deepStrictEqual(await Effect.runPromise(fabric.objects), [])
      await Effect.runPromise(Fiber.interruptAll(fibers))
    }))
})

describe("the garbage collector", () => {
  setFlagsFromString("--expose-gc")
  const collectGarbage: () => void = runInNewContext("gc")

  it.live("neither collects nor releases what the program has dropped before its scope ends", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const dropped = yield* Effect.gen(function*() {
        const context = yield* DeviceContext.openByName("rxe0")
        const domain = yield* ProtectionDomain.alloc(context)
        const bytes = new Uint8Array(8192)
        const region = yield* MemoryRegion.register(domain, bytes)
        return { bytes: new WeakRef(bytes), region: new WeakRef(region) }
      }).pipe(Scope.provide(scope))
      for (let round = 0; round < 5; round++) {
        yield* Effect.sleep("5 millis")
        collectGarbage()
      }
      assert.isDefined(dropped.bytes.deref())
      assert.isDefined(dropped.region.deref())
      assert.deepStrictEqual(yield* liveKinds, ["DeviceContext", "ProtectionDomain", "MemoryRegion"])
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(yield* liveKinds, [])
    }).pipe(Effect.provide(Layer.merge(Fabric.layer, Ledger.layer))))
})

describe("the data path", () => {
  it.live("an event that the device loses keeps no completion from who spins or takes turns, but from who sleeps", () =>
    Effect.gen(function*() {
      const fabric = yield* Fabric.Fabric
      const { queue } = yield* Effect.updateService(
        side(),
        Verbs.Verbs,
        (verbs) => Verbs.Verbs.of({ ...verbs, reqNotifyCq: () => Effect.void })
      )
      const isSeenBy = (strategy: WaitStrategy.WaitStrategy, patience: Duration.Input) =>
        Effect.gen(function*() {
          const waiting = yield* CompletionQueue.next(queue).pipe(
            Effect.timeoutOption(patience),
            Effect.provideService(WaitStrategy.WaitStrategy, strategy),
            Effect.forkChild({ startImmediately: true })
          )
          yield* Effect.sleep("5 millis")
          const completion = { wrId: 1n, status: "wrFlushErr", vendorErr: 0, qpNum: 17 } as const
          yield* fabric.complete("host-a", Resource.raw(queue), completion)
          return Option.isSome(yield* Fiber.join(waiting))
        })
      assert.isTrue(yield* isSeenBy({ _tag: "turn" }, "10 seconds"))
      assert.isTrue(yield* isSeenBy({ _tag: "spin", slice: "100 micros" }, "10 seconds"))
      assert.isFalse(yield* isSeenBy({ _tag: "channel" }, "200 millis"))
    }).pipe(Effect.provide(Fabric.layer)))

  it.live("a receive that cannot be posted again takes no message with it that has arrived: ENOMEM comes after them", () =>
    Effect.gen(function*() {
      const listener = yield* Listener.make({ address: "10.0.0.1:7471" })
      const incoming = Effect.flatMap(Stream.runHead(listener.connections), Effect.fromOption)
      const [server, client] = yield* Effect.all([
        Effect.flatMap(incoming, (incoming) => Listener.accept(incoming)),
        Effect.provide(Connection.connect({ address: "10.0.0.1:7471", receiveDepth: 4 }), Fabric.host("host-b"))
      ], { concurrency: 2 })
      for (const text of ["one", "two", "three"]) yield* Connection.send(server, bytes(text))
      const texts: Array<string> = []
      const error = yield* Connection.receive(client).pipe(
        Effect.tap((message) => Effect.sync(() => texts.push(new TextDecoder().decode(message)))),
        Effect.forever,
        Effect.flip
      )
      assert.deepStrictEqual(texts, ["one", "two", "three"])
      assert.strictEqual(error._tag === "VerbsError" && error.reason._tag, "ENOMEM")
    }).pipe(
      Effect.scoped,
      // The first posts them all.
      Faults.inject([{ call: "ibv_post_recv", nth: 2, host: "host-b", errno: "ENOMEM" }]),
      Effect.provide(Fabric.layer)
    ))

  it.effect("two ends with different MTUs connect with the smaller one", () =>
    Effect.gen(function*() {
      const a = yield* side()
      const b = yield* Effect.provide(side(), Fabric.host("host-b"))
      yield* QueuePair.connect(a.pair, { ...a.local, mtu: 1024 }, { ...b.local, mtu: 512 })
      yield* QueuePair.connect(b.pair, { ...b.local, mtu: 512 }, { ...a.local, mtu: 1024 })
      for (const { pair } of [a, b]) assert.strictEqual((yield* QueuePair.query(pair)).attributes.pathMtu, 512)
    }).pipe(Effect.provide(Fabric.layer)))
})

describe("devices and handles", () => {
  it.effect("a host without devices is ENODEV, and the message tells of providers that may be missing", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(DeviceContext.openByName("rxe0"))
      assert.strictEqual(error.reason._tag, "ENODEV")
      for (const part of ["The host has no RDMA device", "rdma link", "ibverbs-providers"]) {
        assert.include(error.message, part)
      }
    }).pipe(Effect.provide(Layer.orDie(Fabric.layerFrom({ hosts: [{ name: "host-a", devices: [] }] })))))

  it.effect("are of one thread: none can be sent to another, DataCloneError", () =>
    Effect.gen(function*() {
      const { context, domain, pair, region } = yield* side()
      for (const handle of [context, domain, pair, region]) {
        assert.throws(() => structuredClone(handle), /could not be cloned/)
      }
    }).pipe(Effect.provide(Fabric.layer)))

  it.effect("an adapter with 255 ports has each of them, and no other: EINVAL", () =>
    Effect.gen(function*() {
      const context = yield* DeviceContext.openByName("mlx5_0")
      assert.strictEqual((yield* DeviceContext.query(context)).physPortCnt, 255)
      const states = yield* Effect.forEach(
        Array.from({ length: 255 }, (_, index) => index + 1),
        (portNum) => Port.query(context, portNum)
      )
      assert.deepStrictEqual(new Set(states.map(({ state }) => state)), new Set(["active"]))
      const error = yield* Effect.flip(Port.query(context, 256))
      assert.strictEqual(error._tag, "SchemaError")
    }).pipe(Effect.provide(Layer.orDie(manyPorts))))
})

const adapter = Topology.connectX("mlx5_0", 1)

const manyPorts = Fabric.layerFrom({
  hosts: [{
    name: "host-a",
    devices: [{
      ...adapter,
      ports: Array.from(
        { length: 255 },
        (_, index) => ({ ...adapter.ports![0]!, number: index + 1, ipoibAddresses: [] })
      )
    }]
  }]
})
