/**
 * Conformance of what peers do through memory windows of type 1.
 *
 * @since 0.1.0
 */
import * as MemoryWindow from "@effect-rdma/verbs/MemoryWindow"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertBytes, wordAt } from "../../internal/conformanceBytes.ts"
import { assertQuiet, assertTaken, takeOne } from "../../internal/conformanceCompletions.ts"
import { allAccess, dataPathSuite, type End, remoteAccess } from "../../internal/conformanceDataPath.ts"
import { remoteOpcodes, requestOf, rightFor } from "../../internal/conformanceRequests.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { connected, has, it, itWhere, twoDomains } = dataPathSuite(lane)

  /** Two ends, and a window of `b` on bytes 1024 to 2048 of its region. */
  const opened = (access: Rights = remoteAccess, regionAccess = allAccess) =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc({ b: { access: regionAccess } })
      const window = yield* MemoryWindow.alloc(b.on, 1)
      yield* bound(window, b, { offset: 1024, length: 1024, access })
      return {
        a,
        b,
        window,
        at: (offset: number) => ({ rkey: window.rkey, remoteAddr: b.region.address + BigInt(offset) })
      }
    })

  for (const opcode of remoteOpcodes) {
    const right = rightFor[opcode]

    it(`${opcode} reaches the bytes of a window that grants ${right}, though their region grants peers nothing`, () =>
      Effect.gen(function*() {
        const { a, at } = yield* opened([right], ["localWrite", "mwBind"])
        for (const offset of [1024, 2040]) {
          yield* a.postSend(requestOf(opcode, a.part(), at(offset)))
          yield* assertTaken(a.sends, ["1 success"])
        }
      }))

    it(`${opcode} by a window without ${right} is remAccessErr, though their region grants it`, () =>
      Effect.gen(function*() {
        const { a, at, b } = yield* opened(remoteAccess.filter((one) => one !== right))
        yield* a.postSend(requestOf(opcode, a.part(), at(1024)))
        yield* assertTaken(a.sends, ["1 remAccessErr"])
        assertBytes(b.region.bytes, new Uint8Array(4096))
      }))

    it(`${opcode} by a window of another domain of the peer is remAccessErr`, () =>
      Effect.gen(function*() {
        const [on, other] = yield* twoDomains
        const { a } = yield* connected.rc({ on })
        const { b: owner } = yield* connected.rc({ b: { on: other } })
        const window = yield* MemoryWindow.alloc(other, 1)
        yield* bound(window, owner, { access: remoteAccess })
        yield* a.postSend(requestOf(opcode, a.part(), { ...owner.remote(), rkey: window.rkey }))
        yield* assertTaken(a.sends, ["1 remAccessErr"])
      }))
  }

  for (const [where, offset] of [["before", 1016], ["behind", 2048]] as const) {
    itWhere(has("windowBounds"), "the device looks at the bounds of the region alone")(
      `what lies ${where} a window is remAccessErr, though it is in their region`,
      () =>
        Effect.gen(function*() {
          const { a, at, b } = yield* opened()
          yield* a.postSend(requestOf("atomicFetchAndAdd", a.part(), at(offset)))
          yield* assertTaken(a.sends, ["1 remAccessErr"])
          assertBytes(b.region.bytes, new Uint8Array(4096))
        })
    )
  }

  for (const [where, offset] of [["before", -8], ["behind", 4096]] as const) {
    it(`what lies ${where} the region of a window is remAccessErr`, () =>
      Effect.gen(function*() {
        const { a, at } = yield* opened()
        yield* a.postSend(requestOf("atomicFetchAndAdd", a.part(), at(offset)))
        yield* assertTaken(a.sends, ["1 remAccessErr"])
      }))
  }

  it("a window of no use before its first bind is remAccessErr", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const { rkey } = yield* MemoryWindow.alloc(b.on, 1)
      yield* a.postSend(requestOf("rdmaRead", a.part(), { ...b.remote(), rkey }))
      yield* assertTaken(a.sends, ["1 remAccessErr"])
    }))

  it("a window that was unbound is remAccessErr", () =>
    Effect.gen(function*() {
      const { a, at, b, window } = yield* opened()
      yield* bound(window, b, { length: 0, access: [] })
      yield* a.postSend(requestOf("rdmaRead", a.part(), at(1024)))
      yield* assertTaken(a.sends, ["1 remAccessErr"])
    }))

  it("the key before a bind is remAccessErr after it", () =>
    Effect.gen(function*() {
      const { a, at, b, window } = yield* opened()
      const old = at(1024)
      yield* bound(window, b, { offset: 1024, length: 1024, access: remoteAccess })
      yield* a.postSend(requestOf("rdmaRead", a.part(), at(1024)))
      yield* assertTaken(a.sends, ["1 success"])
      yield* a.postSend(requestOf("rdmaRead", a.part(), old))
      yield* assertTaken(a.sends, ["1 remAccessErr"])
    }))

  it("a window that is gone is remAccessErr, and its region is as open as before", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const rkey = yield* Effect.scoped(Effect.gen(function*() {
        const window = yield* MemoryWindow.alloc(b.on, 1)
        yield* bound(window, b, { access: remoteAccess })
        return window.rkey
      }))
      yield* a.postSend(requestOf("atomicFetchAndAdd", a.part(), b.remote()))
      yield* assertTaken(a.sends, ["1 success"])
      yield* a.postSend(requestOf("atomicFetchAndAdd", a.part(), { ...b.remote(), rkey }))
      yield* assertTaken(a.sends, ["1 remAccessErr"])
      assert.strictEqual(wordAt(b.region), 1n)
    }))

  it("a window is for every queue pair of its domain, and outlives the one that bound it", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const window = yield* MemoryWindow.alloc(b.on, 1)
      yield* Effect.scoped(Effect.gen(function*() {
        const other = (yield* connected.rc({ on: b.on })).a
        yield* MemoryWindow.bind(window, other.queuePair, {
          region: b.region,
          access: remoteAccess,
          flags: ["signaled"]
        })
        yield* assertTaken(other.sends, ["0 success"])
        yield* a.postSend(requestOf("atomicFetchAndAdd", a.part(), { ...b.remote(), rkey: window.rkey }))
        yield* assertTaken(a.sends, ["1 success"])
      }))
      yield* a.postSend(requestOf("atomicFetchAndAdd", a.part(), { ...b.remote(), rkey: window.rkey }))
      yield* assertTaken(a.sends, ["1 success"])
      assert.strictEqual(wordAt(b.region), 2n)
    }))

  it("two windows on one region are two keys, and one is closed without the other", () =>
    Effect.gen(function*() {
      const { a, at, b, window } = yield* opened()
      const other = yield* MemoryWindow.alloc(b.on, 1)
      yield* bound(other, b, { access: remoteAccess })
      yield* bound(window, b, { length: 0, access: [] })
      yield* a.postSend(requestOf("rdmaRead", a.part(), { ...at(0), rkey: other.rkey }))
      yield* assertTaken(a.sends, ["1 success"])
    }))

  it("a bind that does not ask for it has no completion", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const window = yield* MemoryWindow.alloc(b.on, 1)
      yield* MemoryWindow.bind(window, b.queuePair, { region: b.region, access: ["remoteRead"] })
      yield* assertQuiet(b.sends, b.receives)
      yield* a.postSend(requestOf("rdmaRead", a.part(), { ...b.remote(), rkey: window.rkey }))
      yield* assertTaken(a.sends, ["1 success"])
    }))

  it("a bind completes as bindMw, before what was posted behind it", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const window = yield* MemoryWindow.alloc(b.on, 1)
      const bind = { region: b.region, access: ["remoteRead"], wrId: 5n, flags: ["signaled"] } as const
      yield* MemoryWindow.bind(window, b.queuePair, bind)
      yield* b.postSend({ ...requestOf("rdmaRead", b.part(), a.remote()), wrId: 6n })
      assert.deepInclude<object>(yield* takeOne(b.sends), { wrId: 5n, opcode: "bindMw" })
      yield* assertTaken(b.sends, ["6 success"])
    }))

  it("a bind in ERR is flushed", () =>
    Effect.gen(function*() {
      const { b } = yield* connected.rc()
      const window = yield* MemoryWindow.alloc(b.on, 1)
      yield* QueuePair.toErr(b.queuePair)
      yield* MemoryWindow.bind(window, b.queuePair, { region: b.region, access: ["remoteRead"], wrId: 5n })
      yield* assertTaken(b.sends, ["5 wrFlushErr"])
    }))

  it("every right that a region can give is given by a window on it", () =>
    Effect.gen(function*() {
      const rights: ReadonlyArray<Rights> = [
        [],
        ["remoteRead"],
        ["remoteWrite"],
        ["remoteAtomic"],
        ["remoteRead", "remoteWrite"],
        remoteAccess
      ]
      const { a, b } = yield* connected.rc({ b: { access: ["localWrite", "mwBind"] } })
      const window = yield* MemoryWindow.alloc(b.on, 1)
      for (const access of rights) {
        yield* bound(window, b, { access })
        for (const opcode of remoteOpcodes.filter((opcode) => access.includes(rightFor[opcode]))) {
          yield* a.postSend(requestOf(opcode, a.part(), { ...b.remote(), rkey: window.rkey }))
          yield* assertTaken(a.sends, ["1 success"])
        }
      }
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

type Rights = MemoryWindow.BindOptions["access"]

/** Binds a window to the region of an end, or unbinds it, and waits until it is. */
const bound = (
  window: MemoryWindow.MemoryWindow,
  { queuePair, region, sends }: End<"rc">,
  part: Omit<MemoryWindow.BindOptions, "region" | "flags">
) =>
  Effect.gen(function*() {
    yield* MemoryWindow.bind(window, queuePair, { region, flags: ["signaled"], ...part })
    yield* assertTaken(sends, ["0 success"])
  })
