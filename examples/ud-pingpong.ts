/**
 * A message goes to and fro between two programs as datagrams, as with `ibv_ud_pingpong`, which can be the other side:
 *
 *     node examples/ud-pingpong.ts              the server
 *     node examples/ud-pingpong.ts 10.0.0.1     the client
 */
import { AddressHandle, QueuePair, ReceivedDatagram, Verbs } from "@effect-rdma/verbs"
import { Effect } from "effect"
import { Command } from "effect/cli"
import type { Options, Peer } from "./pingpong.ts"
import { check, endpoint, exchange, flags, open, overTcp, postReceives, toAndFro } from "./pingpong.ts"
import { ProgramError, run } from "./program.ts"

// A datagram is dropped unless it names the key of its receiver. All of these programs have the same.
const qkey = 0x1111_1111

export const udPingpong = Effect.fnUntraced(function*(options: Options, peer: Peer) {
  const { ibPort, rxDepth, size, sl } = options
  // A datagram is received behind room for its routing header.
  const { domain, memory, message, queue } = yield* open(
    options,
    peer,
    rxDepth + 1,
    ReceivedDatagram.routingHeaderBytes
  )
  const queuePair = yield* QueuePair.make(domain, {
    qpType: "ud",
    sendCq: queue,
    recvCq: queue,
    cap: { maxSendWr: 1, maxRecvWr: rxDepth }
  })
  const local = yield* endpoint(queuePair, options)
  if (local.mtu !== undefined && size > local.mtu) {
    return yield* new ProgramError({ problem: `a datagram has at most ${local.mtu} bytes, the MTU of the port` })
  }

  yield* QueuePair.toInit(queuePair, { portNum: ibPort, qkey })
  yield* postReceives(queuePair, memory, rxDepth)
  yield* QueuePair.toRtr(queuePair, {})
  yield* QueuePair.toRts(queuePair, { sqPsn: local.psn })

  const [to] = yield* exchange(peer, [{ local }], (_, remote) =>
    Effect.map(
      AddressHandle.make(domain, {
        portNum: ibPort,
        sl,
        dlid: remote.lid,
        ...(remote.gid && local.gidIndex !== undefined
          ? { grh: { dgid: remote.gid, sgidIndex: local.gidIndex } }
          : {})
      }),
      (ah) => ({ ah, remoteQpn: remote.qpNum, remoteQkey: qkey })
    ))

  const send = QueuePair.send(queuePair, {
    to,
    sgList: [{ region: memory, offset: ReceivedDatagram.routingHeaderBytes }]
  })

  yield* toAndFro(options, peer, { queuePair, queue, memory, send })
  yield* check(options, peer, message)
})

if (import.meta.main) {
  run(Command.make("ud-pingpong", flags(2048), overTcp(udPingpong)), Verbs.Verbs.layer)
}
