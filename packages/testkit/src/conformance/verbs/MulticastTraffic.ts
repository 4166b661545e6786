/**
 * Conformance of datagrams to multicast groups.
 *
 * @since 0.1.0
 */
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as MulticastAttachment from "@effect-rdma/verbs/MulticastAttachment"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { put, textIn } from "../../internal/conformanceBytes.ts"
import { assertQuiet, assertTaken } from "../../internal/conformanceCompletions.ts"
import { dataPathSuite, end, qkey } from "../../internal/conformanceDataPath.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { datagramsOn, domain, has, headerBytes, it, itWhere, ready } = dataPathSuite(lane)
  const { address, group } = lane.multicast

  /** A sender, and so many queue pairs with a receive each. */
  const withMembers = Effect.fnUntraced(function*(count: number) {
    const on = yield* domain
    const sender = yield* datagramsOn(on)
    const to = { ah: yield* AddressHandle.make(on, address), remoteQpn: 0xffffff, remoteQkey: qkey }
    const members = yield* Effect.forEach(Array.from({ length: count }), () => datagramsOn(on))
    for (const member of members) {
      yield* member.postRecv({ wrId: 1n, sgList: [member.part(0, 100)] })
    }
    return { on, sender, to, members }
  })

  it("a datagram to a group reaches the queue pair that is attached, and no other", () =>
    Effect.gen(function*() {
      const { members: [member, other], sender, to } = yield* withMembers(2)
      if (member === undefined || other === undefined) return assert.fail()
      yield* MulticastAttachment.attach(member.queuePair, group)
      yield* QueuePair.send(sender.queuePair, { to, sgList: [put(sender, "to all")], immData: 5 })
      const [received] = yield* assertTaken(member.receives, ["1 success"])
      assert.deepInclude<object>(received ?? {}, {
        srcQp: sender.queuePair.qpNum,
        qpNum: member.queuePair.qpNum,
        byteLen: headerBytes + 6,
        immData: 5
      })
      assert.strictEqual(textIn(member, 6, headerBytes), "to all")
      yield* assertQuiet(other.receives)
    }))

  it("every member of a group gets it", () =>
    Effect.gen(function*() {
      const { members, sender, to } = yield* withMembers(5)
      for (const { queuePair } of members) yield* MulticastAttachment.attach(queuePair, group)
      yield* QueuePair.send(sender.queuePair, { to, sgList: [put(sender, "to all")] })
      for (const member of members) {
        yield* assertTaken(member.receives, ["1 success"])
        assert.strictEqual(textIn(member, 6, headerBytes), "to all")
      }
    }))

  it("a sender that is a member gets it too", () =>
    Effect.gen(function*() {
      const { sender, to } = yield* withMembers(0)
      yield* sender.postRecv({ wrId: 1n, sgList: [sender.part(0, 100)] })
      yield* MulticastAttachment.attach(sender.queuePair, group)
      yield* QueuePair.send(sender.queuePair, { to, sgList: [put(sender, "echo")] })
      yield* assertTaken(sender.receives, ["1 success"])
      assert.strictEqual(textIn(sender, 4, headerBytes), "echo")
    }))

  itWhere(has("blocksLoopback"), "the provider has no such flag")(
    "a queue pair that was made so does not get its own",
    () =>
      Effect.gen(function*() {
        const { members: [member], on, to } = yield* withMembers(1)
        if (member === undefined) return assert.fail()
        const { region, receives, sends } = yield* end(on, "ud")
        const sender = yield* QueuePair.makeExtended(on, {
          qpType: "ud",
          sendCq: sends,
          recvCq: receives,
          cap: { maxSendWr: 4, maxRecvWr: 4 },
          createFlags: ["blockSelfMcastLb"]
        })
        yield* ready.ud(sender)
        yield* QueuePair.postRecv(sender, [{ sgList: [{ region }] }])
        for (const queuePair of [sender, member.queuePair]) yield* MulticastAttachment.attach(queuePair, group)
        yield* QueuePair.send(sender, { to })
        yield* assertTaken(member.receives, ["1 success"])
        yield* assertQuiet(receives)
      })
  )

  it("a member that was detached gets no more, and the others do", () =>
    Effect.gen(function*() {
      const { members: [gone, stays], sender, to } = yield* withMembers(2)
      if (gone === undefined || stays === undefined) return assert.fail()
      const scope = yield* Scope.fork(yield* Effect.scope)
      yield* MulticastAttachment.attach(gone.queuePair, group).pipe(Scope.provide(scope))
      yield* MulticastAttachment.attach(stays.queuePair, group)
      yield* Scope.close(scope, Exit.void)
      yield* QueuePair.send(sender.queuePair, { to })
      yield* assertTaken(stays.receives, ["1 success"])
      yield* assertQuiet(gone.receives)
    }))

  it("one membership of two keeps the queue pair in the group", () =>
    Effect.gen(function*() {
      const { members: [member], sender, to } = yield* withMembers(1)
      if (member === undefined) return assert.fail()
      yield* MulticastAttachment.attach(member.queuePair, group)
      yield* Effect.scoped(MulticastAttachment.attach(member.queuePair, group))
      yield* QueuePair.send(sender.queuePair, { to })
      yield* assertTaken(member.receives, ["1 success"])
      yield* assertQuiet(member.receives)
    }))

  it("a member with another Q_Key does not get it, nor does one without a receive; the others do", () =>
    Effect.gen(function*() {
      const { members: [other, member], on, sender, to } = yield* withMembers(2)
      if (other === undefined || member === undefined) return assert.fail()
      const full = yield* datagramsOn(on)
      yield* QueuePair.modify(other.queuePair, { qkey: qkey + 1 })
      for (const { queuePair } of [other, full, member]) yield* MulticastAttachment.attach(queuePair, group)
      yield* QueuePair.send(sender.queuePair, { to })
      yield* assertTaken(member.receives, ["1 success"])
      yield* assertQuiet(other.receives, full.receives)
    }))

  it("a group without members: sent, and nobody hears", () =>
    Effect.gen(function*() {
      const { members: [member], sender, to } = yield* withMembers(1)
      if (member === undefined) return assert.fail()
      yield* QueuePair.send(sender.queuePair, { to })
      yield* assertQuiet(member.receives)
    }))
}
