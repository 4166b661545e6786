import { Resource } from "@effect-rdma/core"
import { Fabric } from "@effect-rdma/testkit"
import { CompletionChannel, CompletionQueue, DeviceContext } from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Scope } from "effect"

describe("completion queues on the fabric", () => {
  it.effect("a queue of an outer scope goes before its channel of an inner one", () =>
    Effect.gen(function*() {
      const context = yield* DeviceContext.openByName("rxe0")
      const outer = yield* Effect.scope
      const queue = yield* Effect.scoped(
        Effect.flatMap(
          CompletionChannel.make(context),
          (channel) => Scope.provide(CompletionQueue.make(context, { cqe: 10, channel }), outer)
        )
      )
      assert.strictEqual(queue.cqe, 15)
      assert.isFalse(Resource.isLive(queue))
      assert.deepStrictEqual(
        (yield* (yield* Fabric.Fabric).objects).map(({ kind }) => kind),
        ["DeviceContext"]
      )
    }).pipe(Effect.scoped, Effect.provide(Fabric.layer)))
})
