import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as Memory from "@effect-rdma/verbs/operations/Memory"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import * as Effect from "effect/Effect"
import { FabricMisuse } from "../../FabricMisuse.ts"
import type * as Heap from "../heap.ts"
import * as MemoryState from "./memoryState.ts"
import { fail, type OfContext, query, reclaim, type VerbsState } from "./state.ts"

type Operations = Pick<
  Memory.Operations,
  | "allocDm"
  | "freeDm"
  | "memcpyToDm"
  | "memcpyFromDm"
  | "dmExportDmabufFd"
  | "allocDmah"
  | "deallocDmah"
  | "allocBuf"
  | "freeBuf"
  | "exportBufDmabufFd"
  | "closeFd"
>

/** What regions can be made on or with, and the operations for it. */
export interface DeviceMemory {
  readonly memories: Heap.Store<"ibv_dm", MemoryState.DeviceMemoryState>
  readonly dmaHandles: Heap.Store<"ibv_dmah", MemoryState.Counted>
  readonly buffers: Heap.Store<"ibv_buf", MemoryState.DmaBufferState>
  /** The memory of a dma-buf; `undefined` for a descriptor of nothing. */
  readonly bytesOf: (fd: number) => Uint8Array<ArrayBuffer> | undefined
  readonly operations: Operations
}

/** Device memory, DMA handles and buffers of one host. */
export const make = (state: VerbsState): DeviceMemory => {
  const { domains, host: { heap } } = state
  const memories = heap.store<"ibv_dm", MemoryState.DeviceMemoryState>("ibv_dm")
  const dmaHandles = heap.store<"ibv_dmah", MemoryState.Counted>("ibv_dmah")
  const buffers = heap.store<"ibv_buf", MemoryState.DmaBufferState>("ibv_buf")
  const dmabufs = heap.store<"dma-buf", Dmabuf>("dma-buf")
  const descriptors = new Map<number, Pointer.Pointer<"dma-buf">>()
  let nextFd = 1000
  state.onClose.push((context) => {
    reclaim(memories, context, forgetMemory)
    reclaim(dmaHandles, context)
    reclaim(buffers, context)
  })

  const exportBytes = (call: string, object: OfContext, bytes: Uint8Array<ArrayBuffer>) => {
    if (!object.device.plugged) return fail(call, "EIO")
    if (object.device.description.provider !== "mlx5") return fail(call, "EOPNOTSUPP")
    descriptors.set(nextFd, dmabufs.alloc({ kind: "DmabufDescriptor", bytes }))
    return Effect.succeed(nextFd++)
  }

  const operations: Operations = {
    allocDm: (context, { length, logAlignReq }) =>
      query(state, "ibv_alloc_dm", context, (device) => {
        const call = "ibv_alloc_dm"
        if (device.description.provider !== "mlx5") return fail(call, "EOPNOTSUPP")
        if (length > MemoryState.deviceMemorySize || logAlignReq > 12) return fail(call, "EINVAL", { length })
        const memory = MemoryState.of(device)
        const bytes = new Uint8Array(Number(length))
        if (memory.deviceMemory + bytes.length > MemoryState.deviceMemorySize) return fail(call, "ENOMEM", { length })
        memory.deviceMemory += bytes.length
        const handle = memory.nextHandle++
        return Effect.succeed({
          dm: memories.alloc({
            kind: "DeviceMemory",
            device,
            context,
            handle,
            memory: { bytes, users: 0 },
            imported: false
          }),
          handle
        })
      }),
    freeDm: (dm) =>
      Effect.suspend(() => {
        const call = "ibv_free_dm"
        const found = memories.get(call, dm)
        if (!found.device.plugged) return fail(call, "EIO")
        if (found.memory.users > 0) return fail(call, "EBUSY")
        forgetMemory(found)
        memories.free(call, dm)
        return Effect.void
      }),
    memcpyToDm: (dm, offset, bytes) =>
      copying(memories.get, "ibv_memcpy_to_dm", dm, offset, bytes.length, (part) => {
        part.set(bytes)
      }),
    memcpyFromDm: (dm, offset, length) =>
      copying(memories.get, "ibv_memcpy_from_dm", dm, offset, length, (part) => part.slice()),
    dmExportDmabufFd: (dm) =>
      Effect.suspend(() => {
        const call = "ibv_dm_export_dmabuf_fd"
        const found = memories.get(call, dm)
        return exportBytes(call, found, found.memory.bytes)
      }),

    allocDmah: (context) =>
      query(state, "ibv_alloc_dmah", context, (device) =>
        device.description.provider === "mlx5"
          ? Effect.succeed(dmaHandles.alloc({ kind: "DmaHandle", device, context, users: 0 }))
          : fail("ibv_alloc_dmah", "EOPNOTSUPP")),
    deallocDmah: (dmah) =>
      Effect.suspend(() => {
        const call = "ibv_dealloc_dmah"
        const { device, users } = dmaHandles.get(call, dmah)
        if (!device.plugged) return fail(call, "EIO")
        if (users > 0) return fail(call, "EBUSY")
        dmaHandles.free(call, dmah)
        return Effect.void
      }),

    allocBuf: (pd, size) =>
      Effect.suspend(() => {
        const call = "ibv_alloc_buf"
        const domain = domains.get(call, pd)
        const { context, device } = domain
        if (device.description.provider !== "mlx5") return fail(call, "EOPNOTSUPP")
        if (!device.plugged) return fail(call, "EIO")
        const bytes = new Uint8Array(size)
        return Effect.succeed({
          buf: buffers.alloc({ kind: "DmaBuffer", device, context, domain, bytes, users: 0 }),
          bytes
        })
      }),
    freeBuf: (buf) =>
      Effect.sync(() => {
        const call = "ibv_free_buf"
        const { device, users } = buffers.get(call, buf)
        // A region that went with its device is still counted, and harmless.
        if (users > 0 && device.plugged) throw new FabricMisuse({ call, problem: "a region on it is left" })
        buffers.free(call, buf)
      }),
    exportBufDmabufFd: (buf) =>
      Effect.suspend(() => {
        const call = "ibv_export_buf_dmabuf_fd"
        const buffer = buffers.get(call, buf)
        return exportBytes(call, buffer, buffer.bytes)
      }),
    closeFd: (fd) =>
      Effect.suspend(() => {
        const pointer = descriptors.get(fd)
        if (pointer === undefined) return fail("close", "EBADF", { fd })
        descriptors.delete(fd)
        dmabufs.free("close", pointer)
        return Effect.void
      })
  }

  const bytesOf = (fd: number) => {
    const pointer = descriptors.get(fd)
    return pointer === undefined ? undefined : dmabufs.get("ibv_reg_dmabuf_mr", pointer).bytes
  }
  return { memories, dmaHandles, buffers, bytesOf, operations }
}

/** A part of memory; `undefined` when it is not inside. */
export const partOf = (
  bytes: Uint8Array<ArrayBuffer>,
  offset: bigint,
  length: bigint
): Uint8Array<ArrayBuffer> | undefined =>
  offset + length > BigInt(bytes.length) ? undefined : bytes.subarray(Number(offset), Number(offset + length))

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

interface Dmabuf {
  readonly kind: "DmabufDescriptor"
  readonly bytes: Uint8Array<ArrayBuffer>
}

const forgetMemory = ({ device, imported, memory }: MemoryState.DeviceMemoryState) => {
  if (!imported) MemoryState.of(device).deviceMemory -= memory.bytes.length
}

const copying = <A>(
  get: (call: string, dm: Pointer.Pointer<"ibv_dm">) => MemoryState.DeviceMemoryState,
  call: string,
  dm: Pointer.Pointer<"ibv_dm">,
  offset: bigint,
  length: number,
  copy: (part: Uint8Array<ArrayBuffer>) => A
): Effect.Effect<A, VerbsError> =>
  Effect.suspend(() => {
    const part = partOf(get(call, dm).memory.bytes, offset, BigInt(length))
    if (part === undefined) return fail(call, "EFAULT", { offset, length })
    // The device is written to in words of 4 bytes.
    if ((offset & 3n) !== 0n || length % 4 !== 0) return fail(call, "EINVAL", { offset, length })
    return Effect.succeed(copy(part))
  })
