import * as Ledger from "@effect-rdma/core/Ledger"
import * as Pointer from "@effect-rdma/core/Pointer"
import { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import * as RdmaDevices from "@effect-rdma/rdmacm/RdmaDevices"
import { Verbs } from "@effect-rdma/verbs/Verbs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"

const list = Pointer.make<"ibv_context *">(0x10n)
const contexts = [0x20n, 0x30n].map((address) => Pointer.make<"ibv_context">(address))

describe("RdmaDevices", () => {
  it.effect("the array is freed and the other contexts given back when one cannot be named", () => {
    const freed: Array<bigint> = []
    return Effect.gen(function*() {
      const exit = yield* Effect.exit(Effect.scoped(RdmaDevices.get()))
      assert.match(String(exit), /no name/)
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(freed, [list])
      assert.deepStrictEqual(yield* Ledger.live, [])
    }).pipe(Effect.provide(Layer.mergeAll(
      Layer.mock(RdmaCm, {
        getDevices: Effect.succeed({ list, contexts }),
        freeDevices: (list) => Effect.sync(() => void freed.push(list))
      }),
      Layer.mock(Verbs, {
        getDeviceName: (context) => context === contexts[0] ? Effect.succeed("rxe0") : Effect.die("no name")
      }),
      Ledger.layer
    )))
  })

  it.effect("without devices there is no array to free", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* Effect.scoped(RdmaDevices.get()), [])
    }).pipe(Effect.provide(Layer.merge(
      // A mock dies at what it does not have.
      Layer.mock(RdmaCm, { getDevices: Effect.succeed({ list: undefined, contexts: [] }) }),
      Layer.mock(Verbs, {})
    ))))
})
