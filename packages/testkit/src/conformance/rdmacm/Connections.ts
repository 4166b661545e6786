/**
 * Conformance of connecting, accepting and rejecting.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as CmId from "@effect-rdma/rdmacm/CmId"
import * as EventChannel from "@effect-rdma/rdmacm/EventChannel"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { assertPath, assertReason, recorded, timesCalled } from "../../internal/conformance.ts"
import { dial, queuePairFor, rdmaCmSuite, serve } from "../../internal/conformanceRdmaCm.ts"
import * as LeakCheck from "../../LeakCheck.ts"
import type * as RdmaCmLane from "../RdmaCmLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: RdmaCmLane.RdmaCmLane<Others>): void => {
  const { at, connected, idOnOwnChannel, it, listening, routed } = rdmaCmSuite(lane)

  // ---------------------------------------------------------------------------
  // Connected
  // ---------------------------------------------------------------------------

  it("both sides exchange private data and the numbers of their queue pairs", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening(yield* EventChannel.make())
      const id = yield* routed(yield* EventChannel.make(), address)
      const [server, client] = yield* Effect.all([
        serve(listener, { privateData: bytes("pong") }),
        dial(id, { privateData: bytes("ping") })
      ], { concurrency: "unbounded" })
      assert.strictEqual(client.answer.event, "connectResponse")
      assert(server.conn !== undefined && client.answer.conn !== undefined)
      assert.strictEqual(text(server.conn.privateData), "ping")
      assert.strictEqual(server.conn.qpNum, client.queuePair.qpNum)
      assert.strictEqual(text(client.answer.conn.privateData), "pong")
      assert.strictEqual(client.answer.conn.qpNum, server.queuePair.qpNum)
    }))

  it("the queue pairs of a connection are in RTS, and messages go both ways", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected
      for (const { queuePair } of [client, server]) {
        assert.strictEqual(yield* QueuePair.state(queuePair), "rts")
      }
      const message = (from: typeof client | typeof server, to: typeof client | typeof server, content: string) =>
        Effect.gen(function*() {
          const out = yield* MemoryRegion.alloc(from.domain, { length: 64 })
          const into = yield* MemoryRegion.alloc(to.domain, { length: 64, access: ["localWrite"] })
          out.bytes.set(bytes(content))
          const [received] = yield* Effect.all([
            QueuePair.recv(to.queuePair, { sgList: [{ region: into, length: 64 }] }),
            QueuePair.send(from.queuePair, { sgList: [{ region: out, length: content.length }] })
          ], { concurrency: "unbounded" })
          assert.strictEqual(received.byteLen, content.length)
          assert.strictEqual(text(into.bytes), content)
        })
      yield* message(client, server, "from the client")
      yield* message(server, client, "from the server")
    }))

  it("each side reads memory of the other one, which it may once there is an answer", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening(yield* EventChannel.make())
      const id = yield* routed(yield* EventChannel.make(), address)
      const { queuePair } = yield* queuePairFor(id)
      yield* CmId.moveQueuePair(id, queuePair, "init")
      assert.deepStrictEqual((yield* QueuePair.query(queuePair)).attributes.qpAccessFlags, [])
      const [server, client] = yield* Effect.all([serve(listener), dial(id)], { concurrency: "unbounded" })
      for (const [from, to] of [[server, client], [client, server]] as const) {
        const { attributes } = yield* QueuePair.query(to.queuePair)
        assert.includeMembers([...attributes.qpAccessFlags], ["remoteWrite", "remoteRead"])
        const source = yield* MemoryRegion.alloc(to.domain, { length: 64, access: ["remoteRead"] })
        const into = yield* MemoryRegion.alloc(from.domain, { length: 64, access: ["localWrite"] })
        source.bytes.set(bytes("to be read"))
        yield* QueuePair.rdmaRead(from.queuePair, {
          remote: { remoteAddr: source.address, rkey: source.rkey },
          sgList: [{ region: into }]
        })
        assert.strictEqual(text(into.bytes), "to be read")
      }
    }))

  it("an accepted connection survives its listener", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const { address, listener } = yield* Scope.provide(listening(yield* EventChannel.make()), scope)
      const id = yield* routed(yield* EventChannel.make(), address)
      const [server, client] = yield* Effect.all([serve(listener), dial(id)], { concurrency: "unbounded" })
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(Resource.isLive(server.id))
      yield* Effect.all([
        CmId.disconnect(client.id),
        Effect.andThen(CmId.awaitDisconnected(server.id), CmId.disconnect(server.id))
      ], { concurrency: "unbounded" })
    }))

  it("a listener and its clients may share one channel", () =>
    Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      const { address, listener } = yield* listening(channel)
      const id = yield* routed(channel, address)
      const [server, client] = yield* Effect.all([serve(listener), dial(id)], { concurrency: "unbounded" })
      assert.strictEqual(server.conn?.qpNum, client.queuePair.qpNum)
    }))

  it("fifty connections through one listener, at once", () =>
    Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      const clients = yield* EventChannel.make()
      const { address, listener } = yield* listening(channel)
      const both = yield* Effect.all([
        Effect.all(Array.from({ length: 50 }, () => serve(listener)), { concurrency: "unbounded" }),
        Effect.all(Array.from({ length: 50 }, () => Effect.flatMap(routed(clients, address), (id) => dial(id))), {
          concurrency: "unbounded"
        })
      ], { concurrency: "unbounded" })
      const [servers, dialled] = both.map((sides) => sides.map(({ queuePair }) => queuePair.qpNum))
      const seen = both[0].map(({ conn }) => conn?.qpNum)
      assert.strictEqual(new Set(servers).size, 50)
      assert.deepStrictEqual(new Set(seen), new Set(dialled))
    }))

  it("whatever order scopes end in, a connection leaves nothing", () =>
    Effect.gen(function*() {
      yield* Effect.scoped(connected)
      yield* LeakCheck.assertNothingAlive
      yield* Effect.flip(Effect.scoped(Effect.andThen(connected, Effect.fail("in the middle"))))
      yield* LeakCheck.assertNothingAlive
    }))

  // ---------------------------------------------------------------------------
  // Refused
  // ---------------------------------------------------------------------------

  it("a rejection tells its reason and its private data", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening(yield* EventChannel.make())
      const id = yield* routed(yield* EventChannel.make(), address)
      const [error] = yield* Effect.all([
        Effect.flip(CmId.connect(id, { qpNum: 1 })),
        Effect.scoped(Effect.flatMap(CmId.nextRequest(listener), ({ id }) => CmId.reject(id, bytes("full"))))
      ], { concurrency: "unbounded" })
      assert(error._tag === "ConnectionRejected", error.message)
      assert.deepInclude(error, { call: "rdma_connect", status: 28, reason: "consumerDefined" })
      assert.strictEqual(text(error.privateData), "full")
    }))

  it("a request whose id is released without an answer is a rejection", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening(yield* EventChannel.make())
      const id = yield* routed(yield* EventChannel.make(), address)
      const [error] = yield* Effect.all([
        Effect.flip(CmId.connect(id, { qpNum: 1 })),
        Effect.scoped(CmId.nextRequest(listener))
      ], { concurrency: "unbounded" })
      assert.strictEqual(error._tag, "ConnectionRejected", error.message)
    }))

  it("a second connection of one queue pair is a rejection: staleConnection", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening(yield* EventChannel.make())
      const channel = yield* EventChannel.make()
      const [first, second] = yield* Effect.all([routed(channel, address), routed(channel, address)])
      yield* Effect.forkScoped(CmId.connect(first, { qpNum: 0x2000 }), { startImmediately: true })
      yield* CmId.nextRequest(listener)
      const error = yield* Effect.flip(CmId.connect(second, { qpNum: 0x2000 }))
      assert(error._tag === "ConnectionRejected", error.message)
      assert.deepInclude(error, { status: 10, reason: "staleConnection" })
    }))

  it("a port that nobody listens on is a rejection: invalidServiceId", () =>
    Effect.gen(function*() {
      const id = yield* routed(yield* EventChannel.make(), at(9))
      const error = yield* Effect.flip(CmId.connect(id, { qpNum: 1 }))
      assert(error._tag === "ConnectionRejected", error.message)
      assert.deepInclude(error, { status: 8, reason: "invalidServiceId" })
    }))

  it("a listener of another port space does not answer", () =>
    Effect.gen(function*() {
      const { address } = yield* listening(yield* EventChannel.make(), "udp")
      const id = yield* routed(yield* EventChannel.make(), address)
      const error = yield* Effect.flip(CmId.connect(id, { qpNum: 1 }))
      assert(error._tag === "ConnectionRejected", error.message)
      assert.strictEqual(error.reason, "invalidServiceId")
    }))

  it("an accept whose client has gone is EINVAL", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening(yield* EventChannel.make())
      const channel = yield* EventChannel.make()
      const client = yield* Scope.make()
      const id = yield* Scope.provide(routed(channel, address), client)
      const connecting = yield* Effect.forkChild(CmId.connect(id, { qpNum: 1 }), { startImmediately: true })
      const request = yield* CmId.nextRequest(listener)
      yield* Fiber.interrupt(connecting)
      yield* Scope.close(client, Exit.void)
      yield* Effect.sleep("200 millis")
      assertReason(yield* Effect.flip(CmId.accept(request.id, { qpNum: 1 })), "rdma_accept", "EINVAL")
    }))

  it("connecting is interrupted at once, and the id can be released or reused for nothing else", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening(yield* EventChannel.make())
      const id = yield* routed(yield* EventChannel.make(), address)
      const connecting = yield* Effect.forkChild(CmId.connect(id, { qpNum: 1 }), { startImmediately: true })
      yield* CmId.nextRequest(listener)
      yield* Fiber.interrupt(connecting)
      const error = yield* Effect.flip(CmId.connect(id, { qpNum: 1 }))
      assertReason(error, "rdma_connect", "EINVAL")
    }))

  it("a second accept is EINVAL, the library is not called, and the connection goes on", () =>
    recorded(function*(calls) {
      const { address, listener } = yield* listening(yield* EventChannel.make())
      const id = yield* routed(yield* EventChannel.make(), address)
      const [server] = yield* Effect.all([serve(listener), dial(id)], { concurrency: "unbounded" })
      assertReason(yield* Effect.flip(CmId.accept(server.id, { qpNum: 2 })), "rdma_accept", "EINVAL")
      assert.strictEqual(timesCalled(yield* calls, "rdma_accept"), 1)
    }))

  it("a server that goes after its accept is a rejection for the client", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening(yield* EventChannel.make())
      const id = yield* routed(yield* EventChannel.make(), address)
      yield* Effect.scoped(Effect.gen(function*() {
        const connecting = yield* Effect.forkChild(CmId.connect(id, { qpNum: 1 }), { startImmediately: true })
        const request = yield* CmId.nextRequest(listener)
        yield* Effect.forkScoped(CmId.accept(request.id, { qpNum: 2 }), { startImmediately: true })
        assert.strictEqual((yield* Fiber.join(connecting)).event, "connectResponse")
      }))
      const { event, status } = yield* EventChannel.next(id.channel)
      assert.deepStrictEqual({ event, status }, { event: "rejected", status: 28 })
    }))

  it("a client that goes before it is established is a rejection for the server", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening(yield* EventChannel.make())
      const client = yield* Scope.make()
      const id = yield* Scope.provide(routed(yield* EventChannel.make(), address), client)
      const connecting = yield* Effect.forkChild(CmId.connect(id, { qpNum: 1 }), { startImmediately: true })
      const request = yield* CmId.nextRequest(listener)
      const accepting = yield* Effect.forkChild(Effect.flip(CmId.accept(request.id, { qpNum: 2 })), {
        startImmediately: true
      })
      yield* Fiber.join(connecting)
      yield* Scope.close(client, Exit.void)
      const error = yield* Fiber.join(accepting)
      assert(error._tag === "ConnectionRejected", error.message)
      assert.deepInclude(error, { call: "rdma_accept", status: 28 })
    }))

  it("accepting is interrupted at once, and the id can be released", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening(yield* EventChannel.make())
      const id = yield* routed(yield* EventChannel.make(), address)
      // The client never says that it is ready.
      const connecting = yield* Effect.forkChild(CmId.connect(id, { qpNum: 1 }), { startImmediately: true })
      const accepting = yield* Effect.forkChild(Effect.scoped(serve(listener)), { startImmediately: true })
      yield* Fiber.join(connecting)
      yield* Effect.sleep("20 millis")
      assert.isUndefined(accepting.pollUnsafe())
      yield* Fiber.interrupt(accepting)
    }))

  // ---------------------------------------------------------------------------
  // Before the call
  // ---------------------------------------------------------------------------

  it("an id without a device neither connects, accepts nor disconnects: EINVAL, and the library is not called", () =>
    recorded(function*(calls) {
      const id = yield* idOnOwnChannel
      const refused = [
        ["rdma_connect", yield* Effect.flip(CmId.connect(id))],
        ["rdma_accept", yield* Effect.flip(CmId.accept(id))],
        ["rdma_disconnect", yield* Effect.flip(CmId.disconnect(id))]
      ] as const
      for (const [call, error] of refused) {
        assertReason(error, call, "EINVAL")
        assert.strictEqual(timesCalled(yield* calls, call), 0)
      }
    }))

  it("private data that does not fit is EINVAL, and beyond a byte's length a SchemaError", () =>
    Effect.gen(function*() {
      const { address } = yield* listening(yield* EventChannel.make())
      const id = yield* routed(yield* EventChannel.make(), address)
      const error = yield* Effect.flip(CmId.connect(id, { qpNum: 1, privateData: new Uint8Array(57) }))
      assertReason(error, "rdma_connect", "EINVAL")
      assertPath(yield* Effect.flip(CmId.connect(id, { privateData: new Uint8Array(256) })), ["privateData"])
      assertPath(yield* Effect.flip(CmId.connect(id, { retryCount: 8 })), ["retryCount"])
    }))

  it("56 bytes of private data reach the listener, and 196 the client", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening(yield* EventChannel.make())
      const id = yield* routed(yield* EventChannel.make(), address)
      const [server, client] = yield* Effect.all([
        serve(listener, { privateData: new Uint8Array(196).fill(2) }),
        dial(id, { privateData: new Uint8Array(56).fill(1) })
      ], { concurrency: "unbounded" })
      assert.deepStrictEqual(server.conn?.privateData, new Uint8Array(56).fill(1))
      assert.deepStrictEqual(client.answer.conn?.privateData, new Uint8Array(196).fill(2))
    }))

  it("steps out of order are EINVAL", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening(yield* EventChannel.make())
      const id = yield* CmId.make(yield* EventChannel.make(), "tcp")
      yield* CmId.resolveAddress(id, { destination: address })
      const errors = [
        ["rdma_connect", yield* Effect.flip(CmId.connect(id, { qpNum: 1 }))],
        ["rdma_accept", yield* Effect.flip(CmId.accept(id, { qpNum: 1 }))],
        ["rdma_establish", yield* Effect.flip(CmId.establish(id))],
        ["rdma_reject", yield* Effect.flip(CmId.reject(yield* CmId.make(listener.channel, "tcp")))]
      ] as const
      for (const [call, error] of errors) {
        assertReason(error, call, "EINVAL")
      }
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const bytes = (text: string) => new TextEncoder().encode(text)

/** Private data comes padded with zeroes. */
const text = (padded: Uint8Array) => new TextDecoder().decode(padded).replace(/\0+$/, "")
