import { Explorer, Fabric } from "@effect-rdma/testkit"
import { CompletionQueue, DeviceContext, MemoryRegion, ProtectionDomain, QueuePair } from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema, Scope } from "effect"

const options = { layer: Fabric.layer }

/** A queue pair with what it needs. */
const side = Effect.gen(function*() {
  const context = yield* DeviceContext.openByName("rxe0")
  const domain = yield* ProtectionDomain.alloc(context)
  const queue = yield* CompletionQueue.make(context, { cqe: 8 })
  const pair = yield* QueuePair.make(domain, { qpType: "rc", sendCq: queue, recvCq: queue })
  const region = yield* MemoryRegion.alloc(domain, { length: 4096, access: ["localWrite"] })
  const local = yield* QueuePair.endpoint(pair, { portNum: 1, gidIndex: 1 })
  return { pair, region, local }
})

/** Two hosts connect, one message goes over, and both close. */
const connectSendClose = Effect.gen(function*() {
  const a = yield* side
  const b = yield* Effect.provide(side, Fabric.host("host-b"))
  yield* QueuePair.connect(a.pair, a.local, b.local)
  yield* QueuePair.connect(b.pair, b.local, a.local)
  a.region.bytes.fill(7)
  yield* Effect.all([
    QueuePair.recv(b.pair, { sgList: [{ region: b.region }] }),
    QueuePair.send(a.pair, { sgList: [{ region: a.region }] })
  ], { concurrency: 2 })
  assert.strictEqual(b.region.bytes[4095], 7)
})

describe("Explorer", () => {
  it.effect("finds nothing in a program that connects, sends and closes", () =>
    Effect.gen(function*() {
      const { calls, finding, runs, steps } = yield* Explorer.check(connectSendClose, { ...options, pairs: true })
      assert.isUndefined(finding)
      assert.isAtLeast(calls, 40)
      assert.isAtLeast(steps, 400)
      assert.isAtLeast(runs, 900)
    }), 300_000)

  it.effect("is the same each time", () =>
    Effect.gen(function*() {
      const once = yield* Explorer.explore(connectSendClose, { ...options, runs: 50 })
      assert.deepStrictEqual(yield* Explorer.explore(connectSendClose, { ...options, runs: 50 }), once)
    }))

  it.effect("a hundred orders of the fibers of one program give one result", () =>
    Effect.gen(function*() {
      for (let seed = 1; seed <= 100; seed++) {
        assert.isUndefined(yield* Explorer.replay(connectSendClose, options, { faults: [], seed }))
      }
    }), 60_000)

  it.effect("tells of what it found with a plan that shows it again, printed and read", () =>
    Effect.gen(function*() {
      const swallowing = Effect.ignore(side)
      const error = yield* Effect.flip(Explorer.check(swallowing, options))
      const plan = JSON.parse(error.message.slice(error.message.indexOf("plan: ") + 6))
      assert.deepStrictEqual(plan, { faults: [{ call: "ibv_get_device_list", nth: 1, errno: "ENOMEM" }] })
      assert.include(error.message, "lost error in run 22: ibv_get_device_list failed, and the program succeeded")
      const again = yield* Explorer.replay(swallowing, options, plan)
      assert.strictEqual(again?.kind, "lost error")
      assert.isUndefined(yield* Explorer.replay(side, options, plan))
    }))

  it.effect("shrinks a program that is made of values", () =>
    Effect.gen(function*() {
      const steps = Arbitrary.array(Arbitrary.schema(Schema.Literals(["open", "leak", "query"])), { maxLength: 12 })
      const perform = Effect.fnUntraced(function*(names: ReadonlyArray<"open" | "leak" | "query">) {
        const longer = yield* Scope.make()
        for (const name of names) {
          const context = DeviceContext.openByName("rxe0")
          if (name === "open") yield* context
          if (name === "leak") yield* Scope.provide(context, longer)
          if (name === "query") yield* Effect.flatMap(context, DeviceContext.query)
        }
      })
      const result = yield* Arbitrary.checkEffect(
        steps,
        (names) => Effect.as(Explorer.check(perform(names), { ...options, runs: 10 }), true),
        { seed: 1 }
      )
      assert.deepStrictEqual(result._tag === "Falsified" && result.shrunkInput, ["leak"])
    }), 300_000)

  it.effect("passes what the program may let fail", () =>
    Effect.gen(function*() {
      const guessing = Effect.flatMap(
        DeviceContext.openByName("rxe0"),
        (context) => Effect.orElseSucceed(Effect.asSome(DeviceContext.query(context)), () => undefined)
      )
      assert.strictEqual((yield* Explorer.explore(guessing, options)).finding?.kind, "lost error")
      yield* Explorer.check(guessing, { ...options, mayFail: ["ibv_query_device"] })
    }))

  it.effect("waits for a promise, and not for ever", () =>
    Effect.gen(function*() {
      yield* Explorer.check(Effect.promise(() => new Promise((resolve) => setImmediate(resolve))), options)
      const { finding } = yield* Explorer.explore(Effect.promise(() => new Promise(() => {})), options)
      assert.strictEqual(finding?.kind, "hang")
    }))

  it.effect("a day of waiting takes no time", () => Explorer.check(Effect.sleep("1 day"), options))
})
