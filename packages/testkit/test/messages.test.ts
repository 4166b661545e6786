/**
 * Many awaited messages between two hosts of the fabric, while senders are interrupted, calls fail and devices go: every
 * request ends, none is lost or comes twice, and no byte of a buffer is read or written by a device that does not own it.
 *
 * A buffer belongs to the device from the call until it has ended. Its owner writes garbage into it right after: a device
 * that reads it later sends garbage, which the receiver finds.
 */
import { Fabric, Faults, LeakCheck } from "@effect-rdma/testkit"
import {
  CompletionChannel,
  CompletionQueue,
  DeviceContext,
  MemoryRegion,
  ProtectionDomain,
  QueuePair,
  WaitStrategy
} from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, type Duration, Effect, Exit, Fiber, Random, Stream } from "effect"

const slotLength = 64
const slots = 16
const receives = 16

/** What one side has: 16 buffers in a region, a queue pair and a queue with a channel. */
const side = Effect.fnUntraced(function*(device: string) {
  const context = yield* DeviceContext.openByName(device)
  const domain = yield* ProtectionDomain.alloc(context)
  const channel = yield* CompletionChannel.make(context)
  const queue = yield* CompletionQueue.make(context, { cqe: 64, channel })
  const region = yield* MemoryRegion.alloc(domain, { length: slots * slotLength })
  const pair = yield* QueuePair.make(domain, {
    qpType: "rc",
    sendCq: queue,
    recvCq: queue,
    cap: { maxSendWr: 4, maxRecvWr: receives }
  })
  const view = new DataView(region.bytes.buffer, region.bytes.byteOffset, region.bytes.length)
  return {
    queue,
    pair,
    piece: (slot: number) => ({ region, offset: slot * slotLength, length: slotLength }),
    /** Every word of a message is its number. */
    write: (slot: number, number: number) => {
      for (let at = 0; at < slotLength; at += 4) view.setUint32(slot * slotLength + at, number)
    },
    read: (slot: number): number => {
      const number = view.getUint32(slot * slotLength)
      for (let at = 4; at < slotLength; at += 4) {
        if (view.getUint32(slot * slotLength + at) !== number) return garbage
      }
      return number
    }
  }
})

const garbage = 0xdddd_dddd

interface Plan {
  readonly device: "rxe0" | "mlx5_0"
  readonly strategy: WaitStrategy.WaitStrategy
  readonly interruptions: number
  readonly isSlow: boolean
  readonly unplugs: "host-a" | "host-b" | undefined
  readonly faults: ReadonlyArray<Faults.Fault>
}

const one = <const A>(...of: ReadonlyArray<A>) =>
  Effect.map(Random.nextIntBetween(0, of.length - 1), (index) => of[index]!)

const randomPlan = Effect.gen(function*() {
  const nth = yield* Random.nextIntBetween(1, 400)
  const call = yield* one(
    "ibv_post_send",
    "ibv_post_recv",
    "ibv_poll_cq",
    "ibv_req_notify_cq",
    "ibv_get_cq_event",
    "ibv_modify_qp"
  )
  const plan: Plan = {
    device: yield* one("rxe0" as const, "mlx5_0" as const),
    strategy: yield* one<WaitStrategy.WaitStrategy>(
      { _tag: "channel" },
      { _tag: "turn" },
      { _tag: "spin", slice: "20 micros" }
    ),
    interruptions: yield* one(0, 0, 0.02, 0.3),
    isSlow: yield* one(false, false, true),
    unplugs: yield* one(undefined, undefined, undefined, undefined, "host-a" as const, "host-b" as const),
    // Of the sender: who waits for a receiver that is gone, waits for ever.
    faults: yield* one([], [], [], [{ call, nth, host: "host-a", errno: "ENOMEM" as const }])
  }
  return plan
})

interface Counts {
  posted: number
  succeeded: number
  failed: number
  interrupted: number
  received: number
  ended: number
}

const run = Effect.fnUntraced(function*(plan: Plan, messages: number, counts: Counts) {
  const fabric = yield* Fabric.Fabric
  const a = yield* side(plan.device)
  const b = yield* side(plan.device).pipe(Effect.provide(Fabric.host("host-b")))
  const [ofA, ofB] = [yield* QueuePair.endpoint(a.pair), yield* QueuePair.endpoint(b.pair)]
  const post = (slot: number) => QueuePair.postRecv(b.pair, [{ wrId: BigInt(slot), sgList: [b.piece(slot)] }])
  const timers = { timeout: 8, retryCnt: 1, rnrRetry: 7, minRnrTimer: 1 }
  yield* QueuePair.connect(b.pair, ofB, ofA, {
    ...timers,
    receives: Effect.forEach(Array.from({ length: receives }, (_, slot) => slot), post)
  })
  yield* QueuePair.connect(a.pair, ofA, ofB, timers)

  const seen = new Set<number>()
  const receiver = CompletionQueue.stream(b.queue, 4).pipe(
    Stream.takeWhile((completion) => completion.status === "success"),
    Stream.runForEach((completion) =>
      Effect.gen(function*() {
        const slot = Number(completion.wrId)
        const number = b.read(slot)
        assert.isBelow(number, messages, "a message of bytes that nobody sent")
        assert.isFalse(seen.has(number), `message ${number} came twice`)
        seen.add(number)
        // The senders find no receive, and wait.
        if (plan.isSlow) {
          for (let turn = yield* Random.nextIntBetween(0, 6); turn > 0; turn--) yield* Effect.yieldNow
        }
        yield* post(slot)
      })
    )
  )

  let next = 0
  const delivered = new Set<number>()
  const broken = yield* Deferred.make<void>()
  const sender = Effect.fnUntraced(function*(slot: number) {
    while (next < messages) {
      const number = next++
      a.write(slot, number)
      counts.posted++
      const sending = QueuePair.send(a.pair, { wrId: BigInt(number), sgList: [a.piece(slot)] }).pipe(
        // Its bytes are its owner's from here on.
        Effect.ensuring(Effect.sync(() => a.write(slot, garbage)))
      )
      const isInterrupted = (yield* Random.next) < plan.interruptions
      const exit = yield* isInterrupted ? interruptedSoon(sending) : Effect.exit(sending)
      if (Exit.isSuccess(exit)) {
        assert.strictEqual(exit.value.wrId, BigInt(number))
        delivered.add(number)
        counts.succeeded++
      } else if (Cause.hasInterruptsOnly(exit.cause)) counts.interrupted++
      else {
        for (const reason of exit.cause.reasons) {
          assert.strictEqual(reason._tag, "Fail", Cause.pretty(exit.cause))
        }
        counts.failed++
        // Nothing more goes over this connection.
        yield* Deferred.succeed(broken, undefined)
        return
      }
    }
  })
  const senders = Effect.forEach([0, 1, 2, 3, 4, 5], sender, { concurrency: "unbounded", discard: true })
  const unplugging = plan.unplugs === undefined ? Effect.never : Effect.gen(function*() {
    for (let turn = yield* Random.nextIntBetween(5, 200); turn > 0; turn--) yield* Effect.yieldNow
    yield* fabric.unplug(plan.unplugs ?? "", plan.device)
  })
  const receiving = yield* Effect.forkChild(Effect.exit(receiver))
  const unplugged = yield* Effect.forkChild(unplugging)
  yield* senders
  counts.ended++
  // What was delivered has arrived.
  for (let turn = 0; turn < 2000 && !Array.from(delivered).every((number) => seen.has(number)); turn++) {
    yield* Effect.yieldNow
  }
  yield* Fiber.interrupt(unplugged)
  const end = yield* Effect.andThen(Fiber.interrupt(receiving), Fiber.await(receiving))
  if (Exit.isSuccess(end) && Exit.isFailure(end.value)) {
    const { cause } = end.value
    assert.isFalse(cause.reasons.some((reason) => reason._tag === "Die"), Cause.pretty(cause))
  }
  counts.received += seen.size
  const isWhole = plan.faults.length === 0 && plan.unplugs === undefined
  if (isWhole) { for (const number of delivered) assert.isTrue(seen.has(number), `message ${number} was lost`) }
})

const interruptedSoon = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(effect, { startImmediately: true })
    for (let turn = yield* Random.nextIntBetween(0, 3); turn > 0; turn--) yield* Effect.yieldNow
    yield* Fiber.interrupt(fiber)
    return yield* Fiber.await(fiber)
  })

/** One connection after the other, until so many messages were posted. */
const rounds = (total: number, perRound: number) =>
  Effect.gen(function*() {
    const counts: Counts = { posted: 0, succeeded: 0, failed: 0, interrupted: 0, received: 0, ended: 0 }
    let count = 0
    while (counts.posted < total) {
      count++
      const plan = yield* randomPlan
      const program = Effect.scoped(run(plan, perRound, counts)).pipe(Faults.inject(plan.faults), Effect.ignore)
      yield* LeakCheck.check(program).pipe(
        Effect.provide(Fabric.layer),
        Effect.provideService(WaitStrategy.WaitStrategy, plan.strategy),
        Effect.provideService(
          WaitStrategy.InterruptionGrace,
          yield* one<Duration.Input>("0 millis", "2 millis", "100 millis", "100 millis")
        ),
        Effect.timeoutOrElse({
          duration: "20 seconds",
          orElse: () => Effect.die(`round ${count} hangs: ${JSON.stringify(plan)} ${JSON.stringify(counts)}`)
        })
      )
    }
    return { ...counts, rounds: count }
  })

describe("messages", () => {
  it.live("none is lost, comes twice, or is sent from a buffer that was given back", () =>
    Effect.gen(function*() {
      const total = Number(
        process.env["EFFECT_RDMA_MESSAGES"] ?? (process.env["CI"] === undefined ? 100_000 : 1_000_000)
      )
      const counts = yield* Random.withSeed(rounds(total, 1000), "messages")
      process.stderr.write(`messages: ${JSON.stringify(counts)}\n`)
      assert.isAbove(counts.interrupted, counts.rounds)
      assert.isAbove(counts.failed, counts.rounds / 4)
      assert.isAbove(counts.succeeded, counts.posted / 2)
    }), 1_200_000)
})
