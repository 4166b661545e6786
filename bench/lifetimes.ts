/**
 * What a scoped pair costs above the raw calls: a protection domain is allocated and deallocated on a seam whose calls
 * return at once, through `ProtectionDomain.alloc` in a scope of its own, and by the two raw calls. Prints the ratio to
 * Effect's own `acquireRelease` around the same calls first, then microseconds.
 */
import { CreationSite, Pointer } from "@effect-rdma/core"
import { DeviceContext, ProtectionDomain, Verbs } from "@effect-rdma/verbs"
import { Console, Effect, Layer } from "effect"
import * as Measure from "./measure.ts"

const nullProvider = Layer.mock(Verbs.Verbs, {
  getDeviceName: () => Effect.succeed("null0"),
  allocPd: () => Effect.succeed(Pointer.make<"ibv_pd">(2n)),
  deallocPd: () => Effect.void
})

const repeated = <E, R>(pair: Effect.Effect<unknown, E, R>): Measure.Row<E, R> => (count) =>
  Effect.gen(function*() {
    for (let left = count; left > 0; left--) yield* pair
  })

const main = Effect.gen(function*() {
  const verbs = yield* Verbs.Verbs
  const context = yield* DeviceContext.borrow(Pointer.make(1n))
  const raw = Effect.flatMap(verbs.allocPd(Pointer.make(1n)), verbs.deallocPd)
  const acquireRelease = Effect.scoped(
    Effect.acquireRelease(verbs.allocPd(Pointer.make(1n)), (pd) => Effect.orDie(verbs.deallocPd(pd)))
  )
  const scoped = Effect.scoped(Effect.suspend(() => ProtectionDomain.alloc(context)))
  const times = yield* Measure.medians({
    raw: repeated(raw),
    plain: repeated(acquireRelease),
    without: repeated(Effect.provideService(scoped, CreationSite.CaptureSites, false)),
    with: repeated(Effect.provideService(scoped, CreationSite.CaptureSites, true))
  }, 4000)
  yield* Console.log(
    `what a scoped pair costs above its raw calls, on ${Measure.machine}; medians of ${Measure.runs} runs`
  )
  for (const sites of ["without", "with"] as const) {
    const above = times[sites] - times.raw
    const ratio = above / (times.plain - times.raw)
    yield* Console.log(
      `  ${ratio.toFixed(1)} times acquireRelease, ${(above / 1000).toFixed(1)} µs: ${sites} creation sites`
    )
  }
}).pipe(Effect.scoped, Effect.provide(nullProvider))

await Effect.runPromise(main)
