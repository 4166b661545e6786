import * as Gid from "@effect-rdma/core/Gid"
import * as Identifier from "@effect-rdma/core/Identifier"
import { ClassPortInfo } from "@effect-rdma/umad/ClassPortInfo"
import { InformInfo } from "@effect-rdma/umad/InformInfo"
import * as MadAddress from "@effect-rdma/umad/MadAddress"
import { McMemberRecord } from "@effect-rdma/umad/McMemberRecord"
import { NodeRecord } from "@effect-rdma/umad/NodeRecord"
import { PathRecord } from "@effect-rdma/umad/PathRecord"
import { PortInfoRecord } from "@effect-rdma/umad/PortInfoRecord"
import * as SaMad from "@effect-rdma/umad/SaMad"
import { ServiceRecord } from "@effect-rdma/umad/ServiceRecord"
import * as Result from "effect/Result"
import * as Groups from "./groups.ts"
import { bytesOf, descriptionOf, nodeInfoOf, type Reaction } from "./management.ts"
import * as Manager from "./manager.ts"
import * as Paths from "./paths.ts"
import { asks, matching, type Question, type Records, status } from "./records.ts"
import * as Services from "./services.ts"
import * as Smp from "./smp.ts"
import * as Subnet from "./subnet.ts"
import * as Subscriptions from "./subscriptions.ts"

/** Subnet administration, beside the subnet manager. */
export interface Administration {
  readonly manager: Manager.Manager
  readonly groups: Groups.Groups
  readonly services: Services.Services
  readonly subscriptions: Subscriptions.Subscriptions
  inService: ReadonlySet<Subnet.PortState>
}

export const make = (
  manager: Manager.Manager,
  after: (seconds: number, run: () => void) => () => void,
  deliver: (lid: number, mad: Uint8Array) => void
): Administration => {
  const subscriptions = Subscriptions.make(manager, deliver)
  return {
    manager,
    groups: Groups.make(manager, subscriptions),
    services: Services.make(after),
    subscriptions,
    inService: portsInService(manager)
  }
}

/** Tells who wants to hear of it which ports came and went. */
export const noticeChange = (self: Administration): void => {
  const before = self.inService
  const now = portsInService(self.manager)
  self.inService = now
  const { inService, outOfService } = Subscriptions.trap
  for (const port of before) {
    if (!now.has(port)) Subscriptions.report(self.subscriptions, outOfService, Subnet.gidOf(port))
  }
  for (const port of now) {
    if (!before.has(port)) Subscriptions.report(self.subscriptions, inService, Subnet.gidOf(port))
  }
}

/** What it replies to a MAD from a LID. */
export const react = (self: Administration, from: number, mad: Uint8Array): Reaction => {
  // Reports are answered by those who hear of something; nothing comes of it.
  if (mad[0] !== 1 || Smp.isResponse(mad)) return "dropped"
  const request = Result.getOrThrow(SaMad.SaMad.decode(mad))
  if (request.classVersion !== 2) return refuse(mad, Smp.status.version)
  // Who has a key has the right one or none.
  if (request.smKey !== 0n && request.smKey !== Manager.smKey) return "dropped"
  const question: Question = { ...request, from, mad, isTrusted: request.smKey !== 0n }
  const { method } = question
  if (method !== "get" && method !== "getTable" && method !== "set" && method !== "delete") {
    return refuse(mad, Smp.status.method)
  }
  const answer = answers[request.attributeId]?.[method]
  if (answer === undefined) return refuse(mad, Smp.status.attribute)
  const told = answer(self, question)
  if (typeof told === "number") return refuse(mad, told)
  return method === "getTable" ? table(question, told) : single(question, told)
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** The records, or the status that says why not. */
type Answer = (self: Administration, question: Question) => Records | number

const portsInService = (manager: Manager.Manager): ReadonlySet<Subnet.PortState> =>
  new Set(Manager.endPortsIn(manager).filter((port) => Subnet.isManaged(port) && port.info.portState === "active"))

const getResp = 0x81
const getTableResp = 0x92
const deleteResp = 0x95
const methodOffset = 3
const header = SaMad.dataOffset
const packet = 256

const refuse = (mad: Uint8Array, status: number): Uint8Array => {
  const reply = mad.slice(0, packet)
  reply[methodOffset] = (mad[methodOffset] ?? 0) | 0x80
  if (mad[methodOffset] === 0x02) reply[methodOffset] = getResp
  Smp.viewOf(reply).setUint16(4, status)
  return reply
}

const respond = (
  { mad }: Question,
  method: number,
  size: number,
  records: ReadonlyArray<Uint8Array>,
  isMessage: boolean
): Uint8Array => {
  const stride = 8 * Math.ceil(size / 8)
  const length = stride * records.length
  const reply = new Uint8Array(isMessage ? header + length : packet)
  const view = Smp.viewOf(reply)
  reply.set(mad.subarray(0, header))
  reply[methodOffset] = method
  view.setUint16(4, Smp.status.ok)
  view.setUint16(44, records.length === 0 ? 0 : stride / 8)
  if (isMessage) {
    const segments = Math.max(1, Math.ceil(length / (packet - header)))
    reply.set([1, data, active | first | (segments === 1 ? last : 0), 0], 24)
    view.setUint32(28, 1)
    // The length of the payload, with the header of subnet administration in each segment.
    view.setUint32(32, length + segments * saHeader)
  }
  for (const [index, record] of records.entries()) reply.set(record, header + index * stride)
  return reply
}

// RMPP: version 1, of type data.
const data = 1
const active = 1
const first = 2
const last = 4
const saHeader = 20

const single = (question: Question, { records, size }: Records): Uint8Array => {
  const [record, another] = records
  if (record === undefined) return refuse(question.mad, status.noRecords)
  if (another !== undefined) return refuse(question.mad, status.tooManyRecords)
  return respond(question, question.method === "delete" ? deleteResp : getResp, size, [record], false)
}

const table = (question: Question, { records, size }: Records): Uint8Array =>
  respond(question, getTableResp, size, records, true)

const nodeRecordOf = (port: Subnet.PortState): NodeRecord => ({
  lid: port.info.lid,
  ...nodeInfoOf(port),
  nodeDescription: descriptionOf(port)
})

const portInfoRecordOf = (port: Subnet.PortState, isTrusted: boolean): PortInfoRecord => ({
  endPortLid: Subnet.endPortOf(port).info.lid,
  portNum: port.number,
  options: 0,
  ...port.info,
  mKey: isTrusted ? port.info.mKey : 0n,
  localPortNum: Subnet.endPortOf(port).number
})

const nodes: Answer = ({ manager }, question) =>
  matching(
    NodeRecord,
    question,
    Manager.endPortsIn(manager).filter(Subnet.isManaged).map(nodeRecordOf)
  )

const ports: Answer = ({ manager }, question) =>
  matching(
    PortInfoRecord,
    question,
    manager.found.flatMap(({ ports }) => ports).map((port) => portInfoRecordOf(port, question.isTrusted))
  )

const paths: Answer = ({ manager }, question) => {
  const wanted = Result.getOrThrow(PathRecord.decode(question.data))
  const names = (name: keyof PathRecord) => asks(PathRecord, question, name)
  const all = Manager.endPortsIn(manager).filter(Subnet.isManaged)
  /** The ports that the query takes for one end. */
  const ends = (gid: Gid.Gid | undefined, lid: number | undefined): ReadonlyArray<Subnet.PortState> =>
    all.filter((port) =>
      (gid === undefined || Gid.Equivalence(Subnet.gidOf(port), gid)) && (lid === undefined || Subnet.hasLid(port, lid))
    )
  const from = ends(names("sgid") ? wanted.sgid : undefined, names("slid") ? wanted.slid : undefined)
  const to = ends(names("dgid") ? wanted.dgid : undefined, names("dlid") ? wanted.dlid : undefined)
  // A single answer is one path of each pair; numbPath bounds those of a table.
  const perPair = question.method === "get" ? 1 : names("numbPath") ? Math.max(wanted.numbPath, 1) : Infinity
  const records = to.flatMap((destination) =>
    from.flatMap((source) =>
      Paths.between(source, destination, {
        dlid: names("dlid") ? wanted.dlid : undefined,
        slid: names("slid") ? wanted.slid : undefined
      }).filter((path) => Paths.suits(path, wanted, names)).slice(0, perPair)
    )
  )
  return { size: PathRecord.size, records: records.map((record) => Result.getOrThrow(PathRecord.encode(record))) }
}

const classPortInfo: Answer = () => ({
  size: ClassPortInfo.size,
  records: [
    bytesOf(ClassPortInfo, {
      baseVersion: 1,
      classVersion: 2,
      capabilityMask: isUdMulticastSupported,
      respTimeValue: 16,
      redirectQp: Identifier.Qpn.make(1),
      redirectQKey: MadAddress.generalServicesQKey,
      trapQKey: MadAddress.generalServicesQKey
    })
  ]
})

const isUdMulticastSupported = 0x0200

const answers: {
  readonly [id: number]: { readonly [Method in "get" | "getTable" | "set" | "delete"]?: Answer } | undefined
} = {
  [ClassPortInfo.attributeId]: { get: classPortInfo },
  [InformInfo.attributeId]: { set: ({ subscriptions }, question) => Subscriptions.set(subscriptions, question) },
  [NodeRecord.attributeId]: { get: nodes, getTable: nodes },
  [PortInfoRecord.attributeId]: { get: ports, getTable: ports },
  [PathRecord.attributeId]: { get: paths, getTable: paths },
  [McMemberRecord.attributeId]: {
    get: ({ groups }, question) => Groups.find(groups, question),
    getTable: ({ groups }, question) => Groups.find(groups, question),
    set: ({ groups }, question) => Groups.join(groups, question),
    delete: ({ groups }, question) => Groups.leave(groups, question)
  },
  [ServiceRecord.attributeId]: {
    get: ({ services }, question) => Services.find(services, question),
    getTable: ({ services }, question) => Services.find(services, question),
    set: ({ services }, question) => Services.set(services, question),
    delete: ({ services }, question) => Services.remove(services, question)
  }
}
