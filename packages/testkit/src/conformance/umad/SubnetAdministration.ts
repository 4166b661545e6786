/**
 * Conformance of records of subnet administration.
 *
 * @since 0.1.0
 */
import * as Gid from "@effect-rdma/core/Gid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as PKey from "@effect-rdma/core/PKey"
import * as ClassPortInfo from "@effect-rdma/umad/ClassPortInfo"
import * as McMemberRecord from "@effect-rdma/umad/McMemberRecord"
import * as NodeDescription from "@effect-rdma/umad/NodeDescription"
import * as NodeInfo from "@effect-rdma/umad/NodeInfo"
import * as NodeRecord from "@effect-rdma/umad/NodeRecord"
import * as PathRecord from "@effect-rdma/umad/PathRecord"
import * as PortInfo from "@effect-rdma/umad/PortInfo"
import * as PortInfoRecord from "@effect-rdma/umad/PortInfoRecord"
import * as ServiceRecord from "@effect-rdma/umad/ServiceRecord"
import * as SubnetAdministration from "@effect-rdma/umad/SubnetAdministration"
import * as SubnetManagement from "@effect-rdma/umad/SubnetManagement"
import type * as Umad from "@effect-rdma/umad/Umad"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertPath, recorded, timesCalled } from "../../internal/conformance.ts"
import { brief, ownNode, ownPort, peer, reachable } from "../../internal/conformanceSubnet.ts"
import * as Lane from "../Lane.ts"
import type * as SubnetLane from "../SubnetLane.ts"

const { attribute, get, getTable, of, remove, set } = SubnetAdministration

const noRecords = 0x0300

const tooManyRecords = 0x0400

/** The subnet manager, the own port, and the address of another adapter. */
const administration = <Others>(lane: SubnetLane.SubnetLane<Others>) =>
  Effect.gen(function*() {
    const { attributes, port } = yield* ownPort
    const target = peer(lane)
    const far = yield* SubnetManagement.get(port, { path: target.path }, PortInfo.PortInfo)
    const { portGuid } = yield* SubnetManagement.get(port, { path: target.path }, NodeInfo.NodeInfo)
    return {
      port,
      attributes,
      lid: Lid.Lid.make(attributes.baseLid),
      gid: Gid.fromParts(attributes.gidPrefix, attributes.portGuid),
      farLid: far.lid,
      farGid: Gid.fromParts(far.gidPrefix, portGuid),
      manager: yield* of(port, attributes)
    }
  })

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: SubnetLane.SubnetLane<Others>): void => {
  const it = Lane.test<Umad.Umad | Others>(lane)

  it("a port without a subnet manager has no subnet administration", () =>
    Effect.gen(function*() {
      const { attributes, port } = yield* ownPort
      const error = yield* Effect.flip(of(port, { ...attributes, smLid: 0 }))
      assert.strictEqual(error._tag, "NoSubnetManager")
      assert.include(error.message, "opensm")
    }))

  it("the class of subnet administration has version 2", () =>
    Effect.gen(function*() {
      const { manager } = yield* administration(lane)
      const info = yield* attribute(manager, "get", ClassPortInfo.ClassPortInfo)
      assert.deepStrictEqual([info.baseVersion, info.classVersion], [1, 2])
    }))

  it("the NodeRecord of a LID is the NodeInfo and the NodeDescription of its node", () =>
    Effect.gen(function*() {
      const { lid, manager, port } = yield* administration(lane)
      const record = yield* get(manager, NodeRecord.NodeRecord, { lid })
      assert.deepStrictEqual(record, {
        lid,
        ...yield* SubnetManagement.get(port, { path: [] }, NodeInfo.NodeInfo),
        ...yield* SubnetManagement.get(port, { path: [] }, NodeDescription.NodeDescription)
      })
    }))

  it("a NodeRecord is found by the GUID of its port", () =>
    Effect.gen(function*() {
      const { attributes, lid, manager } = yield* administration(lane)
      const [record, ...others] = yield* getTable(manager, NodeRecord.NodeRecord, { portGuid: attributes.portGuid })
      assert.strictEqual(others.length, 0)
      assert.strictEqual(record?.lid, lid)
      assert.strictEqual(record?.nodeGuid, ownNode(lane).guid)
    }))

  it("the PortInfoRecord of a LID is the PortInfo of its port", () =>
    Effect.gen(function*() {
      const { attributes, lid, manager, port } = yield* administration(lane)
      const [record] = yield* getTable(manager, PortInfoRecord.PortInfoRecord, {
        endPortLid: lid,
        portNum: attributes.portNum
      })
      const info = yield* SubnetManagement.get(port, { path: [] }, PortInfo.PortInfo)
      assert.deepStrictEqual(
        [record?.endPortLid, record?.portNum, record?.lid, record?.portState, record?.linkWidthActive, record?.mtuCap],
        [lid, attributes.portNum, info.lid, info.portState, info.linkWidthActive, info.mtuCap]
      )
    }))

  it("the path between two LIDs is that between their GIDs", () =>
    Effect.gen(function*() {
      const { farGid, farLid, gid, lid, manager } = yield* administration(lane)
      const path = yield* get(manager, PathRecord.PathRecord, { slid: lid, dlid: farLid, numbPath: 1 })
      assert.deepStrictEqual([path.slid, path.dlid, path.sgid, path.dgid], [lid, farLid, gid, farGid])
      assert.strictEqual(path.pKey, PKey.defaultFull)
      assert.isTrue(path.reversible)
      assert.isAtLeast(path.mtu, 256)
      assert.isString(path.rate)
      assert.deepStrictEqual(yield* get(manager, PathRecord.PathRecord, { sgid: gid, dgid: farGid, numbPath: 1 }), path)
    }))

  it("the way back is a path too", () =>
    Effect.gen(function*() {
      const { farLid, lid, manager } = yield* administration(lane)
      const path = yield* get(manager, PathRecord.PathRecord, { slid: farLid, dlid: lid, numbPath: 1 })
      assert.deepStrictEqual([path.slid, path.dlid], [farLid, lid])
    }))

  it("a table that is asked for by one key has one record", () =>
    Effect.gen(function*() {
      const { farLid, lid, manager } = yield* administration(lane)
      const paths = yield* getTable(manager, PathRecord.PathRecord, { slid: lid, dlid: farLid, numbPath: 1 })
      assert.strictEqual(paths.length, 1)
      assert.deepStrictEqual(
        paths[0],
        yield* get(manager, PathRecord.PathRecord, { slid: lid, dlid: farLid, numbPath: 1 })
      )
    }))

  it("a table has a record for every port that has a LID", () =>
    Effect.gen(function*() {
      const { manager } = yield* administration(lane)
      const records = yield* getTable(manager, NodeRecord.NodeRecord)
      const guids = new Set(reachable(lane).map(({ node }) => node.guid))
      if (lane.hasRmpp) assert.deepStrictEqual(new Set(records.map(({ nodeGuid }) => nodeGuid)), guids)
      else {
        // The first packet has room for one.
        assert.strictEqual(records.length, 1)
        assert.isTrue(guids.has(records[0]!.nodeGuid))
      }
    }))

  it("a query that names nothing is an empty table, and as a get the status of no records", () =>
    Effect.gen(function*() {
      const { manager } = yield* administration(lane)
      const query = { lid: Lid.Lid.make(lane.silent) }
      assert.deepStrictEqual(yield* getTable(manager, NodeRecord.NodeRecord, query), [])
      const error = yield* Effect.flip(get(manager, NodeRecord.NodeRecord, query))
      if (error._tag !== "MadStatus") return assert.fail(error.message)
      assert.strictEqual(error.status, noRecords)
    }))

  it("a get that names more than one record is the status of too many records", () =>
    Effect.gen(function*() {
      const { manager } = yield* administration(lane)
      const error = yield* Effect.flip(get(manager, NodeRecord.NodeRecord, { nodeType: "ca" }))
      if (error._tag !== "MadStatus") return assert.fail(error.message)
      assert.strictEqual(error.status, tooManyRecords)
    }))

  it("a multicast group is made, joined, found and left", () =>
    Effect.gen(function*() {
      const { gid, manager } = yield* administration(lane)
      const mgid = Gid.fromParts(0xff12_401b_ffff_0000n, 0x0000_0000_dead_beefn)
      const joined = yield* set(manager, McMemberRecord.McMemberRecord, {
        mgid,
        portGid: gid,
        joinState: 1,
        // The Q_Key of IP over InfiniBand, which such a GID asks for.
        qKey: Identifier.QKey.make(0xb1b),
        trafficClass: Identifier.TrafficClass.make(0),
        pKey: PKey.defaultFull,
        sl: Identifier.ServiceLevel.make(0),
        flowLabel: Identifier.FlowLabel.make(0)
      })
      assert.isTrue(Lid.isMulticast(joined.mlid))
      assert.deepStrictEqual([joined.mgid, joined.portGid], [mgid, gid])
      const [found] = yield* getTable(manager, McMemberRecord.McMemberRecord, { mgid })
      assert.strictEqual(found?.mlid, joined.mlid)
      yield* remove(manager, McMemberRecord.McMemberRecord, { mgid, portGid: gid, joinState: 1 })
      assert.deepStrictEqual(yield* getTable(manager, McMemberRecord.McMemberRecord, { mgid }), [])
    }))

  it("a service is registered, found by its name and removed", () =>
    Effect.gen(function*() {
      const { gid, manager } = yield* administration(lane)
      const key = { serviceId: 0x1000_0000_0000_0042n, serviceGid: gid, servicePKey: PKey.defaultFull }
      const serviceName = "effect-rdma.conformance"
      yield* set(manager, ServiceRecord.ServiceRecord, { ...key, serviceLease: 0xffff_ffff, serviceName })
      const [found] = yield* getTable(manager, ServiceRecord.ServiceRecord, { serviceName })
      assert.strictEqual(found?.serviceId, key.serviceId)
      assert.deepStrictEqual(found?.serviceGid, gid)
      yield* remove(manager, ServiceRecord.ServiceRecord, key)
      assert.deepStrictEqual(yield* getTable(manager, ServiceRecord.ServiceRecord, { serviceName }), [])
    }))

  it("a subnet manager that is not there is a MadTimeout", () =>
    Effect.gen(function*() {
      const { attributes, port } = yield* ownPort
      const manager = yield* of(port, { ...attributes, smLid: lane.silent })
      const error = yield* Effect.flip(getTable(manager, NodeRecord.NodeRecord, {}, brief))
      assert.strictEqual(error._tag, "MadTimeout")
      assert.include(error.message, "ETIMEDOUT")
    }))

  it("a component that does not fit is a SchemaError with its path, and nothing is sent", () =>
    recorded(function*(calls) {
      const { attributes, port } = yield* ownPort
      const manager = yield* of(port, attributes)
      assertPath(yield* Effect.flip(get(manager, PathRecord.PathRecord, { numbPath: 128 })), ["numbPath"])
      assertPath(yield* Effect.flip(getTable(manager, NodeRecord.NodeRecord, { nodeDescription: "a".repeat(65) })), [
        "nodeDescription"
      ])
      assert.strictEqual(timesCalled(yield* calls, "umad_send"), 0)
    }))
}
