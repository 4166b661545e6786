/**
 * One of two hosts: runs `rping` with each of the options that it is given as JSON, and prints for each, as a line of JSON, how
 * it ended and what it left.
 */
import { Ledger } from "@effect-rdma/core"
import { RdmaCm, RdmaDevices } from "@effect-rdma/rdmacm"
import { Verbs } from "@effect-rdma/verbs"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Console, Effect, Layer, Schedule } from "effect"
import { execFileSync } from "node:child_process"
import { printedBy } from "./connectionsTest.ts"
import { type Options, rping } from "./rping.ts"

/** What a run of {@link rping} on one of the hosts has come to. */
export interface Report {
  readonly ended: string
  readonly lines: ReadonlyArray<string>
  readonly alive: number
  readonly before: unknown
  readonly after: unknown
}

/** The kind of an error, with its errno or its status. */
const nameOf = (error: { readonly _tag: string; readonly errno?: unknown; readonly status?: unknown }): string =>
  [error._tag, error.errno, error.status].filter((part) => part !== undefined).join(" ")

/** How many objects the kernel holds, whoever made them. */
const kernelHolds = Effect.sync((): unknown =>
  JSON.parse(execFileSync("rdma", ["--json", "resource", "show"], { encoding: "utf8" }))
)

const report = Effect.fnUntraced(function*(options: Options) {
  const before = yield* kernelHolds
  const run = Effect.retry(printedBy(rping(options)), {
    // The other host may take longer to start.
    while: ({ _tag }) => ["ConnectionRejected", "PeerUnreachable", "RdmaCmError"].includes(_tag),
    schedule: Schedule.spaced("1 second"),
    times: 120
  })
  const end = yield* Effect.match(run, {
    onSuccess: (lines) => ({ ended: "well", lines }),
    onFailure: (error) => ({ ended: nameOf(error), lines: [] })
  })
  const after = yield* kernelHolds
  const report: Report = {
    ...end,
    alive: (yield* Ledger.live).length,
    before,
    after
  }
  yield* Console.log(JSON.stringify(report))
})

if (import.meta.main) {
  const runs: ReadonlyArray<Options> = process.argv.slice(2).map((text) => JSON.parse(text))
  // At its first call librdmacm opens the devices, and keeps them open.
  Effect.andThen(Effect.scoped(RdmaDevices.get()), Effect.forEach(runs, report)).pipe(
    Effect.provide(Layer.merge(RdmaCm.RdmaCm.layer, Verbs.Verbs.layer)),
    NodeRuntime.runMain
  )
}
