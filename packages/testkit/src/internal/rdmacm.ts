import * as Errno from "@effect-rdma/core/Errno"
import * as Gid from "@effect-rdma/core/Gid"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as CmAddress from "@effect-rdma/rdmacm/CmAddress"
import type * as CmEvent from "@effect-rdma/rdmacm/CmEvent"
import type * as PortSpace from "@effect-rdma/rdmacm/PortSpace"
import type { ContextArray, RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import { RdmaCmError } from "@effect-rdma/rdmacm/RdmaCmError"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as NetAddress from "effect/net/NetAddress"
import type * as Scope from "effect/Scope"
import { FabricMisuse } from "../FabricMisuse.ts"
import type * as Heap from "./heap.ts"
import * as Host from "./host.ts"
import * as RSocketPolls from "./rdmacm/rsocketPolls.ts"
import * as RSockets from "./rdmacm/rsockets.ts"

interface ChannelState extends Heap.Native {
  readonly pending: Array<CmEvent.CmEvent>
  /** Open while events are pending. */
  readonly readable: Latch.Latch
  ids: number
}

interface IdState extends Heap.Native {
  readonly channel: ChannelState
  readonly portSpace: PortSpace.PortSpace
  state: "idle" | "resolving" | "bound" | "destroyed"
  boundTo: Host.DeviceState | undefined
  unacked: number
}

/** How long the fabric takes to resolve an address. */
const resolutionMillis = 1

/** librdmacm of one host, on its heap. Resolutions run in `scope`. */
export const make = (fabric: Host.FabricState, host: Host.HostState, scope: Scope.Scope): RdmaCm["Service"] => {
  const { contexts, heap } = host
  const lists = heap.store<"ibv_context *", Heap.Native>("ibv_context *")
  const channels = heap.store<"rdma_event_channel", ChannelState>("rdma_event_channel")
  const ids = heap.store<"rdma_cm_id", IdState>("rdma_cm_id")
  const events = heap.store<"rdma_cm_event", Heap.Native & { readonly id: IdState }>("rdma_cm_event")

  // The library opens a device once and keeps it open for as long as the process runs.
  const kept = new Map<Host.DeviceState, Pointer.Pointer<"ibv_context">>()
  const contextOf = (device: Host.DeviceState): Pointer.Pointer<"ibv_context"> => {
    let context = kept.get(device)
    if (context === undefined) kept.set(device, context = contexts.alloc({ kind: undefined, device }))
    return context
  }

  const notify = (channel: ChannelState, event: CmEvent.CmEvent): void => {
    channel.pending.push(event)
    channel.readable.openUnsafe()
  }

  host.onUnplug.push((device) => {
    for (const [id, { boundTo, channel }] of ids.values()) {
      if (boundTo === device) notify(channel, { event: "deviceRemoval", status: 0, id })
    }
  })

  /** Every call first loads the list of devices, and gives up when it is empty. */
  const withDevices = <A>(call: string, run: () => Effect.Effect<A, RdmaCmError>): Effect.Effect<A, RdmaCmError> =>
    Effect.suspend(() => {
      if (!host.rdma) return Effect.fail(unavailable(call))
      return host.devices.length === 0 ? fail(call, "ENODEV") : run()
    })

  const rsockets = RSockets.make(fabric, host, withDevices)

  const finish = (
    id: Pointer.Pointer<"rdma_cm_id">,
    self: IdState,
    device: Host.DeviceState | undefined,
    status: Errno.ErrnoName | 0
  ): void => {
    if (self.state === "destroyed") return
    const outcome = device === undefined || !device.plugged ? "ENODEV" : status
    self.state = outcome === 0 ? "bound" : "idle"
    self.boundTo = outcome === 0 ? device : undefined
    notify(
      self.channel,
      outcome === 0
        ? { event: "addrResolved", status: 0, id }
        : { event: "addrError", status: -Errno.numberOf(outcome), id }
    )
  }

  return {
    getDevices: Effect.suspend((): Effect.Effect<ContextArray, RdmaCmError> => {
      if (!host.rdma) return Effect.fail(unavailable("rdma_get_devices"))
      if (host.devices.length === 0) return Effect.succeed({ list: undefined, contexts: [] })
      return Effect.succeed({ list: lists.alloc({ kind: "RdmaDevices" }), contexts: host.devices.map(contextOf) })
    }),
    freeDevices: (list) => Effect.sync(() => void lists.free("rdma_free_devices", list)),

    createEventChannel: withDevices(
      "rdma_create_event_channel",
      () =>
        Effect.sync(() =>
          channels.alloc({ kind: "EventChannel", pending: [], readable: Latch.makeUnsafe(false), ids: 0 })
        )
    ),
    destroyEventChannel: (channel) =>
      Effect.sync(() => {
        const call = "rdma_destroy_event_channel"
        const { ids } = channels.get(call, channel)
        if (ids > 0) throw new FabricMisuse({ call, problem: `${ids} id(s) are still on the channel` })
        channels.free(call, channel)
      }),
    getCmEvent: (channel) =>
      Effect.suspend(() => {
        const call = "rdma_get_cm_event"
        const self = channels.get(call, channel)
        const event = self.pending.shift()
        if (event === undefined) return fail(call, "EAGAIN")
        if (self.pending.length === 0) self.readable.closeUnsafe()
        const id = ids.get(call, event.id)
        id.unacked++
        return Effect.succeed({ pointer: events.alloc({ kind: "CmEvent", id }), event })
      }),
    ackCmEvent: (event) =>
      Effect.sync(() => {
        events.free("rdma_ack_cm_event", event).id.unacked--
      }),
    awaitCmEvent: (channel) => Effect.suspend(() => channels.get("poll", channel).readable.await),

    createId: (channel, portSpace) =>
      Effect.sync(() => {
        const self = channels.get("rdma_create_id", channel)
        self.ids++
        return ids.alloc({ kind: "CmId", channel: self, portSpace, state: "idle", boundTo: undefined, unacked: 0 })
      }),
    destroyId: (id) =>
      Effect.sync(() => {
        const call = "rdma_destroy_id"
        const self = ids.get(call, id)
        const { channel, unacked } = self
        if (unacked > 0) {
          throw new FabricMisuse({ call, problem: `would hang: ${unacked} event(s) of the id are not acked` })
        }
        ids.free(call, id)
        self.state = "destroyed"
        channel.ids--
        const others = channel.pending.filter((event) => event.id !== id)
        channel.pending.splice(0, Infinity, ...others)
        if (others.length === 0) channel.readable.closeUnsafe()
      }),
    resolveAddr: (id, source, destination, timeoutMillis) =>
      Effect.suspend(() => {
        const call = "rdma_resolve_addr"
        const input = {
          ...(source === undefined ? {} : { source: CmAddress.format(source) }),
          destination: CmAddress.format(destination),
          timeoutMillis
        }
        const self = ids.get(call, id)
        if (source?._tag === "IbAddress" || destination._tag === "IbAddress") {
          return fail(call, "EADDRNOTAVAIL", input)
        }
        if (self.state !== "idle" || (source !== undefined && source._tag !== destination._tag)) {
          return fail(call, "EINVAL", input)
        }
        const route = routeOf(fabric, host, source, destination)
        if (typeof route === "string") return fail(call, route, input)
        self.state = "resolving"
        const status = route.status === 0 && self.portSpace === "ipoib" ? "EINVAL" : route.status
        return Effect.sleep(status === "ETIMEDOUT" ? timeoutMillis >>> 0 : resolutionMillis).pipe(
          Effect.andThen(Effect.sync(() => finish(id, self, route.device, status))),
          Effect.forkIn(scope, { startImmediately: true }),
          Effect.asVoid
        )
      }),
    readId: (id) =>
      Effect.sync(() => {
        const { boundTo, portSpace } = ids.get("rdma_cm_id", id)
        return {
          channel: undefined,
          verbs: boundTo && contextOf(boundTo),
          portNum: boundTo === undefined ? 0 : 1,
          portSpace,
          qpType: portSpace === "udp" || portSpace === "ipoib" ? "ud" : "rc",
          localAddress: undefined,
          peerAddress: undefined,
          numPaths: 0,
          qp: undefined,
          srq: undefined,
          pd: undefined,
          sendCq: undefined,
          recvCq: undefined
        }
      }),
    ...withoutConnections,
    ...rsockets,
    ...RSocketPolls.make(host, rsockets)
  }
}

const missing = (call: string) => () => fail(call, "EOPNOTSUPP")

/** What the fabric has not yet. */
const withoutConnections = {
  bindAddr: missing("rdma_bind_addr"),
  resolveRoute: missing("rdma_resolve_route"),
  listen: missing("rdma_listen"),
  connect: missing("rdma_connect"),
  accept: missing("rdma_accept"),
  establish: missing("rdma_establish"),
  reject: missing("rdma_reject"),
  disconnect: missing("rdma_disconnect"),
  initQpAttr: missing("rdma_init_qp_attr"),
  migrateId: missing("rdma_migrate_id"),
  setOption: missing("rdma_set_option"),
  setLocalEce: missing("rdma_set_local_ece"),
  getRemoteEce: missing("rdma_get_remote_ece"),
  joinMulticast: missing("rdma_join_multicast"),
  joinMulticastEx: missing("rdma_join_multicast_ex"),
  leaveMulticast: missing("rdma_leave_multicast"),
  getaddrinfo: missing("rdma_getaddrinfo"),
  createQp: missing("rdma_create_qp"),
  destroyQp: () => Effect.void,
  createSrq: missing("rdma_create_srq"),
  destroySrq: () => Effect.void,
  createEp: missing("rdma_create_ep"),
  destroyEp: () => Effect.void,
  getRequest: missing("rdma_get_request"),
  awaitRequest: missing("poll")
} satisfies Partial<RdmaCm["Service"]>

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const fail = (
  call: string,
  errno: Errno.ErrnoName,
  input: RdmaCmError["input"] = {}
): Effect.Effect<never, RdmaCmError> =>
  Effect.fail(new RdmaCmError({ call, reason: NativeReason.fromErrno(Errno.numberOf(errno)), input }))

const unavailable = (call: string) =>
  new RdmaCmError({
    call,
    reason: new NativeReason.RdmaUnavailable({ errno: Errno.numberOf("ENODEV") }),
    input: {},
    hint: "The topology gives this host no RDMA"
  })

const gidOf = ({ address }: NetAddress.InetAddress): Gid.Gid =>
  Gid.fromBytes(Uint8Array.from(NetAddress.ipv6ToOctets(
    address._tag === "Ipv4Address" ? NetAddress.toIpv4Mapped(address) : address
  )))

/** The device that an address is reached over, and what comes of asking there. */
interface Route {
  readonly device: Host.DeviceState | undefined
  readonly status: Errno.ErrnoName | 0
}

/** A route, or the errno with which the kernel refuses at once; all of it measured on rxe of Linux 6.1. */
const routeOf = (
  fabric: Host.FabricState,
  host: Host.HostState,
  source: NetAddress.InetAddress | undefined,
  destination: NetAddress.InetAddress
): Route | "EADDRNOTAVAIL" | "ENETUNREACH" => {
  const own = host.devices.flatMap((device) => device.addresses.map((address) => ({ ...address, device })))
  const from = source === undefined || NetAddress.isUnspecified(source.address) ? undefined : gidOf(source)
  // Loopback has an interface, and that has no RDMA device.
  if (source !== undefined && NetAddress.isLoopback(source.address)) return { device: undefined, status: "ENODEV" }
  if (from !== undefined && !own.some(({ gid }) => Gid.Equivalence(gid, from))) return "EADDRNOTAVAIL"
  if (NetAddress.isLoopback(destination.address) || NetAddress.isUnspecified(destination.address)) {
    return { device: own[0]?.device, status: 0 }
  }
  const to = gidOf(destination)
  const link = own.find(({ gid, ndevIfindex }) =>
    isOnLink(gid, to) && (!Gid.isLinkLocal(gid) || isInScope(destination, ndevIfindex))
  )
  if (destination._tag === "InetAddressV6" && Gid.isIpv4Mapped(to)) return "ENETUNREACH"
  if (link === undefined) return Gid.isLinkLocal(to) ? { device: undefined, status: "ENODEV" } : "ENETUNREACH"
  return { device: link.device, status: Host.isReachable(fabric, to) ? 0 : "ETIMEDOUT" }
}

const isInScope = (address: NetAddress.InetAddress, index: number): boolean =>
  address._tag === "InetAddressV6" && address.scopeId === index

// Networks of the fabric are /24 for IPv4 and /64 for IPv6.
const isOnLink = (self: Gid.Gid, that: Gid.Gid): boolean =>
  Gid.subnetPrefix(self) === Gid.subnetPrefix(that) &&
  (!Gid.isIpv4Mapped(self) || Gid.interfaceId(self) >> 8n === Gid.interfaceId(that) >> 8n)
