/**
 * Memory outside of the JS heap: pages that a NIC may read and write, and views of structs that a C library made.
 *
 * @since 0.1.0
 */
import { koffi } from "./internal/koffi.ts"
import * as libc from "./internal/libc.ts"
import * as linux from "./internal/linux.ts"

/**
 * Zeroed memory on pages of its own, so that pinning them, or hiding them from a child process, touches nothing else.
 *
 * @category models
 * @since 0.1.0
 */
export interface Mapping {
  readonly address: bigint
  /** Exactly as many bytes as were asked for; of length 0 after `unmap`. */
  readonly bytes: Uint8Array<ArrayBuffer>
  /**
   * Detaches `bytes` and every view of its buffer, then gives the pages back; a second call does nothing. The caller
   * knows that no device uses the memory any more. When somebody else has transferred the buffer away, the pages stay
   * mapped for ever, because the new owner may still use them, and it throws.
   */
  unmap(): void
}

/**
 * The size of a page in bytes.
 *
 * @category getters
 * @since 0.1.0
 */
export const pageSize = (): number => libc.sysconf(linux._SC_PAGESIZE)

/**
 * Maps `length` bytes, at least one, rounded up to whole pages. Throws a `RangeError` for a bad length and when there is
 * no memory.
 *
 * @category constructors
 * @since 0.1.0
 */
export const map = (length: number): Mapping => {
  if (!Number.isSafeInteger(length) || length <= 0) throw new RangeError(`cannot map ${length} bytes`)
  const page = pageSize()
  const size = Math.ceil(length / page) * page
  const address = libc.mmap(
    null,
    size,
    linux.PROT_READ | linux.PROT_WRITE,
    linux.MAP_PRIVATE | linux.MAP_ANONYMOUS,
    -1,
    0
  )
  if (address === null || address === linux.MAP_FAILED) {
    throw new RangeError(`cannot map ${length} bytes (errno ${koffi().errno()})`)
  }
  const buffer = viewOrUnmap(address, length, size)
  const bytes = new Uint8Array(buffer)
  let mapped = true
  return {
    address,
    bytes,
    unmap: () => {
      if (!mapped) return
      mapped = false
      if (buffer.detached) throw new TypeError("the buffer was transferred away; its pages stay mapped")
      // To length 0, so that nothing is copied and the bytes are not freed: V8 does not own them.
      buffer.transfer(0)
      libc.munmap(address, size)
    }
  }
}

/**
 * Where the bytes are. It is valid as long as their buffer is referenced and not detached: buffers of a fixed length do
 * not move.
 *
 * @category getters
 * @since 0.1.0
 */
export const addressOf = (bytes: Uint8Array<ArrayBuffer>): bigint => koffi().address(bytes)

/**
 * The memory at `address` as a view that owns nothing: it is valid as long as the object behind the address, and reading
 * it later crashes the process. `address` cannot be NULL.
 *
 * @category constructors
 * @since 0.1.0
 */
export const view = (address: bigint, length: number): DataView<ArrayBuffer> => {
  if (address <= 0n || address >= 2n ** 64n) throw new RangeError(`cannot view address ${address}`)
  if (!Number.isSafeInteger(length) || length < 0) throw new RangeError(`cannot view ${length} bytes`)
  return new DataView(koffi().view(address, length))
}

const decoder = new TextDecoder()

/**
 * Copies a NUL-terminated string of at most `maxLength` bytes. It reads nothing behind the NUL. Throws a `RangeError`
 * when there is no NUL within `maxLength`.
 *
 * @category getters
 * @since 0.1.0
 */
export const readCString = (address: bigint, maxLength: number): string => {
  const bytes = new Uint8Array(view(address, maxLength).buffer)
  const end = bytes.indexOf(0)
  if (end === -1) throw new RangeError(`no end of the string within ${maxLength} bytes`)
  return decoder.decode(bytes.subarray(0, end))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const viewOrUnmap = (address: bigint, length: number, size: number): ArrayBuffer => {
  try {
    return koffi().view(address, length)
  } catch (thrown) {
    libc.munmap(address, size)
    throw thrown
  }
}
