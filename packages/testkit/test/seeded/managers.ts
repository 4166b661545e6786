/** Channels, ids and ports without an owner. */
import { Identifier } from "@effect-rdma/core"
import { CmId, EventChannel, RdmaCm } from "@effect-rdma/rdmacm"
import { UmadLibrary, UmadPort } from "@effect-rdma/umad"
import { Effect } from "effect"
import * as NetAddress from "effect/net/NetAddress"
import type { SeededBug } from "./world.ts"

const peer = NetAddress.inetAddressFromStringUnsafe("10.0.0.2:4791")

export const managers: ReadonlyArray<SeededBug> = [
  {
    name: "an event is never acknowledged",
    faulty: Effect.gen(function*() {
      const cm = yield* RdmaCm.RdmaCm
      const channel = yield* Effect.acquireRelease(cm.createEventChannel, cm.destroyEventChannel)
      const id = yield* Effect.acquireRelease(cm.createId(channel, "tcp"), (id) => Effect.orDie(cm.destroyId(id)))
      yield* cm.resolveAddr(id, undefined, peer, 1000)
      yield* cm.awaitCmEvent(channel)
      yield* cm.getCmEvent(channel)
    }).pipe(Effect.uninterruptible),
    corrected: Effect.gen(function*() {
      const id = yield* CmId.make(yield* EventChannel.make(), "tcp")
      yield* CmId.resolveAddress(id, { destination: "10.0.0.2:4791" })
    }),
    kind: "misuse",
    report: /rdma_destroy_id: /
  },
  {
    name: "a channel is destroyed before the ids on it",
    faulty: Effect.gen(function*() {
      const cm = yield* RdmaCm.RdmaCm
      const channel = yield* cm.createEventChannel
      const id = yield* cm.createId(channel, "tcp")
      yield* cm.destroyEventChannel(channel)
      yield* cm.destroyId(id)
    }),
    corrected: Effect.flatMap(EventChannel.make(), (channel) => CmId.make(channel, "tcp")),
    kind: "misuse",
    report: /rdma_destroy_/
  },
  {
    name: "an id that cannot be made leaves the channel",
    faulty: Effect.gen(function*() {
      const cm = yield* RdmaCm.RdmaCm
      const channel = yield* cm.createEventChannel
      const id = yield* cm.createId(channel, "tcp")
      yield* cm.destroyId(id)
      yield* cm.destroyEventChannel(channel)
    }).pipe(Effect.uninterruptible),
    corrected: Effect.flatMap(EventChannel.make(), (channel) => CmId.make(channel, "tcp")),
    kind: "leak",
    report: /EventChannel on host-a/
  },
  {
    name: "a port is read and not released",
    faulty: Effect.flatMap(UmadLibrary.init(), ({ umad }) => umad.getPort(undefined, Identifier.AnyPortNumber.make(0))),
    corrected: Effect.flatMap(UmadLibrary.init(), (library) => UmadPort.get(library)),
    kind: "leak",
    report: /UmadPort on host-a/
  }
]
