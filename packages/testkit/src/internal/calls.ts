import type { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import type { RdmaCmError } from "@effect-rdma/rdmacm/RdmaCmError"
import type { Umad } from "@effect-rdma/umad/Umad"
import type { UmadError } from "@effect-rdma/umad/UmadError"
import type * as Address from "@effect-rdma/verbs/operations/Address"
import type * as Device from "@effect-rdma/verbs/operations/Device"
import type * as Domain from "@effect-rdma/verbs/operations/Domain"
import type { Operations } from "@effect-rdma/verbs/Verbs"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import type * as Effect from "effect/Effect"

/** A C function that returns nothing, or cannot fail. */
interface Infallible<Name extends string> {
  readonly infallible: Name
}

const infallible = <const Name extends string>(name: Name): Infallible<Name> => ({ infallible: name })

type IsInfallible<Member> = Member extends
  Effect.Effect<infer _A, infer E> | ((...args: never) => Effect.Effect<infer _A, infer E>)
  ? [E] extends [never] ? true : false
  : never

/** The C function of each member of a seam. A member without one is a compile error, and so is one of the wrong sort. */
type Table<Seam> = {
  readonly [Member in keyof Seam]: IsInfallible<Seam[Member]> extends true ? Infallible<string> : string
}

const deviceCalls = {
  getDeviceList: "ibv_get_device_list",
  freeDeviceList: infallible("ibv_free_device_list"),
  openDevice: "ibv_open_device",
  closeDevice: "ibv_close_device",
  getDeviceName: infallible("ibv_get_device_name"),
  queryDevice: "ibv_query_device",
  queryPort: "ibv_query_port",
  queryGid: "ibv_query_gid",
  queryGidTable: "ibv_query_gid_table",
  queryPkey: "ibv_query_pkey"
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
  createAhFromWc: "ibv_create_ah_from_wc"
} as const satisfies Table<Address.Operations>

const verbsCalls = { ...deviceCalls, ...domainCalls, ...addressCalls } as const satisfies Table<Operations>

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
  resolveAddr: "rdma_resolve_addr"
} as const satisfies Table<RdmaCm["Service"]>

const umadCalls = {
  init: "umad_init",
  done: "umad_done",
  getCasNames: "umad_get_cas_names",
  getCaDeviceList: "umad_get_ca_device_list",
  freeCaDeviceList: infallible("umad_free_ca_device_list"),
  getCa: "umad_get_ca",
  releaseCa: "umad_release_ca",
  getPort: "umad_get_port",
  releasePort: "umad_release_port"
} as const satisfies Table<Umad["Service"]>

type Entries =
  | (typeof verbsCalls)[keyof typeof verbsCalls]
  | (typeof rdmaCmCalls)[keyof typeof rdmaCmCalls]
  | (typeof umadCalls)[keyof typeof umadCalls]

/** The C functions that tell of a failure. */
export type FallibleCall = Extract<Entries, string>

/** The C functions that return nothing, or cannot fail. */
export type InfallibleCall = Extract<Entries, Infallible<string>>["infallible"]

const fallible = new Set<string>(
  [verbsCalls, rdmaCmCalls, umadCalls].flatMap((table) => Object.values(table)).filter((entry) =>
    typeof entry === "string"
  )
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

export const interceptVerbs = (self: Operations, interceptor: Interceptor<VerbsError>): Operations =>
  intercept(self, verbsCalls, interceptor)

export const interceptRdmaCm = (
  self: RdmaCm["Service"],
  interceptor: Interceptor<RdmaCmError>
): RdmaCm["Service"] => intercept(self, rdmaCmCalls, interceptor)

export const interceptUmad = (self: Umad["Service"], interceptor: Interceptor<UmadError>): Umad["Service"] =>
  intercept(self, umadCalls, interceptor)
