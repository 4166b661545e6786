import * as QueuePairEndpoint from "@effect-rdma/verbs/QueuePairEndpoint"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const decode = Schema.decodeUnknownEffect(QueuePairEndpoint.FromJson)
const encode = Schema.encodeEffect(QueuePairEndpoint.FromJson)

describe("QueuePairEndpoint", () => {
  it.effect.prop(
    "is the same after a way over the wire as JSON",
    [QueuePairEndpoint.QueuePairEndpoint],
    ([endpoint]) =>
      Effect.gen(function*() {
        const text = yield* encode(endpoint)
        assert.strictEqual(typeof text, "string")
        assert.deepStrictEqual(yield* decode(text), endpoint)
      }),
    { arbitrary: { runs: 200, seed: 3 } }
  )

  it.effect("is plain numbers and text", () =>
    Effect.gen(function*() {
      const endpoint = yield* decode(
        "{\"qpNum\":17,\"psn\":4,\"lid\":3,\"gid\":\"::FFFF:10.0.0.1\",\"gidIndex\":1,\"mtu\":1024}"
      )
      assert.deepStrictEqual(JSON.parse(yield* encode(endpoint)), {
        qpNum: 17,
        psn: 4,
        portNum: 1,
        lid: 3,
        gid: "::ffff:10.0.0.1",
        gidIndex: 1,
        mtu: 1024
      })
    }))

  for (
    const [path, json] of [
      ["qpNum", { qpNum: 0x1000000, psn: 0 }],
      ["psn", { qpNum: 1, psn: -1 }],
      ["gid", { qpNum: 1, psn: 0, gid: "10.0.0.1" }],
      ["mtu", { qpNum: 1, psn: 0, mtu: 1500 }],
      ["portNum", { qpNum: 1, psn: 0, portNum: 0 }]
    ] as const
  ) {
    it.effect(`a bad ${path} of a peer is told by its path`, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(decode(JSON.stringify(json)))
        assert.strictEqual(error._tag, "SchemaError")
        assert.include(error.message, `["${path}"]`)
      }))
  }
})
