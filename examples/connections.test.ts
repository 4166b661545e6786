/** Each program of the connection manager on both hosts of the fabric. */
import { Fabric, LeakCheck } from "@effect-rdma/testkit"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { bothSides, type Case, mckey, type Program, rping, ucmatose, udaddy } from "./connectionsTest.ts"
import * as Mckey from "./mckey.ts"
import * as Rping from "./rping.ts"
import * as Ucmatose from "./ucmatose.ts"
import * as Udaddy from "./udaddy.ts"

const onBothHosts = <Options, E extends { readonly _tag: string }>(
  name: string,
  program: Program<Options, E>,
  cases: Readonly<Record<string, Case<Options>>>
) =>
  describe(`${name} on the fabric`, () => {
    for (const [what, each] of Object.entries(cases)) {
      it.live(
        `prints what C prints and leaves nothing: ${what}`,
        Effect.fnUntraced(function*() {
          const outputs = yield* LeakCheck.check(Effect.all(bothSides(program, each), { concurrency: 2 }))
          assert.deepStrictEqual(outputs, [each.printed.server, each.printed.client])
        }, Effect.provide(Fabric.layer))
      )
    }
  })

onBothHosts("rping", Rping.rping, {
  "as it is": rping(),
  "all that fits": rping({ size: 65_535, count: 3 }),
  "the least that C takes": rping({ size: 26 })
})

onBothHosts("ucmatose", Ucmatose.ucmatose, {
  "as it is": ucmatose(),
  "eight connections of 4096 bytes": ucmatose({ connections: 8, size: 4096 })
})

onBothHosts("udaddy", Udaddy.udaddy, {
  "as it is": udaddy(),
  "eight connections of 1024 bytes": udaddy({ connections: 8, size: 1024 })
})

const members = mckey()
onBothHosts("mckey", Mckey.mckey, {
  "as it is": { ...members, client: { ...members.client, bind: "10.0.0.2" } }
})

describe("rping on the fabric when something is wrong", () => {
  const endless = rping({ count: 0, verbose: false })

  it.live(
    "fails when the link is lost, and leaves nothing",
    Effect.fnUntraced(function*() {
      const fabric = yield* Fabric.Fabric
      const error = yield* LeakCheck.check(Effect.gen(function*() {
        const cut = Effect.delay(fabric.setLink("host-b", "rxe0", 1, "down"), "200 millis")
        return yield* Effect.flip(Effect.all([...bothSides(Rping.rping, endless), cut], { concurrency: 3 }))
      }))
      assert.strictEqual(error._tag, "PeerSilent")
    }, Effect.provide(Fabric.layer))
  )

  it.live(
    "leaves nothing when it is interrupted",
    Effect.fnUntraced(function*() {
      yield* LeakCheck.check(Effect.gen(function*() {
        const running = yield* Effect.forkChild(Effect.all(bothSides(Rping.rping, endless), { concurrency: 2 }))
        yield* Effect.sleep("200 millis")
        yield* Fiber.interrupt(running)
      }))
    }, Effect.provide(Fabric.layer))
  )
})
