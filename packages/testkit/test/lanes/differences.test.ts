/** The list of known differences between the lanes is the one of the documentation, and nothing else differs. */
import * as FabricLanes from "@effect-rdma/testkit/conformance/FabricLanes"
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { ibsim, softRoce, withDifferences } from "./differences.ts"
import { rdmaCmOnSoftRoce } from "./rdmacm.ts"
import { subnetOnFabric, subnetOnIbsim } from "./subnet.ts"
import { umadOnEthernetFabric, umadOnIbsim, umadOnSoftRoce } from "./umad.ts"
import { verbsOnSoftRoce } from "./verbs.ts"

/** What says where a lane is and how it is reached, not what it does. */
const places = new Set([
  "name",
  "layer",
  "snapshot",
  "flush",
  "changeGids",
  "bouncePort",
  "adapter",
  "adapters",
  "port",
  "ports",
  "peers"
])

const factsOf = (lane: object) => Object.fromEntries(Object.entries(lane).filter(([name]) => !places.has(name)))

/** The names of the facts that two lanes do not have in common. */
const differing = (one: object, other: object): ReadonlyArray<string> => {
  const [a, b] = [factsOf(one), factsOf(other)]
  const isSame = (name: string) => {
    try {
      assert.deepStrictEqual(a[name], b[name])
      return true
    } catch {
      return false
    }
  }
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((name) => !isSame(name)).toSorted()
}

/** The lane of the fabric has another MAC of the peer: it is made of the peer's GUID, and on Soft-RoCE of what the lane entered. */
const withoutMac = <Lane extends { readonly roce: object | undefined }>(lane: Lane) => ({
  ...lane,
  roce: { ...lane.roce, peerMac: undefined }
})

describe("the differences between the lanes", () => {
  it("are those of the documentation: node scripts/differences.ts writes them", () => {
    const document = readFileSync(join(import.meta.dirname, "../../../../docs/lanes.md"), "utf8")
    assert.strictEqual(document, withDifferences(document))
  })

  it("of Soft-RoCE are listed, and no other fact of the suites differs", () => {
    assert.deepStrictEqual(differing(withoutMac(FabricLanes.verbs), withoutMac(verbsOnSoftRoce)), [])
    assert.deepStrictEqual(differing(umadOnEthernetFabric, umadOnSoftRoce), [])
    assert.deepStrictEqual(differing(FabricLanes.rdmaCm, rdmaCmOnSoftRoce), Object.keys(softRoce).toSorted())
  })

  it("of ibsim are listed, and no other fact of the suites differs", () => {
    assert.deepStrictEqual(differing(FabricLanes.umad, umadOnIbsim), ["hasKernel", "linkLayer"])
    assert.deepStrictEqual(
      // A subnet's own suite asks for no more than that.
      differing(subnetOnFabric, subnetOnIbsim).filter((name) => !["hasKernel", "linkLayer"].includes(name)),
      Object.keys(ibsim).filter((name) => !["hasKernel", "linkLayer"].includes(name))
    )
  })
})
