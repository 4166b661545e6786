import * as Pointer from "@effect-rdma/core/Pointer"
import { FabricMisuse } from "../FabricMisuse.ts"

/**
 * The native objects that a test can see, named as the scoped modules name their handles.
 */
export type Kind =
  | "DeviceList"
  | "DeviceContext"
  | "ProtectionDomain"
  | "ParentDomain"
  | "ThreadDomain"
  | "CompletionChannel"
  | "CompletionQueue"
  | "CompletionCounter"
  | "XrcDomain"
  | "SharedReceiveQueue"
  | "QueuePair"
  | "AddressHandle"
  | "MemoryRegion"
  | "MemoryWindow"
  | "DeviceMemory"
  | "DmaHandle"
  | "DmaBuffer"
  | "DmabufDescriptor"
  | "ResourceDomain"
  | "WorkQueue"
  | "RwqIndTable"
  | "Flow"
  | "FlowAction"
  | "Counters"
  | "RdmaDevices"
  | "EventChannel"
  | "CmId"
  | "CmEvent"
  | "CmQueuePair"
  | "CmSharedReceiveQueue"
  | "MulticastMembership"
  | "RSocket"
  | "RSocketMapping"
  | "RSocketPoll"
  | "UmadLibrary"
  | "UmadCa"
  | "UmadPort"
  | "CaDeviceList"
  | "OpenPort"
  | "UmadAgent"
  | "MadBuffer"

/** What every native object has. One without a kind is not the caller's to release: nobody counts it. */
export interface Native {
  readonly kind: Kind | undefined
  readonly device?: { readonly name: string; readonly plugged: boolean }
  /** The context that it was made on. */
  readonly context?: Pointer.Pointer<"ibv_context">
}

/** The native objects behind the pointers to one C struct. */
export interface Store<Struct extends string, Value extends Native> {
  readonly alloc: (value: Value) => Pointer.Pointer<Struct>
  /** For an object that knows where it is. */
  readonly make: (of: (pointer: Pointer.Pointer<Struct>) => Value) => Pointer.Pointer<Struct>
  /** Throws `FabricMisuse` unless the pointer is of a live object of this struct. */
  readonly get: (call: string, pointer: Pointer.Pointer<Struct>) => Value
  /** What is there, if anything is. */
  readonly find: (pointer: Pointer.Pointer<Struct>) => Value | undefined
  readonly free: (call: string, pointer: Pointer.Pointer<Struct>) => Value
  readonly values: () => Iterable<readonly [Pointer.Pointer<Struct>, Value]>
}

/** The address space of one process. */
export interface Heap {
  readonly store: <Struct extends string, Value extends Native>(struct: Struct) => Store<Struct, Value>
  /** Gives an object another kind, as a test sees it, because another library has made it. */
  readonly name: (pointer: bigint, kind: Kind | undefined) => void
  readonly objects: () => ReadonlyArray<readonly [bigint, Native]>
}

// Enough to name what a wrong pointer was; a process that runs for days must not grow.
const remembered = 10_000

const spacing = 0x40n

/** No address is ever used twice, on any host that shares `addresses`. */
export const make = (host: string, addresses: { next: bigint }): Heap => {
  const live = new Map<bigint, readonly [struct: string, value: Native]>()
  const dead = new Map<bigint, string>()
  const names = new Map<bigint, Kind | undefined>()

  const problemOf = (struct: string, pointer: bigint): string => {
    const address = `0x${pointer.toString(16)}`
    const other = live.get(pointer)
    if (other !== undefined) return `${address} is a ${other[0]}, not a ${struct}`
    return `${address} ${dead.get(pointer) ?? `was never given out on ${host}`}: no live ${struct}`
  }

  const store = <Struct extends string, Value extends Native>(struct: Struct): Store<Struct, Value> => {
    const values = new Map<Pointer.Pointer<Struct>, Value>()
    const get = (call: string, pointer: Pointer.Pointer<Struct>): Value => {
      const value = values.get(pointer)
      if (value === undefined) throw new FabricMisuse({ call, problem: problemOf(struct, pointer) })
      return value
    }
    const make = (of: (pointer: Pointer.Pointer<Struct>) => Value): Pointer.Pointer<Struct> => {
      const pointer = Pointer.make<Struct>(addresses.next)
      addresses.next += spacing
      const value = of(pointer)
      values.set(pointer, value)
      live.set(pointer, [struct, value])
      return pointer
    }
    return {
      alloc: (value) => make(() => value),
      make,
      get,
      find: (pointer) => values.get(pointer),
      free: (call, pointer) => {
        const value = get(call, pointer)
        values.delete(pointer)
        live.delete(pointer)
        names.delete(pointer)
        // Many at once: the first key of a map costs a walk over all that were deleted before it.
        if (dead.size === 2 * remembered) {
          for (const oldest of Array.from(dead.keys()).slice(0, remembered)) dead.delete(oldest)
        }
        dead.set(pointer, `was a ${value.kind ?? struct} until ${call}`)
        return value
      },
      values: () => values
    }
  }

  return {
    store,
    name: (pointer, kind) => {
      names.set(pointer, kind)
    },
    objects: () =>
      Array.from(live, ([pointer, [, value]]) => [
        pointer,
        names.has(pointer) ? { ...value, kind: names.get(pointer) } : value
      ])
  }
}
