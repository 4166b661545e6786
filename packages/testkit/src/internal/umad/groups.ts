import * as Gid from "@effect-rdma/core/Gid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as PKey from "@effect-rdma/core/PKey"
import { McMemberRecord } from "@effect-rdma/umad/McMemberRecord"
import * as Result from "effect/Result"
import * as Manager from "./manager.ts"
import * as Paths from "./paths.ts"
import { asks, matching, only, type Question, type Records, status } from "./records.ts"
import * as Subnet from "./subnet.ts"
import * as Subscriptions from "./subscriptions.ts"

/** The multicast groups of a subnet. */
export interface Groups {
  readonly manager: Manager.Manager
  readonly subscriptions: Subscriptions.Subscriptions
  readonly groups: Array<Group>
  nextMade: bigint
}

interface Group {
  /** What all members have in common. */
  readonly record: McMemberRecord
  readonly members: Map<Subnet.PortState, { joinState: number; readonly proxyJoin: boolean }>
  /** Stays without members. */
  readonly isPermanent: boolean
}

export const make = (manager: Manager.Manager, subscriptions: Subscriptions.Subscriptions): Groups => ({
  manager,
  subscriptions,
  // As opensm makes it for IP over InfiniBand, in the default partition.
  groups: [{ record: broadcast(), members: new Map(), isPermanent: true }],
  nextMade: 1n
})

/** To who has no key, a group is one record, and nobody learns who is in it. */
export const find = ({ groups }: Groups, question: Question): Records =>
  matching(
    McMemberRecord,
    question,
    groups.flatMap(({ members, record }) =>
      question.isTrusted
        ? Array.from(members, ([port, member]) => ({ ...record, ...member, portGid: Subnet.gidOf(port) }))
        : [record]
    )
  )

/** Joins a group, or makes it where the query says all that it has to. */
export const join = (self: Groups, question: Question): Records | number => {
  const wanted = Result.getOrThrow(McMemberRecord.decode(question.data))
  const port = portOf(self, wanted.portGid)
  if (!hasAll(question, ["mgid", "portGid", "joinState"])) return status.insufficientComponents
  if (port === undefined) return status.invalid
  if (wanted.joinState === 0) return status.invalid
  const known = self.groups.find(({ record }) => Gid.Equivalence(record.mgid, wanted.mgid))
  if (known !== undefined && !agrees(known.record, wanted, question)) return status.invalid
  const group = known ?? found(self, wanted, port, question)
  if (typeof group === "number") return group
  const joinState = (group.members.get(port)?.joinState ?? 0) | wanted.joinState
  group.members.set(port, { joinState, proxyJoin: wanted.proxyJoin })
  spread(self, group)
  return only(McMemberRecord, { ...group.record, portGid: wanted.portGid, joinState })
}

/** Leaves with those states that are named; without a full member left, a group is gone. */
export const leave = (self: Groups, question: Question): Records | number => {
  const wanted = Result.getOrThrow(McMemberRecord.decode(question.data))
  if (!hasAll(question, ["mgid", "portGid", "joinState"])) return status.insufficientComponents
  const port = portOf(self, wanted.portGid)
  const group = self.groups.find(({ record }) => Gid.Equivalence(record.mgid, wanted.mgid))
  const member = port === undefined ? undefined : group?.members.get(port)
  if (group === undefined || port === undefined || member === undefined) return status.invalid
  if ((member.joinState & wanted.joinState) === 0) return status.invalid
  const left = member.joinState & ~wanted.joinState
  if (left === 0) group.members.delete(port)
  else member.joinState = left
  if (!group.isPermanent && !Array.from(group.members.values()).some(({ joinState }) => (joinState & full) !== 0)) {
    self.groups.splice(self.groups.indexOf(group), 1)
    group.members.clear()
    Subscriptions.report(self.subscriptions, Subscriptions.trap.groupGone, group.record.mgid)
  }
  spread(self, group)
  const { exactly } = Paths
  return only(McMemberRecord, {
    ...wanted,
    joinState: left,
    mtuSelector: exactly,
    rateSelector: exactly,
    packetLifeTimeSelector: exactly
  })
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const full = 1
const firstLid = 0xc000
const lastLid = 0xc3ff

const portOf = ({ manager }: Groups, gid: Gid.Gid): Subnet.PortState | undefined =>
  Manager.endPortsIn(manager).find((port) => Subnet.isManaged(port) && Gid.Equivalence(Subnet.gidOf(port), gid))

const hasAll = (question: Question, names: ReadonlyArray<keyof McMemberRecord>): boolean =>
  names.every((name) => asks(McMemberRecord, question, name))

/** What makes a group has to say all this. */
const needed = ["qKey", "trafficClass", "pKey", "sl", "flowLabel"] as const

const agrees = (record: McMemberRecord, wanted: McMemberRecord, question: Question): boolean =>
  needed.every((name) => !asks(McMemberRecord, question, name) || record[name] === wanted[name])

/** A new group, where it can be one. */
const found = (
  self: Groups,
  wanted: McMemberRecord,
  port: Subnet.PortState,
  question: Question
): Group | number => {
  if (!hasAll(question, needed)) return status.insufficientComponents
  if ((wanted.joinState & full) === 0) return status.invalid
  const isOwn = Gid.isZero(wanted.mgid)
  const mgid = isOwn ? madeGid(self) : wanted.mgid
  const mlid = Array.from({ length: lastLid - firstLid + 1 }, (_, index) => firstLid + index)
    .find((lid) => !self.groups.some(({ record }) => record.mlid === lid))
  if (!Gid.isMulticast(mgid) || (!isOwn && !mayBe(self, wanted))) return status.invalid
  if (mlid === undefined) return noResources
  const group: Group = {
    record: {
      ...wanted,
      mgid,
      portGid: Gid.zero(),
      mlid: Lid.Lid.make(mlid),
      mtuSelector: Paths.exactly,
      mtu: asks(McMemberRecord, question, "mtu") && wanted.mtuSelector === Paths.exactly
        ? wanted.mtu
        : port.info.neighborMtu,
      rateSelector: Paths.exactly,
      rate: asks(McMemberRecord, question, "rate") && wanted.rateSelector === Paths.exactly
        ? wanted.rate
        : Paths.rateOf(port),
      packetLifeTimeSelector: Paths.exactly,
      joinState: 0,
      proxyJoin: false
    },
    members: new Map(),
    isPermanent: false
  }
  self.groups.push(group)
  Subscriptions.report(self.subscriptions, Subscriptions.trap.groupMade, mgid)
  return group
}

/** Only the manager makes link-local groups with its signature; those of IP have the Q_Key of the broadcast group. */
const mayBe = ({ groups }: Groups, { mgid, qKey }: McMemberRecord): boolean => {
  const signature = (mgid[2] ?? 0) << 8 | (mgid[3] ?? 0)
  if (signature === signatureOfManager) return ((mgid[1] ?? 0) & 0xf) !== linkLocal
  return (signature !== signatureOfIpv4 && signature !== signatureOfIpv6) || qKey === groups[0]?.record.qKey
}

const signatureOfManager = 0xa01b
const signatureOfIpv4 = 0x401b
const signatureOfIpv6 = 0x601b
const linkLocal = 2

const noResources = 0x0100

// As opensm makes them: transient, link-local, 0xa01b for "made by the manager".
const madeGid = (self: Groups): Gid.Gid => Gid.fromParts(0xff12_a01b_fe80_0000n, self.nextMade++)

const spread = ({ manager }: Groups, { members, record }: Group): void => {
  // Who only sends gets nothing.
  const receivers = Array.from(members).filter(([, { joinState }]) => (joinState & ~sendOnly) !== 0)
  if (receivers.length === 0) manager.groups.delete(record.mlid)
  else manager.groups.set(record.mlid, new Set(receivers.map(([port]) => port)))
  manager.spread()
}

const sendOnly = 4

const broadcast = (): McMemberRecord => ({
  mgid: Gid.fromParts(0xff12_401b_ffff_0000n, 0xffff_ffffn),
  portGid: Gid.zero(),
  qKey: Identifier.QKey.make(0x0b1b),
  mlid: Lid.Lid.make(firstLid),
  mtuSelector: Paths.exactly,
  mtu: 2048,
  trafficClass: Identifier.TrafficClass.make(0),
  pKey: PKey.defaultFull,
  rateSelector: Paths.exactly,
  rate: "10Gbps",
  packetLifeTimeSelector: Paths.exactly,
  packetLifeTime: Paths.subnetTimeout,
  sl: Identifier.ServiceLevel.make(0),
  flowLabel: Identifier.FlowLabel.make(0),
  hopLimit: Identifier.HopLimit.make(0),
  scope: 2,
  joinState: 0,
  proxyJoin: false
})
