/**
 * Conformance of the bytes of rsockets: streams, sinks, their ends, and a side that is slow.
 *
 * @since 0.1.0
 */
import * as RSocket from "@effect-rdma/rdmacm/RSocket"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { assertInterruptible, assertReason } from "../../internal/conformance.ts"
import { bytes, everything, pattern, readExactly, rsocketSuite } from "../../internal/conformanceRSockets.ts"
import type * as RdmaCmLane from "../RdmaCmLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: RdmaCmLane.RdmaCmLane<Others>): void => {
  const { connected, it, listening } = rsocketSuite(lane)

  it("rsocket streams: what is written is read, in both directions", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected()
      yield* RSocket.write(client, bytes("from the client"))
      yield* RSocket.write(server, bytes("from the server"))
      assert.strictEqual(new TextDecoder().decode(yield* readExactly(server, 15)), "from the client")
      assert.strictEqual(new TextDecoder().decode(yield* readExactly(client, 15)), "from the server")
    }))

  it("rsocket streams: nothing is there before something comes, and what does not fit is kept", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected()
      const reading = yield* Effect.forkChild(RSocket.read(server, { maxLength: 4 }), { startImmediately: true })
      yield* Effect.sleep("20 millis")
      assert.isUndefined(reading.pollUnsafe())
      yield* RSocket.write(client, bytes("abcdef"))
      assert.strictEqual(new TextDecoder().decode(yield* Fiber.join(reading)), "abcd")
      assert.strictEqual(new TextDecoder().decode(yield* RSocket.read(server)), "ef")
    }))

  it("rsocket streams: a megabyte through a sink and a stream, byte by byte the same", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected()
      const sent = pattern(1 << 20)
      const pieces = Array.from({ length: 64 }, (_, index) => sent.subarray(index << 14, (index + 1) << 14))
      const sending = Effect.andThen(
        Stream.run(Stream.fromIterable(pieces), RSocket.sink(client)),
        RSocket.shutdown(client, "send")
      )
      const [received] = yield* Effect.all([Stream.runCollect(RSocket.stream(server)), sending], {
        concurrency: "unbounded"
      })
      assert.isTrue(Buffer.concat(received).equals(sent))
    }))

  it("rsocket streams: one that does not read slows the writer down, who goes on when it does", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected()
      const sent = pattern(400_000)
      const writing = yield* Effect.forkChild(RSocket.write(client, sent), { startImmediately: true })
      yield* Effect.sleep("50 millis")
      assert.isUndefined(writing.pollUnsafe())
      assert.deepStrictEqual(yield* readExactly(server, sent.length), sent)
      yield* Fiber.join(writing)
    }))

  it("rsocket streams: bytes of several writers stay together", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected()
      const pieces = ["a", "b", "c", "d"].map((letter) => bytes(letter.repeat(50_000)))
      const [said] = yield* Effect.all([
        everything(server),
        Effect.andThen(
          Effect.forEach(pieces, (piece) => RSocket.write(client, piece), { concurrency: "unbounded" }),
          RSocket.shutdown(client, "send")
        )
      ], { concurrency: "unbounded" })
      assert.match(said, /^(?:a{50000}|b{50000}|c{50000}|d{50000}){4}$/)
    }))

  it("rsocket streams: waiting to read or to write can be interrupted, and loses nothing", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected()
      yield* assertInterruptible(RSocket.read(server))
      yield* RSocket.write(client, bytes("still here"))
      assert.strictEqual(new TextDecoder().decode(yield* readExactly(server, 10)), "still here")
      yield* assertInterruptible(RSocket.write(client, pattern(1_000_000)))
    }))

  // ---------------------------------------------------------------------------
  // Ends
  // ---------------------------------------------------------------------------

  it("rsocket streams: one direction can end alone", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected()
      yield* RSocket.write(client, bytes("question"))
      yield* RSocket.shutdown(client, "send")
      assert.strictEqual(yield* everything(server), "question")
      yield* RSocket.write(server, bytes("answer"))
      yield* RSocket.shutdown(server, "send")
      assert.strictEqual(yield* everything(client), "answer")
      assertReason(yield* Effect.flip(RSocket.write(client, bytes("?"))), "rsend", "EPIPE")
    }))

  it("rsocket streams: after the other side is released: the rest, the end, and ECONNRESET for a write", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const { address, listener } = yield* listening()
      const client = yield* Scope.provide(RSocket.make(), scope)
      const [server] = yield* Effect.all([RSocket.accept(listener), RSocket.connect(client, address)], {
        concurrency: "unbounded"
      })
      yield* RSocket.write(client, bytes("goodbye"))
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(yield* everything(server), "goodbye")
      assertReason(yield* Effect.flip(RSocket.write(server, bytes("?"))), "rsend", "ECONNRESET")
    }))

  it("rsocket streams: who waits for bytes is told of the end", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected()
      const reading = yield* Effect.forkChild(RSocket.read(server), { startImmediately: true })
      const own = yield* Effect.forkChild(RSocket.read(client), { startImmediately: true })
      yield* Effect.sleep("20 millis")
      yield* RSocket.shutdown(client, "both")
      assert.strictEqual((yield* Fiber.join(reading)).length, 0)
      assert.strictEqual((yield* Fiber.join(own)).length, 0)
    }))

  it("rsocket streams: releasing one ends whoever waits on it", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const { address, listener } = yield* listening()
      const client = yield* Scope.provide(RSocket.make(), scope)
      yield* Effect.all([RSocket.accept(listener), RSocket.connect(client, address)], { concurrency: "unbounded" })
      const reading = yield* Effect.forkChild(RSocket.read(client), { startImmediately: true })
      const writing = yield* Effect.forkChild(RSocket.write(client, pattern(1_000_000)), { startImmediately: true })
      yield* Effect.sleep("20 millis")
      yield* Scope.close(scope, Exit.void)
      assert.include(String(yield* Fiber.await(reading)), "UseAfterRelease")
      assert.include(String(yield* Fiber.await(writing)), "UseAfterRelease")
    }))
}
