/** Completions and events that are lost, late, there twice or in another order, and what the library makes of it. */
import { Explorer, Fabric, Faults } from "@effect-rdma/testkit"
import { AsyncEvents, CompletionQueue, QueuePair, Verbs, WaitStrategy } from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Layer, type Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { parametersOf, side as manager } from "./connections.ts"
import { connected, devices, run, side, toRtr, toRts } from "./dataPath.ts"
import { sides } from "./seeded/world.ts"

type World = Fabric.Fabric | Fabric.Seams | Scope.Scope

/** Runs on a fabric with faults, and sees to it that nothing is left. */
const faulty = (faults: ReadonlyArray<Faults.Fault>, program: Effect.Effect<void, unknown, World>) =>
  run(Faults.inject(faults)(program))

const ofSender = (
  is: Fabric.Fate,
  rest: Pick<Faults.Misdelivery, "nth" | "probability" | "seed" | "device"> = {}
): Faults.Fault => ({ ...rest, arrival: "completion", host: "host-a", is })

const signaled = (wrId: bigint) => ({ opcode: "send", wrId, flags: ["signaled"] }) as const

const numbers = (completions: ReadonlyArray<{ readonly wrId: bigint }>) => completions.map(({ wrId }) => Number(wrId))

const raise = (...events: ReadonlyArray<"lidChange" | "portErr" | "portActive">) =>
  Effect.flatMap(
    Fabric.Fabric,
    (fabric) => Effect.forEach(events, (event) => fabric.raise("host-a", "rxe0", { _tag: "Port", event, portNum: 1 }))
  )

const ofManager = (host: string, event: string, is: Fabric.Fate): Faults.Fault => ({
  arrival: "cmEvent",
  host,
  where: (arrival) => arrival.arrival === "cmEvent" && arrival.event === event,
  is
})

const order = (faults: ReadonlyArray<Faults.Fault>) =>
  Effect.gen(function*() {
    const { a, b } = yield* connected("rxe0", { a: { cap: { maxSendWr: 100 } }, b: { cap: { maxRecvWr: 100 } } })
    b.postRecv(...Array.from({ length: 60 }, () => ({ wrId: 0n, sgList: [] })))
    yield* QueuePair.postSend(a.pair, Array.from({ length: 60 }, (_, index) => signaled(BigInt(index))))
    return numbers(yield* CompletionQueue.poll(a.queue, 100))
  }).pipe(Effect.scoped, Faults.inject(faults), Effect.provide(Fabric.layer))

const byChance = (seed: number): ReadonlyArray<Faults.Fault> => [
  ofSender({ _tag: "dropped" }, { device: "rxe0", probability: 0.1, seed }),
  ofSender({ _tag: "reordered", behind: 3 }, { probability: 0.3, seed: seed + 1 })
]

for (const device of devices) {
  describe(`a completion on ${device}`, () => {
    it.effect("that comes twice is there once for those who poll and for a stream", () =>
      faulty(
        [{ arrival: "completion", is: { _tag: "duplicated" } }],
        Effect.gen(function*() {
          const { a, b } = yield* connected(device)
          yield* QueuePair.postRecv(b.pair, [1n, 2n, 3n, 4n].map((wrId) => ({ wrId, sgList: [] })))
          yield* QueuePair.postSend(a.pair, [5n, 6n, 7n, 8n].map(signaled))
          assert.deepStrictEqual(numbers(yield* CompletionQueue.poll(a.queue, 64)), [5, 6, 7, 8])
          assert.deepStrictEqual(yield* CompletionQueue.poll(a.queue, 64), [])
          const received = yield* CompletionQueue.stream(b.queue, 1).pipe(Stream.take(4), Stream.runCollect)
          assert.deepStrictEqual(numbers(received), [1, 2, 3, 4])
        })
      ))

    it.effect("that comes again does not end the request that has its place now, nor give its memory back", () =>
      faulty(
        [ofSender({ _tag: "duplicated" }, { nth: 1 })],
        Effect.gen(function*() {
          const { a, b } = yield* connected(device, { a: { cap: { maxSendWr: 1 } }, pathA: { rnrRetry: 7 } })
          const receive = () => b.postRecv({ wrId: 0n, sgList: [b.piece(0, 8)] })
          const room = a.pair.cap.maxSendWr
          const taken = Array.from({ length: room }, (_, index) => index)
          for (const wrId of taken) {
            receive()
            yield* QueuePair.postSend(a.pair, [signaled(BigInt(wrId))])
            // Behind the first one there is its double.
            if (wrId === 0) assert.deepStrictEqual(numbers(yield* CompletionQueue.poll(a.queue, 1)), [0])
          }
          const sending = yield* Effect.forkChild(
            QueuePair.send(a.pair, { sgList: [{ region: a.region, length: 8 }] }),
            { startImmediately: true }
          )
          yield* Effect.replicateEffect(Effect.yieldNow, 20)
          assert.isUndefined(sending.pollUnsafe())
          assert.deepStrictEqual(numbers(yield* CompletionQueue.poll(a.queue)), taken.slice(1))
          receive()
          yield* TestClock.adjust("1 second")
          assert.strictEqual((yield* Fiber.join(sending)).status, "success")
        })
      ))

    it.effect("that is dropped is of a request that was carried out: who awaits it hangs, and the explorer says so", () =>
      Effect.gen(function*() {
        const message = Effect.gen(function*() {
          const { a, b } = yield* sides()
          yield* Effect.all([
            QueuePair.recv(b.pair, { sgList: b.sgList }),
            QueuePair.send(a.pair, { sgList: a.sgList })
          ], { concurrency: 2 })
        })
        const plan: Explorer.Plan = { faults: [ofSender({ _tag: "dropped" })] }
        const finding = yield* Explorer.replay(message, { layer: Fabric.layer }, plan)
        assert.strictEqual(finding?.kind, "hang")
        assert.match(finding?.problem ?? "", /it waits for what never comes/)
        assert.isUndefined(yield* Explorer.replay(message, { layer: Fabric.layer }, { faults: [] }))
        // Who gives up waits until the device has let go of the memory, and leaves nothing behind.
        const patient = Effect.timeoutOption(message, "1 minute")
        assert.isUndefined(yield* Explorer.replay(patient, { layer: Fabric.layer }, plan))
      }))

    it.effect("that was dropped is not needed for what is behind it", () =>
      faulty(
        [ofSender({ _tag: "dropped" }, { nth: 1 })],
        Effect.gen(function*() {
          const { a, b } = yield* connected(device)
          yield* QueuePair.postRecv(b.pair, [1n, 2n].map((wrId) => ({ wrId, sgList: [] })))
          yield* QueuePair.postSend(a.pair, [signaled(5n)])
          assert.strictEqual((yield* QueuePair.send(a.pair, { wrId: 6n })).wrId, 6n)
          assert.deepStrictEqual(numbers(yield* CompletionQueue.poll(b.queue, 64)), [1, 2])
          assert.deepStrictEqual(yield* CompletionQueue.poll(a.queue, 64), [])
        })
      ))

    it.effect("that is delayed comes so much later on the clock, and who awaits it keeps its memory until then", () =>
      faulty(
        [ofSender({ _tag: "delayed", by: "5 millis" })],
        Effect.gen(function*() {
          const { a, b } = yield* connected(device)
          b.postRecv({ wrId: 1n, sgList: [{ ...b.piece(0, 8) }] })
          const sending = yield* Effect.forkChild(
            QueuePair.send(a.pair, { sgList: [{ region: a.region, length: 8 }] }),
            { startImmediately: true }
          )
          assert.deepStrictEqual(b.statuses(), ["1 success"])
          yield* TestClock.setTime(4.999)
          assert.isUndefined(sending.pollUnsafe())
          yield* TestClock.setTime(5)
          assert.strictEqual((yield* Fiber.join(sending)).status, "success")
        })
      ))

    it.effect("that comes behind the next is there for a stream in that order, and ends who awaits it", () =>
      faulty(
        [ofSender({ _tag: "reordered" }, { nth: 1 }), ofSender({ _tag: "reordered", behind: 2 }, { nth: 4 })],
        Effect.gen(function*() {
          const { a, b } = yield* connected(device)
          b.postRecv(...Array.from({ length: 6 }, () => ({ wrId: 0n, sgList: [] })))
          yield* QueuePair.postSend(a.pair, [1n, 2n, 3n].map(signaled))
          const seen = yield* CompletionQueue.stream(a.queue).pipe(Stream.take(3), Stream.runCollect)
          assert.deepStrictEqual(numbers(seen), [2, 1, 3])
          const order: Array<bigint> = []
          yield* Effect.forEach([4n, 5n, 6n], (wrId) =>
            Effect.tap(QueuePair.send(a.pair, { wrId }), (completion) =>
              Effect.sync(() =>
                order.push(completion.wrId)
              )), { concurrency: 3, discard: true })
          assert.strictEqual(order[0], 5n)
          assert.deepStrictEqual(order.toSorted(), [4n, 5n, 6n])
        })
      ))

    it.effect("can be late for its queue pair only, which keeps its own order", () =>
      faulty(
        [ofSender({ _tag: "reordered", among: "queuePairs", behind: 2 }, { nth: 1 })],
        Effect.gen(function*() {
          const { a, b } = yield* connected(device)
          const [from, to] = [
            { ...a, pair: yield* QueuePair.make(a.domain, { qpType: "rc", sendCq: a.queue, recvCq: a.queue }) },
            yield* side(device).pipe(Effect.provide(Fabric.host("host-b")))
          ]
          yield* toRtr(from, { host: "host-b", qpNum: to.pair.qpNum })
          yield* toRtr(to, { host: "host-a", qpNum: from.pair.qpNum })
          yield* toRts(from)
          for (const end of [b, to]) end.postRecv(...[0n, 0n].map((wrId) => ({ wrId, sgList: [] })))
          yield* QueuePair.postSend(a.pair, [1n, 2n].map(signaled))
          assert.deepStrictEqual(yield* CompletionQueue.poll(a.queue), [])
          yield* QueuePair.postSend(from.pair, [signaled(3n)])
          assert.deepStrictEqual(numbers(yield* CompletionQueue.poll(a.queue)), [3])
          yield* QueuePair.postSend(from.pair, [signaled(4n)])
          assert.deepStrictEqual(numbers(yield* CompletionQueue.poll(a.queue)), [4, 1, 2])
        })
      ))

    it.effect("that was to come when its queue pair is gone: mlx5 takes it back, rxe does not", () =>
      faulty(
        [ofSender({ _tag: "delayed", by: "1 second" })],
        Effect.gen(function*() {
          const { a, b } = yield* connected(device)
          b.postRecv({ wrId: 1n, sgList: [] })
          yield* Effect.scoped(Effect.gen(function*() {
            const pair = yield* QueuePair.make(a.domain, { qpType: "rc", sendCq: a.queue, recvCq: a.queue })
            const self = { ...a, pair }
            yield* toRtr(self, { host: "host-b", qpNum: b.pair.qpNum })
            yield* QueuePair.toReset(b.pair)
            yield* toRtr(b, { host: "host-a", qpNum: pair.qpNum })
            b.postRecv({ wrId: 1n, sgList: [] })
            yield* toRts(self)
            yield* QueuePair.postSend(pair, [signaled(1n)])
          }))
          yield* TestClock.adjust("2 seconds")
          assert.lengthOf(a.poll(), device === "rxe0" ? 1 : 0)
        })
      ))

    it.effect("of an interrupted send that was dropped: the memory is given back once the queue pair is reset", () =>
      faulty(
        [ofSender({ _tag: "dropped" }, { nth: 1 })],
        Effect.gen(function*() {
          const { a, b } = yield* connected(device)
          b.postRecv({ wrId: 1n, sgList: [] })
          const sending = yield* Effect.forkChild(
            QueuePair.send(a.pair, { sgList: [{ region: a.region, length: 8 }] }).pipe(
              Effect.provideService(WaitStrategy.InterruptionGrace, "1 millis"),
              // Not even the flush completes it: no need to wait for that here.
              Effect.provideService(WaitStrategy.DeviceTimer, (_millis, callBack) => {
                const timer = setTimeout(callBack, 1)
                return () => clearTimeout(timer)
              })
            ),
            { startImmediately: true }
          )
          yield* Fiber.interrupt(sending)
          assert.strictEqual(yield* a.state, "reset")
        })
      ))
  })
}

describe("an event", () => {
  it.effect("of a device is dropped, there twice, behind another, or late", () =>
    faulty(
      (["dropped", "duplicated", "reordered", "delayed"] as const).map((_tag, index) => ({
        arrival: "asyncEvent",
        device: "rxe0",
        // Counted by each fault, whichever falls on it.
        nth: index + 1,
        is: _tag === "delayed" ? { _tag, by: "1 second" } : { _tag }
      })),
      Effect.gen(function*() {
        const { context, events } = yield* side("rxe0")
        yield* raise("portErr", "portActive", "lidChange")
        assert.deepStrictEqual(yield* events, ["portActive", "portActive"])
        yield* raise("portErr")
        const next = yield* Effect.forkChild(AsyncEvents.next(context), { startImmediately: true })
        yield* TestClock.adjust("999 millis")
        assert.isUndefined(next.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual(yield* Fiber.join(next), { _tag: "Port", event: "portErr", portNum: 1 })
        assert.deepStrictEqual(yield* events, ["lidChange"])
      })
    ))

  const connecting = Effect.gen(function*() {
    const server = yield* manager("host-b")
    const client = yield* manager("host-a")
    yield* server.listening("10.0.0.2:7471")
    const id = yield* client.routed("10.0.0.2:7471")
    yield* client.cm.connect(id, parametersOf(0x21))
    return { client, id, server }
  })
  it.effect("of the connection manager is late, dropped, or there twice; a request to connect never is", () =>
    Effect.gen(function*() {
      const { client, id, server } = yield* connecting
      yield* server.nothing
      yield* TestClock.adjust("1 second")
      const { id: request } = yield* server.expect("connectRequest")
      yield* server.nothing
      yield* server.cm.accept(request, parametersOf(0x31))
      yield* client.expect("connectResponse")
      yield* client.expect("connectResponse")
      yield* client.cm.establish(id)
      // It is established all the same: the other side ends it.
      yield* server.nothing
      yield* server.cm.disconnect(request)
      yield* client.expect("disconnected")
    }).pipe(
      Faults.inject([
        ofManager("host-b", "connectRequest", { _tag: "delayed", by: "1 second" }),
        ofManager("host-b", "connectRequest", { _tag: "duplicated" }),
        ofManager("host-a", "connectResponse", { _tag: "duplicated" }),
        ofManager("host-b", "established", { _tag: "dropped" })
      ]),
      Effect.provide(Fabric.layer)
    ))

  it.effect("that is a request to connect comes once, also when it is to come twice", () =>
    Effect.gen(function*() {
      const { server } = yield* connecting
      yield* server.expect("connectRequest")
      yield* server.nothing
    }).pipe(
      Faults.inject([ofManager("host-b", "connectRequest", { _tag: "duplicated" })]),
      Effect.provide(Fabric.layer)
    ))

  it.effect("of a listener that is gone by then comes to nothing: who asked is told", () =>
    Effect.gen(function*() {
      const server = yield* manager("host-b")
      const client = yield* manager("host-a")
      const listener = yield* server.listening("10.0.0.2:7471")
      const id = yield* client.routed("10.0.0.2:7471")
      yield* client.cm.connect(id, parametersOf(0x21))
      yield* server.cm.destroyId(listener)
      yield* TestClock.adjust("1 second")
      yield* server.nothing
      yield* client.expect("rejected", 28)
    }).pipe(
      Faults.inject([ofManager("host-b", "connectRequest", { _tag: "delayed", by: "1 second" })]),
      Effect.provide(Fabric.layer)
    ))
})

describe("what becomes of arrivals", () => {
  it.effect("is the same for a value that was printed and read, and another one with another seed", () =>
    Effect.gen(function*() {
      const once = yield* order(byChance(1))
      assert.isBelow(once.length, 60)
      assert.notDeepEqual(once, once.toSorted((self, that) => self - that))
      const read: ReadonlyArray<Faults.Fault> = JSON.parse(JSON.stringify(byChance(1)))
      assert.deepStrictEqual(yield* order(read), once)
      assert.notDeepEqual(yield* order(byChance(2)), once)
    }))

  it.effect("is over with the program that it was for", () =>
    run(Effect.gen(function*() {
      const { a, b } = yield* connected("rxe0")
      b.postRecv(...[0n, 0n].map((wrId) => ({ wrId, sgList: [] })))
      const send = QueuePair.postSend(a.pair, [signaled(1n)])
      yield* Faults.inject([{ arrival: "completion", is: { _tag: "dropped" } }])(send)
      assert.deepStrictEqual(yield* CompletionQueue.poll(a.queue), [])
      yield* send
      assert.deepStrictEqual(numbers(yield* CompletionQueue.poll(a.queue)), [1])
    })))

  it.effect("is for a fabric only", () =>
    Effect.gen(function*() {
      const dropped: ReadonlyArray<Faults.Fault> = [{ arrival: "completion", is: { _tag: "dropped" } }]
      const exit = yield* Effect.exit(Faults.inject(dropped)(Effect.void))
      assert.match(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", /on a fabric only/)
      const layer = Layer.mock(Verbs.Verbs, {}).pipe(Faults.layer(dropped))
      assert.isTrue(Exit.hasDies(yield* Effect.exit(Effect.provide(Effect.void, layer))))
    }))

  it.effect("can be put into a layer", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected("mlx5_0")
      b.postRecv({ wrId: 1n, sgList: [] })
      yield* QueuePair.postSend(a.pair, [signaled(1n)])
      assert.deepStrictEqual(a.poll(), [])
    }).pipe(
      Effect.scoped,
      Effect.provide(Fabric.layer.pipe(Faults.layer([ofSender({ _tag: "dropped" })])))
    ))
})
