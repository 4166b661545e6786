import * as Gid from "@effect-rdma/core/Gid"
import * as Lid from "@effect-rdma/core/Lid"
import { InformInfo } from "@effect-rdma/umad/InformInfo"
import { Notice } from "@effect-rdma/umad/Notice"
import * as SaMad from "@effect-rdma/umad/SaMad"
import * as Result from "effect/Result"
import type { Manager } from "./manager.ts"
import { type Question, type Records, status } from "./records.ts"
import * as Subnet from "./subnet.ts"

/** Who wants to hear of what. */
export interface Subscriptions {
  readonly manager: Manager
  readonly subscribers: Array<Subscriber>
  readonly deliver: (lid: number, mad: Uint8Array) => void
  nextTransaction: bigint
}

interface Subscriber {
  readonly lid: number
  readonly wanted: InformInfo
}

export const make = (manager: Manager, deliver: Subscriptions["deliver"]): Subscriptions => ({
  manager,
  subscribers: [],
  deliver,
  nextTransaction: 1n
})

export const set = (self: Subscriptions, { data, from }: Question): Records | number => {
  const wanted = Result.getOrThrow(InformInfo.decode(data))
  const place = self.subscribers.findIndex((other) => other.lid === from && isSame(other.wanted, wanted))
  if (wanted.subscribe > 1 || (wanted.subscribe === 0 && place === -1)) return status.invalid
  if (wanted.subscribe === 0) self.subscribers.splice(place, 1)
  else if (place === -1) self.subscribers.push({ lid: from, wanted })
  return { size: InformInfo.size, records: [Result.getOrThrow(InformInfo.encode(wanted))] }
}

/** The traps of the manager itself. */
export const trap = { inService: 64, outOfService: 65, groupMade: 66, groupGone: 67 } as const

/** Tells the subscribers of something that has a GID. */
export const report = (self: Subscriptions, trapNumber: number, gid: Gid.Gid): void => {
  const { port } = self.manager
  const dataDetails = new Uint8Array(54)
  dataDetails.set(gid, 6)
  const data = new Uint8Array(200)
  data.set(Result.getOrThrow(Notice.encode({
    isGeneric: true,
    type: subnetManagement,
    producerType: classManager,
    trapNumber,
    issuerLid: port.info.lid,
    dataDetails,
    issuerGid: Subnet.gidOf(port)
  })))
  for (const { lid } of self.subscribers.filter(({ wanted }) => isFor(wanted, trapNumber))) {
    const mad = Result.getOrThrow(SaMad.SaMad.encode({
      baseVersion: 1,
      mgmtClass: "subnAdm",
      classVersion: 2,
      method: "report",
      transactionId: self.nextTransaction++,
      attributeId: Notice.attributeId,
      data
    }))
    self.deliver(lid, mad)
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const subnetManagement = 3
const classManager = 4
const any = 0xffff

const isSame = (self: InformInfo, that: InformInfo): boolean =>
  self.trapNumber === that.trapNumber && self.type === that.type && self.isGeneric === that.isGeneric &&
  self.lidRangeBegin === that.lidRangeBegin && self.lidRangeEnd === that.lidRangeEnd &&
  Gid.Equivalence(self.gid, that.gid)

const isFor = ({ isGeneric, lidRangeBegin, producerType, trapNumber, type }: InformInfo, trap: number): boolean =>
  isGeneric === 1 && (trapNumber === any || trapNumber === trap) && (type === any || type === subnetManagement) &&
  (producerType === 0xff_ffff || producerType === classManager || producerType === 0) &&
  (lidRangeBegin === Lid.permissive || lidRangeBegin === 0)
