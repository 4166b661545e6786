/**
 * Connections on the real library.
 *
 * @since 0.1.0
 */
import type * as Library from "@effect-rdma/core/Library"
import * as NativeStruct from "@effect-rdma/verbs/NativeStruct"
import * as Effect from "effect/Effect"
import type * as ConnectionParameters from "../../ConnectionParameters.ts"
import type { RdmaCm } from "../../RdmaCm.ts"
import * as Codec from "../codec.ts"
import { done, tooOld } from "./error.ts"

export const make = (library: Library.Library) => {
  const listen = library.bind("rdma_listen", ["pointer", "int"], "int")
  const connect = library.bind("rdma_connect", ["pointer", "buffer"], "int")
  const accept = library.bind("rdma_accept", ["pointer", "buffer"], "int")
  const establish = library.bind("rdma_establish", ["pointer"], "int")
  const reject = library.bind("rdma_reject", ["pointer", "buffer", "u8"], "int")
  const disconnect = library.bind("rdma_disconnect", ["pointer"], "int")
  const rejectEce = library.bindOptional("rdma_reject_ece", ["pointer", "buffer", "u8"], "int")
  const notify = library.bind("rdma_notify", ["pointer", "int"], "int")
  const writeCmEvent = library.bindOptional("rdma_write_cm_event", ["pointer", "int", "int", "u64"], "int")
  const initQpAttr = library.bind("rdma_init_qp_attr", ["pointer", "buffer", "buffer"], "int")

  return {
    listen: (id, backlog) => done("rdma_listen", () => listen(id, backlog), { backlog }),
    connect: (id, parameters) =>
      done("rdma_connect", () => connect(id, Codec.encodeConnectionParameters(parameters)), inputOf(parameters)),
    accept: (id, parameters) =>
      done("rdma_accept", () => accept(id, Codec.encodeConnectionParameters(parameters)), inputOf(parameters)),
    establish: (id) => done("rdma_establish", () => establish(id)),
    reject: (id, privateData) =>
      done("rdma_reject", () => reject(id, privateData, privateData.length), { privateDataLen: privateData.length }),
    disconnect: (id) => done("rdma_disconnect", () => disconnect(id)),
    rejectEce: (id, privateData) =>
      rejectEce === undefined
        ? tooOld("rdma_reject_ece", 31)
        : done("rdma_reject_ece", () => rejectEce(id, privateData, privateData.length), {
          privateDataLen: privateData.length
        }),
    notify: (id, event) => done("rdma_notify", () => notify(id, queuePairEvents[event]), { event }),
    writeCmEvent: (id, status, arg) =>
      writeCmEvent === undefined
        ? tooOld("rdma_write_cm_event", 60)
        : done("rdma_write_cm_event", () => writeCmEvent(id, userEvent, status, arg), { status, arg }),
    initQpAttr: (id, qpState) =>
      Effect.suspend(() => {
        const attributes = NativeStruct.queuePairAttributes(qpState)
        const mask = new Int32Array(1)
        return Effect.map(
          done("rdma_init_qp_attr", () => initQpAttr(id, attributes, mask), { qpState }),
          () => NativeStruct.readModification(attributes, mask[0] ?? 0)
        )
      })
  } satisfies Partial<RdmaCm["Service"]>
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** `IBV_EVENT_COMM_EST` and `IBV_EVENT_PATH_MIG`. */
export const queuePairEvents = { commEst: 4, pathMig: 6 } as const

/** `RDMA_CM_EVENT_USER`. */
const userEvent = 18

const inputOf = ({ privateData, qpNum }: ConnectionParameters.ConnectionParameters) => ({
  qpNum,
  privateDataLen: privateData.length
})
