import type * as Errno from "@effect-rdma/core/Errno"
import * as Gid from "@effect-rdma/core/Gid"
import * as Guid from "@effect-rdma/core/Guid"
import * as Identifier from "@effect-rdma/core/Identifier"
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as AddressHandleAttributes from "@effect-rdma/verbs/AddressHandleAttributes"
import type * as Address from "@effect-rdma/verbs/operations/Address"
import type * as ReceivedDatagram from "@effect-rdma/verbs/ReceivedDatagram"
import * as RoutingHeader from "@effect-rdma/verbs/RoutingHeader"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import * as Effect from "effect/Effect"
import * as Host from "../host.ts"
import { fail, portOf, query, reclaim, type VerbsState } from "./state.ts"

/** Address handles of one host. */
export const make = (state: VerbsState): Address.Operations => {
  const { addressHandles: handles, domains, fabric } = state
  state.onClose.push((context) =>
    reclaim(handles, context, ({ device }) => {
      device.ahs--
    })
  )

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
      return Effect.succeed(
        handles.alloc({ kind: "AddressHandle", device, context: domain.context, domain, attributes })
      )
    })

  return {
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
        state,
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
    resolveEthL2FromGid: (context, { grh: { dgid, sgidIndex }, portNum }) =>
      query(state, "ibv_resolve_eth_l2_from_gid", context, (device) => {
        const call = "ibv_resolve_eth_l2_from_gid"
        const input = { portNum, dgid: Gid.formatCompressed(dgid), sgidIndex }
        const port = portOf(device, portNum)
        const source = port && Host.gidsOf(port).find((row) => row.index === sgidIndex)
        // The source must be the address of a network device: a GID of InfiniBand is none.
        if (port === undefined || source === undefined || port.linkLayer !== "ethernet") {
          return fail(call, "EINVAL", input)
        }
        if (Gid.isIpv4Mapped(source.gid) !== Gid.isIpv4Mapped(dgid)) return fail(call, "EHOSTUNREACH", input)
        if (isMulticast(dgid)) return Effect.succeed({ mac: macOfGroup(dgid), vlan: undefined })
        // Nobody is asked: the address is made of the MAC address.
        if (Gid.isLinkLocal(dgid)) return Effect.succeed({ mac: macOf(dgid.subarray(8)), vlan: undefined })
        const neighbour = Host.ownerOf(fabric, dgid)
        return neighbour === undefined
          ? fail(call, "EHOSTUNREACH", input)
          : Effect.succeed({ mac: macOf(Guid.toBytes(neighbour.description.guid)), vlan: undefined })
      })
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** A group of IPv6 or InfiniBand, or one of IPv4 (224.0.0.0/4) as a mapped address. */
export const isMulticast = (gid: Gid.Gid): boolean =>
  Gid.isMulticast(gid) || (Gid.isIpv4Mapped(gid) && ((gid[12] ?? 0) & 0xf0) === 0xe0)

/** The MAC address that the 8 bytes of a GUID or of a link-local address are made of. */
const macOf = (bytes: Uint8Array): Uint8Array => {
  const [first = 0, second = 0, third = 0, , , ...rest] = bytes
  return Uint8Array.of(first ^ 2, second, third, ...rest)
}

/** A group of IP is the end of its address behind a prefix of its own. */
const macOfGroup = (gid: Gid.Gid): Uint8Array =>
  Gid.isIpv4Mapped(gid)
    ? Uint8Array.of(0x01, 0x00, 0x5e, (gid[13] ?? 0) & 0x7f, gid[14] ?? 0, gid[15] ?? 0)
    : Uint8Array.of(0x33, 0x33, ...gid.subarray(12))

/** The errno that refuses an address, 0 for NULL without one; measured on rxe of Linux 6.1, read in mlx5 of 44.0. */
export const refuseAddress = (
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
