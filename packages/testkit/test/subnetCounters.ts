import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as PerformanceManagement from "@effect-rdma/umad/PerformanceManagement"
import { PortCounters } from "@effect-rdma/umad/PortCounters"
import * as UmadLibrary from "@effect-rdma/umad/UmadLibrary"
import * as UmadPort from "@effect-rdma/umad/UmadPort"
import { Effect } from "effect"
import { ask, directedAgent } from "./subnetWalk.ts"

export const portSelect = (number: number) => ({ portSelect: Identifier.AnyPortNumber.make(number) })
export const at = (lid: number) => ({ lid: Lid.Lid.make(lid) })

/** What the port of host-beta has counted after a reset, one request by a directed route, and the question. */
export const countedMads = Effect.gen(function*() {
  const port = yield* UmadPort.open(yield* UmadLibrary.init())
  const agent = yield* directedAgent
  yield* PerformanceManagement.set(port, at(4), PortCounters, { ...portSelect(1), counterSelect: 0xffff })
  yield* ask(agent, [1, 8, 1], { attributeId: 0x11 })
  const counters = yield* PerformanceManagement.get(port, at(4), PortCounters, portSelect(1))
  return {
    rcvPkts: counters.portRcvPkts,
    rcvData: counters.portRcvData,
    xmitPkts: counters.portXmitPkts,
    xmitData: counters.portXmitData
  }
}).pipe(Effect.scoped)
