/** The program of the cassette `messages.json`: two queue pairs of one host, and a message between them. */
import {
  CompletionChannel,
  CompletionQueue,
  DeviceContext,
  MemoryRegion,
  ProtectionDomain,
  QueuePair
} from "@effect-rdma/verbs"
import { Effect, Random } from "effect"

const side = Effect.gen(function*() {
  const context = yield* DeviceContext.openByName("rxe0")
  const domain = yield* ProtectionDomain.alloc(context)
  const channel = yield* CompletionChannel.make(context)
  const queue = yield* CompletionQueue.make(context, { cqe: 8, channel })
  const pair = yield* QueuePair.make(domain, { qpType: "rc", sendCq: queue, recvCq: queue })
  const region = yield* MemoryRegion.alloc(domain, { length: 64, access: ["localWrite"] })
  return { pair, region, local: yield* QueuePair.endpoint(pair), sgList: [{ region }] }
})

/** The text that the second received. */
export const messages = Effect.gen(function*() {
  const a = yield* side
  const b = yield* side
  yield* QueuePair.connect(a.pair, a.local, b.local)
  yield* QueuePair.connect(b.pair, b.local, a.local)
  new TextEncoder().encodeInto("from a real kernel", a.region.bytes)
  yield* Effect.all([
    QueuePair.recv(b.pair, { sgList: b.sgList }),
    QueuePair.send(a.pair, { sgList: a.sgList })
  ], { concurrency: 2 })
  return new TextDecoder().decode(b.region.bytes.subarray(0, 18))
}).pipe(
  Effect.scoped,
  // The first sequence numbers are random.
  Random.withSeed(1)
)
