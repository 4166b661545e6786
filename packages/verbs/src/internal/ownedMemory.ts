/**
 * Which handle owns the memory of a buffer, so that nobody registers it for longer than it is there, and which memory a
 * device may use until the process ends.
 *
 * @since 0.1.0
 */
import type * as Resource from "@effect-rdma/core/Resource"

const owners = new WeakMap<ArrayBuffer, Resource.Any>()

/** Notes that the memory of a buffer goes with a handle. */
export const own = (buffer: ArrayBuffer, owner: Resource.Any): void => {
  owners.set(buffer, owner)
}

/** The handle that the memory of a buffer goes with; `undefined` for memory of the JS heap. */
export const ownerOf = (buffer: ArrayBuffer): Resource.Any | undefined => owners.get(buffer)

const pinned = new Set<ArrayBufferLike>()

/** Keeps the memory of a buffer until the process ends, because a device may still use it. */
export const pin = (buffer: ArrayBufferLike): void => {
  pinned.add(buffer)
}

/** Whether the memory of a buffer has to stay until the process ends. */
export const isPinned = (buffer: ArrayBufferLike): boolean => pinned.has(buffer)
