import type { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import type { RdmaCmError } from "@effect-rdma/rdmacm/RdmaCmError"
import type { Umad } from "@effect-rdma/umad/Umad"
import type { UmadError } from "@effect-rdma/umad/UmadError"
import type { Verbs } from "@effect-rdma/verbs/Verbs"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import type * as Effect from "effect/Effect"

/** The C function of each member of a seam. A member without one is a compile error, here and below. */
const verbsCalls = {
  getDeviceList: "ibv_get_device_list",
  freeDeviceList: "ibv_free_device_list",
  openDevice: "ibv_open_device",
  closeDevice: "ibv_close_device",
  getDeviceName: "ibv_get_device_name",
  queryDevice: "ibv_query_device",
  queryPort: "ibv_query_port",
  queryGid: "ibv_query_gid",
  queryGidTable: "ibv_query_gid_table",
  queryPkey: "ibv_query_pkey",
  allocPd: "ibv_alloc_pd",
  deallocPd: "ibv_dealloc_pd",
  allocTd: "ibv_alloc_td",
  deallocTd: "ibv_dealloc_td",
  allocParentDomain: "ibv_alloc_parent_domain",
  createAh: "ibv_create_ah",
  destroyAh: "ibv_destroy_ah",
  initAhFromWc: "ibv_init_ah_from_wc",
  createAhFromWc: "ibv_create_ah_from_wc",
  expCreateResDomain: "ibv_exp_create_res_domain",
  expDestroyResDomain: "ibv_exp_destroy_res_domain"
} as const satisfies Record<keyof Verbs["Service"], string>

const rdmaCmCalls = {
  getDevices: "rdma_get_devices",
  freeDevices: "rdma_free_devices",
  createEventChannel: "rdma_create_event_channel",
  destroyEventChannel: "rdma_destroy_event_channel",
  getCmEvent: "rdma_get_cm_event",
  ackCmEvent: "rdma_ack_cm_event",
  awaitCmEvent: "poll",
  createId: "rdma_create_id",
  destroyId: "rdma_destroy_id",
  resolveAddr: "rdma_resolve_addr"
} as const satisfies Record<keyof RdmaCm["Service"], string>

const umadCalls = {
  init: "umad_init",
  done: "umad_done",
  getCasNames: "umad_get_cas_names",
  getCaDeviceList: "umad_get_ca_device_list",
  freeCaDeviceList: "umad_free_ca_device_list",
  getCa: "umad_get_ca",
  releaseCa: "umad_release_ca",
  getPort: "umad_get_port",
  releasePort: "umad_release_port"
} as const satisfies Record<keyof Umad["Service"], string>

type CallOf<Service, Names extends Record<keyof Service, string>, Fallible extends boolean> = {
  [Member in keyof Service]: Service[Member] extends
    | Effect.Effect<infer _A, infer E>
    | ((...args: never) => Effect.Effect<infer _A, infer E>) ? [E] extends [never] ? Fallible extends true ? never
      : Names[Member]
    : Fallible extends true ? Names[Member]
    : never
    : never
}[keyof Service]

type CallsOf<Fallible extends boolean> =
  | CallOf<Verbs["Service"], typeof verbsCalls, Fallible>
  | CallOf<RdmaCm["Service"], typeof rdmaCmCalls, Fallible>
  | CallOf<Umad["Service"], typeof umadCalls, Fallible>

/** The C functions that tell of a failure. */
export type FallibleCall = CallsOf<true>

/** The C functions that return nothing, or cannot fail. */
export type InfallibleCall = CallsOf<false>

/** What happens around each call of a seam whose error is `E`. */
export interface Interceptor<in out E> {
  readonly fallible: <A>(
    call: FallibleCall,
    args: ReadonlyArray<unknown>,
    run: Effect.Effect<A, E>
  ) => Effect.Effect<A, E>
  readonly infallible: <A>(
    call: InfallibleCall,
    args: ReadonlyArray<unknown>,
    run: Effect.Effect<A>
  ) => Effect.Effect<A>
}

const wrappers = <E>({ fallible, infallible }: Interceptor<E>) => ({
  value: <A>(call: FallibleCall, self: Effect.Effect<A, E>) => fallible(call, [], self),
  method:
    <Args extends ReadonlyArray<unknown>, A>(call: FallibleCall, self: (...args: Args) => Effect.Effect<A, E>) =>
    (...args: Args) => fallible(call, args, self(...args)),
  quiet:
    <Args extends ReadonlyArray<unknown>, A>(call: InfallibleCall, self: (...args: Args) => Effect.Effect<A>) =>
    (...args: Args) => infallible(call, args, self(...args))
})

export const interceptVerbs = (self: Verbs["Service"], interceptor: Interceptor<VerbsError>): Verbs["Service"] => {
  const { method, quiet, value } = wrappers(interceptor)
  return {
    getDeviceList: value(verbsCalls.getDeviceList, self.getDeviceList),
    freeDeviceList: quiet(verbsCalls.freeDeviceList, self.freeDeviceList),
    openDevice: method(verbsCalls.openDevice, self.openDevice),
    closeDevice: method(verbsCalls.closeDevice, self.closeDevice),
    getDeviceName: quiet(verbsCalls.getDeviceName, self.getDeviceName),
    queryDevice: method(verbsCalls.queryDevice, self.queryDevice),
    queryPort: method(verbsCalls.queryPort, self.queryPort),
    queryGid: method(verbsCalls.queryGid, self.queryGid),
    queryGidTable: method(verbsCalls.queryGidTable, self.queryGidTable),
    queryPkey: method(verbsCalls.queryPkey, self.queryPkey),
    allocPd: method(verbsCalls.allocPd, self.allocPd),
    deallocPd: method(verbsCalls.deallocPd, self.deallocPd),
    allocTd: method(verbsCalls.allocTd, self.allocTd),
    deallocTd: method(verbsCalls.deallocTd, self.deallocTd),
    allocParentDomain: method(verbsCalls.allocParentDomain, self.allocParentDomain),
    createAh: method(verbsCalls.createAh, self.createAh),
    destroyAh: method(verbsCalls.destroyAh, self.destroyAh),
    initAhFromWc: method(verbsCalls.initAhFromWc, self.initAhFromWc),
    createAhFromWc: method(verbsCalls.createAhFromWc, self.createAhFromWc),
    expCreateResDomain: method(verbsCalls.expCreateResDomain, self.expCreateResDomain),
    expDestroyResDomain: method(verbsCalls.expDestroyResDomain, self.expDestroyResDomain)
  }
}

export const interceptRdmaCm = (
  self: RdmaCm["Service"],
  interceptor: Interceptor<RdmaCmError>
): RdmaCm["Service"] => {
  const { method, quiet, value } = wrappers(interceptor)
  return {
    getDevices: value(rdmaCmCalls.getDevices, self.getDevices),
    freeDevices: quiet(rdmaCmCalls.freeDevices, self.freeDevices),
    createEventChannel: value(rdmaCmCalls.createEventChannel, self.createEventChannel),
    destroyEventChannel: quiet(rdmaCmCalls.destroyEventChannel, self.destroyEventChannel),
    getCmEvent: method(rdmaCmCalls.getCmEvent, self.getCmEvent),
    ackCmEvent: method(rdmaCmCalls.ackCmEvent, self.ackCmEvent),
    awaitCmEvent: method(rdmaCmCalls.awaitCmEvent, self.awaitCmEvent),
    createId: method(rdmaCmCalls.createId, self.createId),
    destroyId: method(rdmaCmCalls.destroyId, self.destroyId),
    resolveAddr: method(rdmaCmCalls.resolveAddr, self.resolveAddr)
  }
}

export const interceptUmad = (self: Umad["Service"], interceptor: Interceptor<UmadError>): Umad["Service"] => {
  const { method, quiet, value } = wrappers(interceptor)
  return {
    init: value(umadCalls.init, self.init),
    done: value(umadCalls.done, self.done),
    getCasNames: value(umadCalls.getCasNames, self.getCasNames),
    getCaDeviceList: value(umadCalls.getCaDeviceList, self.getCaDeviceList),
    freeCaDeviceList: quiet(umadCalls.freeCaDeviceList, self.freeCaDeviceList),
    getCa: method(umadCalls.getCa, self.getCa),
    releaseCa: method(umadCalls.releaseCa, self.releaseCa),
    getPort: method(umadCalls.getPort, self.getPort),
    releasePort: method(umadCalls.releasePort, self.releasePort)
  }
}
