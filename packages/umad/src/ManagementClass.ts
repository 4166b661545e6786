/**
 * The class of a MAD: the `UMAD_CLASS_` numbers of `infiniband/umad_types.h`.
 *
 * @since 0.1.0
 */
import * as Enumeration from "@effect-rdma/core/Enumeration"

/**
 * The classes of the InfiniBand specification. Those of vendors are numbers: 0x09 to 0x0f, and 0x30 to 0x4f with an OUI.
 *
 * @category constants
 * @since 0.1.0
 */
export const enumeration = Enumeration.make("ManagementClass", [
  ["subnLidRouted", 0x01, "SubnLidRouted"],
  ["subnDirectedRoute", 0x81, "SubnDirectedRoute"],
  ["subnAdm", 0x03, "SubnAdm"],
  ["perfMgmt", 0x04, "PerfMgmt"],
  ["bm", 0x05, "BM"],
  ["deviceMgmt", 0x06, "DeviceMgmt"],
  ["cm", 0x07, "CM"],
  ["snmp", 0x08, "SNMP"],
  ["deviceAdm", 0x10, "DeviceAdm"],
  ["bootMgmt", 0x11, "BootMgmt"],
  ["bis", 0x12, "BIS"],
  ["congMgmt", 0x21, "CongMgmt"]
])

/**
 * Schema for a class of the InfiniBand specification.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ManagementClass = enumeration.schema

/**
 * A class of the InfiniBand specification.
 *
 * @category models
 * @since 0.1.0
 */
export type ManagementClass = typeof ManagementClass.Type

/**
 * The number of a class.
 *
 * @category getters
 * @since 0.1.0
 */
export const toNative = enumeration.toNative
