import * as Gid from "@effect-rdma/core/Gid"
import type * as AddressHandleAttributes from "@effect-rdma/verbs/AddressHandleAttributes"
import type * as DataPath from "@effect-rdma/verbs/operations/DataPath"
import { routingHeaderBytes } from "@effect-rdma/verbs/ReceivedDatagram"
import * as RoutingHeader from "@effect-rdma/verbs/RoutingHeader"
import type * as WorkCompletionStatus from "@effect-rdma/verbs/WorkCompletionStatus"
import * as Host from "../host.ts"
import * as Address from "./address.ts"
import * as Store from "./completionStore.ts"
import * as MemoryAccess from "./memoryAccess.ts"
import * as QueueState from "./queueState.ts"
import type { QueuePairObject } from "./queueState.ts"
import * as Responder from "./responder.ts"
import * as Route from "./route.ts"
import { portOf } from "./state.ts"

/** Sends a datagram. Nobody answers: what nobody hears was sent all the same. */
export const send = (
  self: QueuePairObject,
  request: DataPath.SendRequest,
  bytes: Uint8Array
): WorkCompletionStatus.WorkCompletionStatus => {
  const { device, verbs } = self
  const isRxe = device.description.provider === "rxe"
  const to = request.ud && verbs.addressHandles.find(request.ud.ah)
  if (request.ud === undefined || to === undefined) return isRxe ? "locQpOpErr" : "success"
  if (isRxe && to.domain !== self.domain) return "locQpOpErr"
  const { attributes } = to
  const port = portOf(device, attributes.portNum)
  if (port === undefined) return "success"
  // rxe sends nothing, and says nothing.
  if (port.activeMtu !== "unknown" && bytes.length > port.activeMtu) return isRxe ? "success" : "locLenErr"
  const { remoteQkey, remoteQpn } = request.ud
  // A key with its highest bit set stands for the one of the queue pair; rxe knows of no such rule.
  const qkey = !isRxe && remoteQkey >>> 31 === 1 ? self.attributes.qkey ?? 0 : remoteQkey
  const header = headerOf(self, attributes, bytes.length)
  const message: Message = { request, bytes, qkey, header, slid: port.lid, sl: attributes.sl }
  const gid = attributes.grh?.dgid
  if (gid !== undefined && Address.isMulticast(gid)) {
    for (const { object } of Array.from(QueueState.groupsOf(verbs.fabric).get(Gid.format(gid)) ?? [])) {
      const number = object.attributes.portNum
      const there = number === undefined ? undefined : portOf(object.device, number)
      if (there === undefined || there.linkLayer !== port.linkLayer) continue
      if (object === self && self.blocksOwnMulticast) continue
      carry(self, port.number, { device: object.device, portNum: there.number }, message, () => object)
    }
    return "success"
  }
  const destination = Route.find(verbs.fabric, device, attributes)
  if (destination === undefined || !Route.isOpen(verbs.fabric, device, port.number, destination)) return "success"
  const headers = datagramHeader + (header?.length ?? 0)
  Route.count(verbs.fabric, { device, portNum: port.number }, destination, 1, bytes.length + headers)
  carry(self, port.number, destination, message, () => QueueState.of(destination.device).pairs.get(remoteQpn))
  return "success"
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

interface Message {
  readonly request: DataPath.SendRequest
  readonly bytes: Uint8Array
  readonly qkey: number
  readonly header: Uint8Array | undefined
  readonly slid: number
  readonly sl: number
}

/** Takes a datagram to who is there when it arrives. */
const carry = (
  self: QueuePairObject,
  portNum: number,
  to: Route.Destination,
  message: Message,
  receiver: () => QueuePairObject | undefined
): void => {
  const { device, verbs: { fabric } } = self
  if (!Route.isOpen(fabric, device, portNum, to)) return
  Route.carry(fabric, { device, portNum }, to, { kind: "message", bytes: message.bytes }, (bytes) => {
    const peer = receiver()
    if (peer !== undefined && Route.isOpen(fabric, device, portNum, to)) receive(peer, self, { ...message, bytes })
  })
}

/** What stands in the first bytes of the receive. */
const headerOf = (
  { device }: QueuePairObject,
  { grh, portNum }: AddressHandleAttributes.AddressHandleAttributes,
  length: number
): Uint8Array | undefined => {
  const port = portOf(device, portNum)
  const source = grh && port && Host.gidsOf(port).find((row) => row.index === grh.sgidIndex)
  if (grh === undefined || source === undefined) return undefined
  const { dgid, flowLabel, trafficClass } = grh
  const sgid = source.gid
  const isRouted = source.type === "roceV2"
  // The kernel takes that of the route.
  const hopLimit = isRouted && !Address.isMulticast(dgid) ? 64 : grh.hopLimit
  if (isRouted && Gid.isIpv4Mapped(sgid)) {
    return RoutingHeader.toBytes({
      _tag: "Ipv4",
      typeOfService: trafficClass,
      flowLabel: 0,
      timeToLive: hopLimit,
      sgid,
      dgid
    })
  }
  return RoutingHeader.toBytes({
    _tag: "Global",
    trafficClass,
    flowLabel,
    payloadLength: length + (isRouted ? udpBytes : 0) + transportBytes,
    nextHeader: isRouted ? RoutingHeader.nextHeaderUdp : RoutingHeader.nextHeaderIb,
    hopLimit,
    sgid,
    dgid
  })
}

/** The headers behind the routing header and the check sum at the end: of UDP, and of a datagram. */
const udpBytes = 8
const transportBytes = 24

// DETH
const datagramHeader = 8

const receive = (self: QueuePairObject, from: QueuePairObject, message: Message): void => {
  const { attributes, device, qpType } = self
  const { bytes, header, request } = message
  if (qpType !== "ud" || !device.plugged || !Route.hears.has(self.state) || attributes.qkey !== message.qkey) return
  const inbox = Responder.inboxOf(self, request)
  const receive = inbox?.receives.posted.peek()
  if (inbox === undefined || receive === undefined) return
  const isRxe = device.description.provider === "rxe"
  const isTooLong = routingHeaderBytes + bytes.length > MemoryAccess.lengthOf(receive.sgList)
  const problem = isTooLong
    ? "room"
    : (header && MemoryAccess.scatter(device, inbox.domain, receive.sgList, header)) ??
      MemoryAccess.scatter(device, inbox.domain, receive.sgList, bytes, routingHeaderBytes)
  if (problem !== undefined) {
    Responder.failReceive(self, inbox, receive, isRxe ? "locQpOpErr" : isTooLong ? "locLenErr" : "locProtErr")
    return Responder.breakLater(self)
  }
  Responder.takeReceive(self, inbox)
  const completed = Store.make(receive.wrId, "success", self.qpNum)
  completed.byteLen = routingHeaderBytes + bytes.length
  completed.srcQp = from.qpNum
  if (header !== undefined) completed.wcFlags = Store.withGrh
  Store.addImm(completed, request.immData)
  if (!isRxe) {
    completed.slid = message.slid
    completed.sl = message.sl
  }
  Responder.deliver(self, inbox, completed, request.flags.includes("solicited"))
}
