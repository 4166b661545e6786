import * as Gid from "@effect-rdma/core/Gid"
import * as Guid from "@effect-rdma/core/Guid"
import * as Lid from "@effect-rdma/core/Lid"
import * as PKey from "@effect-rdma/core/PKey"
import * as Resource from "@effect-rdma/core/Resource"
import { Fabric } from "@effect-rdma/testkit"
import { DirectedRouteSmp } from "@effect-rdma/umad/DirectedRouteSmp"
import { GuidInfo } from "@effect-rdma/umad/GuidInfo"
import { PKeyTable } from "@effect-rdma/umad/PKeyTable"
import { PortInfo } from "@effect-rdma/umad/PortInfo"
import { SmInfo } from "@effect-rdma/umad/SmInfo"
import { Smp } from "@effect-rdma/umad/Smp"
import * as SubnetTopology from "@effect-rdma/umad/SubnetTopology"
import { SwitchInfo } from "@effect-rdma/umad/SwitchInfo"
import * as UmadAgent from "@effect-rdma/umad/UmadAgent"
import * as UmadLibrary from "@effect-rdma/umad/UmadLibrary"
import * as UmadPort from "@effect-rdma/umad/UmadPort"
import { DeviceContext, QueuePair } from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { request, side, toRts } from "./dataPath.ts"
import { fatTree, on, passing, twoHosts } from "./subnetFiles.ts"
import { ask, directedAgent, directedSmp, walk } from "./subnetWalk.ts"

/** Two connected queue pairs of this host and another one, which have the LIDs. */
const between = Effect.fnUntraced(function*(host: string, here: number, there: number) {
  const a = yield* side("mlx5_0")
  const b = yield* side("mlx5_0").pipe(Effect.provide(Fabric.host(host)))
  for (const [self, qpNum, dlid] of [[a, b.pair.qpNum, there], [b, a.pair.qpNum, here]] as const) {
    yield* QueuePair.modify(self.pair, { qpState: "init", portNum: 1, pkeyIndex: 0, qpAccessFlags: [] })
    yield* QueuePair.modify(self.pair, {
      qpState: "rtr",
      ahAttr: { portNum: 1, dlid },
      pathMtu: 1024,
      destQpNum: qpNum,
      rqPsn: 7,
      maxDestRdAtomic: 1,
      minRnrTimer: 12
    })
    yield* toRts(self)
  }
  return { a, b }
})

/** What umad tells of the host's first port. */
const attributes = Effect.gen(function*() {
  const port = yield* UmadPort.get(yield* UmadLibrary.init())
  return port.attributes
})

const portInfo = (agent: UmadAgent.UmadAgent, path: ReadonlyArray<number>, number: number) =>
  Effect.flatMap(
    ask(agent, path, { attributeId: PortInfo.attributeId, attributeModifier: number }),
    (answer) => Effect.fromResult(PortInfo.decode(answer?.data ?? new Uint8Array(0)))
  )

const writePortInfo = (
  agent: UmadAgent.UmadAgent,
  path: ReadonlyArray<number>,
  number: number,
  change: Partial<PortInfo>
) =>
  Effect.gen(function*() {
    const before = yield* portInfo(agent, path, number)
    const data = yield* Effect.fromResult(PortInfo.encode({ ...before, portState: "nop", ...change }))
    return yield* ask(agent, path, {
      attributeId: PortInfo.attributeId,
      attributeModifier: number,
      method: "set",
      data
    })
  })

describe("the subnet of a fabric", () => {
  it.effect("is the one of the file: every node, by directed routes", () =>
    on(twoHosts)(Effect.gen(function*() {
      const { nodes } = yield* SubnetTopology.parse(twoHosts)
      const found = yield* walk(yield* directedAgent)
      assert.deepStrictEqual(
        found.map(({ info }) => [info.nodeGuid, info.nodeType, info.numPorts]).toSorted(),
        nodes.map(({ guid, kind, numPorts }) => [guid, kind, numPorts]).toSorted()
      )
    })))

  it.effect("has hosts with the names of the file, LIDs and active ports", () =>
    on(twoHosts)(Effect.gen(function*() {
      const alpha = yield* attributes
      const beta = yield* attributes.pipe(Effect.provide(Fabric.host("host-beta")))
      assert.deepInclude(alpha, {
        baseLid: 2,
        smLid: 1,
        state: "active",
        portGuid: Guid.Guid.make(0x10_0001n),
        capmask: 0x0050_c048
      })
      assert.deepInclude(beta, {
        baseLid: 4,
        smLid: 1,
        state: "active",
        portGuid: Guid.Guid.make(0x10_0003n),
        rate: 10
      })
    })))

  it.effect("sets the hop pointer and the return path as the kernel does", () =>
    on(twoHosts)(Effect.gen(function*() {
      const answer = yield* ask(yield* directedAgent, [1, 8, 1], { attributeId: 0x11 })
      const mad = answer?.mad ?? new Uint8Array()
      assert.deepStrictEqual([mad[4], mad[6], mad[7]], [0x80, 0, 3])
      assert.deepStrictEqual(Array.from(mad.subarray(128, 132)), [0, 1, 8, 1])
      assert.deepStrictEqual(Array.from(mad.subarray(192, 196)), [0, 1, 8, 1])
    })))

  it.effect("answers by LID over its forwarding tables", () =>
    on(twoHosts)(Effect.gen(function*() {
      const port = yield* UmadPort.open(yield* UmadLibrary.init())
      const agent = yield* UmadAgent.register(port, { mgmtClass: 0x01 })
      const mad = yield* Effect.fromResult(
        Smp.encode({ baseVersion: 1, mgmtClass: "subnLidRouted", classVersion: 1, method: "get", attributeId: 0x10 })
      )
      const names = yield* Effect.forEach([1, 2, 3, 4], (lid) =>
        Effect.map(UmadAgent.request(agent, { address: { lid: Lid.Lid.make(lid) }, mad }), (answer) =>
          Buffer.from(answer.mad.subarray(64, 128)).toString().replaceAll("\0", "")))
      assert.deepStrictEqual(names, ["switch-one", "host-alpha", "switch-two", "host-beta"])
      const nobody = UmadAgent.request(agent, { address: { lid: Lid.Lid.make(77) }, mad, retries: 0 })
      assert.strictEqual((yield* passing(Effect.flip(nobody)))._tag, "MadTimeout")
    })))

  it.effect("loses what leads nowhere", () =>
    on(twoHosts)(Effect.gen(function*() {
      const agent = yield* directedAgent
      for (const path of [[2], [1, 7], [1, 200], [1, 0], [1, 1, 1]]) {
        assert.isUndefined(yield* passing(ask(agent, path, { attributeId: 0x11 })), String(path))
      }
    })))

  it.effect("without a subnet manager is to be initialised, step by step", () =>
    on(twoHosts, { subnetManager: false })(Effect.gen(function*() {
      const agent = yield* directedAgent
      assert.deepInclude(yield* portInfo(agent, [], 1), {
        portState: "init",
        lid: Lid.Lid.make(0),
        portPhysicalState: "linkUp"
      })
      const ids = { lid: Lid.Lid.make(9), masterSmLid: Lid.Lid.make(9) }
      const early = yield* writePortInfo(agent, [], 1, { ...ids, portState: "active" })
      assert.strictEqual(early?.status, 0x1c)
      const states = [[[], 1, "armed"], [[1], 1, "armed"], [[], 1, "active"], [[1], 1, "active"]] as const
      for (const [path, number, portState] of states) {
        const answer = yield* writePortInfo(agent, path, number, { ...ids, portState })
        assert.strictEqual(answer?.status, 0, portState)
      }
      assert.deepInclude(yield* attributes, { baseLid: 9, smLid: 9, state: "active" })
    })))

  it.effect("refuses a LID that is none, and writing what can only be read", () =>
    on(twoHosts)(Effect.gen(function*() {
      const agent = yield* directedAgent
      for (const lid of [0, 0xc000, 0xffff]) {
        assert.strictEqual((yield* writePortInfo(agent, [], 1, { lid: Lid.Lid.make(lid) }))?.status, 0x1c)
      }
      assert.strictEqual((yield* ask(agent, [], { attributeId: 0x11, method: "set" }))?.status, 0x0c)
      assert.strictEqual((yield* ask(agent, [], { attributeId: 0x12 }))?.status, 0x0c)
      assert.strictEqual((yield* ask(agent, [], { attributeId: 0x33 }))?.status, 0x0c)
    })))

  it.effect("brings a link up again that somebody took down, and notes the change at the switch", () =>
    on(twoHosts)(Effect.gen(function*() {
      const agent = yield* directedAgent
      assert.strictEqual((yield* writePortInfo(agent, [1], 8, { portState: "down" }))?.status, 0)
      assert.deepInclude(yield* portInfo(agent, [1, 8], 8), { portState: "active", portPhysicalState: "linkUp" })
    })))

  it.effect("changes with the cable of a host, as both ends see it", () =>
    on(twoHosts)(Effect.gen(function*() {
      const fabric = yield* Fabric.Fabric
      const agent = yield* directedAgent
      yield* fabric.setLink("host-beta", "mlx5_0", 1, "down")
      assert.deepInclude(yield* portInfo(agent, [1, 8], 1), { portState: "down", portPhysicalState: "polling" })
      assert.lengthOf(yield* walk(agent), 3)
      const beta = attributes.pipe(Effect.provide(Fabric.host("host-beta")))
      assert.deepInclude(yield* beta, { state: "down", physState: "polling" })
      yield* fabric.setLink("host-beta", "mlx5_0", 1, "up")
      assert.deepInclude(yield* portInfo(agent, [1, 8], 1), { portState: "active", portPhysicalState: "linkUp" })
      assert.lengthOf(yield* walk(agent), 4)
      assert.deepInclude(yield* beta, { state: "active", baseLid: 4 })
    })))

  it.effect("wants the M_Key of a port that has one", () =>
    on(twoHosts)(Effect.gen(function*() {
      const agent = yield* directedAgent
      assert.strictEqual((yield* writePortInfo(agent, [1], 0, { mKey: 7n, mKeyProtectBits: 1 }))?.status, 0)
      assert.deepInclude(yield* portInfo(agent, [1], 0), { mKey: 0n, mKeyProtectBits: 1 })
      const data = yield* Effect.fromResult(PortInfo.encode({ ...yield* portInfo(agent, [1], 0), mKeyProtectBits: 0 }))
      const write = { attributeId: PortInfo.attributeId, method: "set", data } as const
      assert.isUndefined(yield* passing(ask(agent, [1], write)))
      assert.deepInclude(yield* portInfo(agent, [1], 0), { mKeyViolations: 1, mKeyProtectBits: 1 })
    })))

  it.effect("shows programs the P_Keys and GIDs that a manager wrote, and tells them", () =>
    on(twoHosts)(Effect.gen(function*() {
      const agent = yield* directedAgent
      const context = yield* DeviceContext.openByName("mlx5_0")
      const next = Effect.map(context.verbs.getAsyncEvent(Resource.raw(context)), ({ event }) => event)
      const pKeys = yield* Effect.fromResult(
        PKeyTable.encode({
          pKeys: Array.from({ length: 32 }, (_, index) => PKey.PKey.make(index < 2 ? 0x8001 + index : 0))
        })
      )
      assert.strictEqual((yield* ask(agent, [], { attributeId: 0x16, method: "set", data: pKeys }))?.status, 0)
      assert.strictEqual(yield* next, "pkeyChange")
      assert.deepStrictEqual((yield* attributes).pkeys.slice(0, 3).map(Number), [0x8001, 0x8002, 0])
      const guids = yield* Effect.fromResult(
        GuidInfo.encode({ guids: Array.from({ length: 8 }, (_, index) => Guid.Guid.make(index === 2 ? 0xabcn : 0n)) })
      )
      assert.strictEqual((yield* ask(agent, [], { attributeId: 0x14, method: "set", data: guids }))?.status, 0)
      assert.strictEqual(yield* next, "gidChange")
      const table = yield* DeviceContext.gidTable(context)
      assert.deepStrictEqual(
        table.map(({ gid, gidIndex }) => [gidIndex, Gid.formatCompressed(gid)]),
        [[0, "fe80::10:1"], [2, "fe80::abc"]]
      )
      assert.strictEqual((yield* ask(agent, [], { attributeId: 0x14, attributeModifier: 4 }))?.status, 0x1c)
    })))

  it.effect("takes routes that are directed in the middle only", () =>
    on(twoHosts)(Effect.gen(function*() {
      const agent = yield* directedAgent
      const through = Effect.fnUntraced(
        function*(path: ReadonlyArray<number>, lids: Partial<DirectedRouteSmp>, lid: number) {
          const mad = yield* directedSmp(path, { attributeId: 0x10 })
          const smp = yield* Effect.fromResult(DirectedRouteSmp.decode(mad))
          const routed = yield* Effect.fromResult(DirectedRouteSmp.encode({ ...smp, ...lids }))
          const request = UmadAgent.request(agent, { address: { lid: Lid.Lid.make(lid) }, mad: routed, retries: 0 })
          return yield* Effect.match(passing(request), {
            onFailure: ({ _tag }) => _tag,
            onSuccess: ({ mad }) => Buffer.from(mad.subarray(64, 80)).toString().replaceAll("\0", "")
          })
        }
      )
      const own = Lid.Lid.make(2)
      // By LID to switch-two, then out of its port 1.
      assert.strictEqual(yield* through([1], { drSlid: own }, 3), "host-beta")
      // Out to switch-one, then by LID to host-beta.
      assert.strictEqual(yield* through([1], { drDlid: Lid.Lid.make(4) }, 0xffff), "host-beta")
      // By LID to switch-two, out of port 8 to switch-one, and by LID again.
      assert.strictEqual(yield* through([8], { drSlid: own, drDlid: Lid.Lid.make(4) }, 3), "host-beta")
      assert.strictEqual(yield* through([1], { drDlid: Lid.Lid.make(77) }, 0xffff), "MadTimeout")
    })))

  it.effect("has its subnet manager where the ports say", () =>
    on(twoHosts)(Effect.gen(function*() {
      const agent = yield* directedAgent
      const read = (path: ReadonlyArray<number>) =>
        Effect.flatMap(
          ask(agent, path, { attributeId: SmInfo.attributeId }),
          (answer) => Effect.fromResult(SmInfo.decode(answer?.data ?? new Uint8Array()))
        )
      const first = yield* read([1])
      assert.deepInclude(first, { guid: Guid.Guid.make(0x20_0000n), smState: "master", priority: 0, smKey: 1n })
      assert.isAbove((yield* read([1])).actCount, first.actCount)
      assert.isUndefined(yield* passing(ask(agent, [1, 8], { attributeId: SmInfo.attributeId })))
      assert.strictEqual((yield* ask(agent, [1], { attributeId: SmInfo.attributeId, method: "set" }))?.status, 0x0c)
    })))

  it.effect("gives each of the LIDs of a port with an LMC a way", () =>
    on(`${twoHosts}
`.replace("[1] \"switch-two\"[1]", "[1](100003) \"switch-two\"[1] # lid 16 lmc 2 \"switch-two\" lid 3 4xSDR"))(
      Effect.gen(function*() {
        const port = yield* UmadPort.open(yield* UmadLibrary.init())
        const byLid = yield* UmadAgent.register(port, { mgmtClass: 0x01 })
        const mad = yield* Effect.fromResult(
          Smp.encode({ baseVersion: 1, mgmtClass: "subnLidRouted", classVersion: 1, method: "get", attributeId: 0x10 })
        )
        for (const lid of [16, 17, 18, 19]) {
          const answer = yield* UmadAgent.request(byLid, { address: { lid: Lid.Lid.make(lid) }, mad })
          assert.include(Buffer.from(answer.mad).toString(), "host-beta")
        }
      })
    ))

  it.effect("carries the data path, and loses it where no way leads", () =>
    on(twoHosts)(Effect.gen(function*() {
      const fabric = yield* Fabric.Fabric
      const { a, b } = yield* between("host-beta", 2, 4)
      b.postRecv({ wrId: 1n, sgList: [b.piece()] }, { wrId: 2n, sgList: [b.piece()] })
      a.postSend(request(1n, "send", { sgList: [a.piece()] }))
      assert.deepStrictEqual(a.statuses(), ["1 success"])
      yield* fabric.setNode("switch-two", "dead")
      a.postSend(request(2n, "send", { sgList: [a.piece()] }))
      assert.deepStrictEqual(a.statuses(), [])
      yield* fabric.setNode("switch-two", "alive")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(a.statuses(), ["2 success"])
      yield* fabric.setNode("switch-two", "dead")
      a.postSend(request(3n, "send", { sgList: [a.piece()] }))
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(a.statuses(), ["3 retryExcErr"])
    })))

  it.effect("routes every pair of a fat tree, and spreads the ways over the spines", () =>
    on(fatTree(3))(Effect.gen(function*() {
      const agent = yield* directedAgent
      const port = yield* UmadPort.open(yield* UmadLibrary.init())
      const byLid = yield* UmadAgent.register(port, { mgmtClass: 0x01 })
      const mad = yield* Effect.fromResult(
        Smp.encode({ baseVersion: 1, mgmtClass: "subnLidRouted", classVersion: 1, method: "get", attributeId: 0x11 })
      )
      const info = yield* ask(agent, [1], { attributeId: SwitchInfo.attributeId })
      const { linearFdbTop } = yield* Effect.fromResult(SwitchInfo.decode(info?.data ?? new Uint8Array()))
      assert.strictEqual(Number(linearFdbTop), 3 * 18 + 3 + 18)
      for (let lid = 1; lid <= linearFdbTop; lid++) {
        yield* UmadAgent.request(byLid, { address: { lid: Lid.Lid.make(lid) }, mad })
      }
      const table = yield* ask(agent, [1], { attributeId: 0x19 })
      const loads = new Map<number, number>()
      for (const out of table?.data ?? []) if (out > 18 && out < 0xff) loads.set(out, (loads.get(out) ?? 0) + 1)
      assert.strictEqual(loads.size, 18)
    })))
})
