/** Each ping-pong program on both hosts of the fabric, with queues in the place of the TCP connection. */
import { Fabric, LeakCheck } from "@effect-rdma/testkit"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { check, type Peer } from "./pingpong.ts"
import { type AllOptions, assertPrinted, options, peers, printedBy, programs } from "./pingpongTest.ts"

describe.for(["rc", "ud", "srq"] as const)("%s-pingpong on the fabric", (name) => {
  const program = programs[name]
  const queuePairs = name === "srq" ? options.numQp : 1

  const bothSides = Effect.fnUntraced(function*(ofServer: AllOptions, ofClient: AllOptions) {
    const { client, server } = yield* peers
    return {
      server: printedBy(program, ofServer, server),
      client: Effect.provide(printedBy(program, ofClient, client), Fabric.host("host-b"))
    }
  })

  const sizes = [1, 1024, ...name === "ud" ? [] : [65_536]]
  const cases = ["rxe0", "mlx5_0"].flatMap((ibDev) =>
    [false, true].flatMap((events) => sizes.map((size) => ({ ibDev, events, size })))
  )
  for (const each of cases) {
    it.live(
      `prints what C prints and leaves nothing: ${Object.values(each).join(", ")}`,
      Effect.fnUntraced(function*() {
        const asked = { ...options, ...each }
        const outputs = yield* LeakCheck.check(
          Effect.flatMap(bothSides(asked, asked), (sides) => Effect.all(sides, { concurrency: 2 }))
        )
        for (const output of Object.values(outputs)) assertPrinted(output, asked, queuePairs)
      }, Effect.provide(Fabric.layer))
    )
  }

  it.effect(
    "fails when nothing more is heard of the peer, and leaves nothing",
    Effect.fnUntraced(function*() {
      const error = yield* LeakCheck.check(Effect.gen(function*() {
        const asked = { ...options, events: true }
        const { client, server } = yield* bothSides(asked, { ...asked, iters: 10 })
        const failed = yield* Effect.forkChild(Effect.flip(server))
        yield* client
        yield* TestClock.adjust("30 seconds")
        return yield* Fiber.join(failed)
      }))
      assert.strictEqual(error._tag, "ProgramError")
      assert.strictEqual(error.message, "nothing was heard of the peer for 10s")
    }, Effect.provide(Fabric.layer))
  )

  // Datagrams are lost without a word, and Soft-RoCE takes seven tries for any number.
  it.live.skipIf(name === "ud")(
    "fails when the link is lost, and leaves nothing",
    Effect.fnUntraced(function*() {
      const fabric = yield* Fabric.Fabric
      const error = yield* LeakCheck.check(Effect.gen(function*() {
        const asked = { ...options, ibDev: "mlx5_0", iters: 1_000_000 }
        const { client, server } = yield* bothSides(asked, asked)
        const cut = Effect.delay(fabric.setLink("host-b", "mlx5_0", 1, "down"), "100 millis")
        return yield* Effect.flip(Effect.all([server, client, cut], { concurrency: 3 }))
      }))
      assert.strictEqual(error._tag, "WorkCompletionError")
    }, Effect.provide(Fabric.layer))
  )

  it.live(
    "leaves nothing when it is interrupted",
    Effect.fnUntraced(function*() {
      yield* LeakCheck.check(Effect.gen(function*() {
        const asked = { ...options, iters: 1_000_000 }
        const { client, server } = yield* bothSides(asked, asked)
        const running = yield* Effect.forkChild(Effect.all([server, client], { concurrency: 2 }))
        yield* Effect.sleep("100 millis")
        yield* Fiber.interrupt(running)
      }))
    }, Effect.provide(Fabric.layer))
  )
})

const checked = (role: Peer["role"], chk: boolean, bytes: Uint8Array) =>
  check({ ...options, chk }, { role, open: Effect.never }, bytes)

describe("-c", () => {
  const sent = new Uint8Array(5000).fill(0x7b)
  sent[0] = sent[4096] = 0
  it.effect("the server tells which byte is not what the client sent", () =>
    Effect.gen(function*() {
      yield* checked("server", true, sent)
      const error = yield* Effect.flip(checked("server", true, sent.with(4500, 0xff)))
      assert.strictEqual(error.message, "invalid data at byte 4500")
    }))

  it.effect("nobody looks otherwise", () =>
    Effect.andThen(checked("server", false, sent.with(9, 0xff)), checked("client", true, sent.with(9, 0xff))))
})
