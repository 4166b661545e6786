/**
 * What a scoped pair costs above the raw calls: a protection domain is allocated and deallocated on a seam whose calls
 * return at once, through `ProtectionDomain.alloc` in a scope of its own, and by the two raw calls. Prints the ratio to
 * Effect's own `acquireRelease` around the same calls first, then microseconds; medians of several runs.
 */
import { CreationSite, Pointer } from "@effect-rdma/core"
import { DeviceContext, ProtectionDomain, Verbs } from "@effect-rdma/verbs"
import { Console, Effect, Layer } from "effect"

const pairs = 20_000
const runs = 11

const nullProvider = Layer.mock(Verbs.Verbs, {
  getDeviceName: () => Effect.succeed("null0"),
  allocPd: () => Effect.succeed(Pointer.make<"ibv_pd">(2n)),
  deallocPd: () => Effect.void
})

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((self, that) => self - that)[Math.floor(values.length / 2)] ?? Number.NaN

/** Microseconds of one pair, in one run. */
const timed = <E, R>(pair: Effect.Effect<unknown, E, R>) =>
  Effect.gen(function*() {
    const start = performance.now()
    for (let count = 0; count < pairs; count++) yield* pair
    return (performance.now() - start) * 1000 / pairs
  })

const main = Effect.gen(function*() {
  const verbs = yield* Verbs.Verbs
  const context = yield* DeviceContext.borrow(Pointer.make(1n))
  const raw = Effect.flatMap(verbs.allocPd(Pointer.make(1n)), verbs.deallocPd)
  const acquireRelease = Effect.scoped(
    Effect.acquireRelease(verbs.allocPd(Pointer.make(1n)), (pd) => Effect.orDie(verbs.deallocPd(pd)))
  )
  const scoped = Effect.scoped(Effect.suspend(() => ProtectionDomain.alloc(context)))
  const rows = {
    raw: raw,
    acquireRelease,
    "without sites": Effect.provideService(scoped, CreationSite.CaptureSites, false),
    "with sites": Effect.provideService(scoped, CreationSite.CaptureSites, true)
  }
  const times: { [name: string]: Array<number> } = {}
  // In turn, so that a drift of the machine meets all alike; the first round warms up.
  for (let run = -1; run < runs; run++) {
    for (const [name, pair] of Object.entries(rows)) {
      const time = yield* timed(pair)
      if (run >= 0) (times[name] ??= []).push(time)
    }
  }
  const [rawTime = Number.NaN, plain = Number.NaN, ...ours] = Object.values(times).map(median)
  yield* Console.log(`scope cost of a pair above its raw calls, median of ${runs} runs of ${pairs} pairs`)
  for (const [index, name] of ["without sites", "with sites"].entries()) {
    const above = (ours[index] ?? Number.NaN) - rawTime
    yield* Console.log(
      `  ${(above / (plain - rawTime)).toFixed(2)} times acquireRelease, ${above.toFixed(2)} µs, ${name}`
    )
  }
}).pipe(Effect.scoped, Effect.provide(nullProvider))

await Effect.runPromise(main)
