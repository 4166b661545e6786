import type { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import * as Effect from "effect/Effect"
import { FabricMisuse } from "../../FabricMisuse.ts"
import { acked, allocChannel } from "./channel.ts"
import * as Connection from "./connection.ts"
import * as Ports from "./ports.ts"
import { type CmState, fail, type Id, type IdState, makeId, on, push, release, take } from "./state.ts"

/** Making ids, their options and what they say of themselves, on one host. */
export const make = (state: CmState) => {
  const { channels, contextOf, ids } = state

  return {
    createId: (channel, portSpace) =>
      Effect.sync(() => {
        const self = makeId(channels.get("rdma_create_id", channel), portSpace)
        self.channel.ids++
        return ids.make((pointer) => Object.assign(self, { pointer }))
      }),
    destroyId: (id) => destroy(state, "rdma_destroy_id", id),
    readId: (id) =>
      Effect.sync(() => {
        const { channel, on, portSpace, qpType, shown } = ids.get("rdma_cm_id", id)
        const { device, local, numPaths, peer, portNum } = shown
        const { channels: _, made: __, ...queues } = on
        return {
          channel: channel.pointer,
          verbs: device && contextOf(device),
          portNum,
          portSpace,
          qpType,
          localAddress: local,
          peerAddress: peer,
          numPaths,
          ...queues
        }
      }),
    migrateId: (id, channel) =>
      on(state, "rdma_migrate_id", id, (self) =>
        Effect.sync(() => {
          const call = "rdma_migrate_id"
          const to = channels.get(call, channel)
          const from = self.channel
          if (self.keeps !== undefined) acked(state.events.free(call, self.keeps))
          self.keeps = undefined
          if (self.unacked > 0) throw new FabricMisuse({ call, problem: hangs(self.unacked) })
          move(self, to)
          if (self.isSync) channels.free(call, from.pointer)
          self.isSync = false
        })),
    setOption: (id, option) =>
      on(state, "rdma_set_option", id, (self) => {
        const refused = () => fail("rdma_set_option", "EINVAL", { option: option._tag, value: option.value })
        switch (option._tag) {
          case "TypeOfService":
            self.typeOfService = option.value
            return Effect.void
          case "AckTimeout":
            if (self.qpType !== "rc") return refused()
            self.ackTimeout = option.value
            return Effect.void
          case "ReuseAddress":
            if (self.step !== "idle" && (!option.value || self.step === "listening")) return refused()
            self.reuseAddress = option.value
            return Effect.void
          case "AddressFamilyOnly":
            if (self.step !== "idle" && self.step !== "bound") return refused()
            self.familyOnly = option.value
            return Effect.void
        }
      }),
    setLocalEce: (id, ece) =>
      Effect.suspend(() => {
        const self = ids.get("rdma_set_local_ece", id)
        if (self.on.qp !== undefined || ece.vendorId === 0 || ece.compMask !== 0) {
          return fail("rdma_set_local_ece", "EINVAL", ece)
        }
        self.localEce = ece
        return Effect.void
      }),
    getRemoteEce: (id) =>
      Effect.suspend(() => {
        const { on, remoteEce } = ids.get("rdma_get_remote_ece", id)
        return on.qp === undefined ? Effect.succeed(remoteEce) : fail("rdma_get_remote_ece", "EINVAL")
      })
  } satisfies Partial<RdmaCm["Service"]>
}

/** Destroys an id with all that the kernel has for it. */
export const destroy = (state: CmState, call: string, id: Id): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { channels, events, ids, memberships, onDevice } = state
    const self = ids.get(call, id)
    if (self.keeps !== undefined) acked(events.free(call, self.keeps))
    self.keeps = undefined
    if (self.unacked > 0) throw new FabricMisuse({ call, problem: hangs(self.unacked) })
    ids.free(call, id)
    self.stop()
    if (self.connection !== undefined) Connection.destroy(self.connection)
    for (const membership of self.memberships) {
      membership.stop()
      memberships.free(call, membership.pointer)
    }
    self.step = "destroyed"
    Ports.leave(state, self)
    onDevice.delete(self)
    for (const { dropped } of take(self.channel, self)) dropped?.()
    self.channel.ids--
    if (self.isSync) channels.free(call, self.channel.pointer)
    return release(state, self)
  })

/** Gives an id a channel of its own, as endpoints have. */
export const isolate = (state: CmState, self: IdState): void => {
  const pointer = allocChannel(state)
  state.host.heap.name(pointer, undefined)
  move(self, state.channels.get("rdma_migrate_id", pointer))
  self.isSync = true
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const hangs = (unacked: number): string => `would hang: ${unacked} event(s) of the id are not acked`

const move = (self: IdState, to: IdState["channel"]): void => {
  const pending = take(self.channel, self)
  self.channel.ids--
  self.channel = to
  to.ids++
  for (const event of pending) push(event)
}
