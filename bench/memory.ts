/**
 * Whether work requests leave anything behind: what the process holds before and after a million of them, most in
 * batches, some awaited. Run with `--expose-gc`.
 */
import { CompletionQueue, QueuePair, WaitStrategy } from "@effect-rdma/verbs"
import type { WorkRequest } from "@effect-rdma/verbs"
import { Console, Effect } from "effect"
import * as Measure from "./measure.ts"
import * as NullProvider from "./nullProvider.ts"

const held = Effect.sync(() => {
  for (let time = 0; time < 4; time++) globalThis.gc?.()
  const { arrayBuffers, external, heapUsed, rss } = process.memoryUsage()
  return { heap: heapUsed, external: external + arrayBuffers, rss }
})

const main = Effect.gen(function*() {
  const { queue, queuePair, region } = yield* NullProvider.make
  const work = (count: number) =>
    Effect.gen(function*() {
      for (let index = 0; index < count; index += 16) {
        const requests = Array.from({ length: 16 }, (_, at): WorkRequest.SendRequest => ({
          opcode: "send",
          wrId: BigInt(index + at),
          flags: ["signaled"],
          sgList: [{ region, offset: at * 64, length: 64 }]
        }))
        yield* QueuePair.postSend(queuePair, requests)
        yield* CompletionQueue.poll(queue, 16)
        if (index % 160 === 0) yield* QueuePair.send(queuePair, { sgList: [{ region, length: 64 }] })
      }
    })
  yield* work(200_000)
  const before = yield* held
  yield* work(1_000_000)
  const after = yield* held
  const grown = (name: keyof typeof before) => ((after[name] - before[name]) / 1024).toFixed(0)
  yield* Console.log(
    `a million work requests: the heap grew by ${grown("heap")} KiB, other memory of V8 by ${grown("external")} KiB, ` +
      `the process by ${grown("rss")} KiB`
  )
})

await Effect.runPromise(
  main.pipe(
    Effect.scoped,
    Effect.provideService(WaitStrategy.WaitStrategy, { _tag: "spin", slice: "100 micros" }),
    Effect.provide(NullProvider.layer),
    Effect.catchTag("CannotCompile", ({ message }) => Measure.skipped("memory", message))
  )
)
