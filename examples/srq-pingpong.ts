/**
 * Messages go to and fro between two programs on many reliable connections at once, and each program receives all of
 * them through one shared receive queue. As with `ibv_srq_pingpong`, which can be the other side:
 *
 *     node examples/srq-pingpong.ts              the server
 *     node examples/srq-pingpong.ts 10.0.0.1     the client
 */
import type { Mtu } from "@effect-rdma/core"
import { CompletionQueue, QueuePair, SharedReceiveQueue, Verbs, WorkCompletion } from "@effect-rdma/verbs"
import { Array, Effect } from "effect"
import { Command } from "effect/cli"
import type { Options, Peer } from "./pingpong.ts"
import { check, endpoint, exchange, flags, measure, mtu, open, overTcp } from "./pingpong.ts"
import { number, ProgramError, run } from "./program.ts"

// The program in C sends as many addresses, however few queue pairs it has.
const maxQp = 256

export const srqPingpong = Effect.fnUntraced(function*(
  options: Options & { readonly mtu: Mtu.Mtu; readonly numQp: number },
  peer: Peer
) {
  const { iters, numQp, rxDepth, sl } = options
  if (numQp > maxQp) return yield* new ProgramError({ problem: `at most ${maxQp} queue pairs` })
  if (rxDepth < numQp) {
    return yield* new ProgramError({ problem: `${rxDepth} receives are too few for ${numQp} queue pairs` })
  }
  const { domain, memory, message, queue } = yield* open(options, peer, numQp + rxDepth)
  const receives = yield* SharedReceiveQueue.make(domain, { maxWr: rxDepth })
  const ends = yield* Effect.forEach(
    Array.range(1, numQp),
    Effect.fnUntraced(function*() {
      const queuePair = yield* QueuePair.make(domain, {
        qpType: "rc",
        sendCq: queue,
        recvCq: queue,
        srq: receives,
        cap: { maxSendWr: 1 }
      })
      // A queue pair sends when nothing more is to come: neither the end of its last message nor that of the peer.
      return { queuePair, local: yield* endpoint(queuePair, options), toCome: 1 }
    })
  )
  const byNumber = new Map(ends.map((end) => [end.queuePair.qpNum as number, end]))

  const postReceives = (count: number) =>
    SharedReceiveQueue.postRecv(receives, Array.replicate({ sgList: [{ region: memory }] }, count))

  yield* postReceives(rxDepth)
  yield* exchange(
    peer,
    ends,
    ({ local, queuePair }, remote) => QueuePair.connect(queuePair, local, remote, { pathMtu: options.mtu, sl }),
    maxQp
  )

  const begun = { sent: 0, posted: rxDepth }
  const send = (end: (typeof ends)[number]) => {
    begun.sent++
    end.toCome = 2
    return QueuePair.postSend(end.queuePair, [{ opcode: "send", flags: ["signaled"], sgList: [{ region: memory }] }])
  }

  yield* measure(
    options,
    Effect.fnUntraced(function*(heard) {
      if (peer.role === "client") {
        for (const end of ends.slice(0, iters)) yield* send(end)
      }
      for (let sent = 0, received = 0; sent < iters || received < iters;) {
        for (const completion of yield* CompletionQueue.next(queue)) {
          const end = byNumber.get(completion.qpNum)
          if (end === undefined) continue
          const { opcode } = yield* WorkCompletion.orFail(completion, "send or recv", end.queuePair)
          if (opcode === "recv") {
            received++
            heard()
            if (--begun.posted < numQp) {
              yield* postReceives(rxDepth - begun.posted)
              begun.posted = rxDepth
            }
          } else {
            sent++
          }
          if (--end.toCome === 0 && begun.sent < iters) yield* send(end)
        }
      }
    })
  )
  yield* check(options, peer, message)
})

if (import.meta.main) {
  const numQp = number("num-qp", "q", 16, "queue pairs")
  run(Command.make("srq-pingpong", { ...flags(4096), mtu, numQp }, overTcp(srqPingpong)), Verbs.Verbs.layer)
}
