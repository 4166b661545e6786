/**
 * What a work request costs on the null provider.
 */
import { Resource } from "@effect-rdma/core"
import { CompletionQueue, QueuePair, WaitStrategy } from "@effect-rdma/verbs"
import type { WorkRequest } from "@effect-rdma/verbs"
import { Console, Effect, Stream } from "effect"
import * as HandWritten from "./handWritten.ts"
import * as Measure from "./measure.ts"
import * as NullProvider from "./nullProvider.ts"

const batch = 16

const each = <A>(of: (index: number) => A): ReadonlyArray<A> => Array.from({ length: batch }, (_, index) => of(index))

const done = (completions: ReadonlyArray<unknown>): void => {
  if (completions.length !== batch) throw new Error(`${completions.length} completions`)
}

const main = Effect.gen(function*() {
  const { context, queue, queuePair, region } = yield* NullProvider.make
  const dataPath = yield* context.verbs.dataPath
  const qp = Resource.raw(queuePair)
  const cq = Resource.raw(queue)

  const addressOf = (index: number): bigint => region.address + BigInt(index * 64)
  const request = (index: number): WorkRequest.SendRequest => ({
    opcode: "send",
    wrId: BigInt(index),
    flags: ["signaled"],
    sgList: [{ region, offset: index * 64, length: 64 }]
  })
  const requests = each(request)
  const native = each((index) => ({
    wrId: BigInt(index),
    opcode: "send" as const,
    flags: ["signaled"] as const,
    sgList: [{ addr: addressOf(index), length: 64, lkey: region.lkey }],
    inlineData: undefined,
    immData: undefined,
    invalidateRkey: undefined,
    remote: undefined,
    compareAdd: undefined,
    swap: undefined,
    ud: undefined,
    remoteSrqn: undefined,
    bind: undefined,
    tso: undefined
  }))
  const sends = each((index): HandWritten.Send => ({
    wrId: BigInt(index),
    opcode: 2,
    flags: 2,
    addr: addressOf(index),
    length: 64,
    lkey: region.lkey
  }))

  const byHand = HandWritten.make(qp, cq)
  const spinning = Effect.provideService(WaitStrategy.WaitStrategy, { _tag: "spin", slice: "100 micros" })
  const batches = yield* Measure.medians({
    "by hand": (count) =>
      Effect.sync(() => {
        for (let left = count; left > 0; left -= batch) {
          byHand.post(sends)
          done(byHand.poll(batch))
        }
      }),
    seam: (count) =>
      Effect.sync(() => {
        for (let left = count; left > 0; left -= batch) {
          dataPath.postSend(qp, native)
          done(dataPath.pollCq(cq, batch).completions)
        }
      }),
    "post and poll": (count) =>
      Effect.gen(function*() {
        for (let left = count; left > 0; left -= batch) {
          yield* QueuePair.postSend(queuePair, requests)
          done(yield* CompletionQueue.poll(queue, batch))
        }
      }),
    "post and poll, new requests": (count) =>
      Effect.gen(function*() {
        for (let left = count; left > 0; left -= batch) {
          yield* QueuePair.postSend(queuePair, each(request))
          done(yield* CompletionQueue.poll(queue, batch))
        }
      }),
    "post and next": (count) =>
      spinning(Effect.gen(function*() {
        for (let left = count; left > 0; left -= batch) {
          yield* QueuePair.postSend(queuePair, requests)
          done(yield* CompletionQueue.next(queue, batch))
        }
      })),
    "post and stream": (count) =>
      Effect.gen(function*() {
        let left = count
        yield* QueuePair.postSend(queuePair, requests)
        yield* CompletionQueue.stream(queue, batch).pipe(
          Stream.runForEachWhile(() => {
            left--
            return left % batch !== 0
              ? Effect.succeed(true)
              : left === 0
              ? Effect.succeed(false)
              : Effect.as(QueuePair.postSend(queuePair, requests), true)
          })
        )
      }).pipe(spinning)
  }, 80_000)
  const awaited = yield* Measure.medians({
    send: (count) =>
      spinning(Effect.gen(function*() {
        for (let left = count; left > 0; left--) yield* QueuePair.send(queuePair, { sgList: [{ region, length: 64 }] })
      })),
    "16 sends at once": (count) =>
      spinning(Effect.gen(function*() {
        const sends = each(() => QueuePair.send(queuePair, { sgList: [{ region, length: 64 }] }))
        for (let left = count; left > 0; left -= batch) yield* Effect.all(sends, { concurrency: "unbounded" })
      }))
  }, 16_000)
  for (const [name, time] of Object.entries({ ...batches, ...awaited })) {
    yield* Console.log(`${(time / batches["by hand"]).toFixed(2)}  ${time.toFixed(0)} ns  ${name}`)
  }
}).pipe(Effect.scoped, Effect.provide(NullProvider.layer))

await Effect.runPromise(main)
