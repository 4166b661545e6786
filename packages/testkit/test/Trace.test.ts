import { CmId, EventChannel } from "@effect-rdma/rdmacm"
import { Fabric, LeakCheck, Trace } from "@effect-rdma/testkit"
import { DeviceContext, ProtectionDomain, QueuePair } from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Random } from "effect"
import { readFileSync } from "node:fs"
import { messages } from "./cassettes/messages.ts"
import { side } from "./seeded/world.ts"

const twoDomains = Effect.scoped(Effect.gen(function*() {
  const context = yield* DeviceContext.openByName("rxe0")
  const first = yield* ProtectionDomain.alloc(context)
  const second = yield* ProtectionDomain.alloc(context)
  return [first.kind, second.kind]
}))

/** Records on a fabric, prints, reads. */
const cassetteOf = <A, E>(program: Effect.Effect<A, E, Fabric.Fabric | Fabric.Seams>) =>
  Effect.gen(function*() {
    const { exit, trace } = yield* Trace.record(program).pipe(Effect.provide(Fabric.layer))
    assert.isTrue(Exit.isSuccess(exit), String(exit))
    return yield* Trace.parse(Trace.print(trace))
  })

const departureOf = (exit: Exit.Exit<unknown, unknown>) => {
  const defect = Exit.isFailure(exit) && Cause.squash(exit.cause)
  return defect instanceof Trace.TraceDeparture ? defect : assert.fail(String(exit))
}

describe("Trace", () => {
  it.effect("has each call with what it was given and what came of it", () =>
    Effect.gen(function*() {
      const { trace } = yield* Trace.record(twoDomains).pipe(Effect.provide(Fabric.layer))
      assert.deepStrictEqual(trace.map(({ call }) => call), [
        "ibv_get_device_list",
        "ibv_open_device",
        "ibv_free_device_list",
        "ibv_alloc_pd",
        "ibv_alloc_pd",
        "ibv_dealloc_pd",
        "ibv_dealloc_pd",
        "ibv_close_device"
      ])
      const [, , , first, second, released] = trace
      assert.strictEqual(second?.outcome._tag === "returned" && second.outcome.value, released?.args[0])
      assert.deepStrictEqual(first?.args, second?.args)
      assert.isTrue(Trace.hasInOrder(trace, ["ibv_open_device", "ibv_alloc_pd", "ibv_close_device"]))
      assert.isFalse(Trace.hasInOrder(trace, ["ibv_close_device", "ibv_alloc_pd"]))
    }))

  it.effect("plays a printed trace back to the same program", () =>
    Effect.gen(function*() {
      const cassette = yield* cassetteOf(twoDomains)
      const kinds = yield* LeakCheck.check(twoDomains).pipe(Effect.provide(Trace.replay(cassette)))
      assert.deepStrictEqual(kinds, ["ProtectionDomain", "ProtectionDomain"])
    }))

  it.effect("a failure comes back as the error that it was", () =>
    Effect.gen(function*() {
      const noDevice = Effect.flip(Effect.scoped(DeviceContext.openByName("rxe7")))
      const { message } = yield* Effect.provide(noDevice, Fabric.layer)
      const cassette = yield* cassetteOf(noDevice)
      const error = yield* Effect.provide(noDevice, Trace.replay(cassette))
      assert.strictEqual(error.message, message)
      const unreachable = Effect.scoped(Effect.gen(function*() {
        const id = yield* CmId.make(yield* EventChannel.make(), "tcp")
        return yield* Effect.flip(CmId.resolveAddress(id, { destination: "10.9.9.9:1" }))
      }))
      const second = yield* cassetteOf(unreachable)
      const failure = yield* Effect.provide(unreachable, Trace.replay(second))
      assert.strictEqual(failure._tag === "RdmaCmError" && failure.reason._tag, "ENETUNREACH")
    }))

  it.effect("dies of a call that is not the next, with what was expected", () =>
    Effect.gen(function*() {
      const cassette = yield* cassetteOf(twoDomains)
      const other = Effect.scoped(Effect.flatMap(DeviceContext.openByName("rxe0"), DeviceContext.query))
      const departure = departureOf(yield* Effect.exit(Effect.provide(other, Trace.replay(cassette))))
      assert.strictEqual(departure.index, 3)
      assert.match(
        departure.message,
        /^call 3 of the trace is ibv_alloc_pd\(.*\), and the program made ibv_query_device/
      )
    }))

  it.effect("dies when the program ends before its calls were made", () =>
    Effect.gen(function*() {
      const cassette = yield* cassetteOf(twoDomains)
      const departure = departureOf(yield* Effect.exit(Effect.provide(Effect.void, Trace.replay(cassette))))
      assert.match(departure.message, /^call 0 of the trace is ibv_get_device_list\(\), and the program made no more/)
    }))

  it.effect("dies of the call after the last", () =>
    Effect.gen(function*() {
      const cassette = yield* cassetteOf(twoDomains)
      const thrice = Effect.andThen(twoDomains, twoDomains)
      const departure = departureOf(yield* Effect.exit(Effect.provide(thrice, Trace.replay(cassette))))
      assert.match(departure.message, /^call 8 of the trace is its end, and the program made ibv_get_device_list\(\)/)
    }))

  it.live("plays messages back, with the bytes that came, to memory that is elsewhere", () =>
    Effect.gen(function*() {
      const messages = Effect.scoped(Effect.gen(function*() {
        const a = yield* side()
        const b = yield* side()
        yield* QueuePair.connect(a.pair, a.local, b.local)
        yield* QueuePair.connect(b.pair, b.local, a.local)
        a.region.bytes.fill(9)
        yield* Effect.all([
          QueuePair.recv(b.pair, { sgList: b.sgList }),
          QueuePair.send(a.pair, { sgList: a.sgList })
        ], { concurrency: 2 })
        return Array.from(b.region.bytes.subarray(60))
      })).pipe(Random.withSeed(1))
      const { exit, trace } = yield* Trace.record(messages).pipe(Effect.provide(Fabric.layer))
      assert.deepStrictEqual(exit, Exit.succeed([9, 9, 9, 9]))
      assert.isTrue(Trace.hasInOrder(trace, ["ibv_post_recv", "ibv_post_send", "ibv_poll_cq"]))
      const played = yield* messages.pipe(Effect.provide(Trace.replay(yield* Trace.parse(Trace.print(trace)))))
      assert.deepStrictEqual(played, [9, 9, 9, 9])
    }))

  it.effect("a real kernel's answers play back where there is none", () =>
    Effect.gen(function*() {
      const cassette = yield* Trace.parse(readFileSync(`${import.meta.dirname}/cassettes/messages.json`, "utf8"))
      const played = LeakCheck.check(messages).pipe(Effect.provide(Trace.replay(cassette)))
      assert.strictEqual(yield* played, "from a real kernel")
    }))

  it.effect("refuses a text that is no trace", () =>
    Effect.gen(function*() {
      for (const text of ["", "{}", "[1]", "[{\"call\":1}]", "[{\"$\":\"nothing\"}]"]) {
        const error = yield* Effect.flip(Trace.parse(text))
        assert.strictEqual(error._tag, "SchemaError")
      }
      assert.deepStrictEqual(yield* Trace.parse("[]"), [])
    }))

  it.live("a wait that was interrupted is one that does not end by itself", () =>
    Effect.gen(function*() {
      const waiting = Effect.scoped(Effect.gen(function*() {
        const channel = yield* EventChannel.make()
        return yield* Effect.timeoutOption(EventChannel.next(channel), "1 millis")
      }))
      const { trace } = yield* Trace.record(waiting).pipe(Effect.provide(Fabric.layer))
      assert.isTrue(trace.some(({ outcome }) => outcome._tag === "interrupted"))
      yield* Effect.provide(waiting, Trace.replay(yield* Trace.parse(Trace.print(trace))))
    }), { timeout: 5000 })
})
