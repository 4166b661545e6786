/**
 * Conformance of atomic operations on memory of a peer.
 *
 * @since 0.1.0
 */
import type * as WorkRequest from "@effect-rdma/verbs/WorkRequest"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertReason } from "../../internal/conformance.ts"
import { assertBytes, pattern, setWord, wordAt } from "../../internal/conformanceBytes.ts"
import { assertQuiet, assertTaken, takeOne } from "../../internal/conformanceCompletions.ts"
import { dataPathSuite, type End } from "../../internal/conformanceDataPath.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { connected, domain, has, it, itWhere } = dataPathSuite(lane)

  const itIsChecked = itWhere(has("checkedAtomics"), "the library posts any atomic operation")

  const highest = 0xffff_ffff_ffff_ffffn

  for (
    const [what, before, add, after] of [
      ["of nothing only brings what is there", 0x0123_4567_89ab_cdefn, 0n, 0x0123_4567_89ab_cdefn],
      ["of one", 41n, 1n, 42n],
      ["carries from the lower half into the upper one", 0xffff_ffffn, 1n, 0x1_0000_0000n],
      ["of a large number", 0x1111_1111_1111_1111n, 0x7fff_ffff_0000_0001n, 0x9111_1110_1111_1112n],
      ["begins at 0 again after the highest number", highest, 2n, 1n],
      ["of the highest number takes one away", 7n, highest, 6n]
    ] as const
  ) {
    it(`an addition ${what}`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* connected.rc()
        setWord(b.region, before, 16)
        yield* a.postSend(addTo(a, b, { offset: 16, add }))
        assert.deepInclude<object>(yield* takeOne(a.sends), { wrId: 1n, opcode: "fetchAdd", byteLen: 8 })
        assert.deepStrictEqual([wordAt(a.region), wordAt(b.region, 16)], [before, after])
        assert.deepStrictEqual([wordAt(b.region, 8), wordAt(b.region, 24)], [0n, 0n])
      }))
  }

  for (
    const [what, before, compare, after] of [
      ["puts the new number where the old one is as expected", 5n, 5n, 99n],
      ["leaves a number that is not as expected", 5n, 6n, 5n],
      ["compares the upper half too", 0x1_0000_0005n, 5n, 0x1_0000_0005n],
      ["takes numbers of 64 bits", highest, highest, 99n]
    ] as const
  ) {
    it(`a compare and swap ${what}, and brings the old one`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* connected.rc()
        setWord(b.region, before, 8)
        yield* a.postSend({
          opcode: "atomicCmpAndSwp",
          wrId: 1n,
          flags: ["signaled"],
          compare,
          swap: 99n,
          sgList: [a.part()],
          remote: b.remote(8)
        })
        assert.deepInclude<object>(yield* takeOne(a.sends), { wrId: 1n, opcode: "compSwap", byteLen: 8 })
        assert.deepStrictEqual([wordAt(a.region), wordAt(b.region, 8)], [before, after])
      }))
  }

  it("the old number fills pieces one after the other", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      b.region.bytes.set(pattern(8))
      yield* a.postSend({ ...addTo(a, b), sgList: [a.part(100, 3), a.part(0, 0), a.part(201, 5)] })
      yield* assertTaken(a.sends, ["1 success"])
      const { bytes } = a.region
      assertBytes(Buffer.concat([bytes.subarray(100, 103), bytes.subarray(201, 206)]), pattern(8))
    }))

  it("the old number may come to any offset", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      b.region.bytes.set(pattern(8))
      yield* a.postSend(addTo(a, b, { to: 33 }))
      yield* assertTaken(a.sends, ["1 success"])
      assertBytes(a.region.bytes.subarray(32, 42), Buffer.concat([Buffer.of(0), pattern(8), Buffer.of(0)]))
    }))

  it("additions of one batch follow each other", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      setWord(b.region, 100n)
      yield* a.postSend(
        ...Array.from({ length: 16 }, (_, index) => addTo(a, b, { wrId: BigInt(index), to: index * 8 }))
      )
      yield* assertTaken(a.sends, Array.from({ length: 16 }, (_, index) => `${index} success`))
      assert.deepStrictEqual(
        Array.from({ length: 16 }, (_, index) => wordAt(a.region, index * 8)),
        Array.from({ length: 16 }, (_, index) => BigInt(100 + index))
      )
      assert.strictEqual(wordAt(b.region), 116n)
    }))

  it("an addition that does not ask for it has no completion", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      yield* a.postSend({ ...addTo(a, b), flags: [] }, addTo(a, b, { wrId: 2n, to: 8 }))
      yield* assertTaken(a.sends, ["2 success"])
      assert.deepStrictEqual([wordAt(a.region), wordAt(a.region, 8), wordAt(b.region)], [0n, 1n, 2n])
      yield* assertQuiet(a.sends, a.receives)
    }))

  it("additions of several connections at once lose none, and each brings another number", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const counter = (yield* connected.rc({ on })).b
      const ends = yield* Effect.forEach([1, 2, 3], () => Effect.map(connected.rc({ on }), ({ a }) => a))
      const seen: Array<bigint> = []
      for (let round = 0; round < 5; round++) {
        for (const end of ends) {
          yield* end.postSend(
            ...[0, 8, 16, 24].map((offset) => addTo(end, counter, { to: offset }))
          )
        }
        for (const end of ends) {
          yield* assertTaken(end.sends, Array.from({ length: 4 }, () => "1 success"))
          seen.push(...[0, 8, 16, 24].map((offset) => wordAt(end.region, offset)))
        }
      }
      assert.strictEqual(wordAt(counter.region), 60n)
      assert.deepStrictEqual(
        seen.map(Number).toSorted((one, other) => one - other),
        Array.from({ length: 60 }, (_, n) => n)
      )
    }))

  it("of several that swap at once one wins", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const lock = (yield* connected.rc({ on })).b
      const ends = yield* Effect.forEach([1n, 2n, 3n], (owner) =>
        Effect.map(connected.rc({ on }), ({ a }) => ({ owner, end: a })))
      for (const { end, owner } of ends) {
        yield* end.postSend({
          opcode: "atomicCmpAndSwp",
          flags: ["signaled"],
          compare: 0n,
          swap: owner,
          sgList: [end.part()],
          remote: lock.remote()
        })
      }
      for (const { end } of ends) {
        yield* assertTaken(end.sends, ["0 success"])
      }
      const winners = ends.filter(({ end }) =>
        wordAt(end.region) === 0n
      ).map(({ owner }) => owner)
      assert.deepStrictEqual(winners, [wordAt(lock.region)])
    }))

  for (const offset of [1, 4, 7]) {
    itIsChecked(
      `an atomic operation ${offset} bytes from a multiple of eight is EINVAL, whatever its keys`,
      () =>
        Effect.gen(function*() {
          const { a, b } = yield* connected.rc()
          for (
            const wrong of [
              {},
              { remote: { ...b.remote(offset), rkey: 0 } },
              { sgList: [{ addr: a.region.address, length: 8, lkey: 0 }] }
            ]
          ) {
            const error = yield* Effect.flip(a.postSend({ ...addTo(a, b, { offset }), ...wrong }))
            assertReason(error, "ibv_post_send", "EINVAL")
          }
          const swap = { opcode: "atomicCmpAndSwp", compare: 0n, swap: 1n } as const
          assertReason(
            yield* Effect.flip(a.postSend({ ...swap, sgList: [a.part()], remote: b.remote(offset) })),
            "ibv_post_send",
            "EINVAL"
          )
          // The queue pair is as good as before.
          yield* a.postSend(addTo(a, b))
          yield* assertTaken(a.sends, ["1 success"])
        })
    )
  }

  itWhere(!has("checkedAtomics"), "the library refuses it")(
    "an atomic operation that is not at a multiple of eight is remInvReqErr",
    () =>
      Effect.gen(function*() {
        const { a, b } = yield* connected.rc()
        yield* a.postSend(addTo(a, b, { offset: 4 }))
        yield* assertTaken(a.sends, ["1 remInvReqErr"])
        assertBytes(b.region.bytes, new Uint8Array(4096))
      })
  )

  itIsChecked(
    "an atomic operation with less than eight bytes for the old number is EINVAL",
    () =>
      Effect.gen(function*() {
        const { a, b } = yield* connected.rc()
        for (const sgList of [[], [a.part(0, 4)], [a.part(0, 4), a.part(8, 3)]]) {
          assertReason(yield* Effect.flip(a.postSend({ ...addTo(a, b), sgList })), "ibv_post_send", "EINVAL")
        }
        assert.strictEqual(wordAt(b.region), 0n)
      })
  )

  it("numbers that no 64 bits hold are EINVAL before any call", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      for (const add of [-1n, highest + 1n]) {
        assertReason(yield* Effect.flip(a.postSend(addTo(a, b, { add }))), "ibv_post_send", "EINVAL")
      }
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** An addition, of one unless told otherwise, at an offset there, that brings the old number to one here. */
const addTo = (
  a: End,
  b: End,
  { add = 1n, offset = 0, to = 0, wrId = 1n }: {
    readonly add?: bigint
    readonly offset?: number
    readonly to?: number
    readonly wrId?: bigint
  } = {}
): WorkRequest.SendRequest & { readonly opcode: "atomicFetchAndAdd" } => ({
  opcode: "atomicFetchAndAdd",
  wrId,
  flags: ["signaled"],
  add,
  sgList: [a.part(to)],
  remote: b.remote(offset)
})
