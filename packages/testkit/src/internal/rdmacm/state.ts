import * as Errno from "@effect-rdma/core/Errno"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as AddressInfoAttributes from "@effect-rdma/rdmacm/AddressInfoAttributes"
import type * as CmAddress from "@effect-rdma/rdmacm/CmAddress"
import type * as CmEvent from "@effect-rdma/rdmacm/CmEvent"
import type * as PortSpace from "@effect-rdma/rdmacm/PortSpace"
import { RdmaCmError } from "@effect-rdma/rdmacm/RdmaCmError"
import type * as Ece from "@effect-rdma/verbs/Ece"
import type * as Queue from "@effect-rdma/verbs/operations/Queue"
import type * as QueuePairType from "@effect-rdma/verbs/QueuePairType"
import type { Operations } from "@effect-rdma/verbs/Verbs"
import * as Effect from "effect/Effect"
import type * as Latch from "effect/Latch"
import * as Arrivals from "../arrivals.ts"
import type * as Heap from "../heap.ts"
import type * as Host from "../host.ts"
import type { Interface, Route } from "./address.ts"
import type { Connection } from "./connection.ts"

export type Id = Pointer.Pointer<"rdma_cm_id">

/** An event, whosever it is. */
export type AnyEvent = Omit<CmEvent.CmEvent, "id">

/** An event that nobody has got yet. */
export interface Pending {
  /** Whose event it is; of a request, the id that listens. */
  readonly of: IdState
  /** What `rdma_get_cm_event` does for it: that may come to nothing. */
  readonly got: Effect.Effect<CmEvent.CmEvent | undefined>
  readonly event: CmEvent.CmEvent["event"]
  /** The membership that it is of. */
  readonly membership: MembershipState | undefined
  /** What becomes of it when nobody can get it any more. */
  readonly dropped?: () => void
}

export interface ChannelState extends Heap.Native {
  readonly pointer: Pointer.Pointer<"rdma_event_channel">
  readonly fabric: Host.FabricState
  readonly host: Host.HostState
  pending: Array<Pending>
  readonly held: Arrivals.Held
  /** Open while events are pending. */
  readonly readable: Latch.Latch
  ids: number
}

export interface EventState extends Heap.Native {
  readonly id: IdState
  readonly membership: MembershipState | undefined
}

/** `enum rdma_cm_state` of the kernel, as far as ids of user space come. */
export type Step =
  | "idle"
  | "bound"
  | "resolvingAddress"
  | "addressResolved"
  | "resolvingRoute"
  | "routeResolved"
  | "listening"
  | "connected"
  | "disconnected"
  | "removed"
  | "destroyed"

/** The fields of `struct rdma_cm_id` that calls and events write. */
export interface Shown {
  device: Host.DeviceState | undefined
  portNum: number
  local: CmAddress.CmAddress | undefined
  peer: CmAddress.CmAddress | undefined
  numPaths: number
}

/** What librdmacm made on an id, or was given for it. */
export interface OnId {
  pd: Pointer.Pointer<"ibv_pd"> | undefined
  qp: Pointer.Pointer<"ibv_qp"> | undefined
  /** What the other side is told of the queue pair. */
  made: { readonly qpNum: Identifier.Qpn; readonly srq: boolean } | undefined
  srq: Pointer.Pointer<"ibv_srq"> | undefined
  sendCq: Pointer.Pointer<"ibv_cq"> | undefined
  recvCq: Pointer.Pointer<"ibv_cq"> | undefined
  readonly channels: Array<Pointer.Pointer<"ibv_comp_channel">>
}

/** What an endpoint that listens makes on the ids of its requests. */
export interface EndpointState {
  readonly queuePair: Queue.QueuePairInit | undefined
}

export interface MembershipState extends Heap.Native {
  readonly pointer: Pointer.Pointer<"cma_multicast">
  readonly id: IdState
  readonly address: CmAddress.CmAddress
  readonly joinFlags: "fullMember" | "sendOnlyFullMember"
  /** Where the queue pair of the id was attached. */
  attached: Parameters<Operations["attachMcast"]> | undefined
  stop: () => void
  unacked: number
}

export interface IdState extends Heap.Native {
  /** Of the id of a request, from when its event is got. */
  pointer: Id | undefined
  readonly portSpace: PortSpace.PortSpace
  readonly qpType: QueuePairType.QueuePairType
  channel: ChannelState
  /** Whether the channel is its own, as that of an endpoint. */
  isSync: boolean
  /** The event that the id of a request of an endpoint keeps, and acks by itself. */
  keeps: Pointer.Pointer<"rdma_cm_event"> | undefined
  endpoint: EndpointState | undefined
  step: Step
  /** Events of the id of a request are dropped until it is accepted. */
  isHeard: boolean
  unacked: number
  /** Where it is, as the kernel has it. */
  place: Interface | undefined
  /** Whether it was about to get an address of a device: the kernel then looks for its next one on that link alone. */
  hasLink: boolean
  local: CmAddress.CmAddress | undefined
  peer: CmAddress.CmAddress | undefined
  route: Route | undefined
  readonly shown: Shown
  reuseAddress: boolean
  familyOnly: boolean
  typeOfService: number
  ackTimeout: number | undefined
  /** How many more requests it takes before one is got. */
  backlog: number
  /** Ends what is under way. */
  stop: () => void
  connection: Connection | undefined
  responderResources: number
  initiatorDepth: number
  localEce: Ece.Ece
  remoteEce: Ece.Ece
  readonly on: OnId
  /** Its queue pair could not be moved, and what the other side says of that is no event. */
  hasFailed: boolean
  readonly memberships: Set<MembershipState>
  /** Between looking names up and asking for what was found. */
  isResolvingInfo: boolean
  resolvedInfo: ReadonlyArray<AddressInfoAttributes.AddressInfo> | undefined
}

/** librdmacm of one host with the connection manager of its kernel. */
export interface CmState {
  readonly fabric: Host.FabricState
  readonly host: Host.HostState
  readonly verbs: Operations
  readonly channels: Heap.Store<"rdma_event_channel", ChannelState>
  readonly ids: Heap.Store<"rdma_cm_id", IdState>
  readonly events: Heap.Store<"rdma_cm_event", EventState>
  readonly memberships: Heap.Store<"cma_multicast", MembershipState>
  readonly contextOf: (device: Host.DeviceState) => Pointer.Pointer<"ibv_context">
  /** The protection domain of librdmacm on each device that ids are on, and how many. */
  readonly domains: Map<Host.DeviceState, { readonly pd: Pointer.Pointer<"ibv_pd">; users: number }>
  /** Who has each port of each port space. */
  readonly ports: Map<string, Set<IdState>>
  nextPort: number
  /** The ids of the kernel that a device takes along. */
  readonly onDevice: Set<IdState>
  /** The queue pairs of others that are connected to this host: a second request of one is stale. */
  readonly remoteQueuePairs: Map<string, Connection>
  /** The requests that arrived here, by the one who asks. */
  readonly requests: WeakMap<Connection, Connection>
  /** The number of the first packet of the next connection. */
  nextPsn: number
}

/** What no vendor proposes. */
export const noEce: Ece.Ece = { vendorId: 0, options: 0, compMask: 0 }

const managers = new WeakMap<Host.DeviceState, CmState>()

/** Makes the manager the one that messages to the devices of its host come to. */
export const register = (state: CmState): void => {
  for (const device of state.host.devices) managers.set(device, state)
}

/** The connection manager of the host of a device. */
export const managerOf = (device: Host.DeviceState): CmState | undefined => managers.get(device)

export const makeId = (
  channel: ChannelState,
  portSpace: PortSpace.PortSpace,
  qpType: QueuePairType.QueuePairType = isDatagram(portSpace) ? "ud" : "rc"
): IdState => ({
  kind: "CmId",
  pointer: undefined,
  portSpace,
  qpType,
  channel,
  isSync: false,
  keeps: undefined,
  endpoint: undefined,
  step: "idle",
  isHeard: true,
  unacked: 0,
  place: undefined,
  hasLink: false,
  local: undefined,
  peer: undefined,
  route: undefined,
  shown: { device: undefined, portNum: 0, local: undefined, peer: undefined, numPaths: 0 },
  reuseAddress: false,
  familyOnly: false,
  typeOfService: 0,
  ackTimeout: undefined,
  backlog: 0,
  stop: () => {},
  connection: undefined,
  responderResources: 0,
  initiatorDepth: 0,
  localEce: noEce,
  remoteEce: noEce,
  on: {
    pd: undefined,
    qp: undefined,
    made: undefined,
    srq: undefined,
    sendCq: undefined,
    recvCq: undefined,
    channels: []
  },
  hasFailed: false,
  memberships: new Set(),
  isResolvingInfo: false,
  resolvedInfo: undefined
})

const isDatagram = (portSpace: PortSpace.PortSpace): boolean => portSpace === "udp" || portSpace === "ipoib"

/** Puts an event onto a channel. */
export const push = (pending: Pending): void => {
  const { channel } = pending.of
  channel.pending.push(pending)
  channel.readable.openUnsafe()
}

/** An event comes to a channel, or what tests want instead. */
export const arrive = (pending: Pending): void => {
  const { event, of: { channel: { fabric, held, host }, place, shown } } = pending
  if (fabric.onArrival.size === 0 && held.length === 0) return push(pending)
  const device = (shown.device ?? place?.device)?.name
  // Its id may be gone by then.
  const put = (pending: Pending) => pending.of.step === "destroyed" ? pending.dropped?.() : push(pending)
  Arrivals.arrive(fabric, held, { arrival: "cmEvent", host: host.name, device, event }, {
    put: () => put(pending),
    // librdmacm makes an id for each request: there can be no second one of the same.
    putAgain: () => event === "connectRequest" ? undefined : put(pending),
    drop: () => {}
  })
}

/** Takes the events of an id off its channel. */
export const take = (channel: ChannelState, id: IdState): ReadonlyArray<Pending> => {
  const taken = channel.pending.filter(({ of }) => of === id)
  channel.pending = channel.pending.filter(({ of }) => of !== id)
  if (channel.pending.length === 0) channel.readable.closeUnsafe()
  return taken
}

/** An event of an id that the program hears of; `then` is what librdmacm does when it is got. */
export const notify = (
  id: IdState,
  event: AnyEvent,
  then: (event: AnyEvent) => Effect.Effect<AnyEvent | undefined> = Effect.succeed,
  membership?: MembershipState
): void => {
  if (!id.isHeard || id.pointer === undefined || id.step === "destroyed") return
  const { pointer } = id
  arrive({
    of: id,
    membership,
    event: event.event,
    got: Effect.map(Effect.suspend(() => then(event)), (event) => event && { ...event, id: pointer })
  })
}

export const fail = (
  call: string,
  errno: Errno.ErrnoName,
  input: RdmaCmError["input"] = {}
): Effect.Effect<never, RdmaCmError> => Effect.fail(errorOf(call, Errno.numberOf(errno), input))

export const errorOf = (call: string, errno: number, input: RdmaCmError["input"] = {}): RdmaCmError =>
  new RdmaCmError({ call, reason: NativeReason.fromErrno(errno), input })

/** Succeeds, or fails with an errno. */
export const outcome = (
  call: string,
  errno: Errno.ErrnoName | undefined,
  input: RdmaCmError["input"] = {}
): Effect.Effect<void, RdmaCmError> => errno === undefined ? Effect.void : fail(call, errno, input)

/** A call of the kernel on an id: one whose device is gone can only be destroyed. */
export const on = <A>(
  state: CmState,
  call: string,
  id: Id,
  run: (id: IdState) => Effect.Effect<A, RdmaCmError>
): Effect.Effect<A, RdmaCmError> =>
  Effect.suspend(() => {
    const self = state.ids.get(call, id)
    return self.step === "removed" ? fail(call, "ENXIO") : run(self)
  })

/** Binds an id to a device, where librdmacm has a protection domain for as long as ids are there. */
export const hold = (state: CmState, self: IdState, device: Host.DeviceState) =>
  Effect.suspend(() => {
    const show = (pd: Pointer.Pointer<"ibv_pd">) => {
      self.shown.device = device
      self.shown.portNum = self.place?.portNum ?? 0
      self.on.pd ??= pd
    }
    if (self.shown.device !== undefined) return Effect.void
    const found = state.domains.get(device)
    if (found !== undefined) {
      found.users++
      return Effect.sync(() => show(found.pd))
    }
    return Effect.map(state.verbs.allocPd(state.contextOf(device)), (pd) => {
      state.host.heap.name(pd, undefined)
      state.domains.set(device, { pd, users: 1 })
      show(pd)
    })
  })

/** The id does not need its device any more. */
export const release = ({ domains, verbs }: CmState, { shown: { device } }: IdState) => {
  const domain = device && domains.get(device)
  if (device === undefined || domain === undefined || --domain.users > 0) return Effect.void
  domains.delete(device)
  // librdmacm does not look at what comes of it.
  return Effect.ignore(verbs.deallocPd(domain.pd))
}

/** The number of the first packet of a connection. */
export const nextPsn = (state: CmState): Identifier.Psn => {
  state.nextPsn = (state.nextPsn + 0x1357) & 0xffffff
  return Identifier.Psn.make(state.nextPsn)
}
