import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as AccessFlags from "@effect-rdma/verbs/AccessFlags"
import type * as Host from "../host.ts"
import type { DomainState, OfContext } from "./state.ts"

/** Something that must outlive what was made with it, and counts that. */
export interface Counted extends OfContext {
  users: number
}

/** Memory of the device; an imported one shares `memory` with the one that it was imported from. */
export interface DeviceMemoryState extends OfContext {
  readonly handle: number
  readonly memory: { readonly bytes: Uint8Array<ArrayBuffer>; users: number }
  readonly imported: boolean
}

export interface DmaBufferState extends Counted {
  readonly domain: DomainState
  readonly bytes: Uint8Array<ArrayBuffer>
}

/**
 * A registered region: who may touch which bytes, under which keys. Work requests name its bytes by addresses from `base`
 * on.
 */
export interface RegionState extends OfContext {
  readonly handle: number
  /** The region that this one was imported from. */
  readonly original: Pointer.Pointer<"ibv_mr"> | undefined
  /** What counts the region as its user: its domain, device memory, DMA handle or buffer; none for the null region. */
  holders: ReadonlyArray<{ users: number }>
  domain: DomainState
  access: AccessFlags.AccessFlags
  /** `undefined` for the null region, which reads as zeros and drops what is written. */
  bytes: Uint8Array | undefined
  addr: bigint
  base: bigint
  length: bigint
  lkey: number
  rkey: number
  /** How many windows are bound to it. */
  windows: number
}

/**
 * A window; a bind sets what it is bound to and gives it another key. `rkey` is what the struct says from the moment that
 * a bind was posted, `key` what the device goes by.
 */
export interface WindowState extends OfContext {
  readonly domain: DomainState
  readonly type: 1 | 2
  readonly handle: number
  rkey: number
  key: number
  bound: RegionState | undefined
  binding: Binding | undefined
}

/** The part of a region that a window opens, and for whom; one of type 2 is bound to a queue pair. */
export interface Binding {
  readonly addr: bigint
  readonly length: bigint
  readonly access: AccessFlags.AccessFlags
  readonly qpNum: number
}

/** What one device has of memory. */
export interface OfDevice {
  /** The live regions by their local keys; where a region has a remote key, it is the same number. */
  readonly regions: Map<number, RegionState>
  /** The live windows by their keys. */
  readonly windows: Map<number, WindowState>
  /** How many bytes of its own memory are given out. */
  deviceMemory: number
  nextKey: number
  nextHandle: number
}

const devices = new WeakMap<Host.DeviceState, OfDevice>()

/** The memory of a device, for the data path too. */
export const of = (device: Host.DeviceState): OfDevice => {
  let memory = devices.get(device)
  if (memory === undefined) {
    memory = { regions: new Map(), windows: new Map(), deviceMemory: 0, nextKey: 1, nextHandle: 0 }
    devices.set(device, memory)
  }
  return memory
}

/** A key that no region or window of the device has: an index above a byte that binds and reuse would count up. */
export const nextKey = (memory: OfDevice): number => ((memory.nextKey++ << 8) | 0x11) >>> 0

/** How much memory of its own an mlx5 device of the fabric has, in bytes. */
export const deviceMemorySize = 0x4_0000

/** The key of the null region of mlx5, the same for all. */
export const nullKey = 0x400
