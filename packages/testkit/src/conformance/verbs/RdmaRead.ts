/**
 * Conformance of reads of memory of a peer.
 *
 * @since 0.1.0
 */
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertReason } from "../../internal/conformance.ts"
import { assertBytes, pattern, setWord, wordAt } from "../../internal/conformanceBytes.ts"
import { assertQuiet, assertTaken, takeOne } from "../../internal/conformanceCompletions.ts"
import { allAccess, dataPathSuite } from "../../internal/conformanceDataPath.ts"
import { remoteOf } from "../../internal/conformanceRequests.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { connected, it } = dataPathSuite(lane)

  it("a read brings the named bytes, tells their number, and the peer is told nothing", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      b.region.bytes.set(pattern(4096))
      yield* b.postRecv({ sgList: [] })
      yield* a.postSend({
        opcode: "rdmaRead",
        wrId: 1n,
        flags: ["signaled"],
        sgList: [a.part(7, 501)],
        remote: b.remote(999)
      })
      assert.deepInclude<object>(yield* takeOne(a.sends), { wrId: 1n, opcode: "rdmaRead", byteLen: 501 })
      assertBytes(a.region.bytes.subarray(7, 508), pattern(4096).subarray(999, 1500))
      assertBytes(a.region.bytes.subarray(508), new Uint8Array(4096 - 508))
      yield* assertQuiet(b.sends, b.receives)
    }))

  it("a read fills its pieces one after the other", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      b.region.bytes.set(pattern(4096))
      const sgList = [a.part(3000, 1000), a.part(0, 0), a.part(1, 1), a.part(9, 1500)]
      yield* a.postSend({ opcode: "rdmaRead", flags: ["signaled"], sgList, remote: b.remote(77) })
      assert.strictEqual((yield* takeOne(a.sends)).byteLen, 2501)
      const { bytes } = a.region
      assertBytes(
        Buffer.concat([bytes.subarray(3000, 4000), bytes.subarray(1, 2), bytes.subarray(9, 1509)]),
        pattern(4096).subarray(77, 77 + 2501)
      )
    }))

  it("a read of many packets arrives whole, from and at odd offsets", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc({ a: { length: 100_004 }, b: { length: 100_001 } })
      b.region.bytes.set(pattern(100_001))
      yield* a.postSend({ opcode: "rdmaRead", flags: ["signaled"], sgList: [a.part(3, 100_000)], remote: b.remote(1) })
      assert.strictEqual((yield* takeOne(a.sends)).byteLen, 100_000)
      assertBytes(a.region.bytes.subarray(3, 100_003), pattern(100_001).subarray(1))
      assert.strictEqual(a.region.bytes[100_003], 0)
    }))

  it("a read of no bytes needs no key, and brings none", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      b.region.bytes.set(pattern(4096))
      yield* a.postSend(
        { opcode: "rdmaRead", wrId: 1n, flags: ["signaled"], sgList: [], remote: { remoteAddr: 0n, rkey: 0 } },
        { opcode: "rdmaRead", wrId: 2n, flags: ["signaled"], sgList: [a.part(0, 0)], remote: b.remote(-1) },
        { opcode: "rdmaRead", wrId: 3n, flags: ["signaled"], sgList: [a.part(0, 0)], remote: b.remote(5000) }
      )
      yield* assertTaken(a.sends, ["1 success", "2 success", "3 success"])
      assertBytes(a.region.bytes, new Uint8Array(4096))
    }))

  for (const depth of [1, 4]) {
    it(`more reads than may be under way at a time (${depth}) are carried out one after the other`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* connected.rc({ path: { maxRdAtomic: depth, maxDestRdAtomic: depth } })
        b.region.bytes.set(pattern(4096))
        yield* a.postSend(...Array.from({ length: 16 }, (_, index) => ({
          opcode: "rdmaRead" as const,
          wrId: BigInt(index),
          flags: ["signaled"] as const,
          sgList: [a.part(4096 - 256 * (index + 1), 256)],
          remote: b.remote(256 * index)
        })))
        yield* assertTaken(a.sends, Array.from({ length: 16 }, (_, index) => `${index} success`))
        for (let index = 0; index < 16; index++) {
          assertBytes(
            a.region.bytes.subarray(4096 - 256 * (index + 1), 4096 - 256 * index),
            pattern(4096).subarray(256 * index, 256 * (index + 1))
          )
        }
      }))
  }

  it("a read that does not ask for it has no completion, and is there with that of a later one", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      b.region.bytes.set(pattern(64))
      yield* a.postSend(
        { opcode: "rdmaRead", wrId: 1n, sgList: [a.part(0, 32)], remote: b.remote(0) },
        { opcode: "rdmaRead", wrId: 2n, flags: ["signaled"], sgList: [a.part(32, 32)], remote: b.remote(32) }
      )
      yield* assertTaken(a.sends, ["2 success"])
      assertBytes(a.region.bytes.subarray(0, 64), pattern(64))
      yield* assertQuiet(a.sends, a.receives)
    }))

  it("a read sees what a write before it wrote", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      a.region.bytes.set(pattern(1000))
      yield* a.postSend(
        { opcode: "rdmaWrite", sgList: [a.part(0, 1000)], remote: b.remote(500) },
        { opcode: "rdmaRead", wrId: 2n, flags: ["signaled"], sgList: [a.part(2000, 1000)], remote: b.remote(500) }
      )
      yield* assertTaken(a.sends, ["2 success"])
      assertBytes(a.region.bytes.subarray(2000, 3000), pattern(1000))
    }))

  it("a request with a fence goes out when the reads before it have arrived", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc({ a: { length: 60_000 }, b: { length: 60_000 } })
      b.region.bytes.set(pattern(20_000))
      yield* a.postSend(
        { opcode: "rdmaRead", wrId: 1n, sgList: [a.part(0, 20_000)], remote: b.remote(0) },
        {
          opcode: "rdmaWrite",
          wrId: 2n,
          flags: ["signaled", "fence"],
          sgList: [a.part(0, 20_000)],
          remote: b.remote(30_000)
        }
      )
      yield* assertTaken(a.sends, ["2 success"])
      assertBytes(b.region.bytes.subarray(30_000, 50_000), pattern(20_000))
    }))

  it("addresses that were read lead on: a list of memory of the peer", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      // Each word is the address of the next one; the last one is 0.
      const places = [0, 4000, 8, 2048, 512]
      places.forEach((place, index) => {
        const next = places[index + 1]
        setWord(b.region, next === undefined ? 0n : b.remote(next).remoteAddr, place)
      })
      let { remoteAddr } = b.remote(0)
      const seen: Array<number> = []
      while (remoteAddr !== 0n) {
        seen.push(Number(remoteAddr - b.remote(0).remoteAddr))
        yield* a.postSend({
          opcode: "rdmaRead",
          flags: ["signaled"],
          sgList: [a.part()],
          remote: { ...b.remote(), remoteAddr }
        })
        yield* assertTaken(a.sends, ["0 success"])
        remoteAddr = wordAt(a.region)
      }
      assert.deepStrictEqual(seen, places)
    }))

  it("one read fills pieces of several regions", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      b.region.bytes.set(pattern(300))
      const to = yield* Effect.forEach([1, 2, 3], () => MemoryRegion.alloc(a.on, { length: 100 }))
      yield* a.postSend({
        opcode: "rdmaRead",
        flags: ["signaled"],
        sgList: to.map((region) => ({ region })),
        remote: b.remote(0)
      })
      yield* assertTaken(a.sends, ["0 success"])
      assertBytes(Buffer.concat(to.map(({ bytes }) => bytes)), pattern(300))
    }))

  it("regions on the same memory are read by the key of each", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      b.region.bytes.set(pattern(4096))
      const other = yield* MemoryRegion.register(b.on, b.region.bytes.subarray(1000), { access: allAccess })
      yield* a.postSend(
        { opcode: "rdmaRead", wrId: 1n, flags: ["signaled"], sgList: [a.part(0, 8)], remote: remoteOf(other) },
        { opcode: "rdmaRead", wrId: 2n, flags: ["signaled"], sgList: [a.part(8, 8)], remote: b.remote(1000) }
      )
      yield* assertTaken(a.sends, ["1 success", "2 success"])
      assertBytes(a.region.bytes.subarray(0, 8), pattern(4096).subarray(1000, 1008))
      assertBytes(a.region.bytes.subarray(8, 16), pattern(4096).subarray(1000, 1008))
    }))

  it("an unreliable queue pair reads nothing and has no atomics: EINVAL before any call", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.uc()
      const to = { sgList: [a.part()], remote: b.remote() }
      for (
        const request of [
          { opcode: "rdmaRead", ...to },
          { opcode: "atomicFetchAndAdd", add: 1n, ...to },
          { opcode: "atomicCmpAndSwp", compare: 0n, swap: 1n, ...to }
        ] as const
      ) assertReason(yield* Effect.flip(a.postSend(request)), "ibv_post_send", "EINVAL")
    }))

  it("operations of every kind and size keep their order in one batch", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc({ a: { length: 16_384 }, b: { length: 16_384 } })
      a.region.bytes.set(pattern(16_384))
      setWord(b.region, 40n, 8192)
      yield* b.postRecv({ wrId: 1n, sgList: [b.part(12_288, 4096)] }, { wrId: 2n, sgList: [] })
      const flags = ["signaled"] as const
      yield* a.postSend(
        { opcode: "rdmaWrite", wrId: 1n, flags, sgList: [a.part(0, 3000)], remote: b.remote(0) },
        { opcode: "send", wrId: 2n, flags, sgList: [a.part(1, 1)] },
        { opcode: "atomicFetchAndAdd", wrId: 3n, flags, add: 2n, sgList: [a.part(16_000)], remote: b.remote(8192) },
        { opcode: "rdmaRead", wrId: 4n, flags, sgList: [a.part(8192, 3000)], remote: b.remote(0) },
        { opcode: "rdmaWriteWithImm", wrId: 5n, flags, immData: 5, inlineData: pattern(9), remote: b.remote(4096) },
        {
          opcode: "atomicCmpAndSwp",
          wrId: 6n,
          flags,
          compare: 42n,
          swap: 43n,
          sgList: [a.part(16_008)],
          remote: b.remote(8192)
        }
      )
      yield* assertTaken(a.sends, [1, 2, 3, 4, 5, 6].map((wrId) => `${wrId} success`))
      yield* assertTaken(b.receives, ["1 success", "2 success"])
      assertBytes(a.region.bytes.subarray(8192, 11_192), pattern(16_384).subarray(0, 3000))
      assert.deepStrictEqual(
        [wordAt(a.region, 16_000), wordAt(a.region, 16_008), wordAt(b.region, 8192)],
        [40n, 42n, 43n]
      )
      assertBytes(b.region.bytes.subarray(4096, 4105), pattern(9))
    }))
}
