import type { Fabric } from "@effect-rdma/testkit"

/** Lets ports answer what the suites ask: every Get, by its own bytes, but of attribute 0x77, which nobody knows. */
export const answerRequests = (fabric: Fabric.Fabric["Service"], lids: ReadonlyArray<number>) =>
  fabric.onMad(({ address, mad }) => {
    if (!lids.includes(address.lid) || mad[3] !== get) return undefined
    const reply = mad.slice()
    reply[3] = getResp
    if (reply[17] === unknownAttribute) reply[5] = unsupportedAttribute
    return reply
  })

const get = 0x01
const getResp = 0x81
const unknownAttribute = 0x77
const unsupportedAttribute = 0x0c
