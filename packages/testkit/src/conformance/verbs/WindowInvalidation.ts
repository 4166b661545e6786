/**
 * Conformance of what closes memory windows of type 2: the queue pair that bound them, and messages to it.
 *
 * @since 0.1.0
 */
import * as MemoryWindow from "@effect-rdma/verbs/MemoryWindow"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertQuiet, assertTaken, takeOne } from "../../internal/conformanceCompletions.ts"
import { dataPathSuite, type End, remoteAccess } from "../../internal/conformanceDataPath.ts"
import { bindOf, requestOf } from "../../internal/conformanceRequests.ts"
import { stateOf } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { connected, has, it, windowed } = dataPathSuite(lane)
  const { localInv: notInvalidated } = lane.statuses

  it("a bind and an invalidation that do not ask for it have no completion", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const window = yield* MemoryWindow.alloc(b.on, 2)
      yield* b.postSend({ ...bindOf(window, b, { access: remoteAccess }), flags: [] })
      yield* assertQuiet(b.sends, b.receives)
      yield* a.postSend(requestOf("rdmaRead", a.part(), { ...b.remote(), rkey: window.rkey }))
      yield* assertTaken(a.sends, ["1 success"])
      yield* b.postSend({ opcode: "localInv", invalidateRkey: window.rkey })
      yield* assertQuiet(b.sends, b.receives)
      yield* a.postSend(requestOf("rdmaRead", a.part(), { ...b.remote(), rkey: window.rkey }))
      yield* assertTaken(a.sends, ["1 remAccessErr"])
    }))

  it("an invalidated window is remAccessErr, and its region is as open as before", () =>
    Effect.gen(function*() {
      const { a, at, b, window } = yield* windowed()
      yield* b.postSend({ opcode: "localInv", wrId: 6n, flags: ["signaled"], invalidateRkey: window.rkey })
      yield* assertTaken(b.sends, ["6 success"])
      yield* a.postSend(requestOf("atomicFetchAndAdd", a.part(), b.remote(1024)))
      yield* assertTaken(a.sends, ["1 success"])
      yield* a.postSend(requestOf("atomicFetchAndAdd", a.part(), at(1024)))
      yield* assertTaken(a.sends, ["1 remAccessErr"])
    }))

  it("a window that was invalidated can be bound by another queue pair", () =>
    Effect.gen(function*() {
      const { b, window } = yield* windowed()
      yield* b.postSend({ opcode: "localInv", wrId: 6n, flags: ["signaled"], invalidateRkey: window.rkey })
      yield* assertTaken(b.sends, ["6 success"])
      const { a: from, b: other } = yield* connected.rc({ on: b.on })
      yield* other.postSend(bindOf(window, other, { access: remoteAccess }))
      yield* assertTaken(other.sends, ["5 success"])
      yield* from.postSend(requestOf("atomicFetchAndAdd", from.part(), { ...other.remote(), rkey: window.rkey }))
      yield* assertTaken(from.sends, ["1 success"])
    }))

  for (
    const [what, keyOf] of [
      ["no window", () => Effect.succeed(0x0012_3456)],
      ["a region", ({ region }: End) => Effect.succeed(region.rkey)],
      ["a window of type 1", ({ on }: End) => Effect.map(MemoryWindow.alloc(on, 1), ({ rkey }) => rkey)]
    ] as const
  ) {
    it(`the key of ${what} is not invalidated here: ${notInvalidated}, whether it asked for a completion or not`, () =>
      Effect.gen(function*() {
        for (const flags of [["signaled"], []] as const) {
          const { b } = yield* connected.rc()
          yield* b.postSend({ opcode: "localInv", wrId: 6n, flags, invalidateRkey: yield* keyOf(b) })
          yield* assertTaken(b.sends, [`6 ${notInvalidated}`])
        }
      }))

    it(`the key of ${what} is not invalidated by a message: its receive is remInvReqErr`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* connected.rc()
        yield* b.postRecv({ wrId: 2n, sgList: [b.part()] })
        yield* a.postSend({
          opcode: "sendWithInv",
          wrId: 1n,
          flags: ["signaled"],
          sgList: [a.part()],
          invalidateRkey: yield* keyOf(b)
        })
        yield* assertTaken(b.receives, ["2 remInvReqErr"])
        assert.strictEqual(yield* stateOf(b.queuePair), "err")
      }))
  }

  for (const length of [8, 0]) {
    it(`a message of ${length} bytes invalidates a window, and its receive tells which where the device can`, () =>
      Effect.gen(function*() {
        const { a, at, b, window } = yield* windowed()
        yield* b.postRecv({ wrId: 2n, sgList: [b.part(0, length)] })
        yield* a.postSend({
          opcode: "sendWithInv",
          wrId: 1n,
          flags: ["signaled"],
          sgList: [a.part(0, length)],
          invalidateRkey: window.rkey
        })
        yield* assertTaken(a.sends, ["1 success"])
        assert.deepInclude<object>(yield* takeOne(b.receives), {
          wrId: 2n,
          opcode: "recv",
          byteLen: length,
          immData: undefined,
          invalidatedRkey: has("tellsInvalidation") ? window.rkey : undefined
        })
        // It is free again.
        const old = at(1024)
        yield* b.postSend(bindOf(window, b, { access: remoteAccess }))
        yield* assertTaken(b.sends, ["5 success"])
        yield* a.postSend(requestOf("rdmaRead", a.part(), at(0)))
        yield* assertTaken(a.sends, ["1 success"])
        yield* a.postSend(requestOf("rdmaRead", a.part(), old))
        yield* assertTaken(a.sends, ["1 remAccessErr"])
      }))
  }
}
