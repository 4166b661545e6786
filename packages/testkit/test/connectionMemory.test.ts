/** Memory that many connections leave behind. In a file of its own, since it looks at the whole process. */
import { Connection, Listener } from "@effect-rdma/rdmacm"
import { Fabric } from "@effect-rdma/testkit"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")

/** Bytes outside of the heap of JS. */
const outside = Effect.gen(function*() {
  // What was freed is counted off in a turn of the event loop.
  for (let round = 0; round < 3; round++) {
    collectGarbage()
    yield* Effect.sleep("1 millis")
  }
  return process.memoryUsage().external
})

const oneConnection = Effect.scoped(
  Connection.connect({ address: "10.0.0.1:7471", messageSize: 65_536, sendDepth: 2, receiveDepth: 2 })
)

describe("connections", () => {
  it.live("a thousand connections leave the memory outside of the heap as it was", () =>
    Effect.gen(function*() {
      const listener = yield* Listener.make({ address: "10.0.0.1:7471" })
      yield* Effect.forkScoped(
        Listener.serve(listener, (incoming) => Effect.flatMap(Listener.accept(incoming), Connection.awaitEnd))
      )
      const tenAtOnce = Effect.all(Array.from({ length: 10 }, () => oneConnection), { concurrency: 10, discard: true })
      yield* tenAtOnce
      const before = yield* outside
      yield* Effect.repeat(tenAtOnce, { times: 98 })
      const after = yield* outside
      assert.isBelow(after, before * 1.05, `${before} bytes after 10, ${after} after a thousand`)
    }).pipe(Effect.scoped, Effect.provide(Fabric.layer)), 120_000)
})
