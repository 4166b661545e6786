/**
 * The answers to the extended queries of a device, as values: pure.
 *
 * @since 0.1.0
 */
import type * as ExtendedDeviceAttributes from "../ExtendedDeviceAttributes.ts"
import type * as ForkSupport from "../ForkSupport.ts"
import * as Codec from "./codec.ts"
import * as Layout from "./ExtendedDeviceLayout.ts"

export const decodeExtendedAttributes = (view: DataView): ExtendedDeviceAttributes.ExtendedDeviceAttributes => {
  const { compMask: _, ...attributes } = Layout.DeviceAttrEx.read(view)
  return { ...attributes, origAttr: Codec.decodeDeviceAttributes(view) }
}

/** `IBV_VALUES_MASK_RAW_CLOCK`. */
export const rawClock = 1

export const decodeRealTimeValues = (view: DataView): ExtendedDeviceAttributes.RealTimeValues => {
  const { compMask, tvNsec, tvSec } = Layout.ValuesEx.read(view)
  return { rawClock: (compMask & rawClock) === 0 ? undefined : { tvSec, tvNsec } }
}

/** `enum ibv_fork_status` in its order. */
export const forkStatuses: ReadonlyArray<ForkSupport.ForkStatus> = ["disabled", "enabled", "unneeded"]
