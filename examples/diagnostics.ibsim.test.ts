/** The programs named after infiniband-diags print what these print, on simulated subnets of three sizes. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const root = join(import.meta.dirname, "..")
const topologies = join(root, "scripts", "topologies")

const Comparison = Schema.fromJsonString(Schema.Struct({
  nodes: Schema.Int,
  links: Schema.Int,
  compared: Schema.Int,
  differences: Schema.Array(Schema.Struct({ command: Schema.String, theirs: Schema.String, ours: Schema.String }))
}))

const run = (command: string, ...args: ReadonlyArray<string>): string =>
  execFileSync(command, args, { cwd: root, encoding: "utf8", maxBuffer: 2 ** 26 })

/** Compares on the subnet of a file. */
const compared = (file: string) =>
  Schema.decodeEffect(Comparison)(
    run("node_modules/.bin/rdma-lane", "ibsim", file, "--", process.execPath, "examples/compareDiagnostics.ts")
  )

const fatTree = (...sizes: ReadonlyArray<number>) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const folder = mkdtempSync(join(tmpdir(), "effect-rdma-topology-"))
      const file = join(folder, "fatTree.net")
      writeFileSync(file, run(process.execPath, join(topologies, "fatTree.ts"), ...sizes.map(String)))
      return { folder, file }
    }),
    ({ folder }) => Effect.sync(() => rmSync(folder, { recursive: true }))
  )

const assertSame = (comparison: typeof Comparison.Type, nodes: number, links: number) => {
  assert.deepStrictEqual(comparison.differences, [])
  assert.deepStrictEqual([comparison.nodes, comparison.links], [nodes, links])
  assert.isAbove(comparison.compared, 40)
}

describe("infiniband-diags and their namesakes", { concurrent: false }, () => {
  it.live("print the same of 3 nodes", () =>
    Effect.gen(function*() {
      assertSame(yield* compared(join(topologies, "three-nodes.net")), 3, 2)
    }))

  it.live("print the same of 117 nodes, switches with 36 ports", () =>
    Effect.gen(function*() {
      const { file } = yield* fatTree(6, 3, 18)
      assertSame(yield* compared(file), 117, 126)
    }))

  it.live("print the same of 550 nodes", () =>
    Effect.gen(function*() {
      const { file } = yield* fatTree(28, 18, 18)
      assertSame(yield* compared(file), 550, 1008)
    }), 120_000)
})
