import type * as RSockets from "@effect-rdma/rdmacm/operations/RSockets"
import type { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import type { RdmaCmError } from "@effect-rdma/rdmacm/RdmaCmError"
import type { Umad } from "@effect-rdma/umad/Umad"
import type { UmadError } from "@effect-rdma/umad/UmadError"
import type * as Address from "@effect-rdma/verbs/operations/Address"
import type * as Completion from "@effect-rdma/verbs/operations/Completion"
import type * as CompletionCounter from "@effect-rdma/verbs/operations/CompletionCounter"
import type * as DataPath from "@effect-rdma/verbs/operations/DataPath"
import type * as Device from "@effect-rdma/verbs/operations/Device"
import type * as Domain from "@effect-rdma/verbs/operations/Domain"
import type * as Events from "@effect-rdma/verbs/operations/Events"
import type * as Memory from "@effect-rdma/verbs/operations/Memory"
import type * as Queue from "@effect-rdma/verbs/operations/Queue"
import type * as Steering from "@effect-rdma/verbs/operations/Steering"
import type { Operations } from "@effect-rdma/verbs/Verbs"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import * as Effect from "effect/Effect"

/** A C function that returns nothing, or cannot fail. */
interface Infallible<Name extends string> {
  readonly infallible: Name
}

const infallible = <const Name extends string>(name: Name): Infallible<Name> => ({ infallible: name })

/** A plain function that tells of its error in what it returns: with the error alone when it was not called. */
interface Synchronous<Name extends string> {
  readonly synchronous: Name
  readonly failed: (error: VerbsError) => unknown
}

const synchronous = <const Name extends string, A>(
  name: Name,
  failed: (error: VerbsError) => A
): Synchronous<Name> & { readonly failed: (error: VerbsError) => A } => ({ synchronous: name, failed })

type IsInfallible<Member> = Member extends
  Effect.Effect<infer _A, infer E> | ((...args: never) => Effect.Effect<infer _A, infer E>)
  ? [E] extends [never] ? true : false
  : never

/** The C function of each member of a seam. A member without one is a compile error, and so is one of the wrong sort. */
type Table<Seam> = {
  readonly [Member in keyof Seam]: IsInfallible<Seam[Member]> extends true ? Infallible<string> : string
}

type SynchronousTable<Seam> = {
  readonly [Member in keyof Seam]: Seam[Member] extends (...args: never) => infer A
    ? Synchronous<string> & { readonly failed: (error: VerbsError) => A }
    : never
}

const deviceCalls = {
  getDeviceList: "ibv_get_device_list",
  freeDeviceList: infallible("ibv_free_device_list"),
  openDevice: "ibv_open_device",
  closeDevice: "ibv_close_device",
  getDeviceName: infallible("ibv_get_device_name"),
  queryDevice: "ibv_query_device",
  queryDeviceEx: "ibv_query_device_ex",
  queryRtValuesEx: "ibv_query_rt_values_ex",
  queryPort: "ibv_query_port",
  queryPortSpeed: "ibv_query_port_speed",
  queryGid: "ibv_query_gid",
  queryGidEx: "ibv_query_gid_ex",
  queryGidTable: "ibv_query_gid_table",
  queryPkey: "ibv_query_pkey",
  getPkeyIndex: "ibv_get_pkey_index",
  queryQpDataInOrder: "ibv_query_qp_data_in_order",
  forkInit: "ibv_fork_init",
  isForkInitialized: "ibv_is_fork_initialized"
} as const satisfies Table<Device.Operations>

const domainCalls = {
  allocPd: "ibv_alloc_pd",
  deallocPd: "ibv_dealloc_pd",
  allocTd: "ibv_alloc_td",
  deallocTd: "ibv_dealloc_td",
  allocParentDomain: "ibv_alloc_parent_domain",
  expCreateResDomain: "ibv_exp_create_res_domain",
  expDestroyResDomain: "ibv_exp_destroy_res_domain"
} as const satisfies Table<Domain.Operations>

const addressCalls = {
  createAh: "ibv_create_ah",
  destroyAh: "ibv_destroy_ah",
  initAhFromWc: "ibv_init_ah_from_wc",
  createAhFromWc: "ibv_create_ah_from_wc",
  resolveEthL2FromGid: "ibv_resolve_eth_l2_from_gid"
} as const satisfies Table<Address.Operations>

const completionCalls = {
  numCompVectors: infallible("ibv_context.num_comp_vectors"),
  createCompChannel: "ibv_create_comp_channel",
  destroyCompChannel: "ibv_destroy_comp_channel",
  createCq: "ibv_create_cq",
  createCqEx: "ibv_create_cq_ex",
  destroyCq: "ibv_destroy_cq",
  resizeCq: "ibv_resize_cq",
  modifyCq: "ibv_modify_cq",
  reqNotifyCq: "ibv_req_notify_cq",
  getCqEvent: "ibv_get_cq_event",
  awaitCqEvent: "poll",
  startPoll: "ibv_start_poll"
} as const satisfies Table<Completion.Operations>

const completionCounterCalls = {
  queryCompCntrCaps: "ibv_query_comp_cntr_caps",
  createCompCntr: "ibv_create_comp_cntr",
  destroyCompCntr: "ibv_destroy_comp_cntr",
  setCompCntr: "ibv_set_comp_cntr",
  setErrCompCntr: "ibv_set_err_comp_cntr",
  incCompCntr: "ibv_inc_comp_cntr",
  incErrCompCntr: "ibv_inc_err_comp_cntr",
  readCompCntr: "ibv_read_comp_cntr",
  readErrCompCntr: "ibv_read_err_comp_cntr",
  qpAttachCompCntr: "ibv_qp_attach_comp_cntr"
} as const satisfies Table<CompletionCounter.Operations>

const eventsCalls = {
  getAsyncEvent: "ibv_get_async_event",
  awaitAsyncEvent: "poll"
} as const satisfies Table<Events.Operations>

const steeringCalls = {
  createWq: "ibv_create_wq",
  modifyWq: "ibv_modify_wq",
  destroyWq: "ibv_destroy_wq",
  createRwqIndTable: "ibv_create_rwq_ind_table",
  destroyRwqIndTable: "ibv_destroy_rwq_ind_table",
  createFlow: "ibv_create_flow",
  destroyFlow: "ibv_destroy_flow",
  createFlowActionEsp: "ibv_create_flow_action_esp",
  modifyFlowActionEsp: "ibv_modify_flow_action_esp",
  destroyFlowAction: "ibv_destroy_flow_action",
  createCounters: "ibv_create_counters",
  destroyCounters: "ibv_destroy_counters",
  attachCountersPointFlow: "ibv_attach_counters_point_flow",
  readCounters: "ibv_read_counters"
} as const satisfies Table<Steering.Operations>

const memoryCalls = {
  regMr: "ibv_reg_mr",
  regMrIova: "ibv_reg_mr_iova",
  regDmabufMr: "ibv_reg_dmabuf_mr",
  regDmMr: "ibv_reg_dm_mr",
  allocNullMr: "ibv_alloc_null_mr",
  regMrEx: "ibv_reg_mr_ex",
  regBufMr: "ibv_reg_buf_mr",
  reregMr: "ibv_rereg_mr",
  deregMr: "ibv_dereg_mr",
  adviseMr: "ibv_advise_mr",
  allocMw: "ibv_alloc_mw",
  bindMw: "ibv_bind_mw",
  deallocMw: "ibv_dealloc_mw",
  allocDm: "ibv_alloc_dm",
  freeDm: "ibv_free_dm",
  memcpyToDm: "ibv_memcpy_to_dm",
  memcpyFromDm: "ibv_memcpy_from_dm",
  dmExportDmabufFd: "ibv_dm_export_dmabuf_fd",
  allocDmah: "ibv_alloc_dmah",
  deallocDmah: "ibv_dealloc_dmah",
  allocBuf: "ibv_alloc_buf",
  freeBuf: infallible("ibv_free_buf"),
  exportBufDmabufFd: "ibv_export_buf_dmabuf_fd",
  closeFd: "close",
  importDevice: "ibv_import_device",
  getCmdFd: infallible("ibv_context.cmd_fd"),
  importPd: "ibv_import_pd",
  unimportPd: infallible("ibv_unimport_pd"),
  getPdHandle: infallible("ibv_pd.handle"),
  importMr: "ibv_import_mr",
  unimportMr: infallible("ibv_unimport_mr"),
  importDm: "ibv_import_dm",
  unimportDm: infallible("ibv_unimport_dm")
} as const satisfies Table<Memory.Operations>

const queueCalls = {
  openXrcd: "ibv_open_xrcd",
  closeXrcd: "ibv_close_xrcd",
  createSrq: "ibv_create_srq",
  createSrqEx: "ibv_create_srq_ex",
  destroySrq: "ibv_destroy_srq",
  modifySrq: "ibv_modify_srq",
  querySrq: "ibv_query_srq",
  getSrqNum: "ibv_get_srq_num",
  createQp: "ibv_create_qp",
  createQpEx: "ibv_create_qp_ex",
  openQp: "ibv_open_qp",
  destroyQp: "ibv_destroy_qp",
  modifyQp: "ibv_modify_qp",
  queryQp: "ibv_query_qp",
  modifyQpRateLimit: "ibv_modify_qp_rate_limit",
  queryEce: "ibv_query_ece",
  setEce: "ibv_set_ece",
  attachMcast: "ibv_attach_mcast",
  detachMcast: "ibv_detach_mcast",
  wrComplete: "ibv_wr_complete"
} as const satisfies Table<Queue.Operations>

const notPosted = (error: VerbsError): DataPath.Posted => ({ count: 0, error })

const dataPathCalls = {
  postSend: synchronous("ibv_post_send", notPosted),
  postRecv: synchronous("ibv_post_recv", notPosted),
  postSrqRecv: synchronous("ibv_post_srq_recv", notPosted),
  pollCq: synchronous("ibv_poll_cq", (error): DataPath.Polled => ({ completions: [], error }))
} as const satisfies SynchronousTable<DataPath.DataPath>

const verbsCalls = {
  ...deviceCalls,
  ...domainCalls,
  ...addressCalls,
  ...memoryCalls,
  ...completionCalls,
  ...completionCounterCalls,
  ...eventsCalls,
  ...steeringCalls,
  ...queueCalls
} as const satisfies Table<Omit<Operations, "dataPath">>

const rsocketCalls = {
  rsocket: "rsocket",
  rclose: "rclose",
  rbind: "rbind",
  rlisten: "rlisten",
  raccept: "raccept",
  rconnect: "rconnect",
  rpoll: infallible("rpoll"),
  awaitRSocket: infallible("rpoll"),
  rsend: "rsend",
  rrecv: "rrecv",
  rshutdown: "rshutdown",
  rgetsockname: "rgetsockname",
  rgetpeername: "rgetpeername",
  rgetsockopt: "rgetsockopt",
  rsetsockopt: "rsetsockopt",
  riomap: "riomap",
  riounmap: "riounmap",
  riowrite: "riowrite",
  repollCreate: "repoll_create",
  repollCtl: "repoll_ctl",
  repollWait: "repoll_wait"
} as const satisfies Table<RSockets.Operations>

const rdmaCmCalls = {
  getDevices: "rdma_get_devices",
  freeDevices: infallible("rdma_free_devices"),
  createEventChannel: "rdma_create_event_channel",
  destroyEventChannel: infallible("rdma_destroy_event_channel"),
  getCmEvent: "rdma_get_cm_event",
  ackCmEvent: infallible("rdma_ack_cm_event"),
  awaitCmEvent: "poll",
  createId: "rdma_create_id",
  destroyId: "rdma_destroy_id",
  readId: infallible("rdma_cm_id"),
  bindAddr: "rdma_bind_addr",
  resolveAddr: "rdma_resolve_addr",
  resolveRoute: "rdma_resolve_route",
  listen: "rdma_listen",
  connect: "rdma_connect",
  accept: "rdma_accept",
  establish: "rdma_establish",
  reject: "rdma_reject",
  disconnect: "rdma_disconnect",
  rejectEce: "rdma_reject_ece",
  notify: "rdma_notify",
  writeCmEvent: "rdma_write_cm_event",
  initQpAttr: "rdma_init_qp_attr",
  migrateId: "rdma_migrate_id",
  setOption: "rdma_set_option",
  setLocalEce: "rdma_set_local_ece",
  getRemoteEce: "rdma_get_remote_ece",
  joinMulticast: "rdma_join_multicast",
  joinMulticastEx: "rdma_join_multicast_ex",
  leaveMulticast: "rdma_leave_multicast",
  getaddrinfo: "rdma_getaddrinfo",
  resolveAddrinfo: "rdma_resolve_addrinfo",
  queryAddrinfo: "rdma_query_addrinfo",
  createQp: "rdma_create_qp",
  destroyQp: infallible("rdma_destroy_qp"),
  createSrq: "rdma_create_srq",
  destroySrq: infallible("rdma_destroy_srq"),
  createEp: "rdma_create_ep",
  destroyEp: infallible("rdma_destroy_ep"),
  getRequest: "rdma_get_request",
  awaitRequest: "poll",
  ...rsocketCalls
} as const satisfies Table<RdmaCm["Service"]>

const umadCalls = {
  init: "umad_init",
  done: "umad_done",
  debug: infallible("umad_debug"),
  getCasNames: "umad_get_cas_names",
  getCaDeviceList: "umad_get_ca_device_list",
  sortCaDeviceList: "umad_sort_ca_device_list",
  freeCaDeviceList: infallible("umad_free_ca_device_list"),
  getCa: "umad_get_ca",
  releaseCa: "umad_release_ca",
  getCaPortguids: "umad_get_ca_portguids",
  getPortNumbers: "scandir",
  getPort: "umad_get_port",
  releasePort: "umad_release_port",
  getIssmPath: "umad_get_issm_path",
  getSmiGsiPairs: "umad_get_smi_gsi_pairs",
  getSmiGsiPairByCaName: "umad_get_smi_gsi_pair_by_ca_name",
  openPort: "umad_open_port",
  openSmiPort: "umad_open_smi_port",
  closePort: "umad_close_port",
  getFd: infallible("umad_get_fd"),
  register: "umad_register",
  registerOui: "umad_register_oui",
  register2: "umad_register2",
  unregister: "umad_unregister",
  alloc: "umad_alloc",
  free: infallible("umad_free"),
  dump: infallible("umad_dump"),
  addrDump: infallible("umad_addr_dump"),
  send: "umad_send",
  recv: "umad_recv",
  poll: "umad_poll",
  awaitMad: "poll"
} as const satisfies Table<Umad["Service"]>

type Entries =
  | (typeof verbsCalls)[keyof typeof verbsCalls]
  | (typeof rdmaCmCalls)[keyof typeof rdmaCmCalls]
  | (typeof umadCalls)[keyof typeof umadCalls]

/** The C functions that tell of a failure. */
export type FallibleCall =
  | Extract<Entries, string>
  | (typeof dataPathCalls)[keyof typeof dataPathCalls]["synchronous"]

/** The C functions that return nothing, or cannot fail. */
export type InfallibleCall = Extract<Entries, Infallible<string>>["infallible"]

const fallible = new Set<string>(
  [
    ...[verbsCalls, rdmaCmCalls, umadCalls].flatMap((table) => Object.values(table)).filter((entry) =>
      typeof entry === "string"
    ),
    ...Object.values(dataPathCalls).map((entry) => entry.synchronous)
  ]
)

/** For callers without types. */
export const isFallible = (call: string): boolean => fallible.has(call)

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
  /** A call that is a plain function: `failed` makes what it returns when it is not made. */
  readonly synchronous: <A extends { readonly error: E | undefined }>(
    call: FallibleCall,
    args: ReadonlyArray<unknown>,
    run: () => A,
    failed: (error: E) => A
  ) => A
}

type Member<E> = Effect.Effect<unknown, E> | ((...args: ReadonlyArray<unknown>) => Effect.Effect<unknown, E>)

// The tables are checked against the seams above; a walk over their members cannot be typed member by member.
const intercept = <Seam extends object, E>(
  seam: Seam,
  table: { readonly [member: string]: FallibleCall | Infallible<InfallibleCall> },
  interceptor: Interceptor<E>
): Seam => {
  const around = (
    entry: FallibleCall | Infallible<InfallibleCall>,
    args: ReadonlyArray<unknown>,
    run: Effect.Effect<unknown, E>
  ) =>
    typeof entry === "string"
      ? interceptor.fallible(entry, args, run)
      : interceptor.infallible(entry.infallible, args, run as Effect.Effect<unknown>)
  const wrapped: { [member: string]: Member<E> } = {}
  for (const [name, member] of Object.entries(seam as { readonly [name: string]: Member<E> })) {
    const entry = table[name]
    if (entry === undefined) throw new TypeError(`the seam has no member ${name}`)
    wrapped[name] = typeof member === "function"
      ? (...args) => around(entry, args, member(...args))
      : around(entry, [], member)
  }
  return wrapped as Seam
}

const interceptDataPath = (
  self: DataPath.DataPath,
  { synchronous }: Interceptor<VerbsError>
): DataPath.DataPath => {
  const { pollCq, postRecv, postSend, postSrqRecv } = dataPathCalls
  return {
    postSend: (...args) => synchronous(postSend.synchronous, args, () => self.postSend(...args), postSend.failed),
    postRecv: (...args) => synchronous(postRecv.synchronous, args, () => self.postRecv(...args), postRecv.failed),
    postSrqRecv: (...args) =>
      synchronous(postSrqRecv.synchronous, args, () => self.postSrqRecv(...args), postSrqRecv.failed),
    pollCq: (...args) => synchronous(pollCq.synchronous, args, () => self.pollCq(...args), pollCq.failed)
  }
}

export const interceptVerbs = (self: Operations, interceptor: Interceptor<VerbsError>): Operations => {
  const { dataPath, ...operations } = self
  let original: DataPath.DataPath | undefined
  let wrapped: DataPath.DataPath | undefined
  return {
    ...intercept(operations, verbsCalls, interceptor),
    dataPath: Effect.map(dataPath, (functions) => {
      if (wrapped === undefined || functions !== original) {
        wrapped = interceptDataPath(original = functions, interceptor)
      }
      return wrapped
    })
  }
}

export const interceptRdmaCm = (
  self: RdmaCm["Service"],
  interceptor: Interceptor<RdmaCmError>
): RdmaCm["Service"] => intercept(self, rdmaCmCalls, interceptor)

export const interceptUmad = (self: Umad["Service"], interceptor: Interceptor<UmadError>): Umad["Service"] =>
  intercept(self, umadCalls, interceptor)
