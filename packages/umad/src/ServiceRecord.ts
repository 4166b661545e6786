/**
 * A service that a port offers: the ServiceRecord of subnet administration.
 *
 * @since 0.1.0
 */
import * as PKey from "@effect-rdma/core/PKey"
import * as MadField from "./MadField.ts"
import type * as MadLayout from "./MadLayout.ts"
import * as SaRecord from "./SaRecord.ts"

/**
 * ServiceRecord: 176 bytes, the `SR` of `saquery(8)`.
 *
 * @category layouts
 * @since 0.1.0
 */
export const ServiceRecord = SaRecord.make("ServiceRecord", 0x0031, 176, {
  serviceId: MadField.unsigned64(0),
  serviceGid: MadField.gid(64),
  servicePKey: MadField.branded(192, 16, PKey.PKey),
  /** Seconds; 0xffffffff never ends. */
  serviceLease: MadField.unsigned(224, 32),
  /** 16 bytes. */
  serviceKey: MadField.bytes(256, 16),
  serviceName: MadField.text(384, 64),
  /** 16 numbers of the service's own. */
  serviceData8: MadField.array(896, 8, 16, MadField.unsigned),
  /** 8 numbers of the service's own. */
  serviceData16: MadField.array(1024, 16, 8, MadField.unsigned),
  /** 4 numbers of the service's own. */
  serviceData32: MadField.array(1152, 32, 4, MadField.unsigned),
  /** 2 numbers of the service's own. */
  serviceData64: MadField.array(1280, 64, 2, (bit) => MadField.unsigned64(bit))
}, [
  "serviceId",
  "serviceGid",
  "servicePKey",
  undefined,
  "serviceLease",
  "serviceKey",
  "serviceName",
  ...Array.from({ length: 16 }, () => "serviceData8" as const),
  ...Array.from({ length: 8 }, () => "serviceData16" as const),
  ...Array.from({ length: 4 }, () => "serviceData32" as const),
  ...Array.from({ length: 2 }, () => "serviceData64" as const)
])

/**
 * The type of {@link ServiceRecord}.
 *
 * @category models
 * @since 0.1.0
 */
export type ServiceRecord = MadLayout.Type<typeof ServiceRecord>
