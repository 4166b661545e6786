import * as Gid from "@effect-rdma/core/Gid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as PKey from "@effect-rdma/core/PKey"
import { ClassPortInfo } from "@effect-rdma/umad/ClassPortInfo"
import { InformInfo } from "@effect-rdma/umad/InformInfo"
import { McMemberRecord } from "@effect-rdma/umad/McMemberRecord"
import { NodeRecord } from "@effect-rdma/umad/NodeRecord"
import { PathRecord } from "@effect-rdma/umad/PathRecord"
import { PortInfoRecord } from "@effect-rdma/umad/PortInfoRecord"
import { ServiceRecord } from "@effect-rdma/umad/ServiceRecord"
import * as SubnetAdministration from "@effect-rdma/umad/SubnetAdministration"
import * as UmadLibrary from "@effect-rdma/umad/UmadLibrary"
import * as UmadPort from "@effect-rdma/umad/UmadPort"
import { Effect } from "effect"

/** Subnet administration as the first port of the host knows it. */
export const administration = Effect.gen(function*() {
  const library = yield* UmadLibrary.init()
  const { attributes } = yield* UmadPort.get(library)
  return yield* SubnetAdministration.of(yield* UmadPort.open(library), attributes)
})

const lid = (lid: number) => Lid.Lid.make(lid)
const gid = (guid: bigint) => Gid.fromParts(0xfe80_0000_0000_0000n, guid)
const alpha = gid(0x10_0001n)
const beta = gid(0x10_0003n)
const group = Gid.fromParts(0xff15_0000_0000_0000n, 0x1234n)
const service = { serviceId: 0x1234n, serviceGid: alpha, servicePKey: PKey.defaultFull, serviceName: "a service" }
const newGroup = {
  mgid: group,
  portGid: alpha,
  joinState: 1,
  qKey: Identifier.QKey.make(0x1111),
  trafficClass: Identifier.TrafficClass.make(0),
  pKey: PKey.defaultFull,
  sl: Identifier.ServiceLevel.make(0),
  flowLabel: Identifier.FlowLabel.make(0)
}

/** Queries of the subnet of two hosts whose answers fit into a packet each, one after the other, each with what it said. */
export const answers = Effect.gen(function*() {
  const self = yield* administration
  const told: Record<string, unknown> = {}
  const { attribute, get, getTable, remove, set } = SubnetAdministration
  const questions = {
    "class port info": attribute(self, "get", ClassPortInfo),
    "a node by LID": get(self, NodeRecord, { lid: lid(3) }),
    "a node that is not there": get(self, NodeRecord, { lid: lid(77) }),
    "nodes that are not there": getTable(self, NodeRecord, { lid: lid(77) }),
    "several nodes at once": get(self, NodeRecord, { baseVersion: 1 }),
    "a port by LID and number": get(self, PortInfoRecord, {
      endPortLid: lid(4),
      portNum: Identifier.AnyPortNumber.make(1)
    }),
    "a path by LIDs": get(self, PathRecord, { slid: lid(2), dlid: lid(4), numbPath: 1 }),
    "a path by GIDs": get(self, PathRecord, { sgid: alpha, dgid: beta, numbPath: 1 }),
    "a path to itself": get(self, PathRecord, { sgid: alpha, dgid: alpha, numbPath: 1 }),
    "a path to a switch": get(self, PathRecord, { slid: lid(2), dlid: lid(3), numbPath: 1 }),
    "a table of paths": getTable(self, PathRecord, { slid: lid(2), dlid: lid(4), numbPath: 1 }),
    "a path to a GID of nobody": get(self, PathRecord, { sgid: alpha, dgid: gid(0xdeadn), numbPath: 1 }),
    "a path to a LID of nobody": get(self, PathRecord, { slid: lid(2), dlid: lid(77), numbPath: 1 }),
    "a path of too large an MTU": get(self, PathRecord, {
      slid: lid(2),
      dlid: lid(4),
      numbPath: 1,
      mtuSelector: 0,
      mtu: 2048
    }),
    "a path of this MTU": get(self, PathRecord, { slid: lid(2), dlid: lid(4), numbPath: 1, mtuSelector: 2, mtu: 2048 }),
    "a path of a partition of nobody": get(self, PathRecord, {
      slid: lid(2),
      dlid: lid(4),
      numbPath: 1,
      pKey: PKey.PKey.make(0x8005)
    }),
    "groups": getTable(self, McMemberRecord),
    "joining what is not there": set(self, McMemberRecord, { mgid: group, portGid: alpha, joinState: 1 }),
    "joining without saying who": set(self, McMemberRecord, { mgid: group, joinState: 1 }),
    "making a group": set(self, McMemberRecord, newGroup),
    "making one that only the manager makes": set(self, McMemberRecord, {
      ...newGroup,
      mgid: Gid.fromParts(0xff12_a01b_fe80_0000n, 0x1234n)
    }),
    "making one of IP with another Q_Key than the broadcast group": set(self, McMemberRecord, {
      ...newGroup,
      mgid: Gid.fromParts(0xff12_401b_ffff_0000n, 0x1234n)
    }),
    "joining it": set(self, McMemberRecord, { mgid: group, portGid: beta, joinState: 1 }),
    "joining it with another Q_Key": set(self, McMemberRecord, { ...newGroup, qKey: Identifier.QKey.make(0x2222) }),
    "the group": getTable(self, McMemberRecord, { mgid: group }),
    "joining as nobody": set(self, McMemberRecord, { mgid: group, portGid: gid(0xdeadn), joinState: 1 }),
    "leaving it": remove(self, McMemberRecord, { mgid: group, portGid: beta, joinState: 1 }),
    "leaving it twice": remove(self, McMemberRecord, { mgid: group, portGid: beta, joinState: 1 }),
    "leaving it last": remove(self, McMemberRecord, { mgid: group, portGid: alpha, joinState: 1 }),
    "the group that is gone": getTable(self, McMemberRecord, { mgid: group }),
    "registering a service": set(self, ServiceRecord, service),
    "the service": get(self, ServiceRecord, { serviceId: service.serviceId }),
    "removing it": remove(self, ServiceRecord, service),
    "removing it twice": remove(self, ServiceRecord, service),
    "the service that is gone": get(self, ServiceRecord, { serviceId: service.serviceId }),
    "subscribing": attribute(self, "set", InformInfo, {
      lidRangeBegin: Lid.permissive,
      isGeneric: 1,
      subscribe: 1,
      type: 0xffff,
      trapNumber: 64,
      producerType: 0xff_ffff
    }),
    "unsubscribing from what was not subscribed": attribute(self, "set", InformInfo, {
      lidRangeBegin: Lid.permissive,
      isGeneric: 1,
      subscribe: 0,
      type: 0xffff,
      trapNumber: 65,
      producerType: 0xff_ffff
    })
  }
  for (const [name, question] of Object.entries<Effect.Effect<unknown, SubnetAdministration.RequestError>>(questions)) {
    told[name] = yield* question.pipe(
      Effect.catchTags({
        MadStatus: ({ status }) => Effect.succeed(`status 0x${status.toString(16)}`),
        MadTimeout: () => Effect.succeed("no answer")
      })
    )
  }
  return told
}).pipe(Effect.scoped)
