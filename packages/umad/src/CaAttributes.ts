/**
 * A channel adapter as libibumad reads it from sysfs: `umad_ca_t` of `umad_get_ca(3)`.
 *
 * @since 0.1.0
 */
import type * as Guid from "@effect-rdma/core/Guid"
import type * as NodeType from "@effect-rdma/core/NodeType"
import type * as PortAttributes from "./PortAttributes.ts"

/**
 * Every field of `umad_ca_t` under its C name in camelCase, in host byte order. `ports` are the ports that exist, by
 * rising number: from 0 on a switch, from 1 on an adapter.
 *
 * @category models
 * @since 0.1.0
 */
export interface CaAttributes {
  readonly caName: string
  readonly nodeType: NodeType.NodeType
  readonly numports: number
  readonly fwVer: string
  readonly caType: string
  readonly hwVer: string
  readonly nodeGuid: Guid.Guid
  readonly systemGuid: Guid.Guid
  readonly ports: ReadonlyArray<PortAttributes.PortAttributes>
}
