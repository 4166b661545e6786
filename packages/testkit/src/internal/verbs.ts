import * as Errno from "@effect-rdma/core/Errno"
import * as Gid from "@effect-rdma/core/Gid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as AddressHandleAttributes from "@effect-rdma/verbs/AddressHandleAttributes"
import type * as GidEntry from "@effect-rdma/verbs/GidEntry"
import type * as ReceivedDatagram from "@effect-rdma/verbs/ReceivedDatagram"
import * as RoutingHeader from "@effect-rdma/verbs/RoutingHeader"
import type { Verbs } from "@effect-rdma/verbs/Verbs"
import { VerbsError } from "@effect-rdma/verbs/VerbsError"
import * as Effect from "effect/Effect"
import { FabricMisuse } from "../FabricMisuse.ts"
import type * as Topology from "../Topology.ts"
import type * as Heap from "./heap.ts"
import * as Host from "./host.ts"

interface OfContext extends Heap.Native {
  readonly device: Host.DeviceState
  readonly context: Pointer.Pointer<"ibv_context">
}

interface DomainState extends OfContext {
  readonly kind: "ProtectionDomain" | "ParentDomain"
  readonly parts: ReadonlyArray<{ users: number }>
  users: number
}

interface ThreadDomainState extends OfContext {
  users: number
}

interface AddressHandleState extends OfContext {
  readonly domain: DomainState
}

/** libibverbs of one host, on its heap. */
export const make = (fabric: Host.FabricState, host: Host.HostState): Verbs["Service"] => {
  const { contexts, heap } = host
  const lists = heap.store<
    "ibv_device *",
    Heap.Native & { readonly devices: ReadonlyArray<Pointer.Pointer<"ibv_device">> }
  >("ibv_device *")
  const listed = heap.store<"ibv_device", Heap.Native & { readonly state: Host.DeviceState }>("ibv_device")
  const domains = heap.store<"ibv_pd", DomainState>("ibv_pd")
  const threadDomains = heap.store<"ibv_td", ThreadDomainState>("ibv_td")
  const handles = heap.store<"ibv_ah", AddressHandleState>("ibv_ah")
  const resourceDomains = heap.store<"ibv_exp_res_domain", OfContext>("ibv_exp_res_domain")

  // What the kernel reclaims when its file is closed; the memory of the library goes on, and with it the mistakes.
  const reclaim = (context: Pointer.Pointer<"ibv_context">): void => {
    const call = "ibv_close_device"
    const freeAll = <Struct extends string, Value extends OfContext>(store: Heap.Store<Struct, Value>): void => {
      for (const [pointer, value] of Array.from(store.values())) {
        if (value.context === context) store.free(call, pointer)
      }
    }
    for (const [, value] of handles.values()) if (value.context === context) value.device.ahs--
    for (const [, value] of domains.values()) {
      if (value.context === context && value.kind === "ProtectionDomain") value.device.pds--
    }
    freeAll(handles)
    freeAll(domains)
    freeAll(threadDomains)
    freeAll(resourceDomains)
  }

  const createAh = (
    call: string,
    pd: Pointer.Pointer<"ibv_pd">,
    attributes: AddressHandleAttributes.AddressHandleAttributes
  ) =>
    Effect.suspend(() => {
      const domain = domains.get(call, pd)
      const { device } = domain
      if (!device.plugged) return fail(call, "EIO")
      const refused = refuseAddress(fabric, device, attributes)
      if (refused !== undefined) return fail(call, refused, { portNum: attributes.portNum })
      if (device.ahs >= device.description.attributes.maxAh) return fail(call, "ENOMEM")
      device.ahs++
      domain.users++
      return Effect.succeed(handles.alloc({ kind: "AddressHandle", device, context: domain.context, domain }))
    })

  /** Runs a query of a context whose device is there. */
  const query = <A>(
    call: string,
    context: Pointer.Pointer<"ibv_context">,
    run: (device: Host.DeviceState) => Effect.Effect<A, VerbsError>
  ): Effect.Effect<A, VerbsError> =>
    Effect.suspend(() => {
      const { device } = contexts.get(call, context)
      return device.plugged ? run(device) : fail(call, "EIO")
    })

  return {
    getDeviceList: Effect.suspend(() => {
      if (!host.rdma) return Effect.fail(unavailable("ibv_get_device_list", Errno.numberOf("ENOSYS")))
      const devices = host.devices.map((state) => ({
        pointer: listed.alloc({ kind: undefined, state }),
        name: state.name,
        nodeType: state.description.nodeType,
        transportType: state.description.transport,
        guid: state.description.guid,
        index: state.index
      }))
      const list = lists.alloc({ kind: "DeviceList", devices: devices.map((device) => device.pointer) })
      return Effect.succeed({ list, devices })
    }),
    freeDeviceList: (list) =>
      Effect.sync(() => {
        const call = "ibv_free_device_list"
        for (const device of lists.free(call, list).devices) listed.free(call, device)
      }),
    openDevice: (device) =>
      Effect.suspend(() => {
        const call = "ibv_open_device"
        const { state } = listed.get(call, device)
        return state.plugged
          ? Effect.succeed(contexts.alloc({ kind: "DeviceContext", device: state }))
          // The kernel has removed the node in /dev/infiniband.
          : fail(call, "ENOENT", { name: state.name })
      }),
    closeDevice: (context) =>
      Effect.sync(() => {
        const call = "ibv_close_device"
        if (contexts.get(call, context).kind === undefined) {
          throw new FabricMisuse({ call, problem: "the context belongs to librdmacm" })
        }
        reclaim(context)
        contexts.free(call, context)
      }),
    getDeviceName: (context) => Effect.sync(() => contexts.get("ibv_get_device_name", context).device.name),

    queryDevice: (context) =>
      query("ibv_query_device", context, ({ description }) =>
        Effect.succeed({
          ...description.attributes,
          nodeGuid: description.guid,
          sysImageGuid: description.guid,
          physPortCnt: description.ports.filter((port) => port.number > 0).length
        })),
    queryPort: (context, portNum) =>
      query("ibv_query_port", context, (device) => {
        const port = portOf(device, portNum)
        if (port === undefined) return fail("ibv_query_port", "EINVAL", { portNum })
        const { gids: _gids, number: _number, pkeys, rate: _rate, ...attributes } = port
        return Effect.succeed({
          ...attributes,
          pkeyTblLen: pkeys.length,
          badPkeyCntr: 0,
          qkeyViolCntr: 0,
          initTypeReply: 0,
          portCapFlags2: 0,
          activeSpeedEx: 0
        })
      }),
    queryGid: (context, portNum, index) =>
      query("ibv_query_gid", context, (device) => {
        const port = portOf(device, portNum)
        if (port === undefined || index >= port.gidTblLen) return fail("ibv_query_gid", "EINVAL", { portNum, index })
        return Effect.succeed(Host.gidsOf(port).find((row) => row.index === index)?.gid ?? Gid.zero())
      }),
    queryGidTable: (context) =>
      query(
        "ibv_query_gid_table",
        context,
        (device) =>
          Effect.succeed(device.description.ports.flatMap((port) =>
            port.number === 0
              ? []
              : Host.gidsOf(port).map(({ gid, index, ndevIfindex, type }): GidEntry.GidEntry => ({
                gid,
                gidIndex: index,
                portNum: Identifier.PortNumber.make(port.number),
                gidType: type,
                ndevIfindex
              }))
          ))
      ),
    queryPkey: (context, portNum, index) =>
      query("ibv_query_pkey", context, (device) => {
        const pkey = portOf(device, portNum)?.pkeys[index]
        // It reads a file of sysfs, and that file does not exist.
        return pkey === undefined ? fail("ibv_query_pkey", "ENOENT", { portNum, index }) : Effect.succeed(pkey)
      }),

    allocPd: (context) =>
      query("ibv_alloc_pd", context, (device) => {
        if (device.pds >= device.description.attributes.maxPd) return fail("ibv_alloc_pd", "ENOMEM")
        device.pds++
        return Effect.succeed(domains.alloc({ kind: "ProtectionDomain", device, context, parts: [], users: 0 }))
      }),
    deallocPd: (pd) =>
      Effect.suspend(() => {
        const call = "ibv_dealloc_pd"
        const domain = domains.get(call, pd)
        if (!domain.device.plugged) return fail(call, "EIO")
        if (domain.users > 0) return fail(call, "EBUSY")
        domains.free(call, pd)
        if (domain.kind === "ProtectionDomain") domain.device.pds--
        for (const part of domain.parts) part.users--
        return Effect.void
      }),
    allocTd: (context) =>
      query("ibv_alloc_td", context, (device) =>
        device.description.provider === "mlx5"
          ? Effect.succeed(threadDomains.alloc({ kind: "ThreadDomain", device, context, users: 0 }))
          : fail("ibv_alloc_td", "EOPNOTSUPP")),
    deallocTd: (td) =>
      Effect.suspend(() => {
        const call = "ibv_dealloc_td"
        const domain = threadDomains.get(call, td)
        if (!domain.device.plugged) return fail(call, "EIO")
        if (domain.users > 0) return fail(call, "EBUSY")
        threadDomains.free(call, td)
        return Effect.void
      }),
    allocParentDomain: (context, { pd, td }) =>
      query("ibv_alloc_parent_domain", context, (device) => {
        const call = "ibv_alloc_parent_domain"
        const parts = td === undefined ? [domains.get(call, pd)] : [domains.get(call, pd), threadDomains.get(call, td)]
        if (device.description.provider !== "mlx5") return fail(call, "EOPNOTSUPP")
        if (parts.some((part) => part.context !== context)) {
          throw new FabricMisuse({ call, problem: "the parts are of different contexts" })
        }
        for (const part of parts) part.users++
        return Effect.succeed(domains.alloc({ kind: "ParentDomain", device, context, parts, users: 0 }))
      }),

    createAh: (pd, attributes) => createAh("ibv_create_ah", pd, attributes),
    destroyAh: (ah) =>
      Effect.suspend(() => {
        const call = "ibv_destroy_ah"
        const { device, domain } = handles.get(call, ah)
        if (!device.plugged) return fail(call, "EIO")
        handles.free(call, ah)
        domain.users--
        device.ahs--
        return Effect.void
      }),
    initAhFromWc: (context, portNum, received) =>
      query(
        "ibv_init_ah_from_wc",
        context,
        (device) => attributesOfSender("ibv_init_ah_from_wc", device, portNum, received)
      ),
    createAhFromWc: (pd, portNum, received) =>
      Effect.suspend(() => {
        const call = "ibv_create_ah_from_wc"
        const { device } = domains.get(call, pd)
        if (!device.plugged) return fail(call, "EIO")
        return Effect.flatMap(
          attributesOfSender(call, device, portNum, received),
          (attributes) => createAh(call, pd, attributes)
        )
      }),

    expCreateResDomain: (context) =>
      query("ibv_exp_create_res_domain", context, (device) =>
        device.description.experimental
          ? Effect.succeed(resourceDomains.alloc({ kind: "ResourceDomain", device, context }))
          : fail("ibv_exp_create_res_domain", "ENOSYS")),
    expDestroyResDomain: (context, domain) =>
      query("ibv_exp_destroy_res_domain", context, () => {
        const call = "ibv_exp_destroy_res_domain"
        if (resourceDomains.get(call, domain).context !== context) {
          throw new FabricMisuse({ call, problem: "the domain is of another context" })
        }
        resourceDomains.free(call, domain)
        return Effect.void
      })
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const fail = (
  call: string,
  errno: Errno.ErrnoName | 0,
  input: VerbsError["input"] = {}
): Effect.Effect<never, VerbsError> =>
  Effect.fail(
    new VerbsError({ call, reason: NativeReason.fromErrno(errno === 0 ? 0 : Errno.numberOf(errno)), input })
  )

const unavailable = (call: string, errno: number) =>
  new VerbsError({
    call,
    reason: new NativeReason.RdmaUnavailable({ errno }),
    input: {},
    hint: "The topology gives this host no RDMA"
  })

const portOf = (device: Host.DeviceState, portNum: Identifier.AnyPortNumber): Topology.Port | undefined =>
  device.description.ports.find((port) => port.number === portNum)

/** A group of IPv6 or InfiniBand, or one of IPv4 (224.0.0.0/4) as a mapped address. */
const isMulticast = (gid: Gid.Gid): boolean =>
  Gid.isMulticast(gid) || (Gid.isIpv4Mapped(gid) && ((gid[12] ?? 0) & 0xf0) === 0xe0)

/** The errno that refuses an address, 0 for NULL without one; measured on rxe of Linux 6.1, read in mlx5 of 44.0. */
const refuseAddress = (
  fabric: Host.FabricState,
  { description }: Host.DeviceState,
  { grh, portNum }: AddressHandleAttributes.AddressHandleAttributes
): Errno.ErrnoName | 0 | undefined => {
  const port = description.ports.find((port) => port.number === portNum)
  if (port === undefined) return description.provider === "mlx5" ? 0 : "EINVAL"
  const isEthernet = port.linkLayer === "ethernet"
  if (grh === undefined) return isEthernet ? "EINVAL" : undefined
  // mlx5 makes these without asking the kernel, and the device finds out when it sends.
  if (!isEthernet && description.provider === "mlx5") return undefined
  if (grh.sgidIndex >= port.gidTblLen) return "EINVAL"
  const source = Host.gidsOf(port).find((row) => row.index === grh.sgidIndex)
  if (source === undefined) return "ENODATA"
  if (!isEthernet || isMulticast(grh.dgid)) return undefined
  // RoCE v1 finds the MAC in a link-local GID and asks nobody.
  if (source.type === "roceV1" && Gid.isLinkLocal(grh.dgid)) return undefined
  if (Gid.isIpv4Mapped(source.gid) !== Gid.isIpv4Mapped(grh.dgid)) {
    return Gid.isZero(grh.dgid) && !Gid.isIpv4Mapped(source.gid) ? "ENETUNREACH" : "EINVAL"
  }
  if (Gid.isZero(grh.dgid)) return "ENETUNREACH"
  // The kernel asks for the neighbour and waits a second for it.
  return Host.isReachable(fabric, grh.dgid) ? undefined : "ETIMEDOUT"
}

/** What libibverbs does with a completion and a routing header: an address that goes back. */
const attributesOfSender = (
  call: string,
  device: Host.DeviceState,
  portNum: Identifier.PortNumber,
  { dlidPathBits, grh, sl, slid }: ReceivedDatagram.ReceivedDatagram
): Effect.Effect<AddressHandleAttributes.AddressHandleAttributes, VerbsError> => {
  const attributes = { portNum, dlid: slid, sl, srcPathBits: dlidPathBits, staticRate: "max" as const }
  if (grh === undefined) return Effect.succeed(attributes)
  const header = RoutingHeader.fromBytes(grh)
  if (header === undefined) return fail(call, "EPROTONOSUPPORT")
  if (isMulticast(header.dgid)) return fail(call, "EINVAL")
  const isRouted = header._tag === "Ipv4" || header.nextHeader === RoutingHeader.nextHeaderUdp
  if (!isRouted && header.nextHeader !== RoutingHeader.nextHeaderIb) return fail(call, "EPROTONOSUPPORT")
  const port = portOf(device, portNum)
  const local = port === undefined
    ? undefined
    : Host.gidsOf(port).find((row) => (row.type === "roceV2") === isRouted && Gid.Equivalence(row.gid, header.dgid))
  // The search walks off the end of the table.
  if (local === undefined) return fail(call, "EINVAL", { portNum })
  return Effect.succeed({
    ...attributes,
    grh: {
      dgid: header.sgid,
      flowLabel: Identifier.FlowLabel.make(header.flowLabel),
      sgidIndex: local.index,
      hopLimit: Identifier.HopLimit.make(header._tag === "Ipv4" ? header.timeToLive : header.hopLimit),
      trafficClass: Identifier.TrafficClass.make(header._tag === "Ipv4" ? header.typeOfService : header.trafficClass)
    }
  })
}
