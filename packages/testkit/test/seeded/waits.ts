/** Messages that are waited for in vain, or sent in a way that works by chance. */
import { CompletionChannel, CompletionQueue, QueuePair } from "@effect-rdma/verbs"
import { assert } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { type SeededBug, type Side, side, sides } from "./world.ts"

const both = <A, B, E, F, R, S>(one: Effect.Effect<A, E, R>, other: Effect.Effect<B, F, S>) =>
  Effect.all([one, other], { concurrency: 2 })

const receive = ({ pair, sgList }: Side) => QueuePair.recv(pair, { sgList })
const send = ({ pair, sgList }: Side) => QueuePair.send(pair, { sgList })

/** A receive that is posted, with a completion that is looked for by hand. */
const postReceive = ({ pair, sgList }: Side) => QueuePair.postRecv(pair, [{ sgList }])

export const waits: ReadonlyArray<SeededBug> = [
  {
    name: "a receive that nobody sends to",
    faulty: Effect.flatMap(sides(), ({ b }) => receive(b)),
    corrected: Effect.flatMap(sides(), ({ b }) => Effect.timeoutOption(receive(b), "1 second")),
    // Of the flush that ends the receive.
    mayFail: ["ibv_get_cq_event", "ibv_poll_cq", "poll"],
    kind: "hang",
    report: /waits for what never comes/
  },
  {
    name: "both ends receive before they send",
    faulty: Effect.flatMap(
      sides(),
      ({ a, b }) => both(Effect.andThen(receive(a), send(a)), Effect.andThen(receive(b), send(b)))
    ),
    corrected: Effect.flatMap(
      sides(),
      ({ a, b }) => both(Effect.andThen(send(a), receive(a)), Effect.andThen(receive(b), send(b)))
    ),
    kind: "hang",
    report: /waits for what never comes/
  },
  {
    name: "an event is waited for that was not asked for",
    faulty: Effect.flatMap(
      sides(),
      ({ a, b }) => both(Effect.andThen(postReceive(b), CompletionChannel.next(b.channel)), send(a))
    ),
    corrected: Effect.flatMap(
      sides(),
      ({ a, b }) => both(Effect.andThen(postReceive(b), CompletionQueue.next(b.queue)), send(a))
    ),
    kind: "hang",
    report: /waits for what never comes/
  },
  {
    name: "the queue is not looked at again after the event was asked for",
    faulty: Effect.flatMap(sides(), ({ a, b }) =>
      both(
        Effect.gen(function*() {
          yield* postReceive(b)
          const early = yield* CompletionQueue.poll(b.queue)
          if (early.length > 0) return
          yield* CompletionQueue.requestNotification(b.queue)
          yield* CompletionChannel.next(b.channel)
          yield* CompletionQueue.poll(b.queue)
        }),
        send(a)
      )),
    corrected: Effect.flatMap(
      sides(),
      ({ a, b }) => both(Effect.andThen(postReceive(b), CompletionQueue.next(b.queue)), send(a))
    ),
    kind: "hang",
    report: /waits for what never comes/
  },
  {
    name: "a receive is posted after the peer may send",
    faulty: Effect.flatMap(sides({ rnrRetry: 0 }), ({ a, b }) => both(receive(b), send(a))),
    corrected: Effect.flatMap(sides({ rnrRetry: 0 }), ({ a, b }) =>
      Effect.gen(function*() {
        yield* postReceive(b)
        yield* both(CompletionQueue.next(b.queue), send(a))
      })),
    kind: "failure",
    report: /RNR retry counter exceeded/
  },
  {
    name: "a buffer is written again before its send has completed",
    faulty: Effect.flatMap(sides(), ({ a, b }) =>
      Effect.gen(function*() {
        a.region.bytes.fill(1)
        yield* QueuePair.postSend(a.pair, [{ opcode: "send", sgList: a.sgList }])
        a.region.bytes.fill(2)
        yield* receive(b)
        assert.strictEqual(b.region.bytes[0], 1)
      })),
    corrected: Effect.flatMap(sides(), ({ a, b }) =>
      Effect.gen(function*() {
        a.region.bytes.fill(1)
        yield* both(receive(b), send(a))
        a.region.bytes.fill(2)
        assert.strictEqual(b.region.bytes[0], 1)
      })),
    kind: "defect",
    report: /expected 2 to equal 1/
  },
  {
    name: "a wait cannot be interrupted",
    faulty: Effect.flatMap(sides(), ({ a, b }) => both(Effect.uninterruptible(receive(b)), send(a))),
    corrected: Effect.flatMap(sides(), ({ a, b }) => both(receive(b), send(a))),
    kind: "hang",
    report: /waits for what never comes/
  },
  {
    name: "a queue is polled until something comes, also when the peer has failed",
    faulty: Effect.flatMap(sides(), ({ a, b }) =>
      Effect.gen(function*() {
        yield* postReceive(b)
        const sending = yield* Effect.forkChild(send(a))
        let count = 0
        while (count === 0) {
          yield* Effect.yieldNow
          count = (yield* CompletionQueue.poll(b.queue)).length
        }
        yield* Fiber.join(sending)
      })),
    corrected: Effect.flatMap(
      sides(),
      ({ a, b }) => Effect.andThen(postReceive(b), both(CompletionQueue.next(b.queue), send(a)))
    ),
    kind: "hang",
    report: /no end after \d+ steps; the last calls were .*ibv_poll_cq/
  },
  {
    name: "more receives are posted than the queue has room for",
    faulty: Effect.flatMap(sides({ maxRecvWr: 2 }), ({ b }) => Effect.forEach([1, 2, 3], () => postReceive(b))),
    corrected: Effect.flatMap(sides({ maxRecvWr: 3 }), ({ b }) => Effect.forEach([1, 2, 3], () => postReceive(b))),
    kind: "failure",
    report: /ibv_post_recv .*ENOMEM/
  },
  {
    name: "a queue pair is made on queues of another context",
    faulty: Effect.gen(function*() {
      const one = yield* side()
      const other = yield* side()
      yield* QueuePair.make(one.domain, { qpType: "rc", sendCq: other.queue, recvCq: other.queue })
    }),
    corrected: Effect.gen(function*() {
      const one = yield* side()
      yield* QueuePair.make(one.domain, { qpType: "rc", sendCq: one.queue, recvCq: one.queue })
    }),
    kind: "failure",
    report: /ibv_create_qp.*EINVAL/
  },
  {
    name: "a send is awaited by who may be gone, and nobody takes its failure",
    faulty: Effect.flatMap(sides(), ({ a, b }) =>
      Effect.gen(function*() {
        yield* Effect.forkChild(send(a))
        yield* receive(b)
      })),
    corrected: Effect.flatMap(sides(), ({ a, b }) =>
      Effect.gen(function*() {
        const sending = yield* Effect.forkChild(send(a))
        yield* Effect.raceFirst(receive(b), Effect.andThen(Fiber.join(sending), Effect.never))
        yield* Fiber.join(sending)
      })),
    kind: "hang",
    report: /waits for what never comes/
  }
]
