import type * as AccessFlags from "@effect-rdma/verbs/AccessFlags"
import type * as SendBatch from "@effect-rdma/verbs/operations/SendBatch"
import type * as Host from "../host.ts"
import * as MemoryState from "./memoryState.ts"
import type { QueuePairObject } from "./queueState.ts"
import { type DomainState, rootOf } from "./state.ts"

/** Why pieces cannot be used: a key that does not fit, a place outside of its region, or too little room. */
export type Problem = "key" | "range" | "room"

/** The bytes of all pieces: where they are if it is one, else a copy. */
export const gather = (
  device: Host.DeviceState,
  domain: DomainState | undefined,
  pieces: ReadonlyArray<SendBatch.Piece>
): Uint8Array | Problem => {
  const [first] = pieces
  if (pieces.length === 1 && first !== undefined) return viewOf(device, domain, first, first.length, false)
  const bytes = new Uint8Array(lengthOf(pieces))
  let end = 0
  for (const piece of pieces) {
    const view = viewOf(device, domain, piece, piece.length, false)
    if (typeof view === "string") return view
    bytes.set(view, end)
    end += view.length
  }
  return bytes
}

/** Writes bytes into pieces, from so many bytes behind their start on. */
export const scatter = (
  device: Host.DeviceState,
  domain: DomainState | undefined,
  pieces: ReadonlyArray<SendBatch.Piece>,
  bytes: Uint8Array,
  start = 0
): Problem | undefined => {
  let skip = start
  let from = 0
  for (let index = 0; index < pieces.length && from < bytes.length; index++) {
    const piece = pieces[index]
    if (piece === undefined) break
    if (piece.length <= skip) {
      skip -= piece.length
      continue
    }
    const length = Math.min(piece.length - skip, bytes.length - from)
    const view = viewOf(device, domain, piece, skip + length, true)
    if (typeof view === "string") return view
    view.set(length === bytes.length ? bytes : bytes.subarray(from, from + length), skip)
    from += length
    skip = 0
  }
  return from < bytes.length ? "room" : undefined
}

export const lengthOf = (pieces: ReadonlyArray<SendBatch.Piece>): number => {
  let length = 0
  for (const piece of pieces) length += piece.length
  return length
}

/** The bytes that a peer names, `undefined` when it may not touch them. */
export const named = (
  { device, domain, ...self }: Pick<QueuePairObject, "device" | "domain" | "qpNum">,
  { remoteAddr, rkey }: SendBatch.Remote,
  length: number,
  access: AccessFlags.AccessFlag
): Uint8Array | undefined => {
  const memory = MemoryState.of(device)
  const window = memory.windows.get(rkey)
  if (window === undefined) {
    const region = memory.regions.get(rkey)
    if (region === undefined || region.rkey !== rkey || !isIn(region.domain, domain)) return undefined
    return region.access.includes(access) ? partOf(region, remoteAddr, length) : undefined
  }
  const { binding, bound } = window
  if (bound === undefined || binding === undefined || !isIn(window.domain, domain)) return undefined
  if (window.type === 2 && binding.qpNum !== self.qpNum) return undefined
  if (!binding.access.includes(access)) return undefined
  const addr = binding.access.includes("zeroBased") ? remoteAddr + binding.addr : remoteAddr
  // rxe of Linux 6.1 looks at the bounds of the region alone.
  const isInside = device.description.provider === "rxe" ||
    (addr >= binding.addr && addr + BigInt(length) <= binding.addr + binding.length)
  return isInside ? partOf(bound, addr, length) : undefined
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const isIn = (domain: DomainState, other: DomainState | undefined): boolean =>
  other !== undefined && rootOf(domain) === rootOf(other)

const nothing = new Uint8Array(0)

const viewOf = (
  device: Host.DeviceState,
  domain: DomainState | undefined,
  { addr, lkey }: SendBatch.Piece,
  length: number,
  writes: boolean
): Uint8Array | "key" | "range" => {
  if (length === 0) return nothing
  const region = MemoryState.of(device).regions.get(lkey)
  if (region === undefined) {
    // The null region is of every domain.
    return lkey === MemoryState.nullKey && device.description.provider === "mlx5" ? new Uint8Array(length) : "key"
  }
  if (!isIn(region.domain, domain) || (writes && !region.access.includes("localWrite"))) return "key"
  return partOf(region, addr, length) ?? "range"
}

/** Bytes of a region; a buffer that was detached under it has none. */
const partOf = (region: MemoryState.RegionState, addr: bigint, length: number): Uint8Array | undefined => {
  const { base, bytes } = region
  const start = Number(addr - base)
  return bytes === undefined || start < 0 || start + length > bytes.length
    ? undefined
    : bytes.subarray(start, start + length)
}
