/** What a port counts of its traffic. Data is in units of 4 bytes. */
export interface Counters {
  xmitData: bigint
  rcvData: bigint
  xmitPkts: bigint
  rcvPkts: bigint
  unicastXmitPkts: bigint
  unicastRcvPkts: bigint
  multicastXmitPkts: bigint
  multicastRcvPkts: bigint
  rcvErrors: bigint
  rcvSwitchRelayErrors: bigint
  xmitDiscards: bigint
  linkDowned: bigint
}

export const make = (): Counters => ({
  xmitData: 0n,
  rcvData: 0n,
  xmitPkts: 0n,
  rcvPkts: 0n,
  unicastXmitPkts: 0n,
  unicastRcvPkts: 0n,
  multicastXmitPkts: 0n,
  multicastRcvPkts: 0n,
  rcvErrors: 0n,
  rcvSwitchRelayErrors: 0n,
  xmitDiscards: 0n,
  linkDowned: 0n
})
