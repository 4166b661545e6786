/**
 * Conformance of traffic with every kind of registered memory.
 *
 * @since 0.1.0
 */
import * as DeviceMemory from "@effect-rdma/verbs/DeviceMemory"
import * as DmabufDescriptor from "@effect-rdma/verbs/DmabufDescriptor"
import * as DmaBuffer from "@effect-rdma/verbs/DmaBuffer"
import * as DmaHandle from "@effect-rdma/verbs/DmaHandle"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import * as ParentDomain from "@effect-rdma/verbs/ParentDomain"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { assertBytes, pattern, wordAt } from "../../internal/conformanceBytes.ts"
import { assertTaken, takeOne } from "../../internal/conformanceCompletions.ts"
import { allAccess, dataPathSuite } from "../../internal/conformanceDataPath.ts"
import { remoteOf, remoteOpcodes, requestOf } from "../../internal/conformanceRequests.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { connected, domain, has, itWhere } = dataPathSuite(lane)
  const itRereg = itWhere(has("rereg"), "no region can be changed in place")

  const access = allAccess.filter((right) => right !== "mwBind")
  const kinds = {
    "memory that was registered where it lies": [
      "any",
      (on) => MemoryRegion.register(on, new Uint8Array(4096), { access })
    ],
    "memory under another address": [
      "any",
      (on) => MemoryRegion.alloc(on, { length: 4096, iova: 0x7000_0000n, access })
    ],
    "memory with relaxed ordering": [
      "any",
      (on) => MemoryRegion.alloc(on, { length: 4096, access: [...access, "relaxedOrdering"] })
    ],
    "pages that come on demand": [
      "onDemand",
      (on) => MemoryRegion.alloc(on, { length: 4096, access: [...access, "onDemand"] })
    ],
    "memory of the device": ["deviceMemory", (on) =>
      Effect.flatMap(
        DeviceMemory.alloc(on.context, { length: 8192 }),
        (memory) => MemoryRegion.registerDeviceMemory(on, memory, { offset: 1024, length: 4096, access })
      )],
    "a buffer of the library": ["newerMemory", (on) =>
      Effect.flatMap(
        DmaBuffer.alloc(on, 8192),
        (buffer) => MemoryRegion.registerBuffer(on, buffer, { offset: 4096, length: 4096, access })
      )],
    "memory with a DMA handle": ["newerMemory", (on) =>
      Effect.flatMap(
        DmaHandle.alloc(on.context, { cpuId: 0 }),
        (dmaHandle) => MemoryRegion.alloc(on, { length: 4096, dmaHandle, access })
      )],
    "exported memory of the device": ["newerMemory", (on) =>
      Effect.gen(function*() {
        const memory = yield* DeviceMemory.alloc(on.context, { length: 4096 })
        const { fd } = yield* DmabufDescriptor.fromDeviceMemory(memory)
        return yield* MemoryRegion.registerDmabuf(on, { fd, length: 4096, access })
      })]
  } satisfies {
    readonly [kind: string]: readonly [
      VerbsLane.Feature | "any",
      (on: ProtectionDomain.ProtectionDomain) => Effect.Effect<MemoryRegion.MemoryRegion, unknown, Scope.Scope>
    ]
  }

  for (const [kind, [feature, make]] of Object.entries(kinds)) {
    itWhere(feature === "any" || has(feature), `the device lacks ${feature}`)(
      `${kind} is written, read, added to and sent from and to`,
      () =>
        Effect.gen(function*() {
          const on = yield* domain
          const { a, b } = yield* connected.rc({ on })
          const region = yield* make(on)
          const message = pattern(1000)
          a.region.bytes.set(message)
          const flags = ["signaled"] as const
          // As the memory of the peer.
          yield* a.postSend(
            { opcode: "rdmaWrite", wrId: 1n, flags, sgList: [a.part(0, 1000)], remote: remoteOf(region, 8) },
            { opcode: "rdmaRead", wrId: 2n, flags, sgList: [a.part(1000, 1000)], remote: remoteOf(region, 8) },
            { opcode: "atomicFetchAndAdd", wrId: 3n, flags, add: 3n, sgList: [a.part(2000)], remote: remoteOf(region) },
            { opcode: "atomicFetchAndAdd", wrId: 4n, flags, add: 0n, sgList: [a.part(2008)], remote: remoteOf(region) }
          )
          yield* assertTaken(a.sends, [1, 2, 3, 4].map((wrId) => `${wrId} success`))
          assertBytes(a.region.bytes.subarray(1000, 2000), message)
          assert.deepStrictEqual([wordAt(a.region, 2000), wordAt(a.region, 2008)], [0n, 3n])
          // As one's own.
          yield* b.postRecv({ sgList: [{ region, offset: 2048, length: 1000 }] })
          yield* a.postSend({ opcode: "send", flags, sgList: [a.part(0, 1000)] })
          yield* assertTaken(a.sends, ["0 success"])
          assert.strictEqual((yield* takeOne(b.receives)).byteLen, 1000)
          yield* a.postRecv({ sgList: [a.part(3000, 1000)] })
          yield* b.postSend({ opcode: "send", flags, sgList: [{ region, offset: 2048, length: 1000 }] })
          yield* assertTaken(b.sends, ["0 success"])
          assert.strictEqual((yield* takeOne(a.receives)).byteLen, 1000)
          assertBytes(a.region.bytes.subarray(3000, 4000), message)
        })
    )
  }

  itWhere(has("nullRegions"), "there is no null region")(
    "the null region sends zeros, and drops what it receives",
    () =>
      Effect.gen(function*() {
        const { a, b } = yield* connected.rc()
        const { lkey } = yield* MemoryRegion.allocNull(a.on)
        b.region.bytes.fill(1)
        const piece = { addr: 0n, length: 100, lkey }
        yield* a.postSend(
          { opcode: "rdmaWrite", wrId: 1n, flags: ["signaled"], sgList: [piece], remote: b.remote(10) },
          { opcode: "rdmaRead", wrId: 2n, flags: ["signaled"], sgList: [piece], remote: b.remote(10) }
        )
        yield* assertTaken(a.sends, ["1 success", "2 success"])
        assertBytes(b.region.bytes.subarray(10, 110), new Uint8Array(100))
        assert.deepStrictEqual([b.region.bytes[9], b.region.bytes[110]], [1, 1])
      })
  )

  itWhere(has("threadDomains"), "the provider has no parent domains")(
    "a parent domain reaches the regions of its domain",
    () =>
      Effect.gen(function*() {
        const on = yield* domain
        const { a, b } = yield* connected.rc({ on: yield* ParentDomain.alloc(on), b: { on } })
        for (const opcode of remoteOpcodes) {
          yield* a.postSend(requestOf(opcode, a.part(), b.remote()))
          yield* assertTaken(a.sends, ["1 success"])
          yield* a.postSend(requestOf(opcode, b.part(), b.remote()))
          yield* assertTaken(a.sends, ["1 success"])
        }
      })
  )

  itRereg("a region gives the rights that it was changed to", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      yield* MemoryRegion.rereg(b.region, { access: ["localWrite", "remoteRead"] })
      yield* a.postSend(requestOf("rdmaRead", a.part(), b.remote()))
      yield* assertTaken(a.sends, ["1 success"])
      yield* a.postSend(requestOf("rdmaWrite", a.part(), b.remote()))
      yield* assertTaken(a.sends, ["1 remAccessErr"])
    }))

  itRereg("a region that changed its memory is read there", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const bytes = pattern(8192)
      yield* MemoryRegion.rereg(b.region, { bytes })
      yield* a.postSend({ opcode: "rdmaRead", flags: ["signaled"], sgList: [a.part(0, 100)], remote: b.remote(8092) })
      yield* assertTaken(a.sends, ["0 success"])
      assertBytes(a.region.bytes.subarray(0, 100), bytes.subarray(8092))
    }))

  itRereg(
    "a region that moved to another domain is not there for the queue pairs of the first",
    () =>
      Effect.gen(function*() {
        const { a, b } = yield* connected.rc()
        const other = yield* ProtectionDomain.alloc(b.on.context)
        yield* MemoryRegion.rereg(b.region, { domain: other })
        yield* a.postSend(requestOf("rdmaRead", a.part(), b.remote()))
        yield* assertTaken(a.sends, ["1 remAccessErr"])
      })
  )
}
