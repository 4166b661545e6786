/**
 * Conformance of looking up names and of endpoints.
 *
 * @since 0.1.0
 */
import * as AddressInfo from "@effect-rdma/rdmacm/AddressInfo"
import * as CmId from "@effect-rdma/rdmacm/CmId"
import * as Endpoint from "@effect-rdma/rdmacm/Endpoint"
import * as EventChannel from "@effect-rdma/rdmacm/EventChannel"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import {
  assertInterruptible,
  assertPath,
  assertReason,
  namesOf,
  recorded,
  timesCalled
} from "../../internal/conformance.ts"
import { portOf, rdmaCmSuite } from "../../internal/conformanceRdmaCm.ts"
import type * as RdmaCmLane from "../RdmaCmLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: RdmaCmLane.RdmaCmLane<Others>): void => {
  const { at, it, listening, routed } = rdmaCmSuite(lane)

  /** The first address of a number. */
  const found = (port: number, flags: ReadonlyArray<"passive" | "numericHost"> = ["numericHost"]) =>
    Effect.flatMap(
      AddressInfo.get({ node: lane.ownAddress, service: String(port), flags, portSpace: "tcp" }),
      ([info]) => info === undefined ? Effect.die("no address was found") : Effect.succeed(info)
    )

  /** The port space and the type of queue pair of an address. */
  const kinds = (hints: { readonly portSpace?: "ib" | "ipoib"; readonly qpType?: "ud" | "uc" }) =>
    Effect.map(AddressInfo.get({ node: lane.ownAddress, service: "1", ...hints }), ([info]) => [
      info?.portSpace,
      info?.qpType
    ])

  // ---------------------------------------------------------------------------
  // Names
  // ---------------------------------------------------------------------------

  it("an address in numbers is itself, for a reliable connection", () =>
    Effect.gen(function*() {
      const info = yield* found(7471)
      assert.deepInclude(info, { portSpace: "tcp", qpType: "rc" })
      assert.strictEqual(String(info.destination), at(7471))
    }))

  it("a passive address is the source", () =>
    Effect.gen(function*() {
      const info = yield* found(7471, ["passive", "numericHost"])
      assert.strictEqual(String(info.source), at(7471))
      assert.isUndefined(info.destination)
      assert.include(info.flags, "passive")
    }))

  it("the port space of datagrams has their type", () =>
    Effect.gen(function*() {
      const [info] = yield* AddressInfo.get({ node: lane.ownAddress, service: "1", portSpace: "udp" })
      assert.deepInclude<object>(info ?? {}, { portSpace: "udp", qpType: "ud" })
    }))

  it("without a name it is loopback, and every address for one who listens", () =>
    Effect.gen(function*() {
      const [own] = yield* AddressInfo.get({ service: "7471", flags: ["passive"], portSpace: "tcp" })
      assert.strictEqual(String(own?.source), "0.0.0.0:7471")
      const [local] = yield* AddressInfo.get({ node: "localhost", service: "7471", portSpace: "tcp", family: "ipv4" })
      assert.strictEqual(String(local?.destination), "127.0.0.1:7471")
    }))

  it("the port space and the type of a queue pair follow from each other", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* kinds({}), ["tcp", "rc"])
      assert.deepStrictEqual(yield* kinds({ portSpace: "ib" }), ["ib", "rc"])
      assert.deepStrictEqual(yield* kinds({ portSpace: "ipoib" }), ["ipoib", "ud"])
      assert.deepStrictEqual(yield* kinds({ qpType: "ud" }), ["udp", "ud"])
      assert.deepStrictEqual(yield* kinds({ qpType: "uc" }), ["tcp", "uc"])
    }))

  it("an address of another family than asked for is ENODATA, a service that is none EPROTONOSUPPORT", () =>
    Effect.gen(function*() {
      const six = { family: "ipv6", flags: ["family", "numericHost"] } as const
      const family = yield* Effect.flip(AddressInfo.get({ node: lane.ownAddress, service: "1", ...six }))
      assertReason(family, "rdma_getaddrinfo", "ENODATA")
      const service = yield* Effect.flip(
        AddressInfo.get({ node: lane.ownAddress, service: "nosuch", portSpace: "tcp" })
      )
      assertReason(service, "rdma_getaddrinfo", "EPROTONOSUPPORT")
    }))

  it("a GID in numbers is an address of InfiniBand, with the port in its service ID", () =>
    Effect.gen(function*() {
      const hints = { family: "ib", flags: ["family", "numericHost"], portSpace: "tcp" } as const
      const [info] = yield* AddressInfo.get({ node: "fe80::1", service: "1", ...hints })
      assert.deepInclude<object>(info?.destination ?? {}, { _tag: "IbAddress", pkey: 0xffff, sid: 0x0106_0001n })
    }))

  it("a name where numbers are asked for is ENOENT", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(AddressInfo.get({ node: "no.such.name.invalid", flags: ["numericHost"] }))
      assertReason(error, "rdma_getaddrinfo", "ENOENT")
      assert.include(error.message, "no.such.name.invalid")
    }))

  it("hints that are none are a SchemaError, and the library is not called", () =>
    recorded(function*(calls) {
      assertPath(yield* Effect.flip(AddressInfo.get({ node: "" })), ["node"])
      assertPath(yield* Effect.flip(AddressInfo.get({ service: "1", source: "nowhere" })), ["source"])
      assert.strictEqual(timesCalled(yield* calls, "rdma_getaddrinfo"), 0)
    }))

  // ---------------------------------------------------------------------------
  // Endpoints
  // ---------------------------------------------------------------------------

  it("an endpoint has its route, and is released with what librdmacm made on it", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(Effect.gen(function*() {
        const channel = yield* EventChannel.make()
        const id = yield* Endpoint.make(channel, yield* found(9), { queuePair: { cap: { maxSendWr: 4 } } })
        assert.strictEqual(id.channel, channel)
        const { localAddress, numPaths, peerAddress, qp } = yield* CmId.state(id)
        assert.isDefined(qp)
        assert.strictEqual(numPaths, 1)
        assert.strictEqual(String(peerAddress), at(9))
        assert.isDefined(localAddress)
      }))
      assert.deepStrictEqual(namesOf(yield* calls).slice(-2), ["rdma_destroy_ep", "rdma_destroy_event_channel"])
    }))

  it("an endpoint connects to a listener, and its queue pair is moved by librdmacm", () =>
    Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      const { listener } = yield* listening(channel)
      const client = yield* Endpoint.make(channel, yield* found(yield* portOf(listener)), { queuePair: {} })
      const connecting = yield* Effect.forkChild(Effect.flip(CmId.connect(client)), { startImmediately: true })
      yield* Effect.scoped(Effect.flatMap(CmId.nextRequest(listener), ({ id }) => CmId.reject(id)))
      assert.strictEqual((yield* Fiber.join(connecting))._tag, "ConnectionRejected")
    }))

  it("an endpoint that listens gives requests with queue pairs, and both sides are established", () =>
    Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      const listener = yield* Endpoint.listen(yield* found(23457, ["passive", "numericHost"]), { queuePair: {} })
      assert.strictEqual(String((yield* Endpoint.state(listener)).localAddress), at(23457))
      yield* assertInterruptible(Effect.scoped(Endpoint.nextRequest(listener, channel)))
      const client = yield* Endpoint.make(channel, yield* found(23457), { queuePair: {} })
      const connecting = yield* Effect.forkChild(CmId.connect(client, { privateData: Uint8Array.of(7) }), {
        startImmediately: true
      })
      const { conn, id } = yield* Endpoint.nextRequest(listener, channel)
      assert.strictEqual(conn?.privateData[0], 7)
      assert.strictEqual(id.channel, channel)
      assert.isDefined((yield* CmId.state(id)).qp)
      yield* CmId.accept(id)
      assert.strictEqual((yield* Fiber.join(connecting)).event, "established")
      yield* Effect.all([
        CmId.disconnect(id),
        Effect.andThen(CmId.awaitDisconnected(client), CmId.disconnect(client))
      ], { concurrency: "unbounded" })
    }))

  it("an endpoint for an address of somebody else is EADDRNOTAVAIL, and nothing is left", () =>
    Effect.gen(function*() {
      const info = { ...(yield* found(1, ["passive", "numericHost"])) }
      const [other] = yield* AddressInfo.get({
        node: lane.silentAddress,
        service: "1",
        flags: ["passive", "numericHost"],
        portSpace: "tcp"
      })
      const source = other?.source
      const error = yield* Effect.flip(Endpoint.listen({ ...info, source }))
      assertReason(error, "rdma_create_ep", "EADDRNOTAVAIL")
    }))

  it("two endpoints on one port: the second listens not", () =>
    Effect.gen(function*() {
      const info = yield* found(23458, ["passive", "numericHost"])
      yield* Endpoint.listen(info)
      assertReason(yield* Effect.flip(Endpoint.listen(info)), "rdma_create_ep", "EADDRINUSE")
      const id = yield* routed(yield* EventChannel.make(), at(23458))
      assert.strictEqual((yield* CmId.state(id)).numPaths, 1)
    }))
}
