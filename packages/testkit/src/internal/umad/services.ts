import * as PKey from "@effect-rdma/core/PKey"
import { ServiceRecord } from "@effect-rdma/umad/ServiceRecord"
import * as Equal from "effect/Equal"
import * as Result from "effect/Result"
import { asks, matching, only, type Question, type Records, status } from "./records.ts"

/** The services that are registered, each until its lease ends. */
export interface Services {
  readonly registered: Array<Registered>
  readonly after: (seconds: number, run: () => void) => () => void
}

interface Registered {
  readonly record: ServiceRecord
  readonly stopLease: () => void
}

export const make = (after: Services["after"]): Services => ({ registered: [], after })

export const find = ({ registered }: Services, question: Question): Records =>
  matching(
    ServiceRecord,
    question,
    registered.map(({ record }) => question.isTrusted ? record : { ...record, serviceKey: noKey })
  )

/** Registers or renews: a service is known by its id, GID and P_Key. */
export const set = (self: Services, question: Question): Records | number => {
  const wanted = Result.getOrThrow(ServiceRecord.decode(question.data))
  const names = (name: keyof ServiceRecord) => asks(ServiceRecord, question, name)
  if (!names("serviceId") || !names("serviceGid")) return status.insufficientComponents
  const record: ServiceRecord = {
    ...wanted,
    servicePKey: names("servicePKey") ? wanted.servicePKey : PKey.defaultFull,
    serviceLease: names("serviceLease") ? wanted.serviceLease : forever
  }
  const before = self.registered.find((other) => isSame(other.record, record))
  if (before !== undefined && !mayChange(before.record, question, wanted)) return status.invalid
  if (before !== undefined) take(self, before)
  const registered: Registered = {
    record,
    stopLease: record.serviceLease === forever
      ? () => {}
      : self.after(record.serviceLease, () => take(self, registered))
  }
  self.registered.push(registered)
  return only(ServiceRecord, record)
}

export const remove = (self: Services, question: Question): Records | number => {
  const wanted = Result.getOrThrow(ServiceRecord.decode(question.data))
  const before = self.registered.find(({ record }) =>
    record.serviceId === wanted.serviceId && Equal.equals(record.serviceGid, wanted.serviceGid)
  )
  if (before === undefined) return status.noRecords
  if (!mayChange(before.record, question, wanted)) return status.invalid
  take(self, before)
  return only(ServiceRecord, before.record)
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const forever = 0xffff_ffff
const noKey = new Uint8Array(16)

const isSame = (self: ServiceRecord, that: ServiceRecord): boolean =>
  self.serviceId === that.serviceId && Equal.equals(self.serviceGid, that.serviceGid) &&
  self.servicePKey === that.servicePKey

/** A service with a key is changed by who has it. */
const mayChange = ({ serviceKey }: ServiceRecord, { isTrusted }: Question, wanted: ServiceRecord): boolean =>
  isTrusted || Equal.equals(serviceKey, wanted.serviceKey)

const take = ({ registered }: Services, service: Registered): void => {
  service.stopLease()
  const place = registered.indexOf(service)
  if (place !== -1) registered.splice(place, 1)
}
