import { CompletionQueue, DeviceContext, ProtectionDomain, QueuePair, type Verbs } from "@effect-rdma/verbs"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")

const heapUsed = Effect.sync(() => {
  collectGarbage()
  return process.memoryUsage().heapUsed
})

/** Queue pairs opened and closed on parents that live on: the heap after them is what it was before. */
export const openAndClose = (
  count: number,
  warmUp: number
): Effect.Effect<void, unknown, Verbs.Verbs> =>
  Effect.scoped(Effect.gen(function*() {
    const context = yield* DeviceContext.openByName("rxe0")
    const domain = yield* ProtectionDomain.alloc(context)
    const queue = yield* CompletionQueue.make(context, { cqe: 16 })
    const one = Effect.scoped(
      QueuePair.make(domain, { qpType: "rc", sendCq: queue, recvCq: queue, cap: { maxSendWr: 4 } })
    )
    // The fabric keeps a bounded log; it is full then.
    yield* Effect.repeat(one, { times: warmUp - 1 })
    const before = yield* heapUsed
    yield* Effect.repeat(one, { times: count - 1 })
    const grown = (yield* heapUsed) - before
    // A handle kept for each would be several megabytes.
    assert.isBelow(grown, 1_000_000, `${grown} bytes after ${count} queue pairs`)
  }))
