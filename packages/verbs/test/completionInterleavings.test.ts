/**
 * No wakeup is lost: those who wait for completions run against a model of the device, once for each way in which
 * completions can arrive between its calls. A queue gives one event for each time that it was armed, at the completion
 * after it.
 */
import { Errno, NativeReason, Pointer } from "@effect-rdma/core"
import { CompletionChannel, CompletionQueue, DeviceContext, Verbs, VerbsError } from "@effect-rdma/verbs"
import type { WorkCompletion } from "@effect-rdma/verbs"
import type * as DataPath from "@effect-rdma/verbs/operations/DataPath"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"

/** A completion that arrives before the call of this number, of any kind, in one of the queues. */
interface Arrival {
  readonly call: number
  readonly queue: number
}

const completion = (wrId: bigint): WorkCompletion.Failed => ({ wrId, status: "wrFlushErr", vendorErr: 0, qpNum: 17 })

const again = (call: string) =>
  new VerbsError.VerbsError({ call, reason: NativeReason.fromErrno(Errno.numberOf("EAGAIN")), input: {} })

/**
 * A device whose completions arrive as `arrivals` say; what is left arrives when everybody sleeps, one at a time. When
 * there is nothing left and somebody sleeps beside a completion, its wakeup was lost.
 */
const device = (arrivals: ReadonlyArray<Arrival>, queues: number) => {
  const left = [...arrivals]
  const state = Array.from({ length: queues }, () => ({ completions: new Array<bigint>(), isArmed: false }))
  const events: Array<number> = []
  const waiting = new Set<() => void>()
  const counts = { calls: 0, arrived: 0n, made: 0 }
  const lost: Array<string> = []

  const arrive = ({ queue }: Arrival) => {
    const at = state[queue]!
    at.completions.push(++counts.arrived)
    if (!at.isArmed) return
    at.isArmed = false
    events.push(queue)
    for (const wake of waiting) wake()
    waiting.clear()
  }
  const step = () => {
    counts.calls++
    while (left[0] !== undefined && left[0].call <= counts.calls) arrive(left.shift()!)
  }

  const layer = Layer.mock(Verbs.Verbs, {
    getDeviceName: () => Effect.succeed("model0"),
    createCompChannel: () => Effect.succeed(Pointer.make<"ibv_comp_channel">(5n)),
    destroyCompChannel: () => Effect.void,
    // The library knows the queue of an event by what it was made with.
    createCq: (_context, { cqContext, cqe }) =>
      Effect.sync(() => {
        contexts.push(cqContext)
        return { cq: Pointer.make<"ibv_cq">(firstQueue + BigInt(counts.made++)), cqe }
      }),
    destroyCq: () => Effect.void,
    reqNotifyCq: (cq) =>
      Effect.sync(() => {
        step()
        state[indexOf(cq)]!.isArmed = true
      }),
    getCqEvent: () =>
      Effect.suspend(() => {
        step()
        const queue = events.shift()
        if (queue === undefined) return Effect.fail(again("ibv_get_cq_event"))
        const cqContext = contexts[queue] ?? assert.fail("an event of no queue")
        return Effect.succeed({ cq: Pointer.make<"ibv_cq">(firstQueue + BigInt(queue)), cqContext })
      }),
    awaitCqEvent: () =>
      Effect.callback<void>((resume) => {
        step()
        if (events.length > 0) return resume(Effect.void)
        const wake = () => resume(Effect.void)
        waiting.add(wake)
        return Effect.sync(() => waiting.delete(wake))
      }),
    dataPath: Effect.succeed<DataPath.DataPath>({
      postSend: () => assert.fail("nothing is posted"),
      postRecv: () => assert.fail("nothing is posted"),
      postSrqRecv: () => assert.fail("nothing is posted"),
      pollCq: (cq, numEntries) => {
        step()
        const taken = state[indexOf(cq)]!.completions.splice(0, numEntries)
        return { completions: taken.map(completion), error: undefined }
      }
    })
  })
  const contexts: Array<number> = []

  /** Lets the rest arrive as soon as nobody has anything to do, and tells what sleeps beside its completion. */
  const idle = Effect.gen(function*() {
    for (;;) {
      for (let turn = 0; turn < 20; turn++) yield* Effect.yieldNow
      if (waiting.size === 0) continue
      const next = left.shift()
      if (next === undefined) break
      arrive(next)
    }
    state.forEach(({ completions }, queue) => {
      if (completions.length > 0) lost.push(`queue ${queue} has ${completions.length}`)
    })
    return yield* Effect.never
  })
  return { layer, idle, lost }
}

const firstQueue = 100n
const indexOf = (cq: bigint) => Number(cq - firstQueue)

const atModel = (arrivals: ReadonlyArray<Arrival>, queues: number, max: number) =>
  Effect.gen(function*() {
    const model = device(arrivals, queues)
    const seen = yield* Effect.gen(function*() {
      const context = yield* DeviceContext.borrow(Pointer.make(1n))
      const channel = yield* CompletionChannel.make(context)
      const all = yield* Effect.forEach(
        Array.from({ length: queues }),
        () => CompletionQueue.make(context, { cqe: 8, channel })
      )
      const consume = Effect.forEach(all, (queue, index) => {
        const mine = arrivals.filter((arrival) => arrival.queue === index).length
        return CompletionQueue.stream(queue, max).pipe(Stream.take(mine), Stream.runCount)
      }, { concurrency: "unbounded" })
      const lost = Effect.flatMap(
        Effect.sleep("1 second"),
        () => Effect.fail(`lost: ${model.lost.join(", ")} of ${JSON.stringify(arrivals)}`)
      )
      return yield* Effect.raceAllFirst([consume, model.idle, lost])
    }).pipe(Effect.scoped, Effect.provide(model.layer))
    assert.strictEqual(seen.reduce((sum, count) => sum + count, 0), arrivals.length)
  })

/** Every way to let so many completions arrive before the calls 1 to `calls`, or after all of them. */
const schedules = (count: number, calls: number, queues: number): Array<ReadonlyArray<Arrival>> => {
  if (count === 0) return [[]]
  return schedules(count - 1, calls, queues).flatMap((earlier) => {
    const from = earlier.at(-1)?.call ?? 1
    return Array.from({ length: calls + 2 - from }, (_, step) => from + step).flatMap((call) =>
      Array.from({ length: queues }, (_, queue): ReadonlyArray<Arrival> => [...earlier, { call, queue }])
    )
  })
}

describe("completions that arrive at any time", () => {
  for (const [count, calls, queues, max] of [[3, 14, 1, 16], [3, 14, 1, 1], [2, 14, 2, 16], [3, 8, 2, 1]] as const) {
    it.live(
      `wake who waits: ${count} completions, ${queues} queues on the channel, ${max} at once`,
      () =>
        Effect.gen(function*() {
          const all = schedules(count, calls, queues)
          assert.isAbove(all.length, 400)
          for (const arrivals of all) yield* atModel(arrivals, queues, max)
        }),
      60_000
    )
  }
})
