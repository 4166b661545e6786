import { Fabric, Topology } from "@effect-rdma/testkit"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { type AnswerDifference, ibsimAnswers } from "./lanes/differences.ts"
import { everything } from "./subnetWalk.ts"

const root = join(import.meta.dirname, "../../..")
const files = [
  "packages/testkit/lanes/two-hosts.net",
  ...["fat-tree", "two-paths", "back-to-back", "speeds", "speeds.ibnetdiscover.txt"].map((name) =>
    `packages/umad/test/topologies/${name.endsWith(".txt") ? name : `${name}.net`}`
  )
]

type Answered = { readonly [asked: string]: string }

/** The answers without what is known to differ. */
const comparable = (answers: Answered, known: ReadonlyArray<AnswerDifference>): Answered =>
  Object.fromEntries(
    Object.entries(answers).map(([asked, answer]) => [
      asked,
      known.filter((difference) => difference.asked.test(asked)).reduce(
        (answer, { without }) => without(answer),
        answer
      )
    ])
  )

/** Whether the answers would differ if this were not known. */
const isDifference = (difference: AnswerDifference, here: Answered, there: Answered): boolean => {
  const others = ibsimAnswers.filter((other) => other !== difference)
  return JSON.stringify(comparable(here, others)) !== JSON.stringify(comparable(there, others))
}

const Answers = Schema.fromJsonString(Schema.Record(Schema.String, Schema.String))

describe("the same topology file on ibsim and on the fabric", { concurrent: false }, () => {
  const seen = new Set<AnswerDifference>()

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
        assert.deepStrictEqual(comparable(here, ibsimAnswers), comparable(there, ibsimAnswers))
        for (const difference of ibsimAnswers) if (isDifference(difference, here, there)) seen.add(difference)
      }))
  }

  it("each known difference was seen", () => {
    assert.deepStrictEqual(ibsimAnswers.filter((difference) => !seen.has(difference)), [])
  })
})
