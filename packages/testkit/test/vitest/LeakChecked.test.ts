import { Fabric, LeakCheck } from "@effect-rdma/testkit"
import { it } from "@effect-rdma/testkit/vitest/LeakChecked"
import { DeviceContext } from "@effect-rdma/verbs"
import * as Vitest from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect, Schema, Scope } from "effect"
import { runSuite } from "./runSuite.ts"

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

  Vitest.it.live("tells the place in the test", () =>
    Effect.gen(function*() {
      const { tests } = yield* runSuite("leak.suite.ts")
      assert.deepStrictEqual(tests.map(({ status }) => status), ["failed"])
      assert.match(
        tests[0]?.failureMessages.join("") ?? "",
        /DeviceContext#\d+ \(ibv_open_device at \S+leak\.suite\.ts:7:17\)/
      )
    }), 120_000)
})

Vitest.describe("LeakCheck.layer", () => {
  Vitest.it.effect("dies at its end of what is alive", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(Effect.provide(leaky, LeakCheck.layer))
      assert.match(String(exit), /DeviceContext#\d+ \(ibv_open_device at .*LeakChecked\.test\.ts:/)
      yield* Effect.provide(Effect.scoped(sound), LeakCheck.layer)
    }))
})
