/**
 * What the conformance suites of libibumad have in common.
 *
 * @since 0.1.0
 */
import * as PhysicalState from "@effect-rdma/core/PhysicalState"
import * as PortState from "@effect-rdma/core/PortState"
import type * as PortAttributes from "@effect-rdma/umad/PortAttributes"
import * as UmadCa from "@effect-rdma/umad/UmadCa"
import * as UmadLibrary from "@effect-rdma/umad/UmadLibrary"
import * as UmadPort from "@effect-rdma/umad/UmadPort"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { assertUnsigned } from "./conformance.ts"

export const unknownName = "no-such-adapter"
export const longestName = "a".repeat(19)
export const tooLong = "a".repeat(20)

export const port = (filter?: typeof UmadPort.Filter.Encoded) =>
  Effect.flatMap(UmadLibrary.init(), (library) => UmadPort.get(library, filter))

export const adapter = (name?: string) => Effect.flatMap(UmadLibrary.init(), (library) => UmadCa.get(library, name))

export const assertPort = (port: PortAttributes.PortAttributes): void => {
  const { baseLid, capmask, gidPrefix, lmc, physState, pkeys, portGuid, portNum, smLid, smSl, state } = port
  assertUnsigned(8, { lmc, portNum, smSl })
  assertUnsigned(16, { baseLid, smLid })
  assertUnsigned(32, { capmask })
  assert.isTrue(Number.isInteger(port.rate) && port.rate >= 0)
  assert.isTrue(Schema.is(PortState.PortState)(state) && state !== "unknown")
  assert.isTrue(Schema.is(PhysicalState.PhysicalState)(physState) && physState !== "unknown")
  assert.isTrue(gidPrefix > 0n && gidPrefix < 1n << 64n)
  assert.isTrue(portGuid > 0n && portGuid < 1n << 64n)
  assert.isAbove(pkeys.length, 0)
}
