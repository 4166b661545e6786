/**
 * Conformance of memory that the other side of an rsocket writes to.
 *
 * @since 0.1.0
 */
import * as RSocket from "@effect-rdma/rdmacm/RSocket"
import * as RSocketMapping from "@effect-rdma/rdmacm/RSocketMapping"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertPath, assertReason, namesOf, recorded, timesCalled } from "../../internal/conformance.ts"
import { bytes, pattern, readExactly, rsocketSuite } from "../../internal/conformanceRSockets.ts"
import type * as RdmaCmLane from "../RdmaCmLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: RdmaCmLane.RdmaCmLane<Others>): void => {
  const { connected, it } = rsocketSuite(lane)
  const mapping = connected([{ _tag: "Mappings", value: 2 }])

  /** A message, and one back: whatever was sent before has arrived. */
  const exchange = Effect.fnUntraced(function*(from: RSocket.RSocket, to: RSocket.RSocket) {
    yield* RSocket.write(from, bytes("!"))
    yield* readExactly(to, 1)
  })

  it("rsocket mappings: the other side writes where it wants, and a message tells that it has", () =>
    Effect.gen(function*() {
      const { client, server } = yield* mapping
      const first = yield* RSocketMapping.make(server, { length: 100_000 })
      const second = yield* RSocketMapping.make(server, { length: 64, offset: 4096n })
      assert.deepStrictEqual(second.remote, { offset: 4096n, length: 64 })
      yield* exchange(server, client)
      yield* RSocketMapping.write(client, first.remote, pattern(90_000), { at: 1000 })
      yield* RSocketMapping.write(client, second.remote, bytes("hello"))
      yield* RSocketMapping.write(client, second.remote, bytes("!"), { at: 63 })
      yield* exchange(client, server)
      assert.deepStrictEqual(first.bytes.slice(1000, 91_000), pattern(90_000))
      assert.isTrue(first.bytes.subarray(0, 1000).every((byte) => byte === 0))
      assert.strictEqual(new TextDecoder().decode(second.bytes.subarray(0, 5)), "hello")
      assert.strictEqual(second.bytes[63], 33)
    }))

  it("rsocket mappings: more than the other side has places for: ENOMEM, and a place is free after a release", () =>
    Effect.gen(function*() {
      const { server } = yield* mapping
      const one = RSocketMapping.make(server, { length: 4096 })
      yield* one
      yield* Effect.scoped(Effect.andThen(
        one,
        Effect.map(Effect.flip(Effect.scoped(one)), (error) => assertReason(error, "riomap", "ENOMEM"))
      ))
      yield* one
    }))

  it("rsocket mappings: memory is unmapped before its rsocket is released", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(Effect.gen(function*() {
        const { server } = yield* mapping
        const { bytes } = yield* RSocketMapping.make(server, { length: 4096 })
        yield* Effect.addFinalizer(() => Effect.sync(() => assert.strictEqual(bytes.length, 4096)))
        return bytes
      })).pipe(Effect.map((bytes) => assert.strictEqual(bytes.length, 0)))
      const names = namesOf(yield* calls)
      assert.isBelow(names.indexOf("riounmap"), names.indexOf("rclose"))
    }))

  it("rsocket mappings: an offset where nothing is mapped: ENOENT", () =>
    Effect.gen(function*() {
      const { client } = yield* mapping
      const error = yield* Effect.flip(
        RSocketMapping.write(client, { offset: 77n, length: 8 }, bytes("nowhere"))
      )
      assertReason(error, "riowrite", "ENOENT")
    }))

  it("rsocket mappings: bytes that go over the end are refused before the call: EINVAL", () =>
    recorded(function*(calls) {
      const { client, server } = yield* mapping
      const { remote } = yield* RSocketMapping.make(server, { length: 16 })
      const tooMuch = RSocketMapping.write(client, remote, pattern(8), { at: 9 })
      assertReason(yield* Effect.flip(tooMuch), "riowrite", "EINVAL")
      assertPath(yield* Effect.flip(RSocketMapping.write(client, remote, bytes("?"), { at: -1 })), ["at"])
      assert.strictEqual(timesCalled(yield* calls, "riowrite"), 0)
    }))

  it("rsocket mappings: without a connection: ENOTCONN before the call", () =>
    recorded(function*(calls) {
      const socket = yield* RSocket.make()
      assertReason(
        yield* Effect.flip(Effect.scoped(RSocketMapping.make(socket, { length: 16 }))),
        "riomap",
        "ENOTCONN"
      )
      const write = RSocketMapping.write(socket, { offset: 0n, length: 8 }, bytes("?"))
      assertReason(yield* Effect.flip(write), "riowrite", "ENOTCONN")
      assert.strictEqual(timesCalled(yield* calls, "riomap"), 0)
    }))

  it("rsocket mappings: after its release a write breaks the connection of the writer: EIO", () =>
    Effect.gen(function*() {
      const { client, server } = yield* mapping
      const remote = yield* Effect.scoped(
        Effect.tap(
          Effect.map(RSocketMapping.make(server, { length: 4096 }), ({ remote }) => remote),
          () => exchange(server, client)
        )
      )
      yield* RSocketMapping.write(client, remote, bytes("too late"))
      assertReason(yield* Effect.flip(RSocket.read(client)), "rrecv", "EIO")
    }))
}
