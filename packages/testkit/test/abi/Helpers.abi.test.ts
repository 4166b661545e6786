/**
 * The functions that libibverbs has in its header only and that are pure: the C compiler computes the same.
 */
import * as Identifier from "@effect-rdma/core/Identifier"
import * as QueuePairType from "@effect-rdma/verbs/QueuePairType"
import * as RemoteKey from "@effect-rdma/verbs/RemoteKey"
import { assert, describe, it } from "@effect/vitest"
import * as Compiler from "./Compiler.ts"
import * as Expectation from "./Expectation.ts"

/** Every bit alone, all below it, and numbers from all over the range: the same at each run. */
const samples = (bits: number): ReadonlyArray<number> => {
  const range = 2 ** bits
  const powers = Array.from({ length: bits }, (_, bit) => 2 ** bit)
  const spread = Array.from({ length: 500 }, (_, index) => Math.imul(index + 1, 0x9e37_79b1) >>> (32 - bits))
  return [
    0,
    range - 1,
    ...powers,
    ...powers.map((power) => power - 1),
    ...powers.map((power) => range - power),
    ...spread
  ]
}

describe.skipIf(Compiler.missing !== undefined)("the pure functions of the header", () => {
  it("ibv_flow_label_to_udp_sport", () => {
    assert.deepStrictEqual(
      Expectation.refuted(
        samples(20).map((label) => ({
          expression: `ibv_flow_label_to_udp_sport(${label}u)`,
          value: Identifier.udpSourcePort(Identifier.FlowLabel.make(label))
        }))
      ),
      []
    )
  })

  it("ibv_inc_rkey", () => {
    assert.deepStrictEqual(
      Expectation.refuted(
        samples(32).map((rkey) => ({
          expression: `ibv_inc_rkey(${rkey}u)`,
          value: RemoteKey.increment(rkey)
        }))
      ),
      []
    )
  })

  it("ibv_is_qpt_supported", () => {
    const cases = samples(32).flatMap((caps) => QueuePairType.all.map((type) => [caps, type] as const))
    assert.deepStrictEqual(
      Expectation.refuted(cases.map(([caps, type]) => ({
        expression: `ibv_is_qpt_supported(${caps}u, ${QueuePairType.toNative(type)})`,
        value: QueuePairType.isSupported(caps, type) ? 1 : 0
      }))),
      []
    )
  })
})
