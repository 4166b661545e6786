/**
 * How many messages two hosts of the in-memory fabric exchange: one sends and polls, the other posts receives and polls,
 * in batches of 16 of 64 bytes each. The bytes are really copied.
 */
import { Fabric } from "@effect-rdma/testkit"
import { CompletionQueue, QueuePair } from "@effect-rdma/verbs"
import type { QueuePairEndpoint, WorkRequest } from "@effect-rdma/verbs"
import { Console, Effect } from "effect"
import * as Measure from "./measure.ts"
import * as Side from "./side.ts"

const batch = 16

const player = Effect.gen(function*() {
  const { local, queue, queuePair, region } = yield* Side.make("rxe0")
  const pieceOf = (at: number) => [{ region, offset: at * 64, length: 64 }]
  const sends = Array.from({ length: batch }, (_, at): WorkRequest.SendRequest => ({
    opcode: "send",
    flags: ["signaled"],
    sgList: pieceOf(at)
  }))
  const receives = Array.from({ length: batch }, (_, at): WorkRequest.ReceiveRequest => ({ sgList: pieceOf(at) }))
  const take = Effect.map(CompletionQueue.poll(queue, batch), (completions) => {
    const { length } = completions.filter(({ status }) => status === "success")
    if (length !== batch) throw new Error(`${length} of ${completions.length} completions succeeded`)
  })
  return {
    local,
    connect: (remote: QueuePairEndpoint.QueuePairEndpoint) => QueuePair.connect(queuePair, local, remote),
    send: QueuePair.postSend(queuePair, sends),
    receive: QueuePair.postRecv(queuePair, receives),
    take
  }
})

const main = Effect.gen(function*() {
  const a = yield* Effect.provide(player, Fabric.host("host-a"))
  const b = yield* Effect.provide(player, Fabric.host("host-b"))
  yield* a.connect(b.local)
  yield* b.connect(a.local)
  const { messages } = yield* Measure.medians({
    messages: (count) =>
      Effect.gen(function*() {
        for (let left = count; left > 0; left -= batch) {
          yield* b.receive
          yield* a.send
          yield* b.take
          yield* a.take
        }
      })
  }, 16_000)
  const rate = Math.round(1e9 / messages / 1000) * 1000
  yield* Console.log(`the fabric: ${rate.toLocaleString("en")} messages in a second from one host to another`)
})

await Effect.runPromise(main.pipe(Effect.scoped, Effect.provide(Fabric.layer)))
