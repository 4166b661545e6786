/**
 * Conformance of datagram sockets.
 *
 * @since 0.1.0
 */
import * as CmAddress from "@effect-rdma/rdmacm/CmAddress"
import * as DatagramSocket from "@effect-rdma/rdmacm/DatagramSocket"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import {
  assertInterruptible,
  assertPath,
  assertReason,
  recorded,
  timesCalled,
  usesDeadHandle
} from "../../internal/conformance.ts"
import { bytes, interruptedAtEachCall, text } from "../../internal/conformanceConnections.ts"
import { rdmaCmSuite } from "../../internal/conformanceRdmaCm.ts"
import * as LeakCheck from "../../LeakCheck.ts"
import type * as RdmaCmLane from "../RdmaCmLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: RdmaCmLane.RdmaCmLane<Others>): void => {
  const { at, it } = rdmaCmSuite(lane)

  /** A socket that can be found, and another one that has found it. */
  const talking = Effect.gen(function*() {
    const server = yield* DatagramSocket.listen({ address: at(0), privateData: bytes("welcome") })
    const address = CmAddress.format(server.localAddress)
    const client = yield* DatagramSocket.towards({ address })
    const peer = yield* DatagramSocket.lookup(client, { address, privateData: bytes("it is me") })
    return { server, client, peer, address }
  })

  it("datagrams go both ways: to who was looked up, and back to the sender", () =>
    Effect.gen(function*() {
      const { client, peer, server } = yield* talking
      assert.strictEqual(text(peer.privateData), "welcome")
      assert.deepInclude({ device: client.device, portNum: client.portNum }, {
        device: lane.device,
        portNum: lane.port
      })
      for (let index = 0; index < 20; index++) {
        yield* DatagramSocket.send(client, peer, bytes(`question ${index}`))
        const question = yield* DatagramSocket.receive(server)
        assert.strictEqual(text(question.bytes), `question ${index}`)
        assert.strictEqual(question.qpNum, client.queuePair.qpNum)
        yield* Effect.scoped(Effect.gen(function*() {
          const sender = yield* DatagramSocket.senderOf(server, question)
          yield* DatagramSocket.send(server, sender, bytes(`answer ${index}`))
        }))
        assert.strictEqual(text((yield* DatagramSocket.receive(client)).bytes), `answer ${index}`)
      }
    }))

  it("datagrams of every length up to the MTU arrive whole, and a longer one is EMSGSIZE", () =>
    Effect.gen(function*() {
      const { client, peer, server } = yield* talking
      for (const length of [0, 1, client.maxLength - 1, client.maxLength]) {
        const datagram = Uint8Array.from({ length }, (_, index) => index * 3)
        yield* DatagramSocket.send(client, peer, datagram)
        assert.deepStrictEqual((yield* DatagramSocket.receive(server)).bytes, datagram)
      }
      const error = yield* Effect.flip(DatagramSocket.send(client, peer, new Uint8Array(client.maxLength + 1)))
      assertReason(error, "ibv_post_send", "EMSGSIZE")
    }))

  it("a socket that nobody listens on is PeerUnreachable of status 1, as often as it is tried", () =>
    recorded(function*(calls) {
      const client = yield* DatagramSocket.towards({ address: at(9) })
      const error = yield* Effect.flip(DatagramSocket.lookup(client, { address: at(9), retry: Schedule.recurs(2) }))
      assert(error._tag === "PeerUnreachable", error.message)
      assert.strictEqual(error.status, 1)
      assert.strictEqual(timesCalled(yield* calls, "rdma_connect"), 3)
    }))

  it("an address that nobody answers for is given up when the time is over", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(
        DatagramSocket.towards({ address: `${lane.silentAddress}:1`, timeout: "100 millis" })
      )
      assert.strictEqual(error._tag, "ConnectionTimedOut", error.message)
      yield* LeakCheck.assertNothingAlive
    }))

  it("a second socket on one port is EADDRINUSE, one on every address EINVAL", () =>
    Effect.gen(function*() {
      const { address } = yield* talking
      assertReason(yield* Effect.flip(DatagramSocket.listen({ address })), "rdma_bind_addr", "EADDRINUSE")
      assertReason(yield* Effect.flip(DatagramSocket.listen({ address: "0.0.0.0:0" })), "rdma_cm_id.verbs", "EINVAL")
      assertPath(yield* Effect.flip(DatagramSocket.listen({ address: "?" })), ["address"])
    }))

  it("many find one socket at once", () =>
    Effect.gen(function*() {
      const { address, server } = yield* talking
      const one = Effect.scoped(Effect.gen(function*() {
        const client = yield* DatagramSocket.towards({ address })
        const peer = yield* DatagramSocket.lookup(client, { address })
        yield* DatagramSocket.send(client, peer, bytes("hello"))
        return client.queuePair.qpNum
      }))
      const senders = yield* Effect.all(Array.from({ length: 10 }, () => one), { concurrency: "unbounded" })
      const received = yield* Effect.forEach(senders, () => DatagramSocket.receive(server))
      assert.deepStrictEqual(new Set(received.map(({ qpNum }) => qpNum)), new Set(senders))
    }))

  it("waiting for a datagram is interrupted at once, and ends with the socket", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const socket = yield* Scope.provide(DatagramSocket.listen({ address: at(0) }), scope)
      yield* assertInterruptible(DatagramSocket.receive(socket))
      const waiting = yield* Effect.forkChild(Effect.flip(DatagramSocket.receive(socket)), { startImmediately: true })
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* Fiber.join(waiting))._tag, "ConnectionClosed")
      yield* usesDeadHandle(DatagramSocket.receive(socket))
    }))

  it("interrupted at any step, sockets leave nothing", () =>
    interruptedAtEachCall(
      10_000,
      Effect.gen(function*() {
        const { client, peer, server } = yield* talking
        yield* DatagramSocket.send(client, peer, bytes("hello"))
        yield* DatagramSocket.receive(server)
      })
    ), { timeout: 300_000 })
}
