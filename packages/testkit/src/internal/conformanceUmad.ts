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

/** Performance management, of which every node answers a Get of its counters, and a vendor's class that nobody has. */
export const performance = { mgmtClass: 0x04, get: 0x01, counters: 0x12 } as const
export const application = { mgmtClass: 0x28, method: 0x01, other: 0x02 } as const

/** A MAD of one packet. */
export const packet = (mgmtClass: number, method: number, attributeId: number, modifier = 0): Uint8Array => {
  const mad = new Uint8Array(256)
  const view = new DataView(mad.buffer)
  mad.set([1, mgmtClass, 1, method])
  view.setUint16(16, attributeId)
  view.setUint32(20, modifier)
  return mad
}

/** A Get of the counters of a port, told from others by its modifier. */
export const getCounters = (modifier = 0): Uint8Array =>
  packet(performance.mgmtClass, performance.get, performance.counters, modifier)

/** A Set of what no node lets be set: NodeInfo. */
export const setNodeInfo = (): Uint8Array => packet(0x01, 0x02, 0x11)

export const modifierOf = (mad: Uint8Array): number => new DataView(mad.buffer, mad.byteOffset).getUint32(20)

export const attributeOf = (mad: Uint8Array): number => new DataView(mad.buffer, mad.byteOffset).getUint16(16)

/** The half of the transaction id that the kernel leaves alone. */
export const transactionOf = (mad: Uint8Array): number => new DataView(mad.buffer, mad.byteOffset).getUint32(12)

export const openPort = (filter?: typeof UmadPort.Filter.Encoded) =>
  Effect.flatMap(UmadLibrary.init(), (library) => UmadPort.open(library, filter))
