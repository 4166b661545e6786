import { Fabric, LeakCheck } from "@effect-rdma/testkit"
import { it } from "@effect-rdma/testkit/vitest/LeakChecked"
import { DeviceContext } from "@effect-rdma/verbs"
import * as Vitest from "@effect/vitest"
import { Effect, Schema, Scope } from "effect"

const sound = DeviceContext.openByName("rxe0").pipe(Effect.asVoid, Effect.provide(Fabric.layer))

const leaky = Effect.gen(function*() {
  const longer = yield* Scope.make()
  yield* DeviceContext.openByName("rxe0").pipe(Scope.provide(longer))
}).pipe(Effect.provide(Fabric.layer))

Vitest.describe("LeakChecked.it", () => {
  it.effect("passes what leaves nothing", () => sound)
  it.live("passes it on the system's clock", () => sound)
  it.effect.each([1, 2])("passes it in each case %s", () => sound)
  it.effect.prop("passes it for each value", [Schema.Boolean], () => sound)
  it.effect.runIf(true)("passes it under a condition", () => sound)

  it.effect.fails("finds a leak", () => leaky)
  it.live.fails("finds a leak on the system's clock", () => leaky)
})

Vitest.describe("LeakCheck.layer", () => {
  Vitest.it.effect("dies at its end of what is alive", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(Effect.provide(leaky, LeakCheck.layer))
      Vitest.assert.match(String(exit), /DeviceContext#\d+ \(ibv_open_device at .*LeakChecked\.test\.ts:/)
      yield* Effect.provide(Effect.scoped(sound), LeakCheck.layer)
    }))
})
