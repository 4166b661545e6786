import * as Lid from "@effect-rdma/core/Lid"
import * as UmadAgent from "@effect-rdma/umad/UmadAgent"
import * as UmadLibrary from "@effect-rdma/umad/UmadLibrary"
import * as UmadPort from "@effect-rdma/umad/UmadPort"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { on, twoHosts } from "./subnetFiles.ts"
import { ask, directedAgent } from "./subnetWalk.ts"

/** Numbers that are the same at each run: xorshift32. */
const random = (seed: number) => {
  let state = seed
  return (limit: number): number => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % limit
  }
}

const classes = [0x01, 0x81, 0x03, 0x04]
const methods = [0x01, 0x02, 0x12, 0x15, 0x03, 0x05, 0x06, 0x07, 0x14, 0x81, 0x92]
const attributes = [
  0x01,
  0x02,
  0x03,
  0x10,
  0x11,
  0x12,
  0x14,
  0x15,
  0x16,
  0x17,
  0x18,
  0x19,
  0x1b,
  0x1d,
  0x20,
  0x30,
  0x31,
  0x35,
  0x38,
  0xff90
]

describe("noise on a subnet", () => {
  it.effect("breaks nothing: whatever a MAD has in it, the fabric goes on", () =>
    on(twoHosts)(Effect.gen(function*() {
      const next = random(0x5eed)
      const pick = <A>(values: ReadonlyArray<A>): A => values[next(values.length)]!
      const port = yield* UmadPort.open(yield* UmadLibrary.init())
      const agents = new Map<number, UmadAgent.UmadAgent>()
      for (const mgmtClass of classes) {
        agents.set(mgmtClass, yield* UmadAgent.register(port, { mgmtClass, mgmtVersion: mgmtClass === 3 ? 2 : 1 }))
      }
      for (let count = 0; count < 4000; count++) {
        const mad = Uint8Array.from(
          { length: next(4) === 0 ? 36 + next(220) : 256 },
          () => next(3) === 0 ? next(256) : 0
        )
        const mgmtClass = pick(classes)
        const version = next(20) === 0 ? next(256) : mgmtClass === 3 ? 2 : 1
        mad.set([next(50) === 0 ? next(256) : 1, mgmtClass, version, next(10) === 0 ? next(256) : pick(methods)])
        mad.set([0, next(20) === 0 ? next(256) : pick(attributes)], 16)
        if (mgmtClass === 0x81) {
          const isDirected = next(4) > 0
          mad.set([next(4) === 0 ? 0x80 : 0, 0, next(8) === 0 ? next(256) : 0, next(8) === 0 ? next(256) : next(4)], 4)
          if (isDirected && mad.length > 36) mad.set([0xff, 0xff, 0xff, 0xff], 32)
        }
        const lid = pick([1, 2, 3, 4, 0xffff, 0xffff, 0, 0xc000, next(0x10000)])
        const agent = agents.get(mgmtClass)
        assert.isDefined(agent)
        if (agent !== undefined) yield* UmadAgent.send(agent, { address: { lid: Lid.Lid.make(lid) }, mad })
      }
      const answer = yield* ask(yield* directedAgent, [], { attributeId: 0x11 })
      assert.strictEqual(answer?.status, 0)
    })))
})
