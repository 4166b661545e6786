/**
 * Where the fabric does otherwise than the library and the kernel of another lane. The lanes have their facts from here, the
 * tests on both take from here what is left out of a comparison, and `scripts/differences.ts` makes the list of
 * `docs/lanes.md` of it.
 */
import * as FabricLanes from "@effect-rdma/testkit/conformance/FabricLanes"

/** A fact of two lanes. */
interface Fact<Value> {
  readonly what: string
  readonly fabric: Value
  readonly there: Value
}

const fact = <const Value>(what: string, fabric: Value, there: Value): Fact<Value> => ({ what, fabric, there })

/** Soft-RoCE on Linux 6.1 with rdma-core 44. */
export const softRoce = {
  rdmaCore: fact(
    "the release of rdma-core that librdmacm is of: what came after it is EOPNOTSUPP",
    FabricLanes.rdmaCm.rdmaCore,
    44
  ),
  manyConnections: fact("connections at once that are tried", FabricLanes.rdmaCm.manyConnections, 50)
} as const satisfies Record<string, Fact<unknown>>

/** ibsim 0.10 with opensm. */
export const ibsim = {
  linkLayer: fact("the link layer of a port, of which ibsim has no file", FabricLanes.umad.linkLayer, "IB"),
  hasKernel: fact(
    "a kernel that counts agents, tells requests apart and waits for answers; without one, each agent is taken and what " +
      "nobody answers is back at once",
    FabricLanes.umad.hasKernel,
    false
  ),
  hasRmpp: fact("messages of several packets are put together; of ibsim only the first packet comes", true, false)
} as const satisfies Record<string, Fact<unknown>>

/** What the answers to subnet management differ in, byte by byte. */
export interface AnswerDifference {
  readonly what: string
  readonly asked: RegExp
  /** What is left of an answer when the difference is taken out. */
  readonly without: (answer: string) => string
}

const blank = (from: number, to: number) => (answer: string): string => {
  const start = answer.indexOf(" ") + 1
  return answer.slice(0, start + 2 * from) + "_".repeat(2 * (to - from)) + answer.slice(start + 2 * to)
}

export const ibsimAnswers: ReadonlyArray<AnswerDifference> = [
  { what: "ibsim does not keep the SubnetTimeOut that the manager sets", asked: / PortInfo/, without: blank(51, 52) },
  {
    what: "a port of ibsim that is down has no GID prefix; a real one has the default prefix, which no manager gave it",
    asked: / PortInfo/,
    without: (answer) => /^. (.{64})[0-9a-f]1/.test(answer) ? blank(8, 16)(answer) : answer
  },
  {
    what: "what can only be read is refused by ibsim as a method (8), by the kernel as one of that attribute (c)",
    asked: /^write Node/,
    without: (answer) => answer.replace(/^[8c] .*/, "refused")
  },
  {
    what: "behind the entries of SLtoVLMappingTable ibsim leaves what the request had there",
    asked: /^write SLtoVLMappingTable/,
    without: blank(8, 64)
  },
  {
    what: "behind the entries of VLArbitration ibsim leaves what the request had there",
    asked: /^write VLArbitration/,
    without: blank(16, 64)
  },
  {
    what: "ibsim drops what it does not know; the kernel refuses it (c)",
    asked: /^write unknown attribute/,
    without: () => "refused"
  }
]

/** The fields of answers of opensm that the fabric's manager has otherwise. */
export const opensmFields: ReadonlyArray<{
  readonly what: string
  readonly asked: string
  readonly field: string
}> = [
  {
    what: "what subnet administration can do (CapabilityMask of its ClassPortInfo): opensm has more",
    asked: "class port info",
    field: "capabilityMask"
  },
  {
    what: "what subnet administration can do beyond that (CapabilityMask2): opensm has more",
    asked: "class port info",
    field: "capabilityMask2"
  },
  {
    what: "the SubnetTimeOut of a PortInfoRecord, which ibsim does not keep",
    asked: "a port by LID and number",
    field: "subnetTimeout"
  }
]

// -----------------------------------------------------------------------------
// The list of the documentation
// -----------------------------------------------------------------------------

const said = (value: unknown): string =>
  Array.isArray(value) ? value.join(" or ") : value === true ? "yes" : value === false ? "no" : String(value)

const linesOf = (there: string, facts: Readonly<Record<string, Fact<unknown>>>) =>
  Object.values(facts).map((fact) => `- ${fact.what}. Fabric: ${said(fact.fabric)}; ${there}: ${said(fact.there)}.`)

const section = [
  "Soft-RoCE (Linux 6.1, rdma-core 44):",
  "",
  ...linesOf("Soft-RoCE", softRoce),
  "",
  "ibsim 0.10 with opensm:",
  "",
  ...linesOf("ibsim", ibsim),
  ...[...ibsimAnswers, ...opensmFields].map(({ what }) => `- ${what}.`)
].join("\n")

const begin = "<!-- differences: made by scripts/differences.ts -->"
const end = "<!-- end of differences -->"

/** The document with the list as it is now. */
export const withDifferences = (document: string): string => {
  const [before, rest] = document.split(begin)
  const [, after] = (rest ?? "").split(end)
  if (before === undefined || after === undefined) throw new Error(`the document has no ${begin} with ${end}`)
  return `${before}${begin}\n\n${section}\n\n${end}${after}`
}
