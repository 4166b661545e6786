import * as Ledger from "@effect-rdma/core/Ledger"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import * as Pointer from "@effect-rdma/core/Pointer"
import * as CmId from "@effect-rdma/rdmacm/CmId"
import * as EventChannel from "@effect-rdma/rdmacm/EventChannel"
import { RdmaCm, type UnackedEvent } from "@effect-rdma/rdmacm/RdmaCm"
import { RdmaCmError } from "@effect-rdma/rdmacm/RdmaCmError"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"

const id = Pointer.make<"rdma_cm_id">(0x20n)
const resolved: UnackedEvent = {
  pointer: Pointer.make<"rdma_cm_event">(0x30n),
  event: { event: "addrResolved", status: 0, id }
}

const failing = (errno: number) =>
  Effect.fail(new RdmaCmError({ call: "rdma_get_cm_event", reason: NativeReason.fromErrno(errno), input: {} }))

/** A librdmacm that answers with one of these at each get, and notes what is called. */
const library = (answers: ReadonlyArray<Effect.Effect<UnackedEvent, RdmaCmError>>, acked: Effect.Effect<void>) => {
  const log: Array<string> = []
  const note = (call: string) => Effect.sync(() => void log.push(call))
  const left = Array.from(answers)
  const layer = Layer.mock(RdmaCm, {
    createEventChannel: Effect.succeed(Pointer.make<"rdma_event_channel">(0x10n)),
    destroyEventChannel: () => Effect.void,
    createId: () => Effect.succeed(id),
    destroyId: () => note("destroy id"),
    getCmEvent: () => Effect.andThen(note("get"), Effect.suspend(() => left.shift() ?? Effect.die("no more answers"))),
    ackCmEvent: () => Effect.andThen(acked, note("ack")),
    awaitCmEvent: () => note("wait")
  })
  return { log, layer: Layer.merge(layer, Ledger.layer) }
}

describe("EventChannel", () => {
  it.effect("waits on when it was woken for nothing", () => {
    const { layer, log } = library([failing(11), failing(11), Effect.succeed(resolved)], Effect.void)
    return Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      assert.deepStrictEqual(yield* EventChannel.next(channel), resolved.event)
      assert.deepStrictEqual(log, ["get", "wait", "get", "wait", "get", "ack"])
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("what is not EAGAIN is the failure, and nothing is waited for", () => {
    const { layer, log } = library([failing(5)], Effect.void)
    return Effect.gen(function*() {
      const error = yield* Effect.flip(Effect.flatMap(EventChannel.make(), EventChannel.next))
      assert.strictEqual(error.reason._tag, "EIO")
      assert.deepStrictEqual(log, ["get"])
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("neither an interruption nor the end of an id comes between an event and its ack", () =>
    Effect.gen(function*() {
      const acked = yield* Deferred.make<void>()
      const { layer, log } = library([Effect.succeed(resolved)], Deferred.await(acked))
      yield* Effect.gen(function*() {
        const channel = yield* EventChannel.make()
        const ids = yield* Scope.make()
        yield* Scope.provide(CmId.make(channel, "tcp"), ids)
        const reader = yield* Effect.forkChild(EventChannel.next(channel), { startImmediately: true })
        const interruption = yield* Effect.forkChild(Fiber.interrupt(reader), { startImmediately: true })
        const end = yield* Effect.forkChild(Scope.close(ids, Exit.void), { startImmediately: true })
        assert.deepStrictEqual(log, ["get"])
        yield* Deferred.succeed(acked, undefined)
        yield* Fiber.join(interruption)
        yield* Fiber.join(end)
        assert.deepStrictEqual(log, ["get", "ack", "destroy id"])
        const counted = (yield* Ledger.Ledger).totals().find(({ pair }) => pair[0] === "rdma_get_cm_event")
        assert.deepInclude(counted, { acquired: 1, released: 1 })
      }).pipe(Effect.scoped, Effect.provide(layer))
    }))
})
