import type * as Fabric from "../Fabric.ts"

/** Lets ports answer what the suites ask, by its own bytes; a Set of NodeInfo is refused, as every node does. */
export const answerRequests = (fabric: Fabric.Fabric["Service"], lids: ReadonlyArray<number>) =>
  fabric.onMad(({ address, mad }) => {
    const isSet = mad[3] === set && mad[17] === nodeInfo
    if (!lids.includes(address.lid) || (mad[3] !== get && !isSet)) return undefined
    const reply = mad.slice()
    reply[3] = getResp
    if (isSet) reply[5] = notSupported
    return reply
  })

const get = 0x01
const set = 0x02
const getResp = 0x81
const nodeInfo = 0x11
const notSupported = 0x0c
