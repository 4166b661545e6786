import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as koffi from "koffi"
import * as ReturnConvention from "../src/ReturnConvention.ts"

const failing = <A>(errno: number, result: A) => () => {
  koffi.errno(errno)
  return result
}

const both = (errno: number, variable: number) => ({ errno, variable })
const onError = (errno: number) => ({ errno })

describe("ReturnConvention", () => {
  it.effect("pointerOrErrno", () =>
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

  it.effect("returnedErrno", () =>
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

  it.effect("minusOneErrno", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* ReturnConvention.minusOneErrno(failing(12, 3), onError), 3)
      assert.deepStrictEqual(yield* Effect.flip(ReturnConvention.minusOneErrno(failing(11, -1), onError)), {
        errno: 11
      })
      koffi.errno(99)
      assert.deepStrictEqual(yield* Effect.flip(ReturnConvention.minusOneErrno(() => -1, onError)), { errno: 0 })
    }))

  it.effect("negativeErrno", () =>
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
})
