import type * as Errno from "@effect-rdma/core/Errno"
import * as Identifier from "@effect-rdma/core/Identifier"
import type * as QueuePairAttributes from "@effect-rdma/verbs/QueuePairAttributes"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import * as Effect from "effect/Effect"
import { portOf } from "../verbs/state.ts"
import { addressHandleOf, type Connection } from "./connection.ts"
import type { CmState, IdState } from "./state.ts"

/** The key that datagrams of the port spaces of IP have. */
export const datagramKey = Identifier.QKey.make(0x0123_4567)

export type Target = "init" | "rtr" | "rts"

/** What a queue pair is modified with to get to a state, or why there is nothing yet. */
export const attributesFor = (self: IdState, qpState: Target): QueuePairAttributes.Modification | Errno.ErrnoName => {
  const { connection, place, qpType } = self
  if (place === undefined) return "EINVAL"
  const base = { qpState, pkeyIndex: Identifier.PKeyIndex.make(0), portNum: place.portNum }
  // Of datagrams, and before there is a connection, those of INIT alone, whichever are asked for.
  if (qpType === "ud") return { ...base, qkey: datagramKey }
  if (connection === undefined) return { ...base, qpAccessFlags: [] }
  const { heard, peer, psn, state } = connection
  const { initiatorDepth, responderResources } = depthsOf(connection)
  if (qpState === "init") {
    if (!beforeEnd.has(state)) return "EINVAL"
    return {
      ...base,
      qpAccessFlags: responderResources > 0 ? ["remoteWrite", "remoteRead", "remoteAtomic"] : ["remoteWrite"]
    }
  }
  if (!withPeer.has(state) || heard === undefined || peer === undefined) return "EINVAL"
  if (qpState === "rtr") {
    return {
      qpState,
      ahAttr: addressHandleOf(connection),
      pathMtu: mtuOf(connection),
      destQpNum: heard.qpNum,
      rqPsn: psn,
      maxDestRdAtomic: responderResources,
      minRnrTimer: 0
    }
  }
  const request = connection.asks ? connection.said : heard
  return {
    qpState,
    sqPsn: peer.psn,
    timeout: self.ackTimeout ?? ackTimeout,
    retryCnt: request?.retryCount ?? 0,
    rnrRetry: heard.rnrRetryCount,
    maxRdAtomic: initiatorDepth
  }
}

/** Moves the queue pair that librdmacm made on an id; `depths` stand for what was agreed on. */
export const move = (
  { verbs }: CmState,
  self: IdState,
  targets: ReadonlyArray<Target>,
  depths?: Depths
): Effect.Effect<void, VerbsError | Errno.ErrnoName> =>
  Effect.suspend(() => {
    const { qp } = self.on
    if (qp === undefined) return Effect.void
    return Effect.forEach(targets, (target): Effect.Effect<void, VerbsError | Errno.ErrnoName> => {
      if (self.qpType === "ud" && target !== "init") {
        return verbs.modifyQp(
          qp,
          target === "rtr" ? { qpState: target } : { qpState: target, sqPsn: Identifier.Psn.make(0) }
        )
      }
      const attributes = attributesFor(self, target)
      if (typeof attributes === "string") return Effect.fail(attributes)
      if (depths === undefined || target === "init") return verbs.modifyQp(qp, attributes)
      return verbs.modifyQp(qp, {
        ...attributes,
        ...(target === "rtr" ? { maxDestRdAtomic: depths.responderResources } : { maxRdAtomic: depths.initiatorDepth })
      })
    }, { discard: true })
  })

/** Reads and atomic operations at once: those that this side serves, and those that it starts. */
export interface Depths {
  readonly responderResources: number
  readonly initiatorDepth: number
}

/** What was agreed on, as far as anything was. */
export const depthsOf = ({ asks, heard, said }: Connection): Depths =>
  heard === undefined || (said !== undefined && !asks)
    ? { responderResources: said?.responderResources ?? 0, initiatorDepth: said?.initiatorDepth ?? 0 }
    // What one side may start, the other has to serve.
    : { responderResources: heard.initiatorDepth, initiatorDepth: heard.responderResources }

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** 4.096 µs · 2^19: what the kernel makes of a path of RoCE. */
const ackTimeout = 19

const withPeer: ReadonlySet<string> = new Set(["reqReceived", "repReceived", "repSent", "established"])
const beforeEnd: ReadonlySet<string> = new Set([...withPeer, "reqSent"])

const mtuOf = ({ from, to }: Connection) => {
  const mtus = [from, to].map(({ device, portNum }) => portOf(device, portNum)?.activeMtu ?? "unknown")
  return mtus.filter((mtu) => mtu !== "unknown").toSorted((self, that) => self - that)[0] ?? 256
}
