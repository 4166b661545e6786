import { Fabric, LeakCheck } from "@effect-rdma/testkit"
import { DeviceContext, ProtectionDomain } from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Scope } from "effect"

const leakOf = (exit: Exit.Exit<unknown, unknown>): LeakCheck.LeakError => {
  const defect = Exit.isFailure(exit) && Cause.squash(exit.cause)
  return defect instanceof LeakCheck.LeakError ? defect : assert.fail(String(exit))
}

describe("LeakCheck", () => {
  it.effect("sees what went into a longer scope, on a context that was made outside", () =>
    Effect.gen(function*() {
      const outer = yield* Effect.scope
      const context = yield* DeviceContext.openByName("rxe0")
      const exit = yield* ProtectionDomain.alloc(context).pipe(
        Effect.provideService(Scope.Scope, outer),
        LeakCheck.check,
        Effect.exit
      )
      const { leaks, report } = leakOf(exit)
      assert.strictEqual(leaks.length, 1)
      assert.match(leaks[0] ?? "", /^ProtectionDomain#\d+ \(ibv_alloc_pd at .*LeakCheck\.test\.ts:/)
      assert.include(report, "ProtectionDomain#")
    }).pipe(Effect.provide(Fabric.layer)))

  it.effect("keeps the outcome of a program that released what it made on a context of somebody else", () =>
    Effect.gen(function*() {
      const context = yield* DeviceContext.openByName("rxe0")
      const kind = yield* LeakCheck.check(Effect.map(ProtectionDomain.alloc(context), ({ kind }) => kind))
      assert.strictEqual(kind, "ProtectionDomain")
      const failed = LeakCheck.check(Effect.andThen(ProtectionDomain.alloc(context), Effect.fail("the reason")))
      assert.strictEqual(yield* Effect.flip(failed), "the reason")
    }).pipe(Effect.provide(Fabric.layer)))

  it.effect("sees a leak of a program that brings its own fabric", () =>
    Effect.gen(function*() {
      const leak = Effect.gen(function*() {
        const longer = yield* Scope.make()
        yield* DeviceContext.openByName("rxe0").pipe(Scope.provide(longer))
      }).pipe(Effect.provide(Fabric.layer))
      assert.match(leakOf(yield* Effect.exit(LeakCheck.check(leak))).report, /DeviceContext#/)
    }))
})
