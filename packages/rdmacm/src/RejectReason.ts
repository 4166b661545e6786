/**
 * Why a connection was rejected: the reasons of InfiniBand's connection manager, as the status of a `rejected` event.
 *
 * @since 0.1.0
 */
import * as Enumeration from "@effect-rdma/core/Enumeration"

const enumeration = Enumeration.make("RejectReason", [
  ["noQp", 1, "no QP"],
  ["noEec", 2, "no EEC"],
  ["noResources", 3, "no resources"],
  ["timeout", 4, "timeout"],
  ["unsupported", 5, "unsupported"],
  ["invalidCommId", 6, "invalid COMM ID"],
  ["invalidCommInstance", 7, "invalid COMM instance"],
  ["invalidServiceId", 8, "invalid service ID"],
  ["invalidTransportType", 9, "invalid transport type"],
  ["staleConnection", 10, "stale conn"],
  ["rdcNotExist", 11, "RDC not exist"],
  ["invalidGid", 12, "invalid GID"],
  ["invalidLid", 13, "invalid LID"],
  ["invalidServiceLevel", 14, "invalid SL"],
  ["invalidTrafficClass", 15, "invalid traffic class"],
  ["invalidHopLimit", 16, "invalid hop limit"],
  ["invalidPacketRate", 17, "invalid packet rate"],
  ["invalidAlternateGid", 18, "invalid alt GID"],
  ["invalidAlternateLid", 19, "invalid alt LID"],
  ["invalidAlternateServiceLevel", 20, "invalid alt SL"],
  ["invalidAlternateTrafficClass", 21, "invalid alt traffic class"],
  ["invalidAlternateHopLimit", 22, "invalid alt hop limit"],
  ["invalidAlternatePacketRate", 23, "invalid alt packet rate"],
  ["portCmRedirect", 24, "port CM redirect"],
  ["portRedirect", 25, "port redirect"],
  ["invalidMtu", 26, "invalid MTU"],
  ["insufficientResponderResources", 27, "insufficient resp resources"],
  ["consumerDefined", 28, "consumer defined"],
  ["invalidRnrRetry", 29, "invalid RNR retry"],
  ["duplicateLocalCommId", 30, "duplicate local comm ID"],
  ["invalidClassVersion", 31, "invalid class version"],
  ["invalidFlowLabel", 32, "invalid flow label"],
  ["invalidAlternateFlowLabel", 33, "invalid alt flow label"],
  ["vendorOptionNotSupported", 35, "vendor option not supported"]
], "unrecognized reason")

/**
 * Schema for a reason. `invalidServiceId`: nobody listens on the port. `consumerDefined`: the program there said no, and may
 * have said more in the private data. `unknown` is what iWARP has instead: an errno.
 *
 * @category schemas
 * @since 0.1.0
 */
export const RejectReason = enumeration.reported

/**
 * The type of {@link RejectReason}.
 *
 * @category models
 * @since 0.1.0
 */
export type RejectReason = typeof RejectReason.Type

/**
 * The reason of a status.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromNative = enumeration.fromNative

/**
 * What the kernel calls it.
 *
 * @category getters
 * @since 0.1.0
 */
export const format = enumeration.format
