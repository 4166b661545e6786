import * as RemoteMemory from "@effect-rdma/rdmacm/RemoteMemory"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

describe("RemoteMemory", () => {
  it.effect.prop(
    "is the same after the way through a message",
    [RemoteMemory.RemoteMemory],
    ([memory]) =>
      Effect.map(
        RemoteMemory.fromBytes(RemoteMemory.toBytes(memory)),
        (read) => assert.deepStrictEqual(read, memory)
      )
  )

  it("is address, length and key in network byte order", () => {
    const bytes = RemoteMemory.toBytes({ address: 0x0102_0304_0506_0708n, length: 0x1000, rkey: 0xdead_beef })
    assert.strictEqual(Buffer.from(bytes).toString("hex"), "01020304050607080000000000001000deadbeef")
  })

  it.effect("other bytes are refused: of another length, or with a length that no memory has", () =>
    Effect.gen(function*() {
      const bytes = [new Uint8Array(), new Uint8Array(19), new Uint8Array(21), new Uint8Array(20).fill(0xff)]
      for (const message of bytes) {
        assert.strictEqual((yield* Effect.flip(RemoteMemory.fromBytes(message)))._tag, "SchemaError")
      }
    }))
})
