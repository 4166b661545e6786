import type * as Errno from "@effect-rdma/core/Errno"
import { FabricMisuse } from "../../FabricMisuse.ts"
import * as Route from "../verbs/route.ts"
import * as Address from "./address.ts"
import { end, type MappingState, roomOf, type RSocketState, tell } from "./rsocketState.ts"

/** How large the first message of a call is, and the largest. */
const firstMessage = 2048
const largestMessage = 65536

/** What is sent next tells the other side of mappings. */
const announce = (self: RSocketState): void => {
  self.announced = self.mappings.slice()
}

/**
 * As much as the other side has room for, or why there is none. C looks only when there is no room whether the connection is
 * still there.
 */
export const send = (self: RSocketState, bytes: Uint8Array): number | Errno.ErrnoName => {
  announce(self)
  let sent = 0
  for (let most = firstMessage; sent < bytes.length; most = Math.min(2 * most, largestMessage)) {
    const room = roomOf(self)
    if (room.bytes <= 0 || room.messages <= 0) {
      if (sent > 0) break
      return self.canWrite ? "EAGAIN" : "ECONNRESET"
    }
    const message = bytes.slice(sent, sent + Math.min(most, room.bytes))
    if (self.step === "connected") pass(self, message)
    sent += message.length
  }
  return sent
}

/** As much as has come, 0 at the end. */
export const receive = (self: RSocketState, into: Uint8Array): number | Errno.ErrnoName => {
  let length = 0
  for (let [message] = self.arrived; message !== undefined && length < into.length; [message] = self.arrived) {
    const part = message.subarray(0, into.length - length)
    into.set(part, length)
    length += part.length
    if (part.length === message.length) self.arrived.shift()
    else self.arrived[0] = message.subarray(part.length)
  }
  if (length > 0) tell(self.peer)
  return length === 0 && into.length > 0 && self.canRead ? "EAGAIN" : length
}

/** Tells the other side that nothing comes any more, or that the connection is over. */
export const shutdown = (self: RSocketState, how: "receive" | "send" | "both"): void => {
  if (self.step !== "connected") return
  if (how !== "send") self.canRead = false
  if (how !== "receive") self.canWrite = false
  tell(self)
  if (self.canWrite) return
  const isOver = !self.canRead
  if (isOver) end(self, "disconnected")
  say(self, nothing, (peer) => {
    if (isOver || !peer.canWrite) return end(peer, "disconnected")
    peer.canRead = false
    tell(peer)
  })
}

const findMapping = (self: RSocketState, offset: bigint): MappingState | undefined =>
  self.peer?.announced.find((mapping) =>
    mapping !== undefined && offset >= mapping.offset && offset < mapping.offset + BigInt(mapping.length)
  )

/** Writes to memory that the other side has mapped; 0 when it has mapped nothing there. */
export const writeMapped = (self: RSocketState, bytes: Uint8Array, offset: bigint): number | Errno.ErrnoName => {
  announce(self)
  const mapping = findMapping(self, offset)
  if (mapping === undefined) return 0
  const at = Number(offset - mapping.offset)
  if (at + bytes.length > mapping.length) {
    throw new FabricMisuse({
      call: "riowrite",
      problem: "would not come to its end: the bytes go over that of the memory"
    })
  }
  const room = roomOf(self)
  if (room.bytes <= 0 || room.messages <= 0) return self.canWrite ? "EAGAIN" : "ECONNRESET"
  if (self.step !== "connected") return bytes.length
  const written = bytes.slice()
  say(self, written, () => {
    // The device of the other side refuses, and the connection breaks.
    if (mapping.isMapped) mapping.bytes.set(written, at)
    else end(self, "broken", "EIO")
  })
  return bytes.length
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const nothing = new Uint8Array()

/** Sends a message: until it is there, it takes the room that it will have. */
const pass = (self: RSocketState, message: Uint8Array): void => {
  self.peer?.coming.push(message)
  say(self, message, (peer) => {
    peer.coming.shift()
    peer.arrived.push(message)
    tell(peer)
  })
}

/**
 * Has something come to the other side, over the links that are between them, behind all that was said before. What is not
 * there in time is sent again, and the connection breaks when nothing more gets through.
 */
const say = (self: RSocketState, bytes: Uint8Array, hear: (peer: RSocketState) => void): void => {
  const { id, peer, said } = self
  const { fabric } = id.channel
  const number = said.count++
  const attempt = (retries: number): void => {
    const [from, to] = [id.place, peer?.id.place]
    if (peer === undefined || from === undefined || to === undefined) return
    if (Address.isOpen(fabric, from, to)) {
      Route.carry(fabric, from, to, { kind: "message", bytes }, () => {
        if (Address.isOpen(fabric, from, to)) come(self, number, () => hear(peer))
      })
    }
    const { heard } = said
    const isThere = () => said.heard > number || said.early.has(number)
    if (isThere()) return
    fabric.after(timeoutMillis, () => {
      if (isThere()) return
      const isStuck = said.heard === heard
      if (isStuck && retries === maxRetries) return end(self, "broken", "EIO")
      fabric.work.run(() => attempt(isStuck ? retries + 1 : 0))
    })
  }
  attempt(0)
}

/** It is there. What comes twice is nothing new, and what comes early waits. */
const come = ({ said }: RSocketState, number: number, hear: () => void): void => {
  if (number < said.heard) return
  said.early.set(number, hear)
  for (let next = said.early.get(said.heard); next !== undefined; next = said.early.get(said.heard)) {
    said.early.delete(said.heard++)
    next()
  }
}

/** As librdmacm has them for the queue pair of an rsocket: 4.096 µs times 2 to the power of 19. */
const timeoutMillis = 0.004096 * 2 ** 19
const maxRetries = 7
