/**
 * Conformance of address handles.
 *
 * @since 0.1.0
 */
import * as Gid from "@effect-rdma/core/Gid"
import * as Resource from "@effect-rdma/core/Resource"
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as AddressHandleAttributes from "@effect-rdma/verbs/AddressHandleAttributes"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import { assert } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { assertPath, assertReason, namesOf, recorded, timesCalled, usesDeadHandle } from "../../internal/conformance.ts"
import { verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { domain, it, itChecked, itOnRoce, open, roce, toIpv4 } = verbsSuite(lane)

  it("an address handle leads to a peer and carries its attributes with their defaults", () =>
    Effect.gen(function*() {
      const made = yield* Effect.flatMap(domain, (domain) => AddressHandle.make(domain, lane.peer))
      const { grh, portNum, sl, srcPathBits, staticRate } = made.attributes
      assert.deepStrictEqual({ portNum, sl, srcPathBits, staticRate }, {
        portNum: lane.peer.portNum,
        sl: lane.peer.sl ?? 0,
        srcPathBits: lane.peer.srcPathBits ?? 0,
        staticRate: "max"
      })
      if (lane.peer.grh !== undefined) {
        assert.strictEqual(grh?.sgidIndex, lane.peer.grh.sgidIndex)
        assert.strictEqual(grh?.hopLimit, 64)
        assert.strictEqual(grh?.flowLabel, 0)
      }
      assert.isFalse(AddressHandleAttributes.isMulticast(made.attributes))
    }))

  itOnRoce("a GID is taken as text and as bytes", () =>
    Effect.gen(function*() {
      const text = `::ffff:${roce.peerAddress}`
      const bytes = yield* Schema.decodeEffect(Gid.GidFromString)(text)
      const pd = yield* domain
      for (const dgid of [text, bytes]) {
        const { attributes } = yield* AddressHandle.make(pd, {
          portNum: lane.port,
          grh: { dgid, sgidIndex: roce.sgidIndex }
        })
        assert.strictEqual(attributes.grh && Gid.ipv4(attributes.grh.dgid), roce.peerAddress)
      }
    }))

  it("the highest value of every field is accepted", () =>
    Effect.gen(function*() {
      const { grh, ...local } = lane.peer
      const handle = yield* Effect.flatMap(domain, (domain) =>
        AddressHandle.make(domain, {
          ...local,
          sl: 15,
          srcPathBits: 127,
          staticRate: "10Gbps",
          ...(grh === undefined ? {} : { grh: { ...grh, flowLabel: 0xfffff, hopLimit: 255, trafficClass: 255 } })
        }))
      assert.strictEqual(handle.attributes.sl, 15)
    }))

  itChecked("an address without a route by GID is EINVAL on Ethernet", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      for (const dlid of [0, 5]) {
        const error = yield* Effect.flip(AddressHandle.make(pd, { portNum: lane.port, dlid }))
        assertReason(error, "ibv_create_ah", "EINVAL")
      }
    }))

  itChecked("a source GID index with nothing at it is ENODATA", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const error = yield* Effect.flip(AddressHandle.make(pd, toIpv4(roce.peerAddress, lane.emptyGidIndex)))
      assertReason(error, "ibv_create_ah", "ENODATA")
    }))

  itChecked("a port that the device does not have is EINVAL of ibv_create_ah", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      for (const portNum of [(yield* DeviceContext.query(pd.context)).physPortCnt + 1, 200]) {
        const error = yield* Effect.flip(AddressHandle.make(pd, { ...lane.peer, portNum }))
        assertReason(error, "ibv_create_ah", "EINVAL")
        assert.include(error.message, `portNum ${portNum}`)
      }
    }))

  itChecked("a destination of another address family than the source is EINVAL", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const to = (dgid: string) =>
        Effect.flip(AddressHandle.make(pd, { portNum: lane.port, grh: { dgid, sgidIndex: roce.sgidIndex } }))
      for (const dgid of ["fe80::1", "2001:db8::1", "::"]) {
        assertReason(yield* to(dgid), "ibv_create_ah", "EINVAL")
      }
    }))

  itChecked("an address that nobody answers for is ETIMEDOUT", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      assertReason(
        yield* Effect.flip(AddressHandle.make(pd, toIpv4(roce.silentAddress))),
        "ibv_create_ah",
        "ETIMEDOUT"
      )
    }))

  itOnRoce(
    "a port can address itself",
    () => Effect.flatMap(domain, (domain) => Effect.asVoid(AddressHandle.make(domain, toIpv4(roce.ownAddress))))
  )

  itOnRoce("a multicast group has an address handle like a peer", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      for (const dgid of ["ff0e::1", "ff12:401b:ffff::1"]) {
        const { attributes } = yield* AddressHandle.make(pd, {
          portNum: lane.port,
          grh: { dgid, sgidIndex: roce.sgidIndex }
        })
        assert.isTrue(AddressHandleAttributes.isMulticast(attributes))
      }
      yield* AddressHandle.make(pd, toIpv4("239.1.1.1"))
    }))

  const outOfRange: ReadonlyArray<readonly [path: ReadonlyArray<string>, attributes: AddressHandleAttributes.Input]> = [
    ...[0, 256, 1.5].map((portNum) => [["portNum"], { ...lane.peer, portNum }] as const),
    ...[-1, 0x1_0000].map((dlid) => [["dlid"], { ...lane.peer, dlid }] as const),
    ...[-1, 16].map((sl) => [["sl"], { ...lane.peer, sl }] as const),
    ...[-1, 128].map((srcPathBits) => [["srcPathBits"], { ...lane.peer, srcPathBits }] as const),
    ...([
      ["dgid", { dgid: "10.0.0.2" }],
      ["dgid", { dgid: "not a gid" }],
      ["dgid", { dgid: new Uint8Array(15) }],
      ["flowLabel", { flowLabel: 0x10_0000 }],
      ["flowLabel", { flowLabel: -1 }],
      ["sgidIndex", { sgidIndex: 256 }],
      ["sgidIndex", { sgidIndex: -1 }],
      ["hopLimit", { hopLimit: 256 }],
      ["trafficClass", { trafficClass: 256 }]
    ] as const).map(([field, wrong]) =>
      [["grh", field], {
        ...lane.peer,
        grh: { dgid: "::ffff:10.0.0.2", sgidIndex: 0, ...wrong }
      }] as const
    )
  ]

  it("every field out of its range is a SchemaError with its path, and the library is not called", () =>
    recorded(function*(calls) {
      const pd = yield* domain
      const before = (yield* calls).length
      for (const [path, attributes] of outOfRange) {
        assertPath(yield* Effect.flip(AddressHandle.make(pd, attributes)), path)
      }
      assert.strictEqual((yield* calls).length, before)
    }))

  it("an address handle in an outer scope goes with its domain in an inner one, before it", () =>
    recorded(function*(calls) {
      const context = yield* open
      const outer = yield* Effect.scope
      const handle = yield* Effect.scoped(Effect.flatMap(
        ProtectionDomain.alloc(context),
        (domain) => Scope.provide(AddressHandle.make(domain, lane.peer), outer)
      ))
      assert.isFalse(Resource.isLive(handle))
      assert.deepStrictEqual(namesOf(yield* calls).slice(-2), ["ibv_destroy_ah", "ibv_dealloc_pd"])
    }))

  it("a hundred address handles to one peer live at once, each its own", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const handles = yield* Effect.all(Array.from({ length: 100 }, () => AddressHandle.make(pd, lane.peer)))
      assert.strictEqual(new Set(handles.map(Resource.raw)).size, 100)
    }))

  it("address handles are made and destroyed by fifty fibers at once", () =>
    recorded(function*(calls) {
      const pd = yield* domain
      yield* Effect.all(
        Array.from({ length: 50 }, () =>
          Effect.scoped(
            Effect.andThen(Effect.yieldNow, Effect.andThen(AddressHandle.make(pd, lane.peer), Effect.yieldNow))
          )),
        { concurrency: "unbounded", discard: true }
      )
      assert.strictEqual(timesCalled(yield* calls, "ibv_create_ah"), 50)
      assert.strictEqual(timesCalled(yield* calls, "ibv_destroy_ah"), 50)
    }))

  it("an address handle is refused by a domain whose release is under way", () =>
    Effect.gen(function*() {
      const context = yield* open
      const scope = yield* Scope.make()
      const pd = yield* ProtectionDomain.alloc(context).pipe(Scope.provide(scope))
      const waiting = yield* Deferred.make<void>()
      const lease = yield* Effect.forkChild(Resource.withLease(pd, Deferred.await(waiting)), { startImmediately: true })
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      yield* usesDeadHandle(AddressHandle.make(pd, lane.peer))
      assert.isUndefined(closing.pollUnsafe(), "the release waits for what is under way")
      yield* Deferred.succeed(waiting, undefined)
      yield* Fiber.join(lease)
      yield* Fiber.join(closing)
      assert.isFalse(Resource.isLive(pd))
    }))
}
