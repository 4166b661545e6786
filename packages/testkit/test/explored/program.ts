/** Programs that the explorer may do to what it likes. */
import { Explorer, type Fabric } from "@effect-rdma/testkit"
import { assert, it } from "@effect/vitest"
import { Console, Effect, type Layer, Logger, type Scope } from "effect"

export interface Explored {
  readonly program: Effect.Effect<unknown, unknown, Fabric.Fabric | Fabric.Seams | Scope.Scope>
  /** What the program may pass over in silence. */
  readonly mayFail?: Explorer.Options<Fabric.Fabric>["mayFail"]
}

/** At most so many, of which each takes some hundredths of a second. */
const mostRuns = 300

/** A test of each: nothing that is done to it makes it leak, hang, die or lose an error. */
export const nothingIsFound = <LayerError>(
  programs: Readonly<Record<string, Explored>>,
  layer: Layer.Layer<Fabric.Fabric | Fabric.Seams, LayerError>
): void => {
  for (const [name, { mayFail = [], program }] of Object.entries(programs)) {
    it.live(name, () =>
      Effect.gen(function*() {
        // A handler that fails is logged.
        const quiet = Effect.provide(program, Logger.layer([]))
        const { calls, runs, steps } = yield* Explorer.check(quiet, { layer, mayFail, runs: mostRuns })
        yield* Console.log(`${name}: ${runs} runs of at most ${mostRuns}, with ${calls} calls and ${steps} steps each`)
        assert.isAtLeast(runs, Math.min(mostRuns, steps))
      }), 300_000)
  }
}

export const together = { concurrency: "unbounded" } as const

export const bytes = (text: string) => new TextEncoder().encode(text)

/** What fails when every answer is there: the fiber that takes MADs tells those who wait, and nobody does. */
export const whileNobodyWaits = ["umad_recv", "poll"] as const

/** What fails while the fiber that takes arrivals works, or the release, is not told to a program that is done with it. */
export const atTheEnd = [
  "rdma_disconnect",
  "rdma_get_cm_event",
  "ibv_modify_qp",
  "ibv_post_recv",
  "ibv_poll_cq",
  "ibv_req_notify_cq",
  "ibv_get_cq_event",
  "poll"
] as const
