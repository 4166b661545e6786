import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as koffi from "koffi"
import { stat } from "node:fs/promises"
import * as Library from "../src/Library.ts"
import * as ReturnConvention from "../src/ReturnConvention.ts"

const failing = <A>(errno: number, result: A) => () => {
  koffi.errno(errno)
  return result
}

const libcOptions: Library.Options = {
  name: "libc",
  soname: ["libc.so.6", "libc.musl-x86_64.so.1"],
  environment: "EFFECT_RDMA_TEST_LIBC",
  debianPackage: "libc6"
}

const both = (errno: number, variable: number) => ({ errno, variable })
const onError = (errno: number) => ({ errno })

describe("ReturnConvention", () => {
  it.effect("NULL is a failure, of an unknown cause when errno says nothing or what it said before", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* ReturnConvention.pointerOrErrno(() => 16n, onError), 16n)
      assert.deepStrictEqual(yield* Effect.flip(ReturnConvention.pointerOrErrno(failing(12, null), onError)), {
        errno: 12
      })
      assert.deepStrictEqual(yield* Effect.flip(ReturnConvention.pointerOrErrno(failing(12, 0n), onError)), {
        errno: 12
      })
      koffi.errno(99)
      assert.deepStrictEqual(yield* Effect.flip(ReturnConvention.pointerOrErrno(() => null, onError)), { errno: 0 })
    }))

  it.effect("what is returned is the errno, whatever errno says, and of either sign", () =>
    Effect.gen(function*() {
      yield* ReturnConvention.returnedErrno(failing(12, 0), onError)
      assert.deepStrictEqual(yield* Effect.flip(ReturnConvention.returnedErrno(failing(12, 16), onError)), {
        errno: 16
      })
      assert.deepStrictEqual(yield* Effect.flip(ReturnConvention.returnedErrno(failing(12, -1), onError)), {
        errno: 12
      })
      assert.deepStrictEqual(yield* Effect.flip(ReturnConvention.returnedErrno(() => -22, onError)), { errno: 22 })
    }))

  it.effect("-1 is a failure whose cause is in errno, if anywhere", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* ReturnConvention.minusOneErrno(failing(12, 3), onError), 3)
      assert.deepStrictEqual(yield* Effect.flip(ReturnConvention.minusOneErrno(failing(11, -1), onError)), {
        errno: 11
      })
      koffi.errno(99)
      assert.deepStrictEqual(yield* Effect.flip(ReturnConvention.minusOneErrno(() => -1, onError)), { errno: 0 })
    }))

  it.effect("a negative number is an errno with its sign turned, and errno is told beside it", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* ReturnConvention.negativeErrno(failing(12, 3), both), 3)
      assert.deepStrictEqual(yield* Effect.flip(ReturnConvention.negativeErrno(failing(9, -5), both)), {
        errno: 5,
        variable: 9
      })
      koffi.errno(99)
      assert.deepStrictEqual(yield* Effect.flip(ReturnConvention.negativeErrno(() => -5, both)), {
        errno: 5,
        variable: 0
      })
    }))

  it.effect("calls nothing before it runs", () =>
    Effect.gen(function*() {
      let calls = 0
      const effect = ReturnConvention.returnedErrno(() => {
        calls++
        return 0
      }, onError)
      assert.strictEqual(calls, 0)
      yield* effect
      yield* effect
      assert.strictEqual(calls, 2)
    }))

  it.live("the errno of a call on a thread is that of its thread", () =>
    Effect.gen(function*() {
      const libc = yield* Library.open(libcOptions)
      const open = libc.bind("open", ["string", "int"], "int")
      koffi.errno(99)
      const { errno, result } = yield* ReturnConvention.onWorker<number>((done) => open.async("/nowhere", 0, done))
      assert.deepStrictEqual([result, errno], [-1, 2])
    }))

  it.live("five thousand calls on threads all end", () =>
    Effect.gen(function*() {
      const libc = yield* Library.open(libcOptions)
      const abs = libc.bind("abs", ["int"], "int")
      const results = yield* Effect.forEach(
        Array.from({ length: 5000 }, (_, index) => index),
        (index) => ReturnConvention.onWorker<number>((done) => abs.async(-index, done)),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(results.map(({ result }) => result), results.map((_, index) => index))
    }))

  it.live("calls that block threads leave one to others: a file is read before any of them ends", () =>
    Effect.gen(function*() {
      const libc = yield* Library.open(libcOptions)
      const usleep = libc.bind("usleep", ["uint"], "int")
      const order: Array<string> = []
      const sleep = Effect.tap(
        ReturnConvention.onWorker<number>((done) => usleep.async(300_000, done)),
        () => Effect.sync(() => order.push("sleep"))
      )
      const read = Effect.tap(Effect.promise(() => stat("/")), () => Effect.sync(() => order.push("stat")))
      yield* Effect.all([...Array.from({ length: 6 }, () => sleep), Effect.delay(read, "20 millis")], {
        concurrency: "unbounded"
      })
      assert.strictEqual(order[0], "stat")
    }))
})
