/**
 * What a device can do beyond `DeviceAttributes`: `struct ibv_device_attr_ex` of `ibv_query_device_ex(3)`, and its clock.
 *
 * @since 0.1.0
 */
import type * as DeviceAttributes from "./DeviceAttributes.ts"

/**
 * Every field of `struct ibv_device_attr_ex` under its C name in camelCase, 0 for what the device does not have and for
 * what the library or its provider is too old to know. The names of the bits are in `infiniband/verbs.h`.
 *
 * @category models
 * @since 0.1.0
 */
export interface ExtendedDeviceAttributes {
  readonly origAttr: DeviceAttributes.DeviceAttributes
  readonly odpCaps: OdpCapabilities
  /** The bits of a completion's timestamp that count; 0 when completions have none. */
  readonly completionTimestampMask: bigint
  /** The frequency of the device's clock in kHz. */
  readonly hcaCoreClock: bigint
  readonly deviceCapFlagsEx: bigint
  readonly tsoCaps: TsoCapabilities
  readonly rssCaps: RssCapabilities
  readonly maxWqTypeRq: number
  readonly packetPacingCaps: PacketPacingCapabilities
  readonly rawPacketCaps: number
  readonly tmCaps: TagMatchingCapabilities
  readonly cqModCaps: CqModerationCapabilities
  /** Bytes of the largest device memory. */
  readonly maxDmSize: bigint
  readonly pciAtomicCaps: PciAtomicCapabilities
  readonly xrcOdpCaps: number
  readonly physPortCntEx: number
}

/**
 * `struct ibv_odp_caps`: on-demand paging, in general and for each transport.
 *
 * @category models
 * @since 0.1.0
 */
export interface OdpCapabilities {
  readonly generalCaps: bigint
  readonly rcOdpCaps: number
  readonly ucOdpCaps: number
  readonly udOdpCaps: number
}

/**
 * `struct ibv_tso_caps`: segmentation by the device. `supportedQpts` has a bit for each queue pair type.
 *
 * @category models
 * @since 0.1.0
 */
export interface TsoCapabilities {
  readonly maxTso: number
  readonly supportedQpts: number
}

/**
 * `struct ibv_rss_caps`: spreading packets over work queues by a hash.
 *
 * @category models
 * @since 0.1.0
 */
export interface RssCapabilities {
  readonly supportedQpts: number
  readonly maxRwqIndirectionTables: number
  readonly maxRwqIndirectionTableSize: number
  readonly rxHashFieldsMask: bigint
  readonly rxHashFunction: number
}

/**
 * `struct ibv_packet_pacing_caps`: limits in kbit/s.
 *
 * @category models
 * @since 0.1.0
 */
export interface PacketPacingCapabilities {
  readonly qpRateLimitMin: number
  readonly qpRateLimitMax: number
  readonly supportedQpts: number
}

/**
 * `struct ibv_tm_caps`: matching tags in the device.
 *
 * @category models
 * @since 0.1.0
 */
export interface TagMatchingCapabilities {
  readonly maxRndvHdrSize: number
  readonly maxNumTags: number
  readonly flags: number
  readonly maxOps: number
  readonly maxSge: number
}

/**
 * `struct ibv_cq_moderation_caps`: one event for up to `maxCqCount` completions or after `maxCqPeriod` µs.
 *
 * @category models
 * @since 0.1.0
 */
export interface CqModerationCapabilities {
  readonly maxCqCount: number
  readonly maxCqPeriod: number
}

/**
 * `struct ibv_pci_atomic_caps`: sizes of atomics over PCI, with bit 0 for 4 bytes, 1 for 8, 2 for 16.
 *
 * @category models
 * @since 0.1.0
 */
export interface PciAtomicCapabilities {
  readonly fetchAdd: number
  readonly swap: number
  readonly compareSwap: number
}

/**
 * `struct ibv_values_ex`: the device's clock as it is, not in units of time: a provider may put the whole count into
 * `tvNsec`. `undefined` when the provider did not answer for it.
 *
 * @category models
 * @since 0.1.0
 */
export interface RealTimeValues {
  readonly rawClock: { readonly tvSec: bigint; readonly tvNsec: bigint } | undefined
}
