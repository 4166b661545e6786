import { Fabric, Topology } from "@effect-rdma/testkit"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { everything } from "./subnetWalk.ts"

const root = join(import.meta.dirname, "../../..")
const files = [
  "packages/testkit/lanes/two-hosts.net",
  ...["fat-tree", "two-paths", "back-to-back", "speeds", "speeds.ibnetdiscover.txt"].map((name) =>
    `packages/umad/test/topologies/${name.endsWith(".txt") ? name : `${name}.net`}`
  )
]

/** What differs, and why. */
interface Difference {
  readonly asked: RegExp
  /** What is left of an answer when the difference is taken out. */
  readonly without: (answer: string) => string
  readonly why: string
}

const blank = (from: number, to: number) => (answer: string): string => {
  const start = answer.indexOf(" ") + 1
  return answer.slice(0, start + 2 * from) + "_".repeat(2 * (to - from)) + answer.slice(start + 2 * to)
}

const differences: ReadonlyArray<Difference> = [
  { asked: / PortInfo/, without: blank(51, 52), why: "ibsim does not keep the SubnetTimeOut that the manager sets" },
  {
    asked: / PortInfo/,
    without: (answer) => /^. (.{64})[0-9a-f]1/.test(answer) ? blank(8, 16)(answer) : answer,
    why: "a port of ibsim that is down has no GID prefix; a real one has the default prefix, which no manager gave it"
  },
  {
    asked: /^write Node/,
    without: (answer) => answer.replace(/^[8c] .*/, "refused"),
    why: "what can only be read is refused by ibsim as a method (8), by the kernel as one of that attribute (c)"
  },
  {
    asked: /^write SLtoVLMappingTable/,
    without: blank(8, 64),
    why: "behind the entries ibsim leaves what the request had there"
  },
  {
    asked: /^write VLArbitration/,
    without: blank(16, 64),
    why: "behind the entries ibsim leaves what the request had there"
  },
  {
    asked: /^write unknown attribute/,
    without: () => "refused",
    why: "ibsim drops what it does not know; the kernel refuses it (c)"
  }
]

const comparable = (answers: { readonly [asked: string]: string }) =>
  Object.fromEntries(
    Object.entries(answers).map(([asked, answer]) => [
      asked,
      differences.filter((difference) => difference.asked.test(asked)).reduce(
        (answer, { without }) => without(answer),
        answer
      )
    ])
  )

const Answers = Schema.fromJsonString(Schema.Record(Schema.String, Schema.String))

describe("the same topology file on ibsim and on the fabric", { concurrent: false }, () => {
  for (const file of files) {
    it.live(`tells the same bytes: ${file}`, () =>
      Effect.gen(function*() {
        const printed = execFileSync(
          "node_modules/.bin/rdma-lane",
          ["ibsim", file, "--", process.execPath, "packages/testkit/test/lanes/printSubnet.ts"],
          { cwd: root, encoding: "utf8" }
        )
        const there = yield* Schema.decodeEffect(Answers)(printed)
        const topology = Topology.fromText(readFileSync(join(root, file), "utf8"))
        const fabric = Layer.unwrap(Effect.map(topology, Fabric.layerFrom))
        const here = yield* everything.pipe(Effect.provide(fabric))
        assert.isAbove(Object.keys(there).length, 30)
        assert.deepStrictEqual(comparable(here), comparable(there))
      }))
  }
})
