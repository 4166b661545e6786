/**
 * What memory is registered or allocated with, as schemas with the true range of every field.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { isMarkedAsUntransferable } from "node:worker_threads"
import * as AccessFlags from "./AccessFlags.ts"

const length = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }))
const offset = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })).pipe(
  Schema.withDecodingDefault(Effect.succeed(0))
)
const u8 = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xff }))
const u32 = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff_ffff }))
const u64 = Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: 0xffff_ffff_ffff_ffffn }))
const access = AccessFlags.AccessFlags.pipe(
  Schema.withDecodingDefault(Effect.succeed<AccessFlags.AccessFlags>(["localWrite"]))
)

/**
 * How memory is registered. `access` defaults to `localWrite`. `iova` is the address by which work requests name the
 * first byte, in place of its real one; both must be at the same place within a page.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Registering = Schema.Struct({ access, iova: Schema.optionalKey(u64) })

/**
 * {@link Registering} of memory that is allocated, of at least one byte.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Allocating = Schema.Struct({ length, access, iova: Schema.optionalKey(u64) })

/**
 * A part of a dma-buf, as of a GPU: `iova` defaults to 0, so that addresses count from the begin of the region.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Dmabuf = Schema.Struct({
  fd: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0x7fff_ffff })),
  offset,
  length,
  access,
  iova: u64.pipe(Schema.withDecodingDefault(Effect.succeed(0n)))
})

/**
 * A part of device memory or of a buffer, by default from its begin.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Part = Schema.Struct({ offset, length, access })

/**
 * What a part of a region is prefetched for: {@link Part} without access, by default the whole region. `flush` waits
 * until it is done.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Advising = Schema.Struct({
  advice: Schema.Literals(["prefetch", "prefetchWrite", "prefetchNoFault"]),
  flush: Schema.Boolean.pipe(Schema.withDecodingDefault(Effect.succeed(false))),
  offset,
  length: Schema.optionalKey(u32)
})

/**
 * What a window of type 1 is bound to: `access` is what peers may do, in the bytes of a region from `offset` on, by default
 * up to its end; a `length` of 0 unbinds. `wrId` comes back in the completion.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Binding = Schema.Struct({
  offset,
  length: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))),
  access: Schema.Array(Schema.Literals(["remoteWrite", "remoteRead", "remoteAtomic", "zeroBased"])),
  wrId: u64.pipe(Schema.withDecodingDefault(Effect.succeed(0n))),
  flags: Schema.Array(Schema.Literals(["fence", "signaled"])).pipe(
    Schema.withDecodingDefault(Effect.succeed<ReadonlyArray<"fence" | "signaled">>([]))
  )
})

/**
 * Device memory: `logAlignReq` is the base-2 logarithm of the alignment of its begin.
 *
 * @category schemas
 * @since 0.1.0
 */
export const DeviceMemory = Schema.Struct({
  length,
  logAlignReq: u32.pipe(Schema.withDecodingDefault(Effect.succeed(0)))
})

/**
 * Where in device memory a copy begins.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Offset = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))

/**
 * How many bytes something has, at least one.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Length = length

/**
 * The number of an object in the kernel, within the file of a context.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Handle = u32

/**
 * How a processor wants the device to place what it writes: the processor `cpuId`, the hint `ph` of PCIe TPH, and what
 * its memory is.
 *
 * @category schemas
 * @since 0.1.0
 */
export const DmaHandle = Schema.Struct({
  cpuId: Schema.optionalKey(u32),
  ph: Schema.optionalKey(u8),
  tphMemType: Schema.optionalKey(Schema.Literals(["volatile", "persistent"]))
})

// The pool that small buffers of Node are cut from. Those that we marked ourselves are somebody's own.
const ours = new WeakSet<ArrayBuffer>()

/** @internal */
export const markAsOurs = (buffer: ArrayBuffer): void => {
  ours.add(buffer)
}

// One that cannot be detached and that we did not mark: the memory of WebAssembly, or marked by somebody else, who could
// have marked just that. The length is one that no buffer can have, so nothing is transferred.
const isDetachable = (buffer: ArrayBuffer): boolean => {
  if (ours.has(buffer)) return true
  try {
    buffer.transfer(Number.MAX_SAFE_INTEGER)
    return true
  } catch (cause) {
    return cause instanceof RangeError
  }
}

const isOfPool = (bytes: Uint8Array, buffer: ArrayBuffer): boolean =>
  buffer.byteLength === Buffer.poolSize && bytes.length < buffer.byteLength && !ours.has(buffer) &&
  isMarkedAsUntransferable(buffer)

/**
 * Memory that can be lent to a device: at least one byte of a buffer whose bytes stay where they are. Refused are
 *
 * - a `SharedArrayBuffer`, because other threads could write to memory that a device reads, unseen by this library;
 * - a resizable buffer, because shrinking it takes pages away under the device;
 * - a slice of the pool that Node cuts small buffers from (`Buffer.from("…")`), because unrelated data shares its
 *   pages: use `Buffer.alloc`, or `MemoryRegion.alloc` for pages of its own;
 * - a buffer that can be detached only by its maker: that of a `WebAssembly.Memory`, which `grow` takes away, and one that
 *   somebody else marked as untransferable.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Bytes = Schema.Uint8Array.check(Schema.makeFilter((bytes: Uint8Array) => {
  const { buffer } = bytes
  if (!(buffer instanceof ArrayBuffer)) return "a SharedArrayBuffer cannot be lent to a device: its bytes are shared"
  if (buffer.resizable) return "a resizable buffer cannot be lent to a device: its bytes do not stay in place"
  if (buffer.detached || bytes.length === 0) return "no bytes: at least one is needed"
  if (isOfPool(bytes, buffer)) return "a slice of Node's buffer pool cannot be lent to a device: use Buffer.alloc"
  return isDetachable(buffer) || "a buffer that only its maker can detach cannot be lent to a device"
}))
