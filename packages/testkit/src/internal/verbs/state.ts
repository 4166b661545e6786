import * as Errno from "@effect-rdma/core/Errno"
import type * as Identifier from "@effect-rdma/core/Identifier"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as AddressHandleAttributes from "@effect-rdma/verbs/AddressHandleAttributes"
import type * as AsyncEvent from "@effect-rdma/verbs/AsyncEvent"
import type * as CompletionQueueAttributes from "@effect-rdma/verbs/CompletionQueueAttributes"
import { VerbsError } from "@effect-rdma/verbs/VerbsError"
import type * as WorkQueueAttributes from "@effect-rdma/verbs/WorkQueueAttributes"
import * as Effect from "effect/Effect"
import type * as Latch from "effect/Latch"
import { FabricMisuse } from "../../FabricMisuse.ts"
import type * as Topology from "../../Topology.ts"
import type * as Arrivals from "../arrivals.ts"
import type { Deque } from "../deque.ts"
import type * as Heap from "../heap.ts"
import type * as Host from "../host.ts"
import type { Completed } from "./completionStore.ts"
import type { RegionState, WindowState } from "./memoryState.ts"
import type { QueuePairState, SharedReceiveQueueState, XrcDomainState } from "./queueState.ts"

export interface OfContext extends Heap.Native {
  readonly device: Host.DeviceState
  readonly context: Pointer.Pointer<"ibv_context">
}

export interface DomainState extends OfContext {
  readonly kind: "ProtectionDomain" | "ParentDomain"
  /** The domain of the kernel behind this one. */
  readonly root?: DomainState
  readonly parts: ReadonlyArray<{ users: number }>
  users: number
}

export interface ThreadDomainState extends OfContext {
  users: number
}

export interface AddressHandleState extends OfContext {
  readonly domain: DomainState
  readonly attributes: AddressHandleAttributes.AddressHandleAttributes
}

export interface CompletionChannelState extends OfContext {
  queues: number
  readonly pending: Array<Pointer.Pointer<"ibv_cq">>
  /** Open while events are pending, and for good when the device is gone. */
  readonly readable: Latch.Latch
}

export interface CompletionQueueState extends OfContext {
  readonly pointer: Pointer.Pointer<"ibv_cq">
  readonly channel: CompletionChannelState | undefined
  readonly cqContext: number
  /** Of an extended queue. */
  readonly wcFlags: ReadonlySet<CompletionQueueAttributes.WcFlag> | undefined
  readonly domain: DomainState | undefined
  readonly completions: Deque<Completed>
  /** What is held back of what completed, and all that is still to come, delayed ones too. */
  readonly held: Arrivals.Held
  readonly late: Set<Completed>
  cqe: number
  /** Which completion gives the next event, if any. */
  armed: "any" | "solicited" | undefined
  isOverrun: boolean
  /** The QPs, SRQs and WQs that complete into it: once for each way. */
  users: number
}

export interface AsyncEventsState {
  readonly pending: Array<AsyncEvent.AsyncEvent>
  readonly held: Arrivals.Held
  /** Open while events are pending, and for good when the device is gone. */
  readonly readable: Latch.Latch
}

export interface WorkQueueState extends OfContext {
  readonly domain: DomainState
  readonly completionQueue: CompletionQueueState
  state: WorkQueueAttributes.WorkQueueState
  /** The places that it has in tables. */
  users: number
}

export interface RwqIndTableState extends OfContext {
  readonly queues: ReadonlyArray<WorkQueueState>
  /** The queue pairs that were made with it. */
  users: number
}

export interface FlowActionState extends OfContext {
  readonly hasEsn: boolean
  users: number
}

export interface CountersState extends OfContext {
  /** The indexes at which something is counted. */
  readonly attached: Array<number>
  users: number
}

export interface FlowState extends OfContext {
  readonly pair: QueuePairState
  readonly used: ReadonlyArray<{ users: number }>
}

/** What libibverbs of one host holds, shared by the families of its operations. */
export interface VerbsState {
  readonly fabric: Host.FabricState
  readonly host: Host.HostState
  readonly domains: Heap.Store<"ibv_pd", DomainState>
  readonly addressHandles: Heap.Store<"ibv_ah", AddressHandleState>
  readonly regions: Heap.Store<"ibv_mr", RegionState>
  readonly windows: Heap.Store<"ibv_mw", WindowState>
  readonly completionQueues: Heap.Store<"ibv_cq", CompletionQueueState>
  readonly xrcDomains: Heap.Store<"ibv_xrcd", XrcDomainState>
  readonly sharedReceiveQueues: Heap.Store<"ibv_srq", SharedReceiveQueueState>
  readonly queuePairs: Heap.Store<"ibv_qp", QueuePairState>
  readonly rwqIndTables: Heap.Store<"ibv_rwq_ind_table", RwqIndTableState>
  /** What was raised on each context and not yet got. */
  readonly asyncEvents: Map<Pointer.Pointer<"ibv_context">, AsyncEventsState>
  /**
   * What the kernel reclaims when the file of a context is closed, in any order; each family adds its own.
   */
  readonly onClose: Array<(context: Pointer.Pointer<"ibv_context">) => void>
}

export const make = (fabric: Host.FabricState, host: Host.HostState): VerbsState => ({
  fabric,
  host,
  domains: host.heap.store<"ibv_pd", DomainState>("ibv_pd"),
  addressHandles: host.heap.store<"ibv_ah", AddressHandleState>("ibv_ah"),
  regions: host.heap.store<"ibv_mr", RegionState>("ibv_mr"),
  windows: host.heap.store<"ibv_mw", WindowState>("ibv_mw"),
  completionQueues: host.heap.store<"ibv_cq", CompletionQueueState>("ibv_cq"),
  xrcDomains: host.heap.store<"ibv_xrcd", XrcDomainState>("ibv_xrcd"),
  sharedReceiveQueues: host.heap.store<"ibv_srq", SharedReceiveQueueState>("ibv_srq"),
  queuePairs: host.heap.store<"ibv_qp", QueuePairState>("ibv_qp"),
  rwqIndTables: host.heap.store<"ibv_rwq_ind_table", RwqIndTableState>("ibv_rwq_ind_table"),
  asyncEvents: new Map(),
  onClose: []
})

/** Forgets the objects of a store that were made on a context. */
export const reclaim = <Struct extends string, Value extends OfContext>(
  store: Heap.Store<Struct, Value>,
  context: Pointer.Pointer<"ibv_context">,
  each: (value: Value) => void = () => {}
): void => {
  for (const [pointer, value] of Array.from(store.values())) {
    if (value.context !== context) continue
    each(value)
    store.free("ibv_close_device", pointer)
  }
}

/** Runs a query of a context whose device is there. */
export const query = <A>(
  { host }: VerbsState,
  call: string,
  context: Pointer.Pointer<"ibv_context">,
  run: (device: Host.DeviceState) => Effect.Effect<A, VerbsError>
): Effect.Effect<A, VerbsError> =>
  Effect.suspend(() => {
    const { device } = host.contexts.get(call, context)
    return device.plugged ? run(device) : fail(call, "EIO")
  })

export const errorOf = (call: string, errno: Errno.ErrnoName | 0, input: VerbsError["input"] = {}): VerbsError =>
  new VerbsError({ call, reason: NativeReason.fromErrno(errno === 0 ? 0 : Errno.numberOf(errno)), input })

export const fail = (
  call: string,
  errno: Errno.ErrnoName | 0,
  input: VerbsError["input"] = {}
): Effect.Effect<never, VerbsError> => Effect.fail(errorOf(call, errno, input))

export const rootOf = (domain: DomainState): DomainState => domain.root ?? domain

export const portOf = (device: Host.DeviceState, portNum: Identifier.AnyPortNumber): Topology.Port | undefined =>
  device.description.ports.find((port) => port.number === portNum)

/** The parts of an object must be of the context that it is made on. */
export const ensureOneContext = (
  call: string,
  context: Pointer.Pointer<"ibv_context">,
  parts: ReadonlyArray<OfContext>
): void => {
  if (parts.some((part) => part.context !== context)) {
    throw new FabricMisuse({ call, problem: "the parts are of different contexts" })
  }
}

/** A query or change of an object whose device is there. */
export const on = <Struct extends string, Value extends OfContext, A>(
  call: string,
  store: { readonly get: (call: string, pointer: Pointer.Pointer<Struct>) => Value },
  pointer: Pointer.Pointer<Struct>,
  run: (value: Value) => Effect.Effect<A, VerbsError>
): Effect.Effect<A, VerbsError> =>
  Effect.suspend(() => {
    const value = store.get(call, pointer)
    return value.device.plugged ? run(value) : fail(call, "EIO")
  })

/** Destroys an object whose device is there, and that nothing uses. */
export const destroy = (
  call: string,
  value: OfContext & { readonly users: number },
  free: () => void
): Effect.Effect<void, VerbsError> =>
  Effect.suspend(() => {
    if (!value.device.plugged) return fail(call, "EIO")
    if (value.users > 0) return fail(call, "EBUSY")
    free()
    return Effect.void
  })
