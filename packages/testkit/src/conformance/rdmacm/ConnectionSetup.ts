/**
 * Conformance of setting connections up: what each side learns, and how it fails, is tried again, and is given up.
 *
 * @since 0.1.0
 */
import * as CmAddress from "@effect-rdma/rdmacm/CmAddress"
import * as Connection from "@effect-rdma/rdmacm/Connection"
import * as Listener from "@effect-rdma/rdmacm/Listener"
import * as RdmaDevices from "@effect-rdma/rdmacm/RdmaDevices"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import { assertPath, assertReason, recorded, timesCalled } from "../../internal/conformance.ts"
import {
  ask,
  bytes,
  connectionSuite,
  echo,
  interruptedAtEachCall,
  nextIncoming,
  text
} from "../../internal/conformanceConnections.ts"
import * as LeakCheck from "../../LeakCheck.ts"
import type * as RdmaCmLane from "../RdmaCmLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: RdmaCmLane.RdmaCmLane<Others>): void => {
  const { connected, echoing, it, listening } = connectionSuite(lane)
  const nowhere = `${lane.ownAddress}:9`

  it("both sides know the device, the port and each other's address", () =>
    Effect.gen(function*() {
      const { address, client, server } = yield* connected()
      for (const side of [client, server]) {
        assert.deepInclude({ device: side.device, portNum: side.portNum }, { device: lane.device, portNum: lane.port })
      }
      assert.strictEqual(CmAddress.format(client.peerAddress), address)
      assert.strictEqual(CmAddress.format(server.localAddress), address)
      assert.strictEqual(CmAddress.format(server.peerAddress), CmAddress.format(client.localAddress))
    }))

  it("private data arrives as it was given, zeroes at its end included", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening
      const [offer, answer] = [Uint8Array.of(1, 2, 0, 0), Uint8Array.from({ length: 195 }, (_, index) => index)]
      const [server, client] = yield* Effect.all([
        Effect.flatMap(nextIncoming(listener), (incoming) => {
          assert.deepStrictEqual(incoming.privateData, offer)
          return Listener.accept(incoming, { privateData: answer })
        }),
        Connection.connect({ address, privateData: offer })
      ], { concurrency: "unbounded" })
      assert.deepStrictEqual(server.privateData, offer)
      assert.deepStrictEqual(client.privateData, answer)
    }))

  it("no private data is none", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected()
      assert.deepStrictEqual([client.privateData.length, server.privateData.length], [0, 0])
    }))

  it("a source address is what the other side sees", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening
      const [server] = yield* Effect.all([
        Effect.flatMap(nextIncoming(listener), Listener.accept),
        Connection.connect({ address, source: `${lane.ownAddress}:23771` })
      ], { concurrency: "unbounded" })
      assert.strictEqual(CmAddress.format(server.peerAddress), `${lane.ownAddress}:23771`)
    }))

  it("connections of one domain share its memory", () =>
    Effect.gen(function*() {
      const contexts = yield* RdmaDevices.get()
      const context = contexts.find(({ name }) => name === lane.device)
      assert(context !== undefined)
      const domain = yield* ProtectionDomain.alloc(context)
      const { client, server } = yield* connected({ domain })
      assert.strictEqual(client.domain, domain)
      assert.strictEqual(server.domain, domain)
      yield* Connection.send(client, bytes("through it"))
      assert.strictEqual(text(yield* Connection.receive(server)), "through it")
    }))

  it("a domain on another context than the id's is EINVAL", () =>
    Effect.gen(function*() {
      const { address } = yield* listening
      const context = yield* DeviceContext.openByName(lane.device)
      const domain = yield* ProtectionDomain.alloc(context)
      assertReason(yield* Effect.flip(Connection.connect({ address, domain })), "ibv_create_qp", "EINVAL")
    }))

  // ---------------------------------------------------------------------------
  // Failures
  // ---------------------------------------------------------------------------

  it("a port that nobody listens on is ConnectionRejected: invalidServiceId, and nothing is left", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Connection.connect({ address: nowhere }))
      assert(error._tag === "ConnectionRejected", error.message)
      assert.strictEqual(error.reason, "invalidServiceId")
      yield* LeakCheck.assertNothingAlive
    }))

  it("a rejection tells its reason and its private data", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening
      const [error] = yield* Effect.all([
        Effect.flip(Connection.connect({ address })),
        Effect.flatMap(nextIncoming(listener), (incoming) => Listener.reject(incoming, bytes("full\0")))
      ], { concurrency: "unbounded" })
      assert(error._tag === "ConnectionRejected", error.message)
      assert.strictEqual(error.reason, "consumerDefined")
      assert.strictEqual(text(error.privateData), "full\0")
    }))

  it("an address that nobody answers for is given up when the time is over", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(
        Connection.connect({ address: `${lane.silentAddress}:7471`, timeout: "100 millis" })
      )
      assert(error._tag === "ConnectionTimedOut", error.message)
      assert.deepInclude(error, { address: `${lane.silentAddress}:7471`, millis: 100 })
      yield* LeakCheck.assertNothingAlive
    }))

  it("a request that nobody takes is given up when the time is over", () =>
    Effect.gen(function*() {
      const { address } = yield* listening
      const error = yield* Effect.flip(Connection.connect({ address, timeout: "300 millis" }))
      assert.strictEqual(error._tag, "ConnectionTimedOut", error.message)
    }))

  it("no more attempts are made than the schedule says, and the last error is told", () =>
    recorded(function*(calls) {
      const error = yield* Effect.flip(
        Connection.connect({
          address: nowhere,
          retry: Schedule.recurs(2).pipe(Schedule.addDelay(() => Effect.succeed("10 millis")))
        })
      )
      assert.strictEqual(error._tag, "ConnectionRejected", error.message)
      assert.strictEqual(timesCalled(yield* calls, "rdma_connect"), 3)
      yield* LeakCheck.assertNothingAlive
    }))

  it("who tries again gives up when the time of the schedule is over", () =>
    Effect.gen(function*() {
      const start = performance.now()
      const error = yield* Effect.flip(
        Connection.connect({
          address: nowhere,
          retry: Schedule.spaced("10 millis").pipe(Schedule.upTo({ duration: "200 millis" }))
        })
      )
      assert.strictEqual(error._tag, "ConnectionRejected", error.message)
      assert.isAtLeast(performance.now() - start, 150)
    }))

  it("who tries again finds a listener that came later", () =>
    Effect.gen(function*() {
      const address = `${lane.ownAddress}:23772`
      const connecting = yield* Effect.forkChild(
        Effect.scoped(Effect.flatMap(
          Connection.connect({ address, retry: Schedule.spaced("20 millis") }),
          (connection) => ask(connection, bytes("at last"))
        )),
        { startImmediately: true }
      )
      yield* Effect.sleep("200 millis")
      const listener = yield* Listener.make({ address })
      yield* Effect.forkScoped(
        Listener.serve(listener, (incoming) => Effect.flatMap(Listener.accept(incoming), echo)),
        { startImmediately: true }
      )
      assert.strictEqual(text(yield* Fiber.join(connecting)), "at last")
    }))

  it("bad input is a SchemaError with the path, is not tried again, and nothing is called", () =>
    recorded(function*(calls) {
      const retry = Schedule.forever
      const errors = [
        [["address"], yield* Effect.flip(Connection.connect({ address: "10.0.0.300:1", retry }))],
        [["address"], yield* Effect.flip(Connection.connect({ address: "10.0.0.1", retry }))],
        [["address"], yield* Effect.flip(Connection.connect({ address: "a b:1", retry }))],
        [["source"], yield* Effect.flip(Connection.connect({ address: nowhere, source: "here", retry }))],
        [
          ["privateData"],
          yield* Effect.flip(Connection.connect({ address: nowhere, privateData: new Uint8Array(56) }))
        ],
        [["messageSize"], yield* Effect.flip(Connection.connect({ address: nowhere, messageSize: 0 }))],
        [["sendDepth"], yield* Effect.flip(Connection.connect({ address: nowhere, sendDepth: 0.5 }))],
        [["receiveDepth"], yield* Effect.flip(Connection.connect({ address: nowhere, receiveDepth: -1 }))]
      ] as const
      for (const [path, error] of errors) assertPath(error, path)
      assert.strictEqual((yield* calls).length, 0)
    }))

  it("a source of somebody else is EADDRNOTAVAIL", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(
        Connection.connect({ address: nowhere, source: `${lane.silentAddress}:0` })
      )
      assertReason(error, "rdma_resolve_addr", "EADDRNOTAVAIL")
    }))

  // ---------------------------------------------------------------------------
  // Interrupted
  // ---------------------------------------------------------------------------

  it(
    "interrupted at any step of connecting, sending, receiving and closing, the client leaves nothing",
    () =>
      Effect.gen(function*() {
        const address = yield* echoing
        yield* interruptedAtEachCall(
          15_000,
          Effect.flatMap(
            Connection.connect({ address, sendDepth: 2, receiveDepth: 2 }),
            (connection) => ask(connection, bytes("hello"))
          )
        )
      }),
    { timeout: 300_000 }
  )

  it("interrupted at any step of both sides, neither leaves anything", () =>
    interruptedAtEachCall(
      15_000,
      Effect.gen(function*() {
        const { client, server } = yield* connected({ sendDepth: 2, receiveDepth: 2 })
        yield* Connection.send(client, bytes("hello"))
        yield* Connection.receive(server)
      })
    ), { timeout: 300_000 })
}
