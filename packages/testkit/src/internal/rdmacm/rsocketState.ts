import * as Errno from "@effect-rdma/core/Errno"
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as RSockets from "@effect-rdma/rdmacm/operations/RSockets"
import type * as RSocketOption from "@effect-rdma/rdmacm/RSocketOption"
import * as NetAddress from "effect/net/NetAddress"
import type * as Heap from "../heap.ts"
import { fail, type IdState } from "./state.ts"

/** Memory that one side has mapped for the other. */
export interface MappingState extends Heap.Native {
  readonly offset: bigint
  readonly bytes: Uint8Array<ArrayBuffer>
  /** What it was: the bytes are gone when the memory is. */
  readonly length: number
  readonly pointer: Pointer.Pointer<"riomap">
  isMapped: boolean
}

const nowhere = {
  ipv4: NetAddress.inetAddressFromStringUnsafe("0.0.0.0:0"),
  ipv6: NetAddress.inetAddressFromStringUnsafe("[::]:0")
} as const

/** Where it is bound. */
export const localOf = ({ id: { local }, nowhere }: RSocketState): NetAddress.InetAddress =>
  local === undefined || local._tag === "IbAddress" ? nowhere : local

export interface RSocketState extends Heap.Native {
  readonly number: RSockets.RSocketNumber
  step: "open" | "bound" | "listening" | "connecting" | "refused" | "connected" | "disconnected" | "broken" | "closed"
  /** What the rsocket is to the connection manager. */
  readonly id: IdState
  /** Where it is before it is bound. */
  readonly nowhere: NetAddress.InetAddress
  remote: NetAddress.InetAddress | undefined
  peer: RSocketState | undefined
  canRead: boolean
  canWrite: boolean
  /** What has come and was not read; each piece is a message that the other side has one place less for. */
  readonly arrived: Array<Uint8Array>
  /** Those that are on their way to it. */
  readonly coming: Array<Uint8Array>
  /** What this side has said to the other one: how often, what of it has come there, and what is there too early. */
  readonly said: { count: number; heard: number; readonly early: Map<number, () => void> }
  /** Of a listener, the connections that nobody has accepted. */
  readonly waiting: Array<RSockets.RSocketNumber>
  errno: number
  readonly options: { [N in Exclude<RSocketOption.Name, "Error">]: number }
  /** What this side has mapped, in the places of the other side's table. */
  readonly mappings: Array<MappingState | undefined>
  /** What the other side knows of those: it learns it with what is sent next, and does not hear of an end. */
  announced: ReadonlyArray<MappingState | undefined>
  readonly watchers: Set<() => void>
  /** Stops what the rsocket does by itself. */
  stop: () => void
}

export const make = (number: RSockets.RSocketNumber, id: IdState, family: keyof typeof nowhere): RSocketState => ({
  kind: "RSocket",
  number,
  step: "open",
  id,
  nowhere: nowhere[family],
  remote: undefined,
  peer: undefined,
  canRead: false,
  canWrite: false,
  arrived: [],
  coming: [],
  said: { count: 0, heard: 0, early: new Map() },
  waiting: [],
  errno: 0,
  options: {
    ReuseAddress: 0,
    KeepAlive: 0,
    KeepIdle: 0,
    NoDelay: 0,
    Ipv6Only: 0,
    SendBuffer: 1 << 17,
    ReceiveBuffer: 1 << 17,
    SendQueue: 384,
    ReceiveQueue: 384,
    Inline: 64,
    Mappings: 0,
    MaxSegment: 2048
  },
  mappings: [],
  announced: [],
  watchers: new Set(),
  stop: () => {}
})

/** Connects two. */
export const join = (...ends: readonly [RSocketState, RSocketState]): void => {
  const [self, that] = ends
  self.peer = that
  that.peer = self
  for (const end of ends) Object.assign(end, { step: "connected", canRead: true, canWrite: true })
}

/** Whoever waits looks again. */
export const tell = (...sockets: ReadonlyArray<RSocketState | undefined>): void => {
  for (const socket of sockets) for (const watcher of Array.from(socket?.watchers ?? [])) watcher()
}

/** How many bytes, and in how many messages, the other side has room for. */
export const roomOf = ({ peer }: RSocketState): { readonly bytes: number; readonly messages: number } => {
  if (peer === undefined) return { bytes: 0, messages: 0 }
  const unread = [...peer.arrived, ...peer.coming]
  return {
    bytes: peer.options.ReceiveBuffer - unread.reduce((sum, { length }) => sum + length, 0),
    messages: peer.options.ReceiveQueue - unread.length
  }
}

const canSend = (self: RSocketState): boolean => {
  const { bytes, messages } = roomOf(self)
  return bytes > 0 && messages > 0
}

/** What `rpoll` tells. */
export const readinessOf = (self: RSocketState): RSockets.Readiness => {
  switch (self.step) {
    case "open":
    case "bound":
    case "connecting":
    case "closed":
      return { isReadable: false, isWritable: false, isHungUp: false, isBroken: false }
    case "listening":
      return { isReadable: self.waiting.length > 0, isWritable: false, isHungUp: false, isBroken: false }
    case "refused":
      return { isReadable: true, isWritable: true, isHungUp: false, isBroken: true }
    case "connected":
    case "disconnected":
    case "broken":
      return {
        isReadable: self.arrived.length > 0 || !self.canRead,
        isWritable: canSend(self),
        isHungUp: self.step === "disconnected",
        isBroken: self.step === "broken"
      }
  }
}

/** Ends a connection, on this side. */
export const end = (self: RSocketState, step: "disconnected" | "broken", errno: Errno.ErrnoName | 0 = 0): void => {
  if (self.step !== "connected") return
  self.step = step
  self.canRead = false
  self.canWrite = false
  if (errno !== 0) self.errno = Errno.numberOf(errno)
  tell(self)
}

export { fail }
