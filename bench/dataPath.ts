/**
 * What a work request costs on the null provider: by hand, through the seam, through the scoped objects, and with pyverbs.
 * Ratios first, then nanoseconds of one send of 64 bytes with its completion.
 */
import { Resource } from "@effect-rdma/core"
import { CompletionQueue, QueuePair, WaitStrategy } from "@effect-rdma/verbs"
import type { WorkRequest } from "@effect-rdma/verbs"
import { Console, Effect, Schema, Stream } from "effect"
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import * as HandWritten from "./handWritten.ts"
import * as Measure from "./measure.ts"
import * as NullProvider from "./nullProvider.ts"

const batch = 16

const each = <A>(of: (index: number) => A): ReadonlyArray<A> => {
  const all: Array<A> = []
  for (let index = 0; index < batch; index++) all.push(of(index))
  return all
}

const done = (completions: ReadonlyArray<unknown>): void => {
  if (completions.length !== batch) throw new Error(`${completions.length} completions`)
}

const spinning = Effect.provideService(WaitStrategy.WaitStrategy, { _tag: "spin", slice: "100 micros" })

const main = Effect.gen(function*() {
  const { delay, path } = yield* NullProvider.NullProvider
  const { context, queue, queuePair, region } = yield* NullProvider.make
  const dataPath = yield* context.verbs.dataPath
  const qp = Resource.raw(queuePair)
  const cq = Resource.raw(queue)
  const byHand = HandWritten.make(qp, cq)

  // What each of the three takes, as plain values.
  const sendOf = (index: number): HandWritten.Send => ({
    wrId: BigInt(index),
    opcode: 2,
    flags: 2,
    addr: region.address + BigInt(index * 64),
    length: 64,
    lkey: region.lkey
  })
  const requestOf = (index: number): WorkRequest.SendRequest => ({
    opcode: "send",
    wrId: BigInt(index),
    flags: ["signaled"],
    sgList: [{ region, offset: index * 64, length: 64 }]
  })
  // All fields, as in those of `QueuePair.postSend`: requests of several shapes cost more.
  const nativeOf = (index: number) => ({
    wrId: BigInt(index),
    opcode: "send" as const,
    sgList: [{ addr: region.address + BigInt(index * 64), length: 64, lkey: region.lkey }],
    flags: ["signaled"] as const,
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
  })
  const sends = each(sendOf)
  const requests = each(requestOf)
  const natives = each(nativeOf)

  const batches = yield* Measure.medians({
    byHand: (count) =>
      Effect.sync(() => {
        for (let left = count; left > 0; left -= batch) {
          byHand.post(sends)
          done(byHand.poll(batch))
        }
      }),
    seam: (count) =>
      Effect.sync(() => {
        for (let left = count; left > 0; left -= batch) {
          dataPath.postSend(qp, natives)
          done(dataPath.pollCq(cq, batch).completions)
        }
      }),
    poll: (count) =>
      Effect.gen(function*() {
        for (let left = count; left > 0; left -= batch) {
          yield* QueuePair.postSend(queuePair, requests)
          done(yield* CompletionQueue.poll(queue, batch))
        }
      }),
    next: (count) =>
      spinning(Effect.gen(function*() {
        for (let left = count; left > 0; left -= batch) {
          yield* QueuePair.postSend(queuePair, requests)
          done(yield* CompletionQueue.next(queue, batch))
        }
      })),
    stream: (count) =>
      spinning(Effect.gen(function*() {
        let left = count
        yield* QueuePair.postSend(queuePair, requests)
        yield* Stream.runForEachWhile(CompletionQueue.stream(queue, batch), () => {
          left--
          if (left % batch !== 0) return Effect.succeed(true)
          return left === 0 ? Effect.succeed(false) : Effect.as(QueuePair.postSend(queuePair, requests), true)
        })
      })),
    newByHand: (count) =>
      Effect.sync(() => {
        for (let left = count; left > 0; left -= batch) {
          byHand.post(each(sendOf))
          done(byHand.poll(batch))
        }
      }),
    newPoll: (count) =>
      Effect.gen(function*() {
        for (let left = count; left > 0; left -= batch) {
          yield* QueuePair.postSend(queuePair, each(requestOf))
          done(yield* CompletionQueue.poll(queue, batch))
        }
      })
  }, 32_000)
  yield* Console.log(`a send of 64 bytes and its completion on a provider that does nothing, on ${Measure.machine};`)
  yield* Console.log(
    `medians of ${Measure.runs} runs, in batches of ${batch}; by hand ${batches.byHand.toFixed(0)} ns`
  )
  yield* print(batches.byHand, [
    [batches.seam, "the functions of the seam"],
    [batches.poll, "QueuePair.postSend and CompletionQueue.poll"],
    [batches.next, "QueuePair.postSend and CompletionQueue.next"],
    [batches.stream, "QueuePair.postSend and CompletionQueue.stream, an effect for each completion"]
  ])
  yield* Console.log(`the same with requests that are made anew each time; by hand ${batches.newByHand.toFixed(0)} ns`)
  yield* print(batches.newByHand, [[batches.newPoll, "QueuePair.postSend and CompletionQueue.poll"]])

  const awaitedSend = QueuePair.send(queuePair, { sgList: [{ region, length: 64 }] })
  const one: Measure.Row<Effect.Error<typeof awaitedSend>, never> = (count) =>
    spinning(Effect.gen(function*() {
      for (let left = count; left > 0; left--) yield* awaitedSend
    }))
  const sixteen: typeof one = (count) =>
    spinning(Effect.gen(function*() {
      const all = Effect.all(each(() => awaitedSend), { concurrency: "unbounded" })
      for (let left = count; left > 0; left -= batch) yield* all
    }))
  const after = (polls: number, row: typeof one): typeof one => (count) =>
    Effect.ensuring(Effect.andThen(Effect.sync(() => delay(polls)), row(count)), Effect.sync(() => delay(0)))
  const awaited = yield* Measure.medians({
    one,
    sixteen,
    oneLater: after(4, one),
    sixteenLater: after(4, sixteen),
    oneLate: after(100, one)
  }, 4_000)
  yield* Console.log("awaited, while spinning; times QueuePair.postSend and CompletionQueue.poll")
  yield* print(batches.poll, [
    [awaited.one, "QueuePair.send, done at once"],
    [awaited.sixteen, "16 of them at a time, each a fiber"],
    [awaited.oneLater, "QueuePair.send, done after four polls"],
    [awaited.sixteenLater, "16 of them at a time, done after four polls"],
    [awaited.oneLate, "QueuePair.send, done after a hundred polls"]
  ])

  const pyverbs = spawnSync(python, [fileURLToPath(new URL("./withPyverbs.py", import.meta.url)), "null0"], {
    env: { ...process.env, LD_PRELOAD: path },
    encoding: "utf8"
  })
  if (pyverbs.status !== 0) {
    const why = pyverbs.error?.message ?? pyverbs.stderr.trim().split("\n").at(-1) ?? ""
    return yield* Measure.skipped("pyverbs", `${why} (apt-get install python3-pyverbs)`)
  }
  const { kept, new: made } = yield* decodeTimes(pyverbs.stdout)
  yield* Console.log("pyverbs in the place of QueuePair.postSend and CompletionQueue.poll")
  yield* print(batches.poll, [[kept, "a chain of requests that is posted again and again"]])
  yield* print(batches.newPoll, [[made, "requests that are made anew each time"]])
})

// Debian's: pyverbs is not on the registry of Python's packages.
const python = "/usr/bin/python3"

const decodeTimes = Schema.decodeEffect(
  Schema.fromJsonString(Schema.Struct({ kept: Schema.Finite, new: Schema.Finite }))
)

const print = (unit: number, rows: ReadonlyArray<readonly [time: number, name: string]>) =>
  Effect.forEach(
    rows,
    ([time, name]) => Console.log(`  ${(time / unit).toFixed(1)} times, ${time.toFixed(0)} ns: ${name}`),
    { discard: true }
  )

await Effect.runPromise(
  main.pipe(
    Effect.scoped,
    Effect.provide(NullProvider.layer),
    Effect.catchTag("CannotCompile", ({ message }) => Measure.skipped("the data path", message))
  )
)
