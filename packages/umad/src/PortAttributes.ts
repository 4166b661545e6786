/**
 * A port as libibumad reads it from sysfs: `umad_port_t` of `umad_get_port(3)`.
 *
 * @since 0.1.0
 */
import type * as Guid from "@effect-rdma/core/Guid"
import type * as Identifier from "@effect-rdma/core/Identifier"
import type * as PhysicalState from "@effect-rdma/core/PhysicalState"
import type * as PKey from "@effect-rdma/core/PKey"
import type * as PortState from "@effect-rdma/core/PortState"

/**
 * Every field of `umad_port_t` under its C name in camelCase, in host byte order.
 *
 * @category models
 * @since 0.1.0
 */
export interface PortAttributes {
  readonly caName: string
  /** 0 is the management port of a switch. */
  readonly portNum: Identifier.AnyPortNumber
  /** Wider than the 16 bits of InfiniBand on Omni-Path. */
  readonly baseLid: number
  readonly lmc: number
  readonly smLid: number
  readonly smSl: number
  readonly state: PortState.PortState
  readonly physState: PhysicalState.PhysicalState
  /** Gb/s; 0 where sysfs tells none. */
  readonly rate: number
  readonly capmask: number
  readonly gidPrefix: bigint
  readonly portGuid: Guid.Guid
  readonly pkeys: ReadonlyArray<PKey.PKey>
  /** As sysfs says it: `InfiniBand` or `Ethernet`; `IB` where sysfs says nothing. */
  readonly linkLayer: string
}
