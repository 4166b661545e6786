/**
 * Where frames of RoCE go: what `ibv_resolve_eth_l2_from_gid` finds for a GID.
 *
 * @since 0.1.0
 */

/**
 * The MAC address of the next hop, 6 bytes, and the VLAN that leads there, `undefined` for none.
 *
 * @category models
 * @since 0.1.0
 */
export interface EthernetDestination {
  readonly mac: Uint8Array
  readonly vlan: number | undefined
}
