import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as RSocketOption from "../src/RSocketOption.ts"

const decode = Schema.decodeUnknownEffect(RSocketOption.RSocketOption)

describe("RSocketOption", () => {
  it.effect("takes what C keeps without cutting it down, and nothing else", () =>
    Effect.gen(function*() {
      for (
        const option of [
          { _tag: "Mappings", value: 0x7fff },
          { _tag: "Inline", value: 0 },
          { _tag: "SendQueue", value: 16 },
          { _tag: "ReceiveBuffer", value: 2048 },
          { _tag: "KeepIdle", value: 1 },
          { _tag: "Ipv6Only", value: true }
        ]
      ) assert.deepStrictEqual<object>(yield* decode(option), option)
      for (
        const option of [
          { _tag: "Mappings", value: 0x8000 },
          { _tag: "SendQueue", value: 15 },
          { _tag: "ReceiveBuffer", value: 2047 },
          { _tag: "ReceiveBuffer", value: 2 ** 30 },
          { _tag: "KeepIdle", value: 0 },
          { _tag: "KeepAlive", value: 1 },
          { _tag: "Error", value: 1 }
        ]
      ) yield* Effect.flip(decode(option))
    }))

  it("flags are booleans, the others numbers", () => {
    assert.strictEqual(RSocketOption.fromNative("KeepAlive", 1), true)
    assert.strictEqual(RSocketOption.fromNative("NoDelay", 0), false)
    assert.strictEqual(RSocketOption.fromNative("Mappings", 1), 1)
    assert.strictEqual(RSocketOption.fromNative("Error", 104), 104)
  })
})
