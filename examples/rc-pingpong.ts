/**
 * A message goes to and fro between two programs on a reliable connection, as with `ibv_rc_pingpong`, which can be the other
 * side:
 *
 *     node examples/rc-pingpong.ts              the server
 *     node examples/rc-pingpong.ts 10.0.0.1     the client
 */
import type { Mtu } from "@effect-rdma/core"
import { QueuePair, Verbs } from "@effect-rdma/verbs"
import { Effect } from "effect"
import { Command } from "effect/cli"
import type { Options, Peer } from "./pingpong.ts"
import { check, endpoint, exchange, flags, mtu, open, overTcp, postReceives, toAndFro } from "./pingpong.ts"
import { run } from "./program.ts"

export const rcPingpong = Effect.fnUntraced(function*(options: Options & { readonly mtu: Mtu.Mtu }, peer: Peer) {
  const { rxDepth, sl } = options
  const { domain, memory, message, queue } = yield* open(options, peer, rxDepth + 1)
  const queuePair = yield* QueuePair.make(domain, {
    qpType: "rc",
    sendCq: queue,
    recvCq: queue,
    cap: { maxSendWr: 1, maxRecvWr: rxDepth }
  })

  const local = yield* endpoint(queuePair, options)
  yield* exchange(
    peer,
    [{ local }],
    (_, remote) =>
      QueuePair.connect(queuePair, local, remote, {
        pathMtu: options.mtu,
        sl,
        receives: postReceives(queuePair, memory, rxDepth)
      })
  )

  const send = QueuePair.send(queuePair, { sgList: [{ region: memory }] })

  yield* toAndFro(options, peer, { queuePair, queue, memory, send })
  yield* check(options, peer, message)
})

if (import.meta.main) {
  run(Command.make("rc-pingpong", { ...flags(4096), mtu }, overTcp(rcPingpong)), Verbs.Verbs.layer)
}
