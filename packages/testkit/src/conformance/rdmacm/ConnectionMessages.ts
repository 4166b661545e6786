/**
 * Conformance of messages on connections: their order, their sizes, and back pressure.
 *
 * @since 0.1.0
 */
import * as Connection from "@effect-rdma/rdmacm/Connection"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { assertInterruptible, assertReason } from "../../internal/conformance.ts"
import { ask, bytes, connectionSuite, echo, text } from "../../internal/conformanceConnections.ts"
import type * as RdmaCmLane from "../RdmaCmLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: RdmaCmLane.RdmaCmLane<Others>): void => {
  const { connected, it } = connectionSuite(lane)

  it("two hundred messages come back in their order", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected()
      yield* Effect.forkScoped(echo(server), { startImmediately: true })
      for (let index = 0; index < 200; index++) {
        assert.strictEqual(text(yield* ask(client, bytes(`message ${index}`))), `message ${index}`)
      }
    }))

  it("many messages at once arrive in their order", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected()
      const numbers = Array.from({ length: 200 }, (_, index) => index)
      const [, received] = yield* Effect.all([
        Effect.forEach(numbers, (number) => Connection.send(client, Uint8Array.of(number)), {
          concurrency: "unbounded",
          discard: true
        }),
        Stream.runCollect(Stream.take(Connection.messages(server), numbers.length))
      ], { concurrency: "unbounded" })
      assert.deepStrictEqual(received.map(([number]) => number), numbers)
    }))

  it("both sides send at once", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected()
      const [[, atClient], [, atServer]] = yield* Effect.all([talk(client, "up"), talk(server, "down")], {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(atClient.map(text), Array.from({ length: 50 }, () => "down"))
      assert.deepStrictEqual(atServer.map(text), Array.from({ length: 50 }, () => "up"))
    }))

  for (const messageSize of [1, 4096, 100_000]) {
    it(`messages of up to ${messageSize} bytes arrive whole`, () =>
      Effect.gen(function*() {
        const { client, server } = yield* connected({ messageSize, sendDepth: 2, receiveDepth: 2 })
        assert.strictEqual(client.messageSize, messageSize)
        for (const length of new Set([0, 1, messageSize - 1, messageSize])) {
          const message = Uint8Array.from({ length }, (_, index) => index * 7)
          yield* Connection.send(client, message)
          assert.deepStrictEqual(yield* Connection.receive(server), message)
        }
      }))
  }

  it("a connection whose sides ask each other whether they are there goes on, also with one place to send from", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected({ keepAlive: "10 millis", sendDepth: 1 })
      yield* Effect.sleep("200 millis")
      yield* Effect.forkScoped(echo(server), { startImmediately: true })
      for (let index = 0; index < 20; index++) {
        assert.strictEqual(text(yield* ask(client, bytes(`message ${index}`))), `message ${index}`)
      }
    }))

  it("a message that is too long is EMSGSIZE, and the connection goes on", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected({ messageSize: 64 })
      const error = yield* Effect.flip(Connection.send(client, new Uint8Array(65)))
      assertReason(error, "ibv_post_send", "EMSGSIZE")
      yield* Connection.send(client, bytes("short"))
      assert.strictEqual(text(yield* Connection.receive(server)), "short")
    }))

  it("a message is a copy: the sender's bytes are its own again, and so are the receiver's", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected({ receiveDepth: 1 })
      const message = bytes("first")
      yield* Connection.send(client, message)
      message.fill(0)
      const first = yield* Connection.receive(server)
      yield* Connection.send(client, bytes("other"))
      yield* Connection.receive(server)
      assert.strictEqual(text(first), "first")
    }))

  // ---------------------------------------------------------------------------
  // Back pressure
  // ---------------------------------------------------------------------------

  it("who sends waits while the other side does not take what it has", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected({ sendDepth: 4, receiveDepth: 4 })
      let sent = 0
      const sending = yield* Effect.forkChild(
        Effect.forEach(
          Array.from({ length: 20 }, (_, index) => index),
          (index) => Effect.tap(Connection.send(client, Uint8Array.of(index)), () => Effect.sync(() => sent++)),
          { discard: true }
        ),
        { startImmediately: true }
      )
      yield* Effect.sleep("300 millis")
      assert.strictEqual(sent, 4)
      assert.isUndefined(sending.pollUnsafe())
      for (let index = 0; index < 20; index++) {
        assert.deepStrictEqual(yield* Connection.receive(server), Uint8Array.of(index))
      }
      yield* Fiber.join(sending)
      assert.strictEqual(sent, 20)
    }))

  it("who is interrupted before there is a place has sent nothing; after that the message goes out", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected({ sendDepth: 1, receiveDepth: 1 })
      yield* Connection.send(client, bytes("taken by the device"))
      const underWay = yield* Effect.forkChild(Connection.send(client, bytes("under way")), { startImmediately: true })
      const waiting = yield* Effect.forkChild(Connection.send(client, bytes("never")), { startImmediately: true })
      yield* Effect.yieldNow
      yield* Fiber.interrupt(waiting)
      yield* Fiber.interrupt(underWay)
      const last = yield* Effect.forkChild(Connection.send(client, bytes("last")), { startImmediately: true })
      assert.strictEqual(text(yield* Connection.receive(server)), "taken by the device")
      assert.strictEqual(text(yield* Connection.receive(server)), "under way")
      assert.strictEqual(text(yield* Connection.receive(server)), "last")
      yield* Fiber.join(last)
    }))

  it("who is interrupted while it waits for a message has taken none", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected()
      yield* assertInterruptible(Connection.receive(server))
      const waiting = yield* Effect.forkChild(Connection.receive(server), { startImmediately: true })
      yield* Connection.send(client, bytes("for somebody"))
      yield* Fiber.interrupt(waiting)
      const taken = waiting.pollUnsafe()
      const message = taken?._tag === "Success" ? taken.value : yield* Connection.receive(server)
      assert.strictEqual(text(message), "for somebody")
    }))

  it("several fibers share the messages: each goes to one of them", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected()
      const taking = yield* Effect.forkChild(
        Effect.all(Array.from({ length: 10 }, () => Connection.receive(server)), { concurrency: "unbounded" }),
        { startImmediately: true }
      )
      yield* Effect.forEach(Array.from({ length: 10 }), (_, index) => Connection.send(client, Uint8Array.of(index)))
      const taken = yield* Fiber.join(taking)
      assert.deepStrictEqual(
        taken.map(([number]) => number).toSorted(),
        Array.from({ length: 10 }, (_, index) => index)
      )
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** Says a word fifty times, and takes what the other side says. */
const talk = (connection: Connection.Connection, word: string) =>
  Effect.all([
    Effect.forEach(Array.from({ length: 50 }), () => Connection.send(connection, bytes(word)), { discard: true }),
    Stream.runCollect(Stream.take(Connection.messages(connection), 50))
  ], { concurrency: "unbounded" })
