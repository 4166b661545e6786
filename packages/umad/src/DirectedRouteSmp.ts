/**
 * A MAD of subnet management that names its way port by port: `struct umad_smp` of `infiniband/umad_sm.h`.
 *
 * @since 0.1.0
 */
import * as Lid from "@effect-rdma/core/Lid"
import * as MadField from "./MadField.ts"
import * as MadHeader from "./MadHeader.ts"
import * as MadLayout from "./MadLayout.ts"

const { classSpecific: _, status: __, ...withoutStatus } = MadHeader.MadHeader.fields

/**
 * A subnet management packet of a directed route: 256 bytes. What the header has as `status` and `classSpecific` is other here:
 * {@link DirectedRouteSmp} has `direction`, `status`, `hopPointer` and `hopCount` in their place.
 *
 * @category layouts
 * @since 0.1.0
 */
export const DirectedRouteSmp = MadLayout.make("DirectedRouteSMP", 256, {
  ...withoutStatus,
  /** Set on the way back. */
  direction: MadField.flag(32),
  status: MadField.unsigned(33, 15),
  hopPointer: MadField.unsigned(48, 8),
  hopCount: MadField.unsigned(56, 8),
  mKey: MadField.unsigned64(192),
  /** The permissive LID where the route begins directed. */
  drSlid: MadField.branded(256, 16, Lid.Lid),
  /** The permissive LID where the route ends directed. */
  drDlid: MadField.branded(272, 16, Lid.Lid),
  /** The attribute. */
  data: MadField.bytes(512, 64),
  /** 64 bytes: element n is the port by which hop n goes out, from 1 on. */
  initialPath: MadField.bytes(1024, 64),
  /** 64 bytes: element n is the port by which hop n came in. */
  returnPath: MadField.bytes(1536, 64)
})

/**
 * The type of {@link DirectedRouteSmp}.
 *
 * @category models
 * @since 0.1.0
 */
export type DirectedRouteSmp = MadLayout.Type<typeof DirectedRouteSmp>
