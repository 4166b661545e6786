/**
 * Conformance of the keys and the bounds by which a peer names memory.
 *
 * @since 0.1.0
 */
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertBytes, pattern } from "../../internal/conformanceBytes.ts"
import { assertTaken } from "../../internal/conformanceCompletions.ts"
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
  const { connect, connected, it } = dataPathSuite(lane)

  for (const opcode of remoteOpcodes) {
    /** A request that must not find what it names. */
    const isRefused = (remoteFrom: (region: MemoryRegion.MemoryRegion) => ReturnType<typeof remoteOf>) =>
      Effect.gen(function*() {
        const { a, b } = yield* connected.rc()
        yield* a.postSend(requestOf(opcode, a.part(), remoteFrom(b.region)))
        yield* assertTaken(a.sends, ["1 remAccessErr"])
        assertBytes(b.region.bytes, new Uint8Array(4096))
      })

    it(`${opcode} by a key that is none is remAccessErr`, () =>
      isRefused((region) => ({ ...remoteOf(region), rkey: (region.rkey + 0x7f) >>> 0 })))

    it(`${opcode} that begins before the region is remAccessErr`, () => isRefused((region) => remoteOf(region, -8)))

    it(`${opcode} that ends behind the region is remAccessErr`, () =>
      isRefused((region) => remoteOf(region, opcode === "rdmaWrite" || opcode === "rdmaRead" ? 4089 : 4096)))

    it(`${opcode} at the address 0 is remAccessErr`, () => isRefused(({ rkey }) => ({ rkey, remoteAddr: 0n })))

    it(`${opcode} reaches the first and the last bytes of the region`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* connected.rc()
        for (const offset of [0, 4088]) {
          yield* a.postSend(requestOf(opcode, a.part(), b.remote(offset)))
          yield* assertTaken(a.sends, ["1 success"])
        }
      }))

    it(`${opcode} by the key of a region that is no more is remAccessErr`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* connected.rc()
        const bytes = b.region.bytes.subarray(64, 128)
        const register = MemoryRegion.register(b.on, bytes, { access: allAccess })
        const remote = yield* Effect.scoped(Effect.map(register, (region) => remoteOf(region)))
        // The same memory, under another key.
        yield* register
        yield* a.postSend(requestOf(opcode, a.part(), remote))
        yield* assertTaken(a.sends, ["1 remAccessErr"])
        assertBytes(bytes, new Uint8Array(64))
      }))
  }

  for (const [where, offset, length] of [["front", -1, 3000], ["rear", 2000, 3000]] as const) {
    it(`a write of many packets beyond the ${where} of the region is remAccessErr, and its first packets too`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* connected.rc()
        a.region.bytes.set(pattern(4096))
        yield* a.postSend({
          opcode: "rdmaWrite",
          wrId: 1n,
          flags: ["signaled"],
          sgList: [a.part(0, length)],
          remote: b.remote(offset)
        })
        yield* assertTaken(a.sends, ["1 remAccessErr"])
        assertBytes(b.region.bytes, new Uint8Array(4096))
      }))
  }

  it("the key of one region does not open another one", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const other = yield* MemoryRegion.alloc(b.on, { length: 4096, access: allAccess })
      yield* a.postSend({
        opcode: "rdmaWrite",
        wrId: 1n,
        flags: ["signaled"],
        sgList: [a.part()],
        remote: { rkey: b.region.rkey, remoteAddr: other.address }
      })
      yield* assertTaken(a.sends, ["1 remAccessErr"])
    }))

  it("a region of one byte has that byte", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc({ b: { length: 1 } })
      const write = (length: number) =>
        a.postSend({ opcode: "rdmaWrite", flags: ["signaled"], sgList: [a.part(0, length)], remote: b.remote() })
      a.region.bytes[0] = 7
      yield* write(1)
      yield* assertTaken(a.sends, ["0 success"])
      assert.deepStrictEqual(Array.from(b.region.bytes), [7])
      yield* write(2)
      yield* assertTaken(a.sends, ["0 remAccessErr"])
    }))

  it("a write with immediate data by a key that is none is remAccessErr", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      yield* b.postRecv({ sgList: [] })
      yield* a.postSend({
        opcode: "rdmaWriteWithImm",
        wrId: 1n,
        flags: ["signaled"],
        immData: 1,
        sgList: [a.part()],
        remote: { ...b.remote(), rkey: (b.region.rkey + 0x7f) >>> 0 }
      })
      yield* assertTaken(a.sends, ["1 remAccessErr"])
    }))

  it("a refused request that did not ask for a completion has one, and all that came after it are flushed", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const bad = { rkey: (b.region.rkey + 0x7f) >>> 0, remoteAddr: b.region.address }
      yield* a.postRecv({ wrId: 9n, sgList: [a.part()] })
      yield* a.postSend(
        requestOf("rdmaWrite", a.part(), bad, []),
        { opcode: "rdmaWrite", wrId: 2n, sgList: [a.part()], remote: b.remote() },
        { opcode: "send", wrId: 3n, flags: ["signaled"] }
      )
      yield* assertTaken(a.sends, ["1 remAccessErr", "2 wrFlushErr", "3 wrFlushErr"])
      yield* assertTaken(a.receives, ["9 wrFlushErr"])
      assertBytes(b.region.bytes, new Uint8Array(4096))
    }))

  it("what came before a refused request is done", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      a.region.bytes.set(pattern(8))
      yield* a.postSend(
        { opcode: "rdmaWrite", wrId: 0n, flags: ["signaled"], sgList: [a.part()], remote: b.remote(8) },
        requestOf("rdmaRead", a.part(8), b.remote(4096))
      )
      yield* assertTaken(a.sends, ["0 success", "1 remAccessErr"])
      assertBytes(b.region.bytes.subarray(8, 16), pattern(8))
    }))

  it("the connection works again after both ends went through RESET", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      yield* a.postSend(requestOf("rdmaRead", a.part(), b.remote(4096)))
      yield* assertTaken(a.sends, ["1 remAccessErr"])
      for (const { queuePair } of [a, b]) yield* QueuePair.toReset(queuePair)
      yield* connect(a, b)
      yield* a.postSend(requestOf("rdmaRead", a.part(), b.remote(0)))
      yield* assertTaken(a.sends, ["1 success"])
    }))
}
