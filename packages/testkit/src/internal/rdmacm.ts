import * as Errno from "@effect-rdma/core/Errno"
import * as Gid from "@effect-rdma/core/Gid"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as CmEvent from "@effect-rdma/rdmacm/CmEvent"
import type { ContextArray, RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import { RdmaCmError } from "@effect-rdma/rdmacm/RdmaCmError"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as NetAddress from "effect/net/NetAddress"
import type * as Scope from "effect/Scope"
import { FabricMisuse } from "../FabricMisuse.ts"
import type * as Heap from "./heap.ts"
import * as Host from "./host.ts"

interface ChannelState extends Heap.Native {
  readonly pending: Array<CmEvent.CmEvent>
  /** Open while events are pending. */
  readonly readable: Latch.Latch
  ids: number
}

interface IdState extends Heap.Native {
  readonly channel: ChannelState
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

  const finish = (id: Pointer.Pointer<"rdma_cm_id">, self: IdState, device: Host.DeviceState, status: number): void => {
    if (self.state === "destroyed") return
    const outcome = device.plugged ? status : -Errno.numberOf("ENODEV")
    self.state = outcome === 0 ? "bound" : "idle"
    self.boundTo = outcome === 0 ? device : undefined
    notify(self.channel, { event: outcome === 0 ? "addrResolved" : "addrError", status: outcome, id })
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

    createId: (channel, _portSpace) =>
      Effect.sync(() => {
        const self = channels.get("rdma_create_id", channel)
        self.ids++
        return ids.alloc({ kind: "CmId", channel: self, state: "idle", boundTo: undefined, unacked: 0 })
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
        const input = { ...(source === undefined ? {} : { source }), destination, timeoutMillis }
        const self = ids.get(call, id)
        if (self.state !== "idle" || (source !== undefined && source._tag !== destination._tag)) {
          return fail(call, "EINVAL", input)
        }
        const own = Host.addressesOf(host)
        const from = source === undefined || NetAddress.isUnspecified(source.address) ? undefined : gidOf(source)
        if (from !== undefined && !own.some(({ gid }) => Gid.Equivalence(gid, from))) {
          return fail(call, "EADDRNOTAVAIL", input)
        }
        const isLocal = NetAddress.isLoopback(destination.address) || NetAddress.isUnspecified(destination.address)
        const to = gidOf(destination)
        const route = own.find(({ gid }) => isLocal || isOnLink(gid, to))
        if (route === undefined) return fail(call, "ENETUNREACH", input)
        const answers = isLocal || Host.isReachable(fabric, to)
        self.state = "resolving"
        return Effect.sleep(answers ? resolutionMillis : Math.max(0, timeoutMillis)).pipe(
          Effect.andThen(Effect.sync(() => finish(id, self, route.device, answers ? 0 : -Errno.numberOf("ETIMEDOUT")))),
          Effect.forkIn(scope, { startImmediately: true }),
          Effect.asVoid
        )
      })
  }
}

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

// Networks of the fabric are /24 for IPv4 and /64 for IPv6.
const isOnLink = (self: Gid.Gid, that: Gid.Gid): boolean =>
  Gid.subnetPrefix(self) === Gid.subnetPrefix(that) &&
  (!Gid.isIpv4Mapped(self) || Gid.interfaceId(self) >> 8n === Gid.interfaceId(that) >> 8n)
