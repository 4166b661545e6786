/**
 * What datagram sockets and multicast groups have in common.
 *
 * @since 0.1.0
 */
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as Port from "@effect-rdma/verbs/Port"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as ReceivedDatagram from "@effect-rdma/verbs/ReceivedDatagram"
import type * as WorkCompletion from "@effect-rdma/verbs/WorkCompletion"
import * as Effect from "effect/Effect"
import * as CmId from "../CmId.ts"
import * as ConnectionError from "../ConnectionError.ts"
import type * as DatagramSocket from "../DatagramSocket.ts"
import { refused } from "./idOperation.ts"
import * as Messages from "./messages.ts"

/** A socket of an id that is bound to a device, with its receives posted. */
export const open = Effect.fnUntraced(function*(id: CmId.CmId, depths: Omit<Messages.Options, "messageSize">) {
  const context = yield* CmId.context(id)
  const { localAddress, portNum } = yield* CmId.state(id)
  const { activeMtu: maxLength } = yield* Port.query(context, portNum)
  if (localAddress === undefined || maxLength === "unknown") {
    return yield* refused("rdma_cm_id.port_num", "EINVAL", "The id has no port with an MTU")
  }
  const messages = yield* Messages.make(context, "ud", { ...depths, messageSize: maxLength })
  const { queuePair } = messages
  yield* CmId.moveQueuePair(id, queuePair, "init")
  yield* Messages.start(messages)
  yield* Effect.addFinalizer(() =>
    Effect.sync(() =>
      Messages.close(messages, new ConnectionError.ConnectionClosed({ call: "ibv_destroy_qp", status: 0 }))
    )
  )
  yield* CmId.moveQueuePair(id, queuePair, "rtr")
  yield* CmId.moveQueuePair(id, queuePair, "rts")
  const { attributes: { qkey } } = yield* QueuePair.query(queuePair)
  const socket: DatagramSocket.DatagramSocket = {
    id,
    queuePair,
    domain: messages.domain,
    device: context.name,
    portNum,
    localAddress,
    maxLength,
    qkey,
    messages
  }
  return socket
})

/** A datagram out of its place, with the routing header in front. */
export const read = (
  bytes: Uint8Array,
  { dlidPathBits, hasGrh, sl, slid, srcQp }: WorkCompletion.Succeeded
): DatagramSocket.Datagram => ({
  bytes: bytes.slice(ReceivedDatagram.routingHeaderBytes),
  qpNum: srcQp,
  sender: {
    slid: Lid.Lid.make(slid),
    sl: Identifier.ServiceLevel.make(sl),
    dlidPathBits: Identifier.PathBits.make(dlidPathBits),
    ...(hasGrh ? { grh: bytes.slice(0, ReceivedDatagram.routingHeaderBytes) } : undefined)
  }
})
