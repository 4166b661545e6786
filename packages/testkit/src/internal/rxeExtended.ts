/** What rxe of Linux 6.1 answers to ibv_query_device_ex beyond the plain attributes. */
export const rxeExtended = {
  odpCaps: { generalCaps: 0n, rcOdpCaps: 0, ucOdpCaps: 0, udOdpCaps: 0 },
  completionTimestampMask: 0n,
  hcaCoreClock: 0n,
  deviceCapFlagsEx: 0x0122_3c76n,
  tsoCaps: { maxTso: 0, supportedQpts: 0 },
  rssCaps: {
    supportedQpts: 0,
    maxRwqIndirectionTables: 0,
    maxRwqIndirectionTableSize: 0,
    rxHashFieldsMask: 0n,
    rxHashFunction: 0
  },
  maxWqTypeRq: 0,
  packetPacingCaps: { qpRateLimitMin: 0, qpRateLimitMax: 0, supportedQpts: 0 },
  rawPacketCaps: 0,
  tmCaps: { maxRndvHdrSize: 0, maxNumTags: 0, flags: 0, maxOps: 0, maxSge: 0 },
  cqModCaps: { maxCqCount: 0, maxCqPeriod: 0 },
  maxDmSize: 0n,
  pciAtomicCaps: { fetchAdd: 0, swap: 0, compareSwap: 0 },
  xrcOdpCaps: 0,
  physPortCntEx: 1
}
