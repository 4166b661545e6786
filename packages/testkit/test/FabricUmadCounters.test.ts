import { Fabric } from "@effect-rdma/testkit"
import { ClassPortInfo } from "@effect-rdma/umad/ClassPortInfo"
import * as PerformanceManagement from "@effect-rdma/umad/PerformanceManagement"
import { PortCounters } from "@effect-rdma/umad/PortCounters"
import { PortCountersExtended } from "@effect-rdma/umad/PortCountersExtended"
import * as UmadLibrary from "@effect-rdma/umad/UmadLibrary"
import * as UmadPort from "@effect-rdma/umad/UmadPort"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { connected, request } from "./dataPath.ts"
import { at, countedMads, portSelect } from "./subnetCounters.ts"
import { on, passing, twoHosts } from "./subnetFiles.ts"
import { ask, directedAgent } from "./subnetWalk.ts"

const { get, set } = PerformanceManagement
const openPort = Effect.flatMap(UmadLibrary.init(), (library) => UmadPort.open(library))

describe("the counters of a fabric", () => {
  it.effect("count MADs at both ends of each cable, in words with their headers", () =>
    on(twoHosts)(Effect.gen(function*() {
      // The answer to the reset went out after it, then one came and went, then this question came.
      assert.deepStrictEqual(yield* countedMads, { rcvPkts: 2, rcvData: 2 * 72, xmitPkts: 2, xmitData: 2 * 72 })
    })))

  it.effect("are set to zero as far as the mask says", () =>
    on(twoHosts)(Effect.gen(function*() {
      const port = yield* openPort
      for (let count = 0; count < 5; count++) yield* get(port, at(3), PortCounters, portSelect(8))
      const before = yield* set(port, at(3), PortCounters, { ...portSelect(8), counterSelect: 1 << 15 })
      assert.strictEqual(before.portRcvPkts, 0)
      assert.isAbove(before.portXmitPkts, 4)
      assert.isAbove(before.portRcvData, 5 * 72)
    })))

  it.effect("of a switch come port by port, or all together", () =>
    on(twoHosts)(Effect.gen(function*() {
      const port = yield* openPort
      const agent = yield* directedAgent
      yield* ask(agent, [1, 8, 1], { attributeId: 0x11 })
      const each = yield* Effect.forEach([1, 8], (number) => get(port, at(3), PortCounters, portSelect(number)))
      const together = yield* get(port, at(3), PortCounters, portSelect(0xff))
      assert.isAbove(together.portRcvPkts, Math.max(...each.map(({ portRcvPkts }) => portRcvPkts)))
      const extended = yield* get(port, at(3), PortCountersExtended, portSelect(0xff))
      assert.isTrue(extended.portRcvPkts > BigInt(together.portRcvPkts))
      assert.strictEqual(extended.portUnicastRcvPkts, extended.portRcvPkts)
    })))

  it.effect("tell what was discarded, misled and lost", () =>
    on(twoHosts)(Effect.gen(function*() {
      const fabric = yield* Fabric.Fabric
      const port = yield* openPort
      const agent = yield* directedAgent
      const read = (number: number) => get(port, at(1), PortCounters, portSelect(number))
      yield* passing(ask(agent, [1, 7], { attributeId: 0x11 }))
      assert.strictEqual((yield* read(7)).portXmitDiscards, 1)
      yield* passing(ask(agent, [1, 99], { attributeId: 0x11 }))
      assert.strictEqual((yield* read(1)).portRcvSwitchRelayErrors, 1)
      yield* fabric.disturb("switch-one", 8, { drops: ({ bytes }) => bytes[3] === 0x81 })
      yield* passing(ask(agent, [1, 8], { attributeId: 0x11 }))
      assert.strictEqual((yield* read(8)).portRcvErrors, 1)
      yield* fabric.setLink("host-beta", "mlx5_0", 1, "down")
      yield* fabric.disturb("switch-one", 8, {})
      assert.strictEqual((yield* get(port, at(3), PortCounters, portSelect(1))).linkDownedCounter, 1)
    })))

  it.effect("refuse ports that are not there with status 0x1c", () =>
    on(twoHosts)(Effect.gen(function*() {
      const port = yield* openPort
      const wrong = [[2, 2], [2, 0xff], [2, 0], [3, 9], [3, 0xfe]] as const
      for (const [lid, number] of wrong) {
        const error = yield* Effect.flip(get(port, at(lid), PortCounters, portSelect(number)))
        assert.deepInclude(error, { _tag: "MadStatus", status: 0x1c })
      }
      const refused = yield* Effect.flip(set(port, at(2), ClassPortInfo, {}))
      assert.deepInclude(refused, { _tag: "MadStatus", status: 0x0c })
      const info = yield* get(port, at(3), ClassPortInfo, {})
      assert.deepInclude(info, { baseVersion: 1, classVersion: 1, capabilityMask: 0x1300, respTimeValue: 18 })
      assert.deepInclude(yield* get(port, at(2), ClassPortInfo, {}), { capabilityMask: 0x1200 })
    })))

  it.effect("count what queue pairs send, packet by packet", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected("mlx5_0")
      const port = yield* openPort
      const read = (lid: number) => get(port, at(lid), PortCountersExtended, portSelect(1))
      const before = yield* Effect.all({ a: read(1), b: read(2) })
      b.postRecv({ wrId: 1n, sgList: [b.piece(0, 4096)] })
      a.postSend(request(1n, "send", { sgList: [a.piece(0, 3000)] }))
      a.postSend(request(2n, "rdmaRead", { sgList: [a.piece(0, 1024)], remote: b.remote() }))
      assert.deepStrictEqual(a.statuses(), ["1 success", "2 success"])
      const after = yield* Effect.all({ a: read(1), b: read(2) })
      // Three packets of at most 1024 bytes and the request to read leave, one of 1024 bytes comes back.
      // Beside them there is one MAD each way to b; those to a do not leave it.
      assert.strictEqual(after.a.portXmitPkts - before.a.portXmitPkts, 3n + 1n + 1n)
      assert.strictEqual(after.b.portRcvPkts - before.b.portRcvPkts, 3n + 1n + 1n)
      assert.strictEqual(after.a.portRcvPkts - before.a.portRcvPkts, 1n + 1n)
      assert.strictEqual(after.a.portRcvData - before.a.portRcvData, BigInt(1024 / 4 + 6 + 72))
      assert.strictEqual(after.a.portXmitData - before.a.portXmitData, BigInt(3000 / 4 + 3 * 6 + 6 + 72))
    }).pipe(Effect.scoped, Effect.provide(Fabric.layer)))
})
