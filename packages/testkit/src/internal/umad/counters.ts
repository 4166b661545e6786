/** What a port counts of its traffic. Data is in units of 4 bytes. */
export interface Counters {
  xmitData: number
  rcvData: number
  xmitPkts: number
  rcvPkts: number
  unicastXmitPkts: number
  unicastRcvPkts: number
  multicastXmitPkts: number
  multicastRcvPkts: number
  rcvErrors: number
  rcvSwitchRelayErrors: number
  xmitDiscards: number
  linkDowned: number
}

export const make = (): Counters => ({
  xmitData: 0,
  rcvData: 0,
  xmitPkts: 0,
  rcvPkts: 0,
  unicastXmitPkts: 0,
  unicastRcvPkts: 0,
  multicastXmitPkts: 0,
  multicastRcvPkts: 0,
  rcvErrors: 0,
  rcvSwitchRelayErrors: 0,
  xmitDiscards: 0,
  linkDowned: 0
})

/** Packets of so many words in all have left a port, to one other. */
export const sent = (counters: Counters, packets: number, words: number): void => {
  counters.xmitPkts += packets
  counters.unicastXmitPkts += packets
  counters.xmitData += words
}

/** Packets of so many words in all have come to a port, from one other. */
export const received = (counters: Counters, packets: number, words: number): void => {
  counters.rcvPkts += packets
  counters.unicastRcvPkts += packets
  counters.rcvData += words
}
