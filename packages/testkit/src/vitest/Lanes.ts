/**
 * One suite of Vitest on every lane that is there.
 *
 * @since 0.1.0
 */
import type * as Library from "@effect-rdma/core/Library"
import * as RdmaCm from "@effect-rdma/rdmacm/RdmaCm"
import * as Umad from "@effect-rdma/umad/Umad"
import * as Verbs from "@effect-rdma/verbs/Verbs"
import { describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { readFileSync } from "node:fs"
import * as Fabric from "../Fabric.ts"
import * as Topology from "../Topology.ts"

/**
 * Where a suite runs, and the libraries there.
 *
 * @category models
 * @since 0.1.0
 */
export interface Lane<Services> {
  readonly name: "fabric" | "softroce" | "ibsim"
  readonly layer: Layer.Layer<Services, Library.LibraryNotFound | Library.SymbolNotFound>
}

/**
 * Registers a suite on the in-memory fabric, and once more on the real libraries in the guest of `rdma-lane softroce`. Elsewhere that
 * is skipped, with the reason in its name and on standard error. Both have the device `rxe0` with the address `10.0.0.1`.
 *
 * ```ts
 * import { describeLanes } from "@effect-rdma/testkit/vitest/Lanes"
 * import { it } from "@effect-rdma/testkit/vitest/LeakChecked"
 * import { DeviceContext, ProtectionDomain } from "@effect-rdma/verbs"
 * import { Effect } from "effect"
 *
 * describeLanes(({ layer }) => {
 *   it.live("leaves nothing behind", () =>
 *     DeviceContext.openByName("rxe0").pipe(Effect.flatMap(ProtectionDomain.alloc), Effect.provide(layer)))
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const describeLanes = (suite: (lane: Lane<Fabric.Seams>) => void): void => {
  const layer = Layer.mergeAll(Verbs.Verbs.layer, RdmaCm.RdmaCm.layer, Umad.Umad.layer)
  const command = "rdma-lane softroce"
  describeBoth(suite, Fabric.layer, { name: "softroce", layer }, here === "softroce" ? undefined : notUnder(command))
}

/**
 * Registers a suite on the subnet of a file, which is one that `ibnetdiscover` printed or that ibsim takes: on the in-memory fabric,
 * and once more with the real libibumad under `rdma-lane ibsim` of the same file. Elsewhere that is skipped, with the reason in its
 * name and on standard error. Both see the subnet from the first host of the file.
 *
 * ```ts
 * import { describeSubnetLanes } from "@effect-rdma/testkit/vitest/Lanes"
 * import { it } from "@effect-rdma/testkit/vitest/LeakChecked"
 * import { UmadLibrary, UmadPort } from "@effect-rdma/umad"
 * import { Effect } from "effect"
 *
 * describeSubnetLanes("packages/testkit/lanes/two-hosts.net", ({ layer }) => {
 *   it.live("leaves nothing behind", () =>
 *     UmadLibrary.init().pipe(Effect.flatMap(UmadPort.open), Effect.provide(layer)))
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const describeSubnetLanes = (netFile: string, suite: (lane: Lane<Umad.Umad>) => void): void => {
  const text = readFileSync(netFile, "utf8")
  const fabric = Layer.orDie(Layer.unwrap(Effect.map(Topology.fromText(text), Fabric.layerFrom)))
  const isSameFile = here === "ibsim" && readFileSync(process.env["EFFECT_RDMA_TOPOLOGY"] ?? "", "utf8") === text
  const reason = isSameFile ? undefined : notUnder(`rdma-lane ibsim ${netFile}`)
  describeBoth(suite, fabric, { name: "ibsim", layer: Umad.Umad.layer }, reason)
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const here = process.env["EFFECT_RDMA_LANE"]

const notUnder = (command: string): string => `this does not run under \`${command} -- CMD\``

const describeBoth = <Services>(
  suite: (lane: Lane<Services>) => void,
  fabric: Layer.Layer<Services>,
  live: Lane<Services>,
  reasonToSkip: string | undefined
): void => {
  describe("fabric", () => suite({ name: "fabric", layer: fabric }))
  if (reasonToSkip === undefined) {
    describe(live.name, () => suite(live))
  } else {
    process.stderr.write(`${live.name}: skipped, since ${reasonToSkip}\n`)
    describe.skip(`${live.name} (${reasonToSkip})`, () => suite(live))
  }
}
