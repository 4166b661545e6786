/**
 * Conformance of rsockets: binding, listening, connecting, accepting, options and their ends.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as RSocket from "@effect-rdma/rdmacm/RSocket"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as NetAddress from "effect/net/NetAddress"
import * as Scope from "effect/Scope"
import { assertInterruptible, assertPath, assertReason, recorded, timesCalled } from "../../internal/conformance.ts"
import { bytes, everything, rsocketSuite } from "../../internal/conformanceRSockets.ts"
import * as LeakCheck from "../../LeakCheck.ts"
import type * as RdmaCmLane from "../RdmaCmLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: RdmaCmLane.RdmaCmLane<Others>): void => {
  const { at, connected, it, listening } = rsocketSuite(lane)

  // ---------------------------------------------------------------------------
  // Connected
  // ---------------------------------------------------------------------------

  it("rsockets: each side knows where both are", () =>
    Effect.gen(function*() {
      const { address, client, server } = yield* connected()
      assert.strictEqual(format(yield* RSocket.peerAddress(client)), address)
      assert.strictEqual(format(yield* RSocket.localAddress(server)), address)
      assert.deepStrictEqual(yield* RSocket.peerAddress(server), yield* RSocket.localAddress(client))
    }))

  it("rsockets: an accepted one outlives its listener, and what was sent the one that sent it", () =>
    Effect.gen(function*() {
      const [listenerScope, clientScope] = [yield* Scope.make(), yield* Scope.make()]
      const { address, listener } = yield* Scope.provide(listening(), listenerScope)
      const client = yield* Scope.provide(RSocket.make(), clientScope)
      const [server] = yield* Effect.all([RSocket.accept(listener), RSocket.connect(client, address)], {
        concurrency: "unbounded"
      })
      yield* Scope.close(listenerScope, Exit.void)
      yield* RSocket.write(client, bytes("the last words"))
      yield* Scope.close(clientScope, Exit.void)
      assert.isTrue(Resource.isLive(server))
      assert.strictEqual(yield* everything(server), "the last words")
    }))

  it("rsockets: twenty-five connections through one listener, at once", () =>
    Effect.gen(function*() {
      const numbers = Array.from({ length: 25 }, (_, number) => number)
      const { address, listener } = yield* listening()
      const [servers] = yield* Effect.all([
        Effect.all(numbers.map(() => RSocket.accept(listener)), { concurrency: "unbounded" }),
        Effect.forEach(numbers, (number) =>
          Effect.gen(function*() {
            const client = yield* RSocket.make()
            yield* RSocket.connect(client, address)
            yield* RSocket.write(client, bytes(`client ${number}`))
            yield* RSocket.shutdown(client, "send")
          }), { concurrency: "unbounded" })
      ], { concurrency: "unbounded" })
      const said = yield* Effect.forEach(servers, everything, { concurrency: "unbounded" })
      assert.deepStrictEqual(new Set(said), new Set(numbers.map((number) => `client ${number}`)))
    }))

  it("rsockets: ten listeners at once, each with its connection", () =>
    Effect.gen(function*() {
      const pairs = yield* Effect.forEach(
        Array.from({ length: 10 }, (_, number) => number),
        (number) => Effect.map(connected(), (pair) => ({ ...pair, number })),
        { concurrency: "unbounded" }
      )
      yield* Effect.forEach(pairs, ({ client, number }) =>
        Effect.andThen(RSocket.write(client, bytes(`client ${number}`)), RSocket.shutdown(client, "both")), {
        concurrency: "unbounded"
      })
      for (const { number, server } of pairs) {
        assert.strictEqual(yield* everything(server), `client ${number}`)
      }
    }))

  it("rsockets: whatever order scopes end in, a connection leaves nothing", () =>
    Effect.gen(function*() {
      yield* Effect.scoped(connected())
      yield* LeakCheck.assertNothingAlive
      yield* Effect.flip(Effect.scoped(Effect.andThen(connected(), Effect.fail("in the middle"))))
      yield* LeakCheck.assertNothingAlive
    }))

  it("rsockets: connections that nobody accepted go with their listener", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(Effect.gen(function*() {
        const { address } = yield* listening()
        const client = yield* RSocket.make()
        yield* RSocket.connect(client, address)
      }))
      yield* LeakCheck.assertNothingAlive
      assert.strictEqual(timesCalled(yield* calls, "rclose"), 3)
    }))

  it("rsockets: waiting to accept or to connect can be interrupted, and loses no connection", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening()
      yield* assertInterruptible(RSocket.accept(listener))
      const unlucky = yield* RSocket.make()
      yield* assertInterruptible(RSocket.connect(unlucky, at(9)).pipe(Effect.catch(() => Effect.never)))
      const client = yield* RSocket.make()
      const [server] = yield* Effect.all([RSocket.accept(listener), RSocket.connect(client, address)], {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(yield* RSocket.peerAddress(server), yield* RSocket.localAddress(client))
    }))

  it("rsockets: releasing a listener ends whoever waits for a connection", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const { listener } = yield* Scope.provide(listening(), scope)
      const waiting = yield* Effect.forkChild(RSocket.accept(listener), { startImmediately: true })
      yield* Effect.sleep("20 millis")
      yield* Scope.close(scope, Exit.void)
      assert.include(String(yield* Fiber.await(waiting)), "UseAfterRelease")
    }))

  // ---------------------------------------------------------------------------
  // Refused
  // ---------------------------------------------------------------------------

  it("rsockets: a port that nobody listens on: ECONNREFUSED, and the rsocket is of no more use", () =>
    Effect.gen(function*() {
      const socket = yield* RSocket.make()
      assertReason(yield* Effect.flip(RSocket.connect(socket, at(9))), "rconnect", "ECONNREFUSED")
      const { address } = yield* listening()
      assertReason(yield* Effect.flip(RSocket.connect(socket, address)), "rconnect", "EINVAL")
      assertReason(yield* Effect.flip(RSocket.write(socket, bytes("?"))), "rsend", "ENOTCONN")
    }))

  it("rsockets: no route: ENETUNREACH", () =>
    Effect.gen(function*() {
      const socket = yield* RSocket.make()
      assertReason(yield* Effect.flip(RSocket.connect(socket, "192.0.2.1:7471")), "rconnect", "ENETUNREACH")
    }))

  it("rsockets: an address of somebody else: EADDRNOTAVAIL; that is taken: EADDRINUSE; a second one: EINVAL", () =>
    Effect.gen(function*() {
      const { address } = yield* listening()
      const other = yield* RSocket.make()
      const foreign = "10.9.9.9:0"
      assertReason(yield* Effect.flip(RSocket.bind(other, foreign)), "rbind", "EADDRNOTAVAIL")
      assertReason(yield* Effect.flip(RSocket.bind(other, address)), "rbind", "EADDRINUSE")
      // It was on the link of the one that is taken by then, and there is no device for this one.
      assertReason(yield* Effect.flip(RSocket.bind(other, foreign)), "rbind", "ENODEV")
      yield* RSocket.bind(other, at(0))
      assertReason(yield* Effect.flip(RSocket.bind(other, at(0))), "rbind", "EINVAL")
    }))

  it("rsockets: an address can be shared, but by none that listens: EADDRINUSE", () =>
    Effect.gen(function*() {
      const sharing = Effect.tap(
        RSocket.make(),
        (socket) => RSocket.setOption(socket, { _tag: "ReuseAddress", value: true })
      )
      const [first, second] = yield* Effect.all([sharing, sharing])
      yield* RSocket.bind(first, at(0))
      const local = yield* RSocket.localAddress(first)
      yield* RSocket.bind(second, at(local?.port ?? 0))
      assertReason(yield* Effect.flip(RSocket.listen(first)), "rlisten", "EADDRINUSE")
    }))

  it("rsockets: what would end the process is refused before the call", () =>
    recorded(function*(calls) {
      const socket = yield* RSocket.make()
      assertReason(yield* Effect.flip(RSocket.read(socket)), "rrecv", "ENOTCONN")
      assertReason(yield* Effect.flip(RSocket.write(socket, bytes("?"))), "rsend", "ENOTCONN")
      assertReason(yield* Effect.flip(RSocket.shutdown(socket, "both")), "rshutdown", "ENOTCONN")
      assertReason(yield* Effect.flip(Effect.scoped(RSocket.accept(socket))), "raccept", "EINVAL")
      const { client, listener } = yield* connected()
      assertReason(yield* Effect.flip(RSocket.connect(client, at(9))), "rconnect", "EISCONN")
      assertReason(yield* Effect.flip(RSocket.write(listener, bytes("?"))), "rsend", "ENOTCONN")
      assertReason(
        yield* Effect.flip(RSocket.setOption(listener, { _tag: "ReuseAddress", value: true })),
        "rsetsockopt",
        "EINVAL"
      )
      const made = yield* calls
      for (const call of ["rrecv", "rsend", "rshutdown", "rsetsockopt"] as const) {
        assert.strictEqual(timesCalled(made, call), 0, call)
      }
      assert.strictEqual(timesCalled(made, "rconnect"), 1)
    }))

  it("rsockets: bad input is a SchemaError before any call", () =>
    Effect.gen(function*() {
      const socket = yield* RSocket.make()
      assertPath(yield* Effect.flip(RSocket.bind(socket, "here")), [])
      assertPath(yield* Effect.flip(RSocket.listen(socket, { backlog: -1 })), ["backlog"])
      assertPath(yield* Effect.flip(RSocket.read(socket, { maxLength: 0 })), ["maxLength"])
      assertPath(yield* Effect.flip(RSocket.setOption(socket, { _tag: "Mappings", value: 40_000 })), ["value"])
    }))

  // ---------------------------------------------------------------------------
  // Options
  // ---------------------------------------------------------------------------

  it("rsockets: options that were set are told, buffers twice as large", () =>
    Effect.gen(function*() {
      const socket = yield* RSocket.make()
      const options = [
        [{ _tag: "ReuseAddress", value: true }, true],
        [{ _tag: "NoDelay", value: true }, true],
        [{ _tag: "KeepIdle", value: 77 }, 77],
        [{ _tag: "SendBuffer", value: 16384 }, 32768],
        [{ _tag: "ReceiveBuffer", value: 32768 }, 65536],
        [{ _tag: "SendQueue", value: 64 }, 64],
        [{ _tag: "ReceiveQueue", value: 96 }, 96],
        [{ _tag: "Inline", value: 32 }, 32],
        [{ _tag: "Mappings", value: 128 }, 128],
        [{ _tag: "Mappings", value: 1000 }, 768]
      ] as const
      for (const [option, value] of options) {
        yield* RSocket.setOption(socket, option)
        assert.strictEqual(yield* RSocket.getOption(socket, option._tag), value, option._tag)
      }
      assert.strictEqual(yield* RSocket.getOption(socket, "Error"), 0)
    }))

  it("rsockets: what nobody set, and what is too late: EINVAL", () =>
    Effect.gen(function*() {
      const { client } = yield* connected()
      assert.strictEqual(yield* RSocket.getOption(client, "SendBuffer"), 131072)
      assert.strictEqual(yield* RSocket.getOption(client, "ReceiveBuffer"), 131072)
      assert.strictEqual(yield* RSocket.getOption(client, "Mappings"), 0)
      assert.strictEqual(yield* RSocket.getOption(client, "KeepAlive"), false)
      assertReason(
        yield* Effect.flip(RSocket.setOption(client, { _tag: "Mappings", value: 1 })),
        "rsetsockopt",
        "EINVAL"
      )
      yield* RSocket.setOption(client, { _tag: "KeepAlive", value: true })
      assert.strictEqual(yield* RSocket.getOption(client, "KeepAlive"), true)
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const format = (found: NetAddress.InetAddress | undefined) => found && NetAddress.formatInet(found)
