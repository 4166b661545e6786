/** Faults that fall on a host, on a device, by a condition or by chance, and what can happen to a fabric. */
import { Fabric, Faults } from "@effect-rdma/testkit"
import { AsyncEvents, DeviceContext, ProtectionDomain, QueuePair } from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Result } from "effect"
import { TestClock } from "effect/testing"
import { connected, request } from "./dataPath.ts"
import { sides } from "./seeded/world.ts"

const open = (device: string) => DeviceContext.openByName(device)
const domainOn = (device: string) =>
  Effect.scoped(Effect.flatMap(open(device), (context) => ProtectionDomain.alloc(context)))
const onOther = Effect.provide(Fabric.host("host-b"))

/** The reason of each failure, and `ok`. */
const outcomes = <E extends { readonly reason: { readonly _tag: string } }>(
  ...effects: ReadonlyArray<Effect.Effect<unknown, E, Fabric.Fabric | Fabric.Seams>>
) =>
  Effect.forEach(
    effects,
    (effect) =>
      Effect.map(Effect.result(effect), (result) => Result.isSuccess(result) ? "ok" : result.failure.reason._tag)
  )

describe("a fault", () => {
  it.effect("falls on the calls of one host, those of other layers of the same fabric included", () =>
    Effect.gen(function*() {
      const seen = yield* outcomes(Effect.scoped(open("rxe0")), onOther(Effect.scoped(open("rxe0")))).pipe(
        Faults.inject([{ call: "ibv_open_device", host: "host-b", errno: "EACCES" }]),
        Effect.provide(Fabric.layer)
      )
      assert.deepStrictEqual(seen, ["ok", "EACCES"])
    }))

  it.effect("falls on what was made on one device", () =>
    Effect.gen(function*() {
      const seen = yield* outcomes(domainOn("rxe0"), domainOn("mlx5_0"), domainOn("rxe0")).pipe(
        Faults.inject([{ call: "ibv_alloc_pd", device: "rxe0", nth: 2, errno: "ENOMEM" }]),
        Effect.provide(Fabric.layer)
      )
      assert.deepStrictEqual(seen, ["ok", "ok", "ENOMEM"])
    }))

  it.effect("falls on every call that it fits, when it does not count", () =>
    Effect.gen(function*() {
      const seen = yield* outcomes(Effect.scoped(open("rxe0")), Effect.scoped(open("mlx5_0"))).pipe(
        Faults.inject([{ call: "ibv_open_device", errno: "EMFILE" }]),
        Effect.provide(Fabric.layer)
      )
      assert.deepStrictEqual(seen, ["EMFILE", "EMFILE"])
    }))

  it.effect("falls where a condition holds", () =>
    Effect.gen(function*() {
      const query = Effect.scoped(Effect.flatMap(open("rxe0"), DeviceContext.query))
      const seen = yield* outcomes(query, query).pipe(
        Faults.inject([{ where: ({ args, call }) => call === "ibv_query_device" && args.length === 1, errno: "EIO" }]),
        Effect.provide(Fabric.layer)
      )
      assert.deepStrictEqual(seen, ["EIO", "EIO"])
    }))

  it.effect("falls by chance, on the same calls with the same seed", () =>
    Effect.gen(function*() {
      const tries = Array.from({ length: 400 }, () => Effect.scoped(open("rxe0")))
      const falls = (seed: number) =>
        outcomes(...tries).pipe(
          Faults.inject([{ call: "ibv_open_device", probability: 0.25, seed, errno: "ENOMEM" }]),
          Effect.provide(Fabric.layer)
        )
      const once = yield* falls(7)
      const count = once.filter((outcome) => outcome === "ENOMEM").length
      assert.isAbove(count, 60)
      assert.isBelow(count, 140)
      assert.deepStrictEqual(yield* falls(7), once)
      assert.notDeepEqual(yield* falls(8), once)
    }))

  it.effect("is the same one after it was printed", () =>
    Effect.gen(function*() {
      const faults: ReadonlyArray<Faults.Fault> = [
        { call: "ibv_open_device", nth: 2, host: "host-a", errno: "ENODEV" },
        { call: "ibv_alloc_pd", nth: 1, happens: { _tag: "unplug", host: "host-a", device: "rxe0" } }
      ]
      const program = outcomes(
        Effect.scoped(Effect.flatMap(open("rxe0"), (context) => ProtectionDomain.alloc(context))),
        Effect.scoped(open("mlx5_0"))
      )
      const once = yield* program.pipe(Faults.inject(faults), Effect.provide(Fabric.layer))
      assert.deepStrictEqual(once, ["EIO", "ENODEV"])
      const read: typeof faults = JSON.parse(JSON.stringify(faults))
      assert.deepStrictEqual(yield* program.pipe(Faults.inject(read), Effect.provide(Fabric.layer)), once)
    }))

  it.effect("is refused when it can never fall", () =>
    Effect.gen(function*() {
      for (const fault of [{ nth: 0, errno: "EIO" }, { probability: 2, errno: "EIO" }] as const) {
        const exit = yield* Effect.exit(Faults.start([fault]))
        assert.isTrue(Exit.isFailure(exit) && Cause.squash(exit.cause) instanceof RangeError)
      }
    }))
})

describe("what happens before a call", () => {
  const message = Effect.gen(function*() {
    const { a, b } = yield* sides()
    yield* Effect.all([
      QueuePair.recv(b.pair, { sgList: b.sgList }),
      QueuePair.send(a.pair, { sgList: a.sgList })
    ], { concurrency: 2 })
  })

  const failing = (happens: Faults.Incident["happens"]) =>
    Effect.scoped(message).pipe(
      Faults.inject([{ call: "ibv_post_send", nth: 1, happens }]),
      Effect.provide(Fabric.layer),
      Effect.flip,
      Effect.map(({ message }) => message)
    )

  it.live("a cable is pulled out: the sender gives up", () =>
    Effect.gen(function*() {
      const message = yield* failing({ _tag: "link", host: "host-b", device: "rxe0", portNum: 1, link: "down" })
      assert.match(message, /transport retry counter exceeded/)
    }))

  it.live("a host dies: it answers nobody", () =>
    Effect.gen(function*() {
      assert.match(yield* failing({ _tag: "die", host: "host-b" }), /transport retry counter exceeded/)
    }))

  it.live("a cable is pulled out for a while: the message gets through after it", () =>
    Effect.scoped(message).pipe(
      Faults.inject([{
        call: "ibv_post_send",
        nth: 1,
        happens: { _tag: "link", host: "host-b", device: "rxe0", portNum: 1, link: "down", for: "10 millis" }
      }]),
      Effect.provide(Fabric.layer)
    ))

  it.live("a link loses everything from then on: the sender gives up", () =>
    Effect.gen(function*() {
      const message = yield* failing({ _tag: "disturb", node: "host-b rxe0", portNum: 1, loss: 1 })
      assert.match(message, /transport retry counter exceeded/)
    }))

  it.effect("a switch loses its power, and has it again: what was sent meanwhile comes after all", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected("mlx5_0", { pathA: { timeout: 10, retryCnt: 2 } })
      b.postRecv({ wrId: 1n, sgList: [] }, { wrId: 2n, sgList: [] })
      a.postSend(request(3n, "send"))
      yield* TestClock.adjust("4 millis")
      assert.deepStrictEqual([a.statuses(), b.statuses()], [[], []])
      a.postSend(request(4n, "send"))
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual([a.statuses(), b.statuses()], [["3 success", "4 success"], ["1 success", "2 success"]])
    }).pipe(
      Effect.scoped,
      Faults.inject([
        { call: "ibv_post_send", nth: 1, happens: { _tag: "node", node: "switch-1", state: "dead" } },
        { call: "ibv_post_send", nth: 2, happens: { _tag: "node", node: "switch-1", state: "alive" } }
      ]),
      Effect.provide(Fabric.layer)
    ))

  it.live("the device is unplugged: EIO", () =>
    Effect.gen(function*() {
      assert.match(yield* failing({ _tag: "unplug", host: "host-a", device: "rxe0" }), /EIO/)
    }))

  it.effect("the device tells that it cannot go on", () =>
    Effect.gen(function*() {
      const context = yield* open("rxe0")
      yield* ProtectionDomain.alloc(context)
      assert.deepStrictEqual(yield* AsyncEvents.next(context), { _tag: "Device", event: "deviceFatal" })
    }).pipe(
      Faults.inject([{
        call: "ibv_alloc_pd",
        nth: 1,
        happens: { _tag: "fatal", host: "host-a", device: "rxe0" }
      }]),
      Effect.provide(Fabric.layer)
    ))
})
