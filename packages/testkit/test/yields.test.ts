/**
 * Effect yields to other fibers between any two operations, after a number of them. Wherever that falls, no native call
 * is made on what another fiber releases meanwhile.
 */
import { Resource } from "@effect-rdma/core"
import { CmId, EventChannel } from "@effect-rdma/rdmacm"
import { Fabric } from "@effect-rdma/testkit"
import { CompletionQueue, DeviceContext, QueuePair } from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Array, Effect, Exit, Fiber, Option, Scope } from "effect"
import * as NetAddress from "effect/net/NetAddress"
import { sides } from "./seeded/world.ts"

/** So many operations before the ones that are tested. */
const steps = (count: number) => Effect.forEach(Array.replicate(undefined, count), () => Effect.void, { discard: true })

describe("a yield anywhere", () => {
  it.live("between the check of a handle and the call on it", () =>
    Effect.gen(function*() {
      for (let lead = 0; lead < 40; lead++) {
        const scope = yield* Scope.make()
        const context = yield* DeviceContext.openByName("rxe0").pipe(Scope.provide(scope))
        const poller = yield* Effect.forkChild(
          Effect.andThen(steps(lead), Effect.forever(DeviceContext.query(context), { disableYield: true })),
          { startImmediately: true }
        )
        yield* Scope.close(scope, Exit.void)
        const exit = yield* Fiber.await(poller)
        const [reason] = Exit.isFailure(exit) ? exit.cause.reasons : []
        assert.isTrue(reason?._tag === "Die" && reason.defect instanceof Resource.UseAfterRelease, String(exit))
      }
    }).pipe(Effect.provide(Fabric.layer)))

  it.live("between the get and the ack of an event", () =>
    Effect.gen(function*() {
      const peer = NetAddress.inetAddressFromStringUnsafe("10.0.0.2:1")
      for (let lead = 2000; lead < 2060; lead++) {
        yield* Effect.scoped(Effect.gen(function*() {
          const channel = yield* EventChannel.make()
          const scope = yield* Scope.make()
          const id = yield* CmId.make(channel, "tcp").pipe(Scope.provide(scope))
          yield* channel.cm.resolveAddr(Resource.raw(id), undefined, peer, 1000)
          yield* Effect.sleep(2)
          yield* Effect.forkChild(Effect.andThen(steps(lead), EventChannel.next(channel)))
          yield* Effect.yieldNow
          yield* Scope.close(scope, Exit.void)
        }))
      }
    }).pipe(Effect.provide(Fabric.layer)), 30_000)

  it.live("between the look for a place in a queue and the wait for one", () =>
    Effect.gen(function*() {
      for (let lead = 2000; lead < 2060; lead++) {
        yield* Effect.scoped(Effect.gen(function*() {
          const { a, b } = yield* sides()
          const { sgList } = a
          const room = a.pair.cap.maxSendWr
          yield* QueuePair.postRecv(b.pair, Array.replicate({ sgList: b.sgList }, room))
          // All of them have been carried out, and nobody has polled.
          const send = { opcode: "send", flags: ["signaled"], sgList } as const
          yield* QueuePair.postSend(a.pair, Array.replicate(send, room))
          const sending = yield* Effect.forkChild(Effect.andThen(steps(lead), QueuePair.send(a.pair, { sgList })))
          yield* Effect.yieldNow
          yield* CompletionQueue.poll(a.queue)
          yield* CompletionQueue.poll(b.queue)
          yield* QueuePair.postRecv(b.pair, [{ sgList: b.sgList }])
          assert.isTrue(
            Option.isSome(yield* Effect.timeoutOption(Fiber.join(sending), "5 seconds")),
            `after ${lead} steps`
          )
        }))
      }
    }).pipe(Effect.provide(Fabric.layer)), 30_000)
})
