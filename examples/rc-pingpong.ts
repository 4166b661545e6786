/**
 * A message goes to and fro between two programs on a reliable connection, as with `ibv_rc_pingpong`, which can be the other
 * side:
 *
 *     node examples/rc-pingpong.ts              the server
 *     node examples/rc-pingpong.ts 10.0.0.1     the client
 */
import type { Mtu } from "@effect-rdma/core"
import { CompletionQueue, QueuePair, WorkCompletion } from "@effect-rdma/verbs"
import { Array, Effect } from "effect"
import { Command } from "effect/cli"
import type { Options, Peer } from "./pingpong.ts"
import { check, endpoint, exchange, flags, measure, mtu, open, overTcp, run } from "./pingpong.ts"

export const rcPingpong = Effect.fnUntraced(function*(options: Options & { readonly mtu: Mtu.Mtu }, peer: Peer) {
  const { iters, rxDepth, sl } = options
  const { domain, memory, message, queue } = yield* open(options, peer, rxDepth + 1)
  const queuePair = yield* QueuePair.make(domain, {
    qpType: "rc",
    sendCq: queue,
    recvCq: queue,
    cap: { maxSendWr: 1, maxRecvWr: rxDepth }
  })

  // Every receive is for the same memory: there is one message under way.
  const postReceives = (count: number) =>
    QueuePair.postRecv(queuePair, Array.replicate({ sgList: [{ region: memory }] }, count))

  const local = yield* endpoint(queuePair, options)
  yield* exchange(
    peer,
    [{ local }],
    (_, remote) =>
      QueuePair.connect(queuePair, local, remote, { pathMtu: options.mtu, sl, receives: postReceives(rxDepth) })
  )

  const send = QueuePair.send(queuePair, { sgList: [{ region: memory }] })

  let posted = rxDepth
  const receive = Effect.gen(function*() {
    const [completion] = yield* CompletionQueue.next(queue, 1)
    yield* WorkCompletion.orFail(completion, "recv", queuePair)
    if (--posted > 1) return
    yield* postReceives(rxDepth - posted)
    posted = rxDepth
  })

  yield* measure(
    options,
    Effect.fnUntraced(function*(heard) {
      for (let round = 0; round < iters; round++) {
        if (peer.role === "client") yield* send
        yield* receive
        heard()
        if (peer.role === "server") yield* send
      }
    })
  )
  yield* check(options, peer, message)
})

if (import.meta.main) {
  run(Command.make("rc-pingpong", { ...flags(4096), mtu }, overTcp(rcPingpong)))
}
