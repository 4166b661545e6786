/**
 * Conformance of multicast groups with sockets.
 *
 * @since 0.1.0
 */
import * as MulticastGroup from "@effect-rdma/rdmacm/MulticastGroup"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertPath, namesOf, recorded } from "../../internal/conformance.ts"
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
  const join = MulticastGroup.join({ address: "239.1.2.3:0", source: at(0) })

  it("what one member sends the other one receives, both ways", () =>
    Effect.gen(function*() {
      const [first, second] = [yield* join, yield* join]
      /** One's own datagrams may come back. */
      const received = (group: MulticastGroup.MulticastGroup, word: string): Effect.Effect<void, unknown> =>
        Effect.flatMap(MulticastGroup.receive(group), ({ bytes }) =>
          text(bytes) === word ? Effect.void : received(group, word))
      yield* MulticastGroup.send(first, bytes("from the first"))
      yield* received(second, "from the first")
      yield* MulticastGroup.send(second, bytes("from the second"))
      yield* received(first, "from the second")
      assert.strictEqual(first.socket.device, lane.device)
      assert.strictEqual(first.members.qpNum, 0xffffff)
    }))

  it("a group is left before its queue pair and its id are destroyed", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(join)
      const names = namesOf(yield* calls)
      const order = (["ibv_detach_mcast", "rdma_leave_multicast", "ibv_destroy_qp", "rdma_destroy_id"] as const).map(
        (name) => names.lastIndexOf(name)
      )
      assert.notInclude(order, -1)
      assert.deepStrictEqual(order, order.toSorted((a, b) => a - b))
    }))

  it("an address that is none is a SchemaError, and one that is no group leaves nothing", () =>
    Effect.gen(function*() {
      assertPath(yield* Effect.flip(MulticastGroup.join({ address: "everybody" })), ["address"])
      assertPath(yield* Effect.flip(MulticastGroup.join({ address: "239.1.2.3:0", source: "me" })), ["source"])
      yield* Effect.exit(Effect.scoped(MulticastGroup.join({ address: at(0), source: at(0) })))
      yield* LeakCheck.assertNothingAlive
    }))

  it(
    "interrupted at any step, groups leave nothing",
    () => interruptedAtEachCall(10_000, Effect.flatMap(join, (group) => MulticastGroup.send(group, bytes("hello")))),
    {
      timeout: 300_000
    }
  )
}
