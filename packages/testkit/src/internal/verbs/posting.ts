import type * as Errno from "@effect-rdma/core/Errno"
import type * as DataPath from "@effect-rdma/verbs/operations/DataPath"
import { FabricMisuse } from "../../FabricMisuse.ts"
import type * as Host from "../host.ts"
import * as MemoryAccess from "./memoryAccess.ts"
import type { QueuePairObject, ReceiveQueue, SendEntry } from "./queueState.ts"
import * as Requester from "./requester.ts"
import { errorOf } from "./state.ts"

/** Posts one send after the other, until one is refused, and rings the doorbell. */
export const sends = (
  call: string,
  self: QueuePairObject,
  requests: ReadonlyArray<DataPath.SendRequest>
): DataPath.Posted => {
  if (requests.length === 0) return { count: 0, error: undefined }
  let count = 0
  let refused: Errno.ErrnoName | undefined
  for (const request of requests) {
    refused = refuse(self, request)
    if (refused !== undefined) break
    push(self, request)
    count++
  }
  const error = ring(self)
  if (error === undefined) noteKeys(self, requests.slice(0, count))
  // The library of rxe does not tell how far it came then, though its ring holds what it put there.
  if (error !== undefined) return { count: 0, error: errorOf(call, error, { state: self.state }) }
  return { count, error: refused === undefined ? undefined : errorOf(call, refused, { posted: count }) }
}

/** The structs of windows have their new keys once all is posted: the library leaves that to who posts. */
export const noteKeys = ({ verbs }: QueuePairObject, requests: ReadonlyArray<DataPath.SendRequest>): void => {
  for (const { bind } of requests) {
    if (bind === undefined) continue
    const window = verbs.windows.find(bind.mw)
    if (window !== undefined) window.rkey = bind.rkey
  }
}

/** Puts a request at the end of the ring. */
export const push = (self: QueuePairObject, request: DataPath.SendRequest): void => {
  const { posted, ring } = self.sends
  posted.push(entryOf(self, request))
  ring.used++
}

/** Tells the device that there is something; the errno of what tells it. */
export const ring = (self: QueuePairObject): Errno.ErrnoName | undefined => {
  if (self.device.description.provider === "rxe") {
    // It asks its kernel; mlx5 writes to the doorbell, and the device says nothing.
    if (!self.device.plugged) return "EIO"
    if (!kernelTakes.has(self.state)) return "EINVAL"
  }
  Requester.run(self)
  return undefined
}

/** Posts one receive after the other, until one is refused. */
export const receives = (
  call: string,
  device: Host.DeviceState,
  { posted, ring }: ReceiveQueue,
  room: { readonly maxWr: number; readonly maxSge: number },
  requests: ReadonlyArray<DataPath.ReceiveRequest>
): DataPath.Posted => {
  let count = 0
  for (const request of requests) {
    const isFull = ring.used >= room.maxWr
    if (isFull || request.sgList.length > room.maxSge) {
      const input = { posted: count, pieces: request.sgList.length }
      return { count, error: errorOf(call, isFull ? "ENOMEM" : "EINVAL", input) }
    }
    ring.used++
    if (device.plugged) posted.push(request)
    count++
  }
  return { count, error: undefined }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const kernelTakes: ReadonlySet<string> = new Set(["rts", "sqd", "sqe", "err"])
const binds: ReadonlySet<string> = new Set(["rc", "uc", "xrcSend"])

/** The errno that refuses a send; read in rxe and mlx5 of 44.0. */
const refuse = (self: QueuePairObject, request: DataPath.SendRequest): Errno.ErrnoName | undefined => {
  const { cap, device, qpType, sends: { ring } } = self
  const { compareAdd, inlineData, remote, sgList } = request
  const isRxe = device.description.provider === "rxe"
  const isFull = ring.used >= cap.maxSendWr
  if (isFull && !isRxe) return "ENOMEM"
  const isTooLarge = inlineData === undefined
    ? sgList.length > cap.maxSendSge
    : inlineData.length > cap.maxInlineData
  if (isTooLarge) return isRxe ? "EINVAL" : "ENOMEM"
  if (request.bind !== undefined && !binds.has(qpType)) return "EINVAL"
  if (!isRxe) return undefined
  const isAtomic = compareAdd !== undefined
  const isMisplaced = isAtomic && (MemoryAccess.lengthOf(sgList) < 8 || ((remote?.remoteAddr ?? 0n) & 7n) !== 0n)
  if (isMisplaced) return "EINVAL"
  return isFull ? "ENOMEM" : undefined
}

/** What the ring keeps: inline data is copied, and a bind goes by the key that the window has in its struct now. */
const entryOf = ({ qpType, verbs }: QueuePairObject, request: DataPath.SendRequest): SendEntry => {
  const { bind, inlineData, ud } = request
  if (qpType === "ud") {
    const call = "ibv_post_send"
    // The library copies the address from behind NULL.
    if (ud === undefined) throw new FabricMisuse({ call, problem: "a datagram without an address handle" })
    verbs.addressHandles.get(call, ud.ah)
  }
  if (bind !== undefined) return { ...request, windowKey: verbs.windows.get("ibv_post_send", bind.mw).rkey }
  return inlineData === undefined ? request : { ...request, inlineData: inlineData.slice() }
}
