import * as Gid from "@effect-rdma/core/Gid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as PKey from "@effect-rdma/core/PKey"
import { Fabric } from "@effect-rdma/testkit"
import { InformInfo } from "@effect-rdma/umad/InformInfo"
import { McMemberRecord } from "@effect-rdma/umad/McMemberRecord"
import { MulticastForwardingTable } from "@effect-rdma/umad/MulticastForwardingTable"
import { NodeRecord } from "@effect-rdma/umad/NodeRecord"
import { Notice } from "@effect-rdma/umad/Notice"
import { PathRecord } from "@effect-rdma/umad/PathRecord"
import { PortInfoRecord } from "@effect-rdma/umad/PortInfoRecord"
import { ServiceRecord } from "@effect-rdma/umad/ServiceRecord"
import * as SubnetAdministration from "@effect-rdma/umad/SubnetAdministration"
import * as UmadAgent from "@effect-rdma/umad/UmadAgent"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import { fatTree, on, twoHosts } from "./subnetFiles.ts"
import { administration, answers } from "./subnetQueries.ts"
import { ask, directedAgent } from "./subnetWalk.ts"

const { attribute, get, getTable, remove, set } = SubnetAdministration
const lid = (lid: number) => Lid.Lid.make(lid)
const gid = (guid: bigint) => Gid.fromParts(0xfe80_0000_0000_0000n, guid)
const alpha = gid(0x10_0001n)
const beta = gid(0x10_0003n)

describe("subnet administration of a fabric", () => {
  it.effect("refuses with the status of its class, whichever it is", () =>
    on(twoHosts)(Effect.gen(function*() {
      const told = yield* answers
      assert.deepInclude(told, {
        "a node that is not there": "status 0x300",
        "several nodes at once": "status 0x400",
        "joining what is not there": "status 0x600",
        "joining as nobody": "status 0x200",
        "removing it twice": "status 0x300"
      })
    })))

  it.effect("answers tables of more packets than one, whole", () =>
    on(fatTree(6))(Effect.gen(function*() {
      const self = yield* administration
      const nodes = yield* getTable(self, NodeRecord)
      assert.lengthOf(nodes, 6 * 18 + 6 + 18)
      assert.strictEqual(new Set(nodes.map(({ lid }) => lid)).size, nodes.length)
      const switches = yield* getTable(self, NodeRecord, { nodeType: "switch" })
      assert.lengthOf(switches, 24)
      const ports = yield* getTable(self, PortInfoRecord, { portState: "active" })
      assert.lengthOf(ports, 24 + 2 * 6 * 18 + 2 * 6 * 18)
      const paths = yield* getTable(self, PathRecord, { slid: nodes[0]?.lid ?? lid(0), numbPath: 1 })
      assert.lengthOf(paths, nodes.length)
      assert.deepStrictEqual(yield* getTable(self, NodeRecord, { vendorId: 0xabcdef }), [])
    })))

  it.effect("lets who has no RMPP see the first packet alone", () =>
    on(fatTree(2))(Effect.gen(function*() {
      const { port } = yield* administration
      const agent = yield* UmadAgent.register(port, { mgmtClass: 0x03, mgmtVersion: 2 })
      const mad = new Uint8Array(256)
      mad.set([1, 3, 2, 0x12], 0)
      mad.set([0, 0x11], 16)
      const { mad: answer } = yield* UmadAgent.request(agent, { address: { lid: lid(1) }, mad })
      assert.strictEqual(answer.length, 256)
      // Active and first, not last.
      assert.strictEqual((answer[26] ?? 0) & 7, 3)
    })))

  it.effect("drops what another version or a wrong key asks, and answers other classes of it as unknown", () =>
    on(twoHosts)(Effect.gen(function*() {
      const self = yield* administration
      const wrong = get(self, NodeRecord, { lid: lid(2) }, { smKey: 7n, retries: 0, timeout: 0.001 })
      const right = yield* get(self, NodeRecord, { lid: lid(2) }, { smKey: 1n })
      assert.strictEqual(right.nodeDescription, "host-alpha")
      const [error] = yield* Effect.all([Effect.flip(wrong), TestClock.adjust("1 second")], { concurrency: 2 })
      assert.strictEqual(error._tag, "MadTimeout")
    })))

  it.effect("forgets a service when its lease is over", () =>
    on(twoHosts)(Effect.gen(function*() {
      const self = yield* administration
      const service = { serviceId: 5n, serviceGid: alpha, serviceLease: 60 }
      yield* set(self, ServiceRecord, service)
      yield* TestClock.adjust("40 seconds")
      // Registered again, it has its time again.
      yield* set(self, ServiceRecord, service)
      yield* TestClock.adjust("40 seconds")
      assert.lengthOf(yield* getTable(self, ServiceRecord), 1)
      yield* TestClock.adjust("21 seconds")
      assert.lengthOf(yield* getTable(self, ServiceRecord), 0)
    })))

  it.effect("leaves a service with a key to who has it", () =>
    on(twoHosts)(Effect.gen(function*() {
      const self = yield* administration
      const serviceKey = new Uint8Array(16).fill(7)
      yield* set(self, ServiceRecord, { serviceId: 5n, serviceGid: alpha, serviceKey })
      const seen = yield* get(self, ServiceRecord, { serviceId: 5n })
      assert.deepStrictEqual(seen.serviceKey, new Uint8Array(16))
      const error = yield* Effect.flip(remove(self, ServiceRecord, { serviceId: 5n, serviceGid: alpha }))
      assert.deepInclude(error, { _tag: "MadStatus", status: 0x0200 })
      yield* remove(self, ServiceRecord, { serviceId: 5n, serviceGid: alpha, serviceKey })
    })))

  it.effect("leads a group to its members over the multicast tables", () =>
    on(twoHosts)(Effect.gen(function*() {
      const self = yield* administration
      const agent = yield* directedAgent
      const mgid = Gid.fromParts(0xff15_0000_0000_0000n, 9n)
      const group = {
        mgid,
        joinState: 1,
        qKey: Identifier.QKey.make(1),
        trafficClass: Identifier.TrafficClass.make(0),
        pKey: PKey.defaultFull,
        sl: Identifier.ServiceLevel.make(0),
        flowLabel: Identifier.FlowLabel.make(0)
      }
      const masks = (path: ReadonlyArray<number>) =>
        Effect.map(ask(agent, path, { attributeId: MulticastForwardingTable.attributeId }), (answer) =>
          Result.getOrThrow(MulticastForwardingTable.decode(answer?.data ?? new Uint8Array())).portMasks)
      const made = yield* set(self, McMemberRecord, { ...group, portGid: alpha })
      assert.strictEqual(Number(made.mlid), 0xc001)
      assert.deepStrictEqual((yield* masks([1]))[1], 1 << 1)
      yield* set(self, McMemberRecord, { mgid, joinState: 1, portGid: beta })
      assert.deepStrictEqual((yield* masks([1]))[1], 1 << 1 | 1 << 8)
      assert.deepStrictEqual((yield* masks([1, 8]))[1], 1 << 1 | 1 << 8)
      const members = yield* getTable(self, McMemberRecord, { mgid }, { smKey: 1n })
      assert.deepStrictEqual(
        members.map(({ portGid }) =>
          Gid.format(portGid)
        ),
        [alpha, beta].map(Gid.format)
      )
      yield* remove(self, McMemberRecord, { mgid, joinState: 1, portGid: beta })
      assert.deepStrictEqual((yield* masks([1, 8]))[1], 0)
      yield* remove(self, McMemberRecord, { mgid, joinState: 1, portGid: alpha })
      assert.deepStrictEqual(yield* getTable(self, McMemberRecord, { mgid }), [])
    })))

  it.effect("reports what comes and goes to those who subscribed, until they do no more", () =>
    on(twoHosts)(Effect.gen(function*() {
      const fabric = yield* Fabric.Fabric
      const self = yield* administration
      const agent = yield* UmadAgent.register(self.port, { mgmtClass: 0x03, mgmtVersion: 2, methods: [0x06] })
      const wanted = {
        lidRangeBegin: Lid.permissive,
        isGeneric: 1,
        subscribe: 1,
        type: 0xffff,
        trapNumber: 0xffff,
        producerType: 0xff_ffff
      }
      const heard = Effect.gen(function*() {
        yield* TestClock.adjust("1 millis")
        const { address, mad } = yield* UmadAgent.next(agent)
        const notice = Result.getOrThrow(Notice.decode(mad, 56))
        return [Number(address.lid), notice.trapNumber, Gid.format(Gid.fromBytes(notice.dataDetails, 6))]
      })
      yield* attribute(self, "set", InformInfo, wanted)
      yield* fabric.setLink("host-beta", "mlx5_0", 1, "down")
      assert.deepStrictEqual(yield* heard, [1, 65, Gid.format(beta)])
      yield* fabric.setLink("host-beta", "mlx5_0", 1, "up")
      assert.deepStrictEqual(yield* heard, [1, 64, Gid.format(beta)])
      yield* attribute(self, "set", InformInfo, { ...wanted, subscribe: 0 })
      yield* fabric.setLink("host-beta", "mlx5_0", 1, "down")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(UmadAgent.lost(agent), 0)
      assert.isTrue(
        yield* UmadAgent.next(agent).pipe(
          Effect.as(false),
          Effect.timeoutOrElse({ duration: "1 second", orElse: () => Effect.succeed(true) }),
          (waiting) => Effect.all([waiting, TestClock.adjust("2 seconds")], { concurrency: 2 }),
          Effect.map(([none]) => none)
        )
      )
    })))
})
