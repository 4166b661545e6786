/** rsockets between hosts of the fabric: what happens to programs that use them, and what only the fabric can show. */
import * as Ledger from "@effect-rdma/core/Ledger"
import { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import * as RSocket from "@effect-rdma/rdmacm/RSocket"
import * as RSocketMapping from "@effect-rdma/rdmacm/RSocketMapping"
import * as RSocketPoll from "@effect-rdma/rdmacm/RSocketPoll"
import * as Explorer from "@effect-rdma/testkit/Explorer"
import * as Fabric from "@effect-rdma/testkit/Fabric"
import * as Faults from "@effect-rdma/testkit/Faults"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { assertMisuse, assertRefused } from "./observe.ts"

const bytes = (text: string) => new TextEncoder().encode(text)
const onHostB = Effect.provide(Fabric.host("host-b"))

/** One that listens on host-b; `connected` gives both ends. */
const listening = Effect.gen(function*() {
  const listener = yield* RSocket.make()
  yield* RSocket.setOption(listener, { _tag: "Mappings", value: 1 })
  yield* RSocket.bind(listener, "10.0.0.2:7471")
  yield* RSocket.listen(listener)
  return listener
}).pipe(onHostB)

const connected = Effect.gen(function*() {
  const listener = yield* listening
  const client = yield* RSocket.make()
  const [server] = yield* Effect.all([RSocket.accept(listener), RSocket.connect(client, "10.0.0.2:7471")], {
    concurrency: 2
  })
  return { listener, client, server }
})

/** A question, an answer, and memory that is written to. */
const conversation = Effect.gen(function*() {
  const { client, server } = yield* connected
  const answering = Effect.gen(function*() {
    const question = yield* Stream.mkString(Stream.decodeText(RSocket.stream(server)))
    yield* RSocket.write(server, bytes(question.toUpperCase()))
    yield* RSocket.shutdown(server, "send")
  })
  const asking = Effect.gen(function*() {
    const { bytes: memory, remote } = yield* RSocketMapping.make(client, { length: 16 })
    yield* Stream.run(Stream.make(bytes("quest"), bytes("ion")), RSocket.sink(client))
    yield* RSocket.shutdown(client, "send")
    const answer = yield* Stream.mkString(Stream.decodeText(RSocket.stream(client)))
    if (answer !== "QUESTION") return yield* Effect.die(answer)
    return { memory, remote }
  })
  yield* Effect.all([answering, asking], { concurrency: 2 })
})

/** Lets the time pass that connecting takes. */
const withClock = <A, E, R>(run: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(run, { startImmediately: true })
    while (fiber.pollUnsafe() === undefined) yield* TestClock.adjust("1 millis")
    return yield* Fiber.join(fiber)
  })

const fresh = <A, E, R>(run: Effect.Effect<A, E, R>) => Effect.provide(run, Layer.fresh(Fabric.layer))

describe("Fabric: rsockets", () => {
  it.effect(
    "nothing is left, lost or hanging whatever fails, and whenever it is interrupted",
    () =>
      Effect.gen(function*() {
        const { finding, runs } = yield* Explorer.check(conversation, {
          layer: Fabric.layer,
          runs: 300,
          errno: "EIO",
          mayFail: ["rgetsockopt"]
        })
        assert.isUndefined(finding)
        assert.isAtLeast(runs, 100)
      }),
    60_000
  )

  it.effect("the same for a set of rsockets", () =>
    Effect.gen(function*() {
      const watching = Effect.gen(function*() {
        const { client, server } = yield* connected
        const poll = yield* RSocketPoll.make()
        yield* RSocketPoll.add(poll, client, ["readable"])
        yield* Effect.all([RSocketPoll.wait(poll), RSocket.write(server, bytes("!"))], { concurrency: 2 })
      })
      const { finding } = yield* Explorer.check(watching, { layer: Fabric.layer, runs: 200, mayFail: ["rgetsockopt"] })
      assert.isUndefined(finding)
    }), 60_000)

  it.effect("a release that takes too long is a ReleaseError with ETIMEDOUT, and the others go on", () =>
    fresh(Effect.gen(function*() {
      const cm = yield* RdmaCm
      // A host that is silent: the call returns much later.
      const slow = RdmaCm.of({ ...cm, rclose: (socket) => Effect.delay(cm.rclose(socket), "1 hour") })
      const ledger = Ledger.makeUnsafe()
      const scope = yield* Scope.make()
      yield* RSocket.make().pipe(
        Effect.provideService(RdmaCm, slow),
        Effect.provideService(Ledger.Ledger, ledger),
        Scope.provide(scope)
      )
      let others = 0
      yield* Scope.addFinalizer(scope, Effect.sync(() => void others++))
      const closing = yield* Effect.forkChild(
        Effect.exit(Effect.provideService(Scope.close(scope, Exit.void), RSocket.CloseTimeout, "2 seconds")),
        { startImmediately: true }
      )
      yield* TestClock.adjust("1999 millis")
      assert.isUndefined(closing.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      const exit = yield* Fiber.join(closing)
      assert(Exit.isFailure(exit))
      assert.match(Cause.pretty(exit.cause), /rclose.*ETIMEDOUT/s)
      assert.strictEqual(others, 1)
      yield* TestClock.adjust("1 hour")
    })))

  it.effect("memory that could not be unmapped keeps its rsocket from being closed, which would hang", () =>
    fresh(
      Effect.gen(function*() {
        const exit = yield* Effect.exit(
          Effect.scoped(Effect.gen(function*() {
            const { client } = yield* Effect.provideService(connected, RSocket.CloseTimeout, "1 second")
            yield* RSocketMapping.make(client, { length: 16 })
          })).pipe(Faults.inject([{ call: "riounmap", nth: 1, errno: "EBUSY" }]))
        )
        assert(Exit.isFailure(exit))
        assert.match(Cause.pretty(exit.cause), /riounmap/)
        const fabric = yield* Fabric.Fabric
        const calls = (yield* fabric.calls).map(({ call }) => call)
        assert.strictEqual(calls.filter((call) => call === "riounmap").length, 0)
        // The listener and the accepted one alone.
        assert.strictEqual(calls.filter((call) => call === "rclose").length, 2)
      }).pipe(withClock)
    ))

  it.effect("a connection that cannot be set to what is needed is closed at once", () =>
    fresh(Effect.gen(function*() {
      const error = yield* Effect.flip(Effect.scoped(RSocket.make())).pipe(
        Faults.inject([{ call: "rsocket", nth: 1, errno: "EMFILE" }])
      )
      assert.strictEqual(error._tag === "RdmaCmError" && error.reason._tag, "EMFILE")
    })))

  it.effect("an address that nobody answers for: ETIMEDOUT after 127 seconds", () =>
    fresh(Effect.scoped(Effect.gen(function*() {
      const socket = yield* RSocket.make()
      const connecting = yield* Effect.forkChild(RSocket.connect(socket, "10.0.0.77:1"), { startImmediately: true })
      yield* TestClock.adjust("126 seconds")
      assert.isUndefined(connecting.pollUnsafe())
      yield* TestClock.adjust("1 second")
      const error = yield* Effect.flip(Fiber.join(connecting))
      assert.strictEqual(error._tag === "RdmaCmError" && error.reason._tag, "ETIMEDOUT")
    }))))

  it.effect("a device that is unplugged breaks its connections: EIO for both directions", () =>
    fresh(
      Effect.scoped(Effect.gen(function*() {
        const { client } = yield* connected
        const reading = yield* Effect.forkChild(RSocket.read(client), { startImmediately: true })
        const fabric = yield* Fabric.Fabric
        yield* fabric.unplug("host-a", "rxe0")
        const error = yield* Effect.flip(Fiber.join(reading))
        assert.strictEqual(error._tag === "RdmaCmError" && error.reason._tag, "EIO")
        const write = yield* Effect.flip(RSocket.write(client, bytes("?")))
        assert.strictEqual(write.reason._tag, "EIO")
      })).pipe(withClock)
    ))

  it.effect("bytes take the time of the links, and the end comes behind them", () =>
    fresh(
      Effect.scoped(Effect.gen(function*() {
        const { client, server } = yield* withClock(connected)
        const fabric = yield* Fabric.Fabric
        // 1000 bytes in a millisecond.
        yield* fabric.disturb("host-b rxe0", 1, { latency: "5 millis", bandwidth: 0.008 })
        const start = yield* Clock.currentTimeMillis
        yield* RSocket.write(client, new Uint8Array(2000))
        yield* RSocket.shutdown(client, "send")
        const reading = yield* Effect.forkChild(
          Effect.flatMap(Stream.runCollect(RSocket.stream(server)), (all) =>
            Effect.map(Clock.currentTimeMillis, (now) => [all.length, all[0]?.length, now - start])),
          { startImmediately: true }
        )
        yield* TestClock.setTime(start + 6.999)
        assert.isUndefined(reading.pollUnsafe())
        yield* TestClock.setTime(start + 7)
        assert.deepStrictEqual(yield* Fiber.join(reading), [1, 2000, 7])
      }))
    ))

  it.effect("what a link loses is sent again, and all comes once and in its order", () =>
    fresh(
      Effect.scoped(Effect.gen(function*() {
        const { client, server } = yield* withClock(connected)
        const memory = yield* RSocketMapping.make(client, { length: 4 })
        // The other side hears of it with what is sent next.
        yield* RSocket.write(client, bytes("?"))
        yield* RSocket.read(server)
        const fabric = yield* Fabric.Fabric
        let [passed, lost] = [0, 0]
        yield* fabric.disturb("host-a rxe0", 1, { drops: () => ++passed % 3 === 0 && ++lost > 0 })
        for (let number = 0; number < 20; number++) yield* RSocket.write(server, Uint8Array.of(number))
        yield* RSocketMapping.write(server, memory.remote, bytes("last"))
        yield* RSocket.shutdown(server, "send")
        const reading = yield* Effect.forkChild(Stream.runCollect(RSocket.stream(client)), { startImmediately: true })
        yield* TestClock.adjust("2 seconds")
        assert.isUndefined(reading.pollUnsafe())
        yield* TestClock.adjust("10 seconds")
        const all = (yield* Fiber.join(reading)).flatMap((piece) => Array.from(piece))
        assert.deepStrictEqual(all, Array.from({ length: 20 }, (_, number) => number))
        assert.strictEqual(new TextDecoder().decode(memory.bytes), "last")
        assert.deepStrictEqual([passed - lost, lost], [22, 10])
      }))
    ))

  it.effect("what is on its way when the link is cut does not arrive before it heals, and a device that is gone gets nothing", () =>
    fresh(
      Effect.scoped(Effect.gen(function*() {
        const { client, server } = yield* withClock(connected)
        const fabric = yield* Fabric.Fabric
        yield* fabric.disturb("host-b rxe0", 1, { latency: "5 millis" })
        const reading = yield* Effect.forkChild(RSocket.read(server), { startImmediately: true })
        yield* RSocket.write(client, bytes("?"))
        yield* TestClock.adjust("1 millis")
        yield* fabric.setLink("host-b", "rxe0", 1, "down")
        yield* TestClock.adjust("1 second")
        yield* fabric.setLink("host-b", "rxe0", 1, "up")
        yield* TestClock.adjust("1 second")
        assert.isUndefined(reading.pollUnsafe())
        yield* TestClock.adjust("200 millis")
        assert.strictEqual((yield* Fiber.join(reading))?.length, 1)
        yield* RSocket.write(client, bytes("?"))
        yield* fabric.unplug("host-b", "rxe0")
        yield* TestClock.adjust("5 millis")
        const error = yield* Effect.flip(RSocket.read(server))
        assert.strictEqual(error._tag === "RdmaCmError" && error.reason._tag, "EIO")
      }))
    ))

  it.effect("a link that is cut for long breaks the connection: EIO; one that heals in time does not", () =>
    fresh(
      Effect.scoped(Effect.gen(function*() {
        const { client, server } = yield* withClock(connected)
        const fabric = yield* Fabric.Fabric
        yield* fabric.setLink("host-b", "rxe0", 1, "down")
        yield* RSocket.write(client, bytes("?"))
        yield* TestClock.adjust("10 seconds")
        yield* fabric.setLink("host-b", "rxe0", 1, "up")
        yield* TestClock.adjust("3 seconds")
        assert.strictEqual((yield* RSocket.read(server))?.length, 1)
        yield* fabric.setLink("host-b", "rxe0", 1, "down")
        yield* RSocket.write(client, bytes("?"))
        yield* TestClock.adjust("17 seconds")
        const reading = yield* Effect.forkChild(Effect.flip(RSocket.read(client)), { startImmediately: true })
        yield* TestClock.adjust("177 millis")
        assert.isUndefined(reading.pollUnsafe())
        yield* TestClock.adjust("5 millis")
        const error = yield* Fiber.join(reading)
        assert.strictEqual(error._tag === "RdmaCmError" && error.reason._tag, "EIO")
      }))
    ))

  it.effect("without RDMA: RdmaUnavailable; without devices: ENODEV", () =>
    Effect.gen(function*() {
      const failing = Effect.flip(Effect.scoped(RSocket.make()))
      const bare = yield* Effect.provide(failing, Fabric.layerFrom({ hosts: [{ name: "bare", rdma: false }] }))
      const empty = yield* Effect.provide(failing, Fabric.layerFrom({ hosts: [{ name: "empty" }] }))
      assert.strictEqual(bare._tag === "RdmaCmError" && bare.reason._tag, "RdmaUnavailable")
      assert.strictEqual(empty._tag === "RdmaCmError" && empty.reason._tag, "ENODEV")
    }))

  it.effect("what would end or freeze a process in C is a misuse", () =>
    fresh(Effect.gen(function*() {
      const cm = yield* RdmaCm
      const socket = yield* cm.rsocket("ipv4")
      yield* assertMisuse(cm.rsend(socket, bytes("?")), "rsend", /would end the process: the rsocket is open/)
      yield* assertMisuse(cm.rrecv(socket, bytes("?")), "rrecv", /would end the process/)
      yield* assertMisuse(cm.riowrite(socket, bytes("?"), 0n), "riowrite", /would end the process/)
      yield* assertRefused(cm.raccept(socket), "raccept", "EBADF")
      yield* cm.rclose(socket)
      yield* assertMisuse(cm.rclose(socket), "rclose", /was a RSocket until rclose/)
      const poll = yield* cm.repollCreate
      const other = yield* cm.rsocket("ipv4")
      yield* cm.repollCtl(poll, "add", other, ["readable"])
      yield* assertRefused(cm.rclose(poll), "rclose", "EBUSY")
      yield* cm.repollCtl(poll, "delete", other, [])
      yield* assertRefused(cm.repollCtl(poll, "delete", other, []), "repoll_ctl", "ENOENT")
      yield* cm.rclose(poll)
      yield* cm.rclose(other)
    })))
})
