/**
 * Conformance of memory windows of type 2, which a queue pair binds by its requests.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as MemoryWindow from "@effect-rdma/verbs/MemoryWindow"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertReason, namesOf, recorded } from "../../internal/conformance.ts"
import { assertBytes, wordAt } from "../../internal/conformanceBytes.ts"
import { assertTaken, takeOne } from "../../internal/conformanceCompletions.ts"
import { dataPathSuite, remoteAccess } from "../../internal/conformanceDataPath.ts"
import { bindOf, remoteOpcodes, requestOf, rightFor } from "../../internal/conformanceRequests.ts"
import { stateOf } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { connected, domain, has, it, itWhere, twoDomains, windowed } = dataPathSuite(lane)

  for (const opcode of remoteOpcodes) {
    const right = rightFor[opcode]

    it(`${opcode} reaches the bytes of a window of type 2 that grants ${right}`, () =>
      Effect.gen(function*() {
        const { a, at } = yield* windowed([right])
        for (const offset of [1024, 2040]) {
          yield* a.postSend(requestOf(opcode, a.part(), at(offset)))
          yield* assertTaken(a.sends, ["1 success"])
        }
      }))

    it(`${opcode} by a window of type 2 without ${right} is remAccessErr`, () =>
      Effect.gen(function*() {
        const { a, at, b } = yield* windowed(remoteAccess.filter((one) => one !== right))
        yield* a.postSend(requestOf(opcode, a.part(), at(1024)))
        yield* assertTaken(a.sends, ["1 remAccessErr"])
        assertBytes(b.region.bytes, new Uint8Array(4096))
      }))

    it(`${opcode} through another queue pair than the one that bound the window is remAccessErr`, () =>
      Effect.gen(function*() {
        const { at, b } = yield* windowed()
        const { a: other } = yield* connected.rc({ on: b.on })
        yield* other.postSend(requestOf(opcode, other.part(), at(1024)))
        yield* assertTaken(other.sends, ["1 remAccessErr"])
      }))
  }

  itWhere(has("windowBounds"), "the device looks at the bounds of the region alone")(
    "what lies beside a window of type 2 is remAccessErr, though it is in its region",
    () =>
      Effect.gen(function*() {
        const { a, at } = yield* windowed()
        yield* a.postSend(requestOf("rdmaRead", a.part(), at(2041)))
        yield* assertTaken(a.sends, ["1 remAccessErr"])
      })
  )

  it("a window can count from 0", () =>
    Effect.gen(function*() {
      const { a, b, window } = yield* windowed(["remoteAtomic", "zeroBased"])
      yield* a.postSend(requestOf("atomicFetchAndAdd", a.part(), { rkey: window.rkey, remoteAddr: 8n }))
      yield* assertTaken(a.sends, ["1 success"])
      assert.strictEqual(wordAt(b.region, 1032), 1n)
    }))

  it("the lowest byte of the key is the one that was asked for, at each bind another", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const window = yield* MemoryWindow.alloc(b.on, 2)
      const index = window.rkey >>> 8
      for (const low of [0xfe, 0xff, 0x00, 0x01]) {
        const rkey = ((index << 8) | low) >>> 0
        yield* b.postSend({ ...bindOf(window, b, { access: remoteAccess }, rkey) })
        yield* assertTaken(b.sends, ["5 success"])
        assert.strictEqual(window.rkey, rkey)
        yield* a.postSend(requestOf("atomicFetchAndAdd", a.part(), { ...b.remote(), rkey }))
        yield* assertTaken(a.sends, ["1 success"])
        yield* b.postSend({ opcode: "localInv", wrId: 6n, flags: ["signaled"], invalidateRkey: rkey })
        assert.deepInclude<object>(yield* takeOne(b.sends), { wrId: 6n, opcode: "localInv" })
      }
      assert.strictEqual(wordAt(b.region), 4n)
    }))

  it("two windows may have the same lowest byte", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      for (const offset of [0, 2048]) {
        const window = yield* MemoryWindow.alloc(b.on, 2)
        const rkey = ((window.rkey & ~0xff) | 0x42) >>> 0
        yield* b.postSend(bindOf(window, b, { offset, length: 2048, access: remoteAccess }, rkey))
        yield* assertTaken(b.sends, ["5 success"])
        yield* a.postSend(requestOf("atomicFetchAndAdd", a.part(), { ...b.remote(offset), rkey }))
        yield* assertTaken(a.sends, ["1 success"])
      }
      assert.deepStrictEqual([wordAt(b.region), wordAt(b.region, 2048)], [1n, 1n])
    }))

  it("a window that is bound is not bound again: mwBindErr, and the queue pair is in ERR", () =>
    Effect.gen(function*() {
      const { b, window } = yield* windowed()
      yield* b.postSend({ ...bindOf(window, b, { access: remoteAccess }), flags: [] }, {
        opcode: "localInv",
        wrId: 6n,
        invalidateRkey: window.rkey
      })
      yield* assertTaken(b.sends, ["5 mwBindErr", "6 wrFlushErr"])
      assert.strictEqual(yield* stateOf(b.queuePair), "err")
    }))

  it("a bind of no bytes is mwBindErr", () =>
    Effect.gen(function*() {
      const { b } = yield* connected.rc()
      const window = yield* MemoryWindow.alloc(b.on, 2)
      yield* b.postSend(bindOf(window, b, { length: 0, access: [] }))
      yield* assertTaken(b.sends, ["5 mwBindErr"])
    }))

  it("a window of another domain than the queue pair's is mwBindErr", () =>
    Effect.gen(function*() {
      const [on, other] = yield* twoDomains
      const { b } = yield* connected.rc({ on })
      const window = yield* MemoryWindow.alloc(other, 2)
      yield* b.postSend(bindOf(window, b, { access: remoteAccess }))
      yield* assertTaken(b.sends, ["5 mwBindErr"])
    }))

  it("a window of type 1 is not bound by a request: EINVAL before any call", () =>
    Effect.gen(function*() {
      const { b } = yield* connected.rc()
      const window = yield* MemoryWindow.alloc(b.on, 1)
      const error = yield* Effect.flip(b.postSend(bindOf(window, b, { access: remoteAccess })))
      assertReason(error, "ibv_post_send", "EINVAL")
    }))

  it("a window of type 2 goes before its queue pair and its region, whichever scope closes first", () =>
    recorded(function*(calls) {
      const on = yield* domain
      const window = yield* MemoryWindow.alloc(on, 2)
      yield* Effect.scoped(Effect.gen(function*() {
        const { b } = yield* connected.rc({ on })
        yield* b.postSend(bindOf(window, b, { access: remoteAccess }))
        yield* assertTaken(b.sends, ["5 success"])
      }))
      assert.isFalse(Resource.isLive(window))
      const names = namesOf(yield* calls)
      const at = names.indexOf("ibv_dealloc_mw")
      assert.isAbove(at, 0)
      // Those of the other end may go before.
      assert.isBelow(at, names.lastIndexOf("ibv_destroy_qp"))
      assert.isBelow(at, names.lastIndexOf("ibv_dereg_mr"))
    }))

  it("a window of type 2 that is gone is remAccessErr", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const rkey = yield* Effect.scoped(Effect.gen(function*() {
        const window = yield* MemoryWindow.alloc(b.on, 2)
        yield* b.postSend(bindOf(window, b, { access: remoteAccess }))
        yield* assertTaken(b.sends, ["5 success"])
        return window.rkey
      }))
      yield* a.postSend(requestOf("rdmaWrite", a.part(), { ...b.remote(), rkey }))
      yield* assertTaken(a.sends, ["1 remAccessErr"])
    }))
}
