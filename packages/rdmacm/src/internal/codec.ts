/**
 * The structs of librdmacm as values and back. What points into native memory is copied.
 *
 * @since 0.1.0
 */
import * as Identifier from "@effect-rdma/core/Identifier"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as Pointer from "@effect-rdma/core/Pointer"
import * as NativeStruct from "@effect-rdma/verbs/NativeStruct"
import * as QueuePairType from "@effect-rdma/verbs/QueuePairType"
import * as NetAddress from "effect/net/NetAddress"
import type * as CmAddress from "../CmAddress.ts"
import * as CmEvent from "../CmEvent.ts"
import type * as ConnectionParameters from "../ConnectionParameters.ts"
import * as PortSpace from "../PortSpace.ts"
import type { IdState } from "../RdmaCm.ts"
import * as Layout from "./Layout.ts"
import * as Sockaddr from "./sockaddr.ts"

/** The bytes at a pointer that may be NULL. */
export const copy = (address: bigint, length: number): Uint8Array =>
  address === 0n || length === 0
    ? new Uint8Array()
    : new Uint8Array(NativeMemory.view(address, length).buffer).slice()

/** A part of a struct. */
export const part = (view: DataView, { offset, size }: { readonly offset: number; readonly size: number }): DataView =>
  new DataView(view.buffer, view.byteOffset + offset, size)

const orNone = <S extends string>(address: bigint): Pointer.Pointer<S> | undefined =>
  Pointer.isNull(address) ? undefined : Pointer.make<S>(address)

/** Binding gives a peer its family and nothing else. */
const peerOf = (address: CmAddress.CmAddress | undefined): CmAddress.CmAddress | undefined =>
  address === undefined || address._tag === "IbAddress" || !NetAddress.isUnspecified(address.address)
    ? address
    : undefined

export const readIdState = (id: bigint): IdState => {
  const view = NativeMemory.view(id, Layout.CmId.size)
  const state = Layout.CmId.read(view)
  return {
    channel: orNone(state.channel),
    verbs: orNone(state.verbs),
    portNum: state.portNum,
    portSpace: PortSpace.fromNative(state.ps),
    qpType: QueuePairType.fromNative(state.qpType),
    localAddress: Sockaddr.decode(part(view, Layout.CmId.fields.srcAddr)),
    peerAddress: peerOf(Sockaddr.decode(part(view, Layout.CmId.fields.dstAddr))),
    numPaths: state.numPaths,
    qp: orNone(state.qp),
    srq: orNone(state.srq),
    pd: orNone(state.pd),
    sendCq: orNone(state.sendCq),
    recvCq: orNone(state.recvCq)
  }
}

type Event = ReturnType<typeof Layout.CmEvent.read>

const connOf = (event: Event): ConnectionParameters.ConnectionParameters => ({
  privateData: copy(event.privateData, event.privateDataLen),
  responderResources: event.responderResources,
  initiatorDepth: event.initiatorDepth,
  flowControl: event.flowControl !== 0,
  retryCount: event.retryCount,
  rnrRetryCount: event.rnrRetryCount,
  srq: event.srq !== 0,
  qpNum: Identifier.Qpn.make(event.qpNum & 0xffffff)
})

const udOf = (view: DataView, event: Event, privateData: Uint8Array): ConnectionParameters.DatagramParameters => ({
  privateData,
  ahAttr: NativeStruct.readAddress(part(view, Layout.CmEvent.fields.udAhAttr)),
  qpNum: Identifier.Qpn.make(event.udQpNum & 0xffffff),
  qkey: Identifier.QKey.make(event.udQkey)
})

const isDatagram = (id: bigint): boolean =>
  QueuePairType.fromNative(Layout.CmId.get("qpType", NativeMemory.view(id, Layout.CmId.size))) === "ud"

/** Copies an event that is not acked: until then its id is there, and what it points to. */
export const readEvent = (pointer: bigint): CmEvent.CmEvent => {
  const view = NativeMemory.view(pointer, Layout.CmEvent.size)
  const event = Layout.CmEvent.read(view)
  const type = CmEvent.typeFromNative(event.event)
  const id = Pointer.make<"rdma_cm_id">(event.id)
  const plain = { event: type, status: event.status, id }
  const parameters = () =>
    isDatagram(id)
      ? { ud: udOf(view, event, copy(event.privateData, event.privateDataLen)) }
      : { conn: connOf(event) }
  switch (type) {
    case "connectRequest":
      return { ...plain, listenId: Pointer.make<"rdma_cm_id">(event.listenId), ...parameters() }
    case "established":
      return { ...plain, ...parameters() }
    case "connectResponse":
    case "rejected":
    case "disconnected":
      return { ...plain, conn: connOf(event) }
    // The pointer to private data is what was given to join.
    case "multicastJoin":
      return { ...plain, ud: udOf(view, event, new Uint8Array()), multicastContext: event.privateData }
    case "multicastError":
      return { ...plain, multicastContext: event.privateData }
    // A number that stands where the pointer does.
    case "user":
      return { ...plain, arg: event.privateData }
    default:
      return plain
  }
}

/** The struct and the private data in one piece of memory, which stays in place for as long as it is referenced. */
export const encodeConnectionParameters = (
  { flowControl, privateData, srq, ...numbers }: ConnectionParameters.ConnectionParameters
): DataView => {
  const bytes = new Uint8Array(new ArrayBuffer(Layout.ConnParam.size + privateData.length))
  bytes.set(privateData, Layout.ConnParam.size)
  const view = new DataView(bytes.buffer)
  Layout.ConnParam.write(view, {
    ...numbers,
    privateData: privateData.length === 0 ? 0n : NativeMemory.addressOf(bytes) + BigInt(Layout.ConnParam.size),
    privateDataLen: privateData.length,
    flowControl: flowControl ? 1 : 0,
    srq: srq ? 1 : 0
  })
  return view
}
