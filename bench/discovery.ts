/**
 * How long it takes to walk a simulated subnet of 550 nodes, against `ibnetdiscover` of infiniband-diags in the same run: wall
 * time, one after the other, again and again. The walk runs in this process, `ibnetdiscover` in one of its own, whose start
 * counts; both have the simulator on the other side. Prints the ratio first, then milliseconds.
 */
import { Discovery, Umad, UmadLibrary, UmadPort } from "@effect-rdma/umad"
import { Console, Effect } from "effect"
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Measure from "./measure.ts"

const runs = 41
const warmUps = 5
/** As many as the simulator takes without both sides waiting for each other: its sockets hold 10 messages. */
const concurrency = 16

const timed = <E, R>(effect: Effect.Effect<unknown, E, R>) =>
  Effect.gen(function*() {
    const start = performance.now()
    yield* effect
    return performance.now() - start
  })

const main = Effect.gen(function*() {
  const port = yield* UmadPort.open(yield* UmadLibrary.init())
  const walk = Discovery.walk(port, { concurrency })
  const ibnetdiscover = Effect.sync(() => execFileSync("ibnetdiscover", { encoding: "utf8", maxBuffer: 2 ** 26 }))
  const { topology } = yield* walk
  const ours: Array<number> = []
  const theirs: Array<number> = []
  for (let run = -warmUps; run < runs; run++) {
    const our = yield* timed(walk)
    const their = yield* timed(ibnetdiscover)
    if (run < 0) continue
    ours.push(our)
    theirs.push(their)
  }
  yield* Console.log(`walking ${topology.nodes.length} simulated nodes, on ${Measure.machine}; ${runs} runs`)
  // Other programs make a run longer, never shorter.
  const rows = [
    ["the shortest", Math.min(...ours), Math.min(...theirs)],
    ["the median", Measure.median(ours), Measure.median(theirs)]
  ] as const
  for (const [name, our, their] of rows) {
    yield* Console.log(
      `  ${(our / their).toFixed(2)} times ibnetdiscover: ${name} ${our.toFixed(0)} ms, of it ${their.toFixed(0)} ms`
    )
  }
}).pipe(Effect.scoped, Effect.provide(Umad.Umad.layer))

/** On the simulator, with a topology of its own. */
const onSimulator = () => {
  const root = join(import.meta.dirname, "..")
  const folder = mkdtempSync(join(tmpdir(), "effect-rdma-bench-"))
  try {
    const file = join(folder, "fatTree.net")
    writeFileSync(file, execFileSync(process.execPath, [join(root, "scripts/topologies/fatTree.ts"), "28", "18", "18"]))
    execFileSync("node_modules/.bin/rdma-lane", ["ibsim", file, "--", process.execPath, import.meta.filename], {
      cwd: root,
      stdio: ["ignore", "inherit", "inherit"]
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

if (process.env["EFFECT_RDMA_LANE"] === "ibsim") await Effect.runPromise(main)
else onSimulator()
