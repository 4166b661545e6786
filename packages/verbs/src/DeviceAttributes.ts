/**
 * What a device is and can do: `struct ibv_device_attr` of `ibv_query_device(3)`.
 *
 * @since 0.1.0
 */
import type * as Guid from "@effect-rdma/core/Guid"

/**
 * Every field of `struct ibv_device_attr` under its C name in camelCase. Counts are upper bounds that the device
 * reports; a creation can fail below them when memory or another limit runs out.
 *
 * @category models
 * @since 0.1.0
 */
export interface DeviceAttributes {
  readonly fwVer: string
  readonly nodeGuid: Guid.Guid
  readonly sysImageGuid: Guid.Guid
  /** Bytes of the largest memory region. */
  readonly maxMrSize: bigint
  /** A bit for each supported page size in bytes. */
  readonly pageSizeCap: bigint
  readonly vendorId: number
  readonly vendorPartId: number
  readonly hwVer: number
  readonly maxQp: number
  readonly maxQpWr: number
  readonly deviceCapFlags: number
  readonly maxSge: number
  readonly maxSgeRd: number
  readonly maxCq: number
  readonly maxCqe: number
  readonly maxMr: number
  readonly maxPd: number
  readonly maxQpRdAtom: number
  readonly maxEeRdAtom: number
  readonly maxResRdAtom: number
  readonly maxQpInitRdAtom: number
  readonly maxEeInitRdAtom: number
  readonly atomicCap: AtomicCapability
  readonly maxEe: number
  readonly maxRdd: number
  readonly maxMw: number
  readonly maxRawIpv6Qp: number
  readonly maxRawEthyQp: number
  readonly maxMcastGrp: number
  readonly maxMcastQpAttach: number
  readonly maxTotalMcastQpAttach: number
  readonly maxAh: number
  readonly maxFmr: number
  readonly maxMapPerFmr: number
  readonly maxSrq: number
  readonly maxSrqWr: number
  readonly maxSrqSge: number
  readonly maxPkeys: number
  readonly localCaAckDelay: number
  readonly physPortCnt: number
}

/**
 * `enum ibv_atomic_cap`: whether atomics are atomic among the QPs of this device (`"hca"`) or with the whole host too
 * (`"glob"`).
 *
 * @category models
 * @since 0.1.0
 */
export type AtomicCapability = "none" | "hca" | "glob" | "unknown"
