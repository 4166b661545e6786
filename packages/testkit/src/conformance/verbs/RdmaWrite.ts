/**
 * Conformance of writes to memory of a peer.
 *
 * @since 0.1.0
 */
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertBytes, pattern } from "../../internal/conformanceBytes.ts"
import { assertQuiet, assertTaken, take, takeOne } from "../../internal/conformanceCompletions.ts"
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

  for (const qpType of ["rc", "uc"] as const) {
    const pair = connected[qpType]

    it(`${qpType}: a write changes the named bytes and no others, and the peer is told nothing`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* pair()
        a.region.bytes.set(pattern(4096))
        // What comes after it shows that it is there: an unreliable peer does not answer.
        yield* b.postRecv({ wrId: 1n, sgList: [] })
        yield* a.postSend(
          { opcode: "rdmaWrite", wrId: 2n, flags: ["signaled"], sgList: [a.part(5, 333)], remote: b.remote(1001) },
          { opcode: "send", wrId: 3n, flags: ["signaled"] }
        )
        assert.deepInclude<object>(yield* takeOne(a.sends), { wrId: 2n, opcode: "rdmaWrite" })
        yield* assertTaken(a.sends, ["3 success"])
        yield* assertTaken(b.receives, ["1 success"])
        const { bytes } = b.region
        assertBytes(bytes.subarray(1001, 1334), pattern(4096).subarray(5, 338))
        assertBytes(bytes.subarray(0, 1001), new Uint8Array(1001))
        assertBytes(bytes.subarray(1334), new Uint8Array(4096 - 1334))
        yield* assertQuiet(b.sends, b.receives)
      }))

    it(`${qpType}: a write with immediate data takes a receive, which tells its length, and leaves its bytes alone`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* pair()
        a.region.bytes.set(pattern(3000))
        yield* b.postRecv({ wrId: 1n, sgList: [b.part(4000, 96)] })
        yield* a.postSend({
          opcode: "rdmaWriteWithImm",
          wrId: 2n,
          flags: ["signaled"],
          immData: 0x0102_0304,
          sgList: [a.part(0, 3000)],
          remote: b.remote(0)
        })
        assert.deepInclude<object>(yield* takeOne(a.sends), { wrId: 2n, opcode: "rdmaWrite" })
        assert.deepInclude<object>(yield* takeOne(b.receives), {
          wrId: 1n,
          opcode: "recvRdmaWithImm",
          byteLen: 3000,
          immData: 0x0102_0304
        })
        assertBytes(b.region.bytes.subarray(0, 3000), pattern(3000))
        assertBytes(b.region.bytes.subarray(4000), new Uint8Array(96))
      }))

    it(`${qpType}: a write of no bytes with immediate data needs no key`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* pair()
        yield* b.postRecv({ wrId: 1n, sgList: [] })
        yield* a.postSend({
          opcode: "rdmaWriteWithImm",
          flags: ["signaled"],
          immData: 7,
          sgList: [],
          remote: { remoteAddr: 0n, rkey: 0 }
        })
        yield* take(a.sends, 1)
        assert.deepInclude<object>(yield* takeOne(b.receives), { wrId: 1n, byteLen: 0, immData: 7 })
      }))

    it(`${qpType}: inline data is written as it was when it was posted`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* pair()
        const inlineData = pattern(64)
        yield* b.postRecv({ sgList: [] })
        yield* a.postSend({
          opcode: "rdmaWriteWithImm",
          immData: 0,
          flags: ["signaled"],
          inlineData,
          remote: b.remote(1)
        })
        inlineData.fill(0)
        yield* take(a.sends, 1)
        yield* take(b.receives, 1)
        assertBytes(b.region.bytes.subarray(0, 66), Buffer.concat([Buffer.of(0), pattern(64), Buffer.of(0)]))
      }))

    it(`${qpType}: pieces are written one behind the other`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* pair()
        const source = pattern(4096)
        a.region.bytes.set(source)
        yield* b.postRecv({ sgList: [] })
        yield* a.postSend({
          opcode: "rdmaWriteWithImm",
          immData: 0,
          flags: ["signaled"],
          sgList: [a.part(3000, 1000), a.part(1, 1), a.part(0, 0), a.part(9, 1500)],
          remote: b.remote(77)
        })
        yield* take(a.sends, 1)
        assert.strictEqual((yield* takeOne(b.receives)).byteLen, 2501)
        assertBytes(
          b.region.bytes.subarray(77, 77 + 2501),
          Buffer.concat([source.subarray(3000, 4000), source.subarray(1, 2), source.subarray(9, 1509)])
        )
      }))

    it(`${qpType}: a write of many packets lands whole, from and at odd offsets`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* pair({ a: { length: 100_001 }, b: { length: 100_004 } })
        a.region.bytes.set(pattern(100_001))
        yield* b.postRecv({ sgList: [] })
        yield* a.postSend({
          opcode: "rdmaWriteWithImm",
          immData: 0,
          flags: ["signaled"],
          sgList: [a.part(1, 100_000)],
          remote: b.remote(3)
        })
        yield* take(a.sends, 1)
        assert.strictEqual((yield* takeOne(b.receives)).byteLen, 100_000)
        assertBytes(b.region.bytes.subarray(3, 100_003), pattern(100_001).subarray(1))
        assert.strictEqual(b.region.bytes[100_003], 0)
      }))
  }

  it("of writes to one place the last one stays", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      a.region.bytes.set(pattern(1024))
      yield* a.postSend(...Array.from({ length: 16 }, (_, index) => ({
        opcode: "rdmaWrite" as const,
        wrId: BigInt(index),
        flags: index === 15 ? ["signaled"] as const : [],
        sgList: [a.part(index * 64, 64)],
        remote: b.remote(128)
      })))
      yield* assertTaken(a.sends, ["15 success"])
      assertBytes(b.region.bytes.subarray(128, 192), pattern(1024).subarray(960))
      yield* assertQuiet(a.sends, a.receives)
    }))

  it("a message tells that the writes before it are there", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc({ a: { length: 20_000 }, b: { length: 20_000 } })
      for (let round = 0; round < 10; round++) {
        a.region.bytes.set(pattern(20_000, round))
        yield* b.postRecv({ sgList: [] })
        yield* a.postSend(
          { opcode: "rdmaWrite", sgList: [a.part(0, 20_000)], remote: b.remote(0) },
          { opcode: "send", flags: ["signaled"] }
        )
        yield* take(b.receives, 1)
        assertBytes(b.region.bytes, pattern(20_000, round))
        yield* take(a.sends, 1)
      }
    }))

  it("a write of no bytes needs no key, and changes nothing", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      yield* a.postSend(
        { opcode: "rdmaWrite", wrId: 1n, flags: ["signaled"], sgList: [], remote: { remoteAddr: 0n, rkey: 0 } },
        { opcode: "rdmaWrite", wrId: 2n, flags: ["signaled"], sgList: [a.part(0, 0)], remote: b.remote(-1) },
        { opcode: "rdmaWrite", wrId: 3n, flags: ["signaled"], sgList: [a.part(0, 0)], remote: b.remote(5000) }
      )
      yield* assertTaken(a.sends, ["1 success", "2 success", "3 success"])
      assertBytes(b.region.bytes, new Uint8Array(4096))
    }))

  it("a write that does not ask for it has no completion", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      a.region.bytes.set(pattern(8))
      yield* a.postSend(
        { opcode: "rdmaWrite", wrId: 1n, sgList: [a.part()], remote: b.remote(0) },
        { opcode: "rdmaWrite", wrId: 2n, flags: ["signaled"], sgList: [a.part()], remote: b.remote(8) }
      )
      yield* assertTaken(a.sends, ["2 success"])
      assertBytes(b.region.bytes.subarray(0, 16), Buffer.concat([pattern(8), pattern(8)]))
      yield* assertQuiet(a.sends, a.receives)
    }))

  it("one message writes from several regions, and each region is written by its own key", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const from = yield* Effect.forEach(
        [1, 2, 3],
        (seed) =>
          Effect.tap(
            MemoryRegion.alloc(a.on, { length: 100 }),
            ({ bytes }) => Effect.sync(() => bytes.set(pattern(100, seed)))
          )
      )
      const to = yield* Effect.forEach([1, 2], () => MemoryRegion.alloc(b.on, { length: 300, access: allAccess }))
      const sgList = from.map((region) => ({ region }))
      yield* a.postSend(...to.map((region, index) => ({
        opcode: "rdmaWrite" as const,
        wrId: BigInt(index),
        flags: ["signaled"] as const,
        sgList: index === 0 ? sgList : sgList.toReversed(),
        remote: remoteOf(region)
      })))
      yield* assertTaken(a.sends, ["0 success", "1 success"])
      const [one, two, three] = [pattern(100, 1), pattern(100, 2), pattern(100, 3)] as const
      assertBytes(to[0]!.bytes, Buffer.concat([one, two, three]))
      assertBytes(to[1]!.bytes, Buffer.concat([three, two, one]))
    }))

  it("memory of the program that was registered as it lay is written too", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      a.region.bytes.set(pattern(100))
      const bytes = new Uint8Array(1000)
      const region = yield* MemoryRegion.register(b.on, bytes.subarray(10, 990), { access: allAccess })
      yield* a.postSend({
        opcode: "rdmaWrite",
        flags: ["signaled"],
        sgList: [a.part(0, 100)],
        remote: remoteOf(region, 1)
      })
      yield* assertTaken(a.sends, ["0 success"])
      assertBytes(bytes.subarray(10, 112), Buffer.concat([Buffer.of(0), pattern(100), Buffer.of(0)]))
    }))
}
