/**
 * The operations that libibverbs keeps in memory below a context instead of exporting them. A read below a context whose
 * size words do not vouch for it would be a jump into the unknown, so every lookup is checked first.
 *
 * @since 0.1.0
 */
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as DeviceLayout from "./DeviceLayout.ts"
import * as ExperimentalLayout from "./ExperimentalLayout.ts"

const readWord = (address: bigint): bigint => NativeMemory.view(address, 8).getBigUint64(0, true)

const allOnes = 0xffff_ffff_ffff_ffffn
const contextSize = BigInt(DeviceLayout.Context.size)

const isExtended = (context: bigint): boolean =>
  DeviceLayout.Context.get("abiCompat", NativeMemory.view(context, DeviceLayout.Context.size)) === allOnes

/**
 * The address of an operation of `struct verbs_context`, 0 when the library is too old to have it.
 */
export const addressOf = (context: bigint, op: { readonly below: number }): bigint => {
  const below = BigInt(op.below)
  if (!isExtended(context) || readWord(context - BigInt(DeviceLayout.contextOps.sz.below)) < contextSize + below) {
    return 0n
  }
  return readWord(context - below)
}

/**
 * The address of an operation of MLNX_OFED's `struct verbs_context_exp`, 0 when the library has no such part. On other
 * libraries the bytes there are something else, hence the flag test before anything is read.
 */
export const experimentalAddressOf = (context: bigint, op: { readonly below: number }): bigint => {
  if (!isExtended(context)) return 0n
  const flags = readWord(context - BigInt(DeviceLayout.contextOps.hasCompMask.below))
  if ((flags & ExperimentalLayout.hasExperimental) === 0n) return 0n
  const start = context - readWord(context - BigInt(DeviceLayout.contextOps.sz.below)) + contextSize
  const size = readWord(start - BigInt(ExperimentalLayout.experimentalOps.sz.below))
  return size < BigInt(op.below) ? 0n : readWord(start - BigInt(op.below))
}
