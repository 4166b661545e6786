import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as RequestQueue from "../src/internal/requestQueue.ts"

/** What a queue counts. */
const counts = ({ inFlight, signaled }: RequestQueue.RequestQueue) => ({ inFlight, signaled })

const begin = (queue: RequestQueue.RequestQueue, wrId: bigint, isSignaled = true): bigint =>
  RequestQueue.begin(queue, wrId, isSignaled)

/** The `wrId` that a completion brings back. */
const ended = (number: bigint): RequestQueue.UnderWay | undefined => RequestQueue.end(number)?.underWay

describe("a queue of requests", () => {
  for (const isOrdered of [true, false]) {
    describe(isOrdered ? "in order" : "shared", () => {
      it("has room for its capacity, and gives each request a number of its own", () => {
        const queue = RequestQueue.make(3, isOrdered)
        assert.isTrue(RequestQueue.hasRoom(queue, 3))
        assert.isFalse(RequestQueue.hasRoom(queue, 4))
        const numbers = [begin(queue, 1n), begin(queue, 1n, false), begin(queue, 1n)]
        assert.strictEqual(new Set(numbers).size, 3)
        assert.deepStrictEqual(counts(queue), { inFlight: 3, signaled: 2 })
        assert.isTrue(RequestQueue.hasRoom(queue, 0))
        assert.isFalse(RequestQueue.hasRoom(queue, 1))
      })

      it("has no more places than numbers, also when it is resized", () => {
        const most = 2 ** 24
        const queue = RequestQueue.make(most + 1, isOrdered)
        const ofMost = [RequestQueue.hasRoom(queue, most), RequestQueue.hasRoom(queue, most + 1)]
        assert.deepStrictEqual(ofMost, [true, false])
        RequestQueue.resize(queue, 2)
        assert.deepStrictEqual([RequestQueue.hasRoom(queue, 2), RequestQueue.hasRoom(queue, 3)], [true, false])
        RequestQueue.resize(queue, most + 1)
        assert.deepStrictEqual([RequestQueue.hasRoom(queue, most), RequestQueue.hasRoom(queue, most + 1)], ofMost)
      })

      it("brings back what each request was given, time and again", () => {
        const queue = RequestQueue.make(3, isOrdered)
        for (let round = 0n; round < 10n; round++) {
          const [first, second] = [begin(queue, round), begin(queue, 100n + round)]
          assert.deepStrictEqual(RequestQueue.end(first), { queue, underWay: round })
          assert.strictEqual(ended(second), 100n + round)
          assert.deepStrictEqual(counts(queue), { inFlight: 0, signaled: 0 })
        }
      })

      it("a completion that comes twice is nobody's", () => {
        const queue = RequestQueue.make(3, isOrdered)
        const number = begin(queue, 1n)
        assert.strictEqual(ended(number), 1n)
        assert.isUndefined(RequestQueue.end(number))
        assert.deepStrictEqual(counts(queue), { inFlight: 0, signaled: 0 })
        assert.isFalse(RequestQueue.isForeign(number))
      })

      it("takes back the last ones, which were not posted", () => {
        const queue = RequestQueue.make(4, isOrdered)
        const numbers = [1n, 2n, 3n, 4n].map((wrId) => begin(queue, wrId, wrId % 2n === 0n))
        for (const number of numbers.slice(2).toReversed()) RequestQueue.undo(queue, number)
        assert.deepStrictEqual(counts(queue), { inFlight: 2, signaled: 1 })
        for (const number of numbers.slice(2)) assert.isUndefined(RequestQueue.end(number))
        const [third, fourth] = [begin(queue, 5n), begin(queue, 6n)]
        assert.isFalse(RequestQueue.hasRoom(queue, 1))
        const order = [...numbers.slice(0, 2), third, fourth]
        assert.deepStrictEqual(order.map(ended), [1n, 2n, 5n, 6n])
      })

      it("completions of what was dropped are nobody's, also when all places are taken again", () => {
        const queue = RequestQueue.make(2, isOrdered)
        const told: Array<unknown> = []
        const awaited: RequestQueue.Awaited = { wrId: 1n, ended: (completion) => told.push(completion) }
        const numbers = [RequestQueue.begin(queue, awaited, true), begin(queue, 2n, false)]
        RequestQueue.drop(queue)
        assert.deepStrictEqual(told, [undefined])
        assert.deepStrictEqual(counts(queue), { inFlight: 0, signaled: 0 })
        const again = [begin(queue, 3n), begin(queue, 4n)]
        for (const number of numbers) {
          assert.isUndefined(RequestQueue.end(number))
          assert.isFalse(RequestQueue.isForeign(number))
        }
        assert.deepStrictEqual(again.map(ended), [3n, 4n])
      })

      it("is no more once it is closed", () => {
        const queue = RequestQueue.make(2, isOrdered)
        const other = RequestQueue.make(2, isOrdered)
        const [number, others] = [begin(queue, 1n), begin(other, 2n)]
        RequestQueue.close(queue)
        assert.isFalse(RequestQueue.hasRoom(queue, 1))
        assert.isUndefined(RequestQueue.end(number))
        assert.isFalse(RequestQueue.isForeign(number))
        assert.deepStrictEqual(RequestQueue.end(others), { queue: other, underWay: 2n })
      })

      it("promises as many places as there are, to the first ones first, and tells all when nothing more will come", () => {
        const queue = RequestQueue.make(2, isOrdered)
        const told: Array<string> = []
        for (const name of ["first", "second", "third", "fourth"]) queue.waiting.add(() => told.push(name))
        const [number] = [begin(queue, 1n), begin(queue, 2n)]
        RequestQueue.tellWaiting(queue)
        assert.deepStrictEqual(told, [])
        RequestQueue.end(number)
        RequestQueue.tellWaiting(queue)
        RequestQueue.tellWaiting(queue)
        assert.deepStrictEqual(told.splice(0), ["first"])
        assert.isFalse(RequestQueue.hasRoom(queue, 1))
        RequestQueue.drop(queue)
        assert.deepStrictEqual(told.splice(0), ["second"])
        RequestQueue.close(queue)
        assert.deepStrictEqual(told, ["third", "fourth"])
      })

      it("numbers that were never given are foreign: those of who posts through the seam", () => {
        const queue = RequestQueue.make(1, isOrdered)
        const number = begin(queue, 1n)
        for (const foreign of [0n, 1n, 2n ** 24n - 1n, 2n ** 53n, 0xfedc_ba98_7654_3210n, 2n ** 64n - 1n]) {
          assert.isUndefined(RequestQueue.end(foreign))
          assert.isTrue(RequestQueue.isForeign(foreign), String(foreign))
        }
        assert.isFalse(RequestQueue.isForeign(number))
        // A place of the queue that nobody has taken yet.
        assert.isUndefined(RequestQueue.end(number + 1n))
      })
    })
  }

  it("in order, a completion frees all that were posted before it", () => {
    const queue = RequestQueue.make(4, true)
    for (let round = 0; round < 5; round++) {
      const numbers = [1n, 2n, 3n].map((wrId) => begin(queue, wrId, wrId === 3n))
      const behind = begin(queue, 4n, false)
      assert.deepStrictEqual(counts(queue), { inFlight: 4, signaled: 1 })
      assert.strictEqual(ended(numbers[2]!), 3n)
      assert.deepStrictEqual(counts(queue), { inFlight: 1, signaled: 0 })
      for (const number of numbers) assert.isUndefined(RequestQueue.end(number))
      assert.strictEqual(ended(behind), 4n)
    }
  })

  it("in order, one that was passed over waits for its own completion, and keeps its place until then", () => {
    const queue = RequestQueue.make(3, true)
    const late = begin(queue, 1n)
    for (let wrId = 2n; wrId < 20n; wrId++) {
      const [silent, next] = [begin(queue, 0n, false), begin(queue, wrId)]
      assert.isFalse(RequestQueue.hasRoom(queue, 1))
      assert.strictEqual(ended(next), wrId)
      assert.isUndefined(RequestQueue.end(silent))
      assert.deepStrictEqual(counts(queue), { inFlight: 1, signaled: 1 })
    }
    assert.strictEqual(ended(late), 1n)
    assert.deepStrictEqual(counts(queue), { inFlight: 0, signaled: 0 })
    const numbers = [1n, 2n, 3n].map((wrId) => begin(queue, wrId))
    assert.deepStrictEqual(numbers.map(ended), [1n, 2n, 3n])
  })

  for (const isOrdered of [true, false]) {
    it(`a completion that comes again is nobody's when its place was taken again, ${isOrdered ? "in order" : "shared"}`, () => {
      const queue = RequestQueue.make(1, isOrdered)
      const first = begin(queue, 0n)
      assert.strictEqual(ended(first), 0n)
      for (let wrId = 1n; wrId < 256n; wrId++) {
        const number = begin(queue, wrId)
        assert.isUndefined(RequestQueue.end(first))
        assert.strictEqual(ended(number), wrId)
      }
    })
  }

  it("shared, each completion frees its own place", () => {
    const queue = RequestQueue.make(3, false)
    const [first, second, third] = [begin(queue, 1n), begin(queue, 2n), begin(queue, 3n)]
    assert.strictEqual(ended(second), 2n)
    assert.isTrue(RequestQueue.hasRoom(queue, 1))
    const again = begin(queue, 4n)
    assert.isFalse(RequestQueue.hasRoom(queue, 1))
    assert.deepStrictEqual([third, again, first].map(ended), [3n, 4n, 1n])
  })

  it("shared, it can be made larger", () => {
    const queue = RequestQueue.make(1, false)
    const first = begin(queue, 1n)
    queue.capacity = 2
    assert.isTrue(RequestQueue.hasRoom(queue, 1))
    assert.deepStrictEqual([begin(queue, 2n), first].map(ended), [2n, 1n])
  })

  // ---------------------------------------------------------------------------
  // Against a list
  // ---------------------------------------------------------------------------

  const Step = Schema.Union([
    Schema.Struct({ _tag: Schema.Literal("begin"), isSignaled: Schema.Boolean }),
    /** Begins so many and takes them back, as a post does that was refused. */
    Schema.Struct({ _tag: Schema.Literal("refused"), count: Schema.Literals([1, 2, 3]) }),
    Schema.Struct({ _tag: Schema.Literal("end"), pick: Schema.Literals([0, 0, 1, 2, 5]) }),
    Schema.Struct({ _tag: Schema.Literal("stale"), pick: Schema.Literals([0, 1, 2]) }),
    Schema.Struct({ _tag: Schema.Literals(["drop", "begin3"]) })
  ])

  it.prop("is a list of what is under way", {
    capacity: Schema.Literals([1, 2, 3, 5, 8]),
    isOrdered: Schema.Boolean,
    steps: Arbitrary.array(Arbitrary.schema(Step), { maxLength: 60 })
  }, ({ capacity, isOrdered, steps }) => {
    const queue = RequestQueue.make(capacity, isOrdered)
    let list: Array<{ readonly number: bigint; readonly wrId: bigint; readonly isSignaled: boolean }> = []
    const given = new Set<bigint>()
    const dropped = new Set<bigint>()
    let lastWrId = 0n
    const add = (isSignaled: boolean): void => {
      if (!RequestQueue.hasRoom(queue, 1)) return
      const wrId = ++lastWrId
      const number = RequestQueue.begin(queue, wrId, isSignaled)
      assert.notInclude(list.map((one) => one.number), number)
      assert.isFalse(dropped.has(number))
      given.add(number)
      list.push({ number, wrId, isSignaled })
    }
    for (const step of steps) {
      switch (step._tag) {
        case "begin":
          add(step.isSignaled)
          break
        case "begin3":
          for (const isSignaled of [false, false, true]) add(isSignaled)
          break
        case "refused": {
          const before = list.length
          for (let index = 0; index < step.count; index++) add(index % 2 === 0)
          for (const { number } of list.splice(before).toReversed()) RequestQueue.undo(queue, number)
          break
        }
        case "end": {
          const one = list[step.pick]
          if (one === undefined) break
          assert.deepStrictEqual(RequestQueue.end(one.number), { queue, underWay: one.wrId })
          list = list.filter((other, index) => other !== one && (!isOrdered || other.isSignaled || index > step.pick))
          break
        }
        case "stale": {
          const stale = Array.from(given).filter((number) => list.every((one) => one.number !== number))
          const number = stale.at(-1 - step.pick)
          if (number !== undefined) assert.isUndefined(RequestQueue.end(number))
          break
        }
        case "drop":
          for (const { number } of list) dropped.add(number)
          list = []
          RequestQueue.drop(queue)
      }
      assert.deepStrictEqual(counts(queue), {
        inFlight: list.length,
        signaled: list.filter(({ isSignaled }) => isSignaled).length
      })
      assert.isTrue(RequestQueue.hasRoom(queue, capacity - list.length))
      assert.isFalse(RequestQueue.hasRoom(queue, capacity - list.length + 1))
    }
    RequestQueue.close(queue)
    for (const { number } of list) assert.isUndefined(RequestQueue.end(number))
  }, { arbitrary: { runs: 500 } })
})
