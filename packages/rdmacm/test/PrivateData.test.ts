import { assert, describe, it } from "@effect/vitest"
import { frame, unframe } from "../src/internal/privateData.ts"

/** As the connection manager does. */
const padded = (data: Uint8Array, length: number) => {
  const all = new Uint8Array(length)
  all.set(data)
  return all
}

describe("private data", () => {
  it("is what was given, whatever it is padded with, and nothing is nothing", () => {
    for (const data of [[], [0], [1, 2, 0, 0], Array.from({ length: 55 }, (_, index) => index)]) {
      const framed = frame(Uint8Array.from(data))
      assert.deepStrictEqual(unframe(padded(framed, 56)), Uint8Array.from(data))
    }
    assert.strictEqual(frame(new Uint8Array()).length, 0)
    assert.strictEqual(unframe(new Uint8Array()).length, 0)
  })

  it("that is not framed is given as it came", () => {
    const foreign = padded(new TextEncoder().encode("hello"), 56)
    assert.deepStrictEqual(unframe(foreign), foreign)
  })
})
