/**
 * What the conformance suites of the data path have in common: the bytes that messages carry.
 *
 * @since 0.1.0
 */
import type * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import type * as WorkRequest from "@effect-rdma/verbs/WorkRequest"
import { assert } from "@effect/vitest"
import type { End } from "./conformanceDataPath.ts"

/** Bytes that tell where they are, another row of them for each seed. */
export const pattern = (length: number, seed = 1): Uint8Array =>
  Uint8Array.from({ length }, (_, index) => (index * 7 + (index >> 8) * 13 + seed * 31) & 0xff)

/** Two rows of bytes are the same; tells the first place where they are not. */
export const assertBytes = (actual: Uint8Array, expected: Uint8Array): void => {
  assert.strictEqual(actual.length, expected.length)
  const at = actual.findIndex((byte, index) => byte !== expected[index])
  if (at >= 0) assert.fail(`byte ${at} of ${actual.length} is ${actual[at]}, not ${expected[at]}`)
}

/** The 64 bits at an offset, in the byte order of this host. */
export const wordAt = ({ bytes }: MemoryRegion.MemoryRegion, offset = 0): bigint =>
  viewOf(bytes).getBigUint64(offset, true)

export const setWord = ({ bytes }: MemoryRegion.MemoryRegion, value: bigint, offset = 0): void =>
  viewOf(bytes).setBigUint64(offset, value, true)

/** Puts a text in the second half of the region, out of the way of what arrives, and gives its part. */
export const put = (self: End, text: string, offset = 0): WorkRequest.Sge => {
  const bytes = new TextEncoder().encode(text)
  const start = self.region.bytes.length / 2 + offset
  self.region.bytes.set(bytes, start)
  return self.part(start, bytes.length)
}

/** The text that arrived. */
export const textIn = ({ region }: End, length: number, offset = 0): string =>
  new TextDecoder().decode(region.bytes.subarray(offset, offset + length))

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
