/** The threads of an old librdmacm: what it takes that none of their tables grows while it is in use. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Threads from "../src/internal/ffi/rsocketThreads.ts"
import type { RdmaCmError } from "../src/RdmaCmError.ts"

/** One thread as rdma-core 44 has it. */
class OldThread {
  private size = 0
  private count = 0
  enter() {
    if (this.count === 0) this.size += 4
    if (this.count >= this.size - 1) throw new Error("the table grew while it was in use")
    this.count++
  }
  leave() {
    this.count--
  }
}

const make = (isWrong: boolean) => {
  const old = { listening: new OldThread(), connecting: new OldThread() }
  let visits = 0
  const threads = Threads.make(() => isWrong, (name) =>
    Effect.sync(() => {
      visits++
      old[name].enter()
      old[name].leave()
      return "entered"
    }))
  const enter = (number: number, name: Threads.Name = "connecting") =>
    threads.entering(name, "rconnect", Effect.sync(() => old[name].enter()), () => number)
  const leave = (number: number, name: Threads.Name = "connecting") =>
    threads.leaving(number, Effect.sync(() => old[name].leave()))
  return { threads, enter, leave, visits: () => visits }
}

/** Has rsockets enter until one is refused, and gives how many are in. */
const fill = (enter: (number: number) => Effect.Effect<void, RdmaCmError>) =>
  Effect.gen(function*() {
    for (let number = 0; number < 1000; number++) {
      const exit = yield* Effect.result(enter(number))
      if (exit._tag === "Success") continue
      assert.deepStrictEqual([exit.failure.call, exit.failure.reason._tag], ["rconnect", "ENOSPC"])
      return number
    }
    return assert.fail("no end")
  })

/** A line of what is mapped into a process. */
const of = (file: string) => `7f0 r-xp 0 08:01 1 /usr/lib/x86_64-linux-gnu/${file}\n`

describe("threads of rsockets", () => {
  it.effect("have room for many once they were started often enough, and refuse more with ENOSPC", () =>
    Effect.gen(function*() {
      const { enter, leave, threads, visits } = make(true)
      yield* Effect.all([threads.prepare, threads.prepare], { concurrency: "unbounded" })
      assert.strictEqual(visits(), 40)
      const most = yield* fill(enter)
      assert.strictEqual(most, 131)
      yield* leave(5)
      yield* enter(1000)
      yield* Effect.flip(enter(1001))
      assert.strictEqual(yield* fill((number) => enter(2000 + number, "listening")), 35)
    }))

  it.effect("have room for three when none could be started before", () =>
    Effect.gen(function*() {
      const threads = Threads.make(() => true, () => Effect.succeed("failed"))
      yield* threads.prepare
      assert.strictEqual(
        yield* fill((number) => threads.entering("connecting", "rconnect", Effect.void, () => number)),
        3
      )
    }))

  it.effect("are started anew as often as it takes, but not while they are used", () =>
    Effect.gen(function*() {
      const visits = { failed: 0, missed: 0, entered: 0 }
      let next: Threads.Visit = "failed"
      const threads = Threads.make(() => true, () =>
        Effect.sync(() => {
          visits[next]++
          return next
        }))
      const enter = (number: number) => threads.entering("connecting", "rconnect", Effect.void, () => number)
      yield* threads.prepare
      assert.deepStrictEqual(visits, { failed: 2, missed: 0, entered: 0 })
      next = "missed"
      yield* enter(1)
      yield* threads.prepare
      yield* threads.leaving(1, Effect.void)
      assert.strictEqual(visits.missed, 0)
      yield* threads.prepare
      assert.strictEqual(visits.missed, 16 + 256)
      next = "entered"
      yield* Effect.andThen(threads.prepare, threads.prepare)
      assert.strictEqual(visits.entered, 40)
    }))

  it.effect("count one that is on its way out until it is out, also when its number is used anew", () =>
    Effect.gen(function*() {
      const threads = Threads.make(() => true, () => Effect.succeed("failed"))
      const enter = (number: number) => threads.entering("connecting", "rconnect", Effect.void, () => number)
      yield* Effect.forEach([1, 2, 3], enter)
      yield* threads.leaving(
        1,
        Effect.map(Effect.result(enter(1)), (result) => {
          assert(result._tag === "Failure")
          assert.strictEqual(result.failure.reason._tag, "ENOSPC")
        })
      )
      yield* enter(1)
    }))

  it.effect("are left alone where librdmacm is right", () =>
    Effect.gen(function*() {
      const { enter, threads, visits } = make(false)
      yield* threads.prepare
      assert.strictEqual(visits(), 0)
      yield* Effect.forEach([1, 2, 3], (number) => enter(number))
    }))

  it("are those of a release before 53", () => {
    assert.isTrue(Threads.growsWrongly(of("libibverbs.so.1.14.44.0") + of("librdmacm.so.1.3.44.0")))
    assert.isTrue(Threads.growsWrongly(of("librdmacm.so.1.3.52.0")))
    assert.isFalse(Threads.growsWrongly(of("librdmacm.so.1.3.53.0")))
    assert.isFalse(Threads.growsWrongly(of("librdmacm.so.1.4.65.0") + of("libibumad.so.3.2.44.0")))
  })
})
