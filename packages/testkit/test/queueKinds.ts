/** The kinds of queues in the random programs of `lifetimes.test.ts`. */
import type { Fabric } from "@effect-rdma/testkit"
import {
  AddressHandle,
  CompletionQueue,
  DeviceContext,
  MulticastAttachment,
  ProtectionDomain,
  QueuePair,
  SendBatch,
  SharedReceiveQueue,
  XrcDomain
} from "@effect-rdma/verbs"
import { Effect, type Scope } from "effect"
import { anyOf, type Place } from "./kinds.ts"

export const queueKinds = [
  "XrcDomain",
  "SharedReceiveQueue",
  "XrcSharedReceiveQueue",
  "QueuePair",
  "ExtendedQueuePair",
  "XrcQueuePair",
  "OpenedQueuePair",
  "MulticastAttachment"
] as const

export interface QueueWorld {
  readonly xrcDomains: Array<XrcDomain.XrcDomain>
  readonly receives: Array<SharedReceiveQueue.SharedReceiveQueue>
  readonly datagrams: Array<QueuePair.QueuePair<"ud">>
  readonly receivers: Array<QueuePair.QueuePair<"xrcRecv">>
}

export const queueWorld = (): QueueWorld => ({ xrcDomains: [], receives: [], datagrams: [], receivers: [] })

const group = { gid: "ff12:401b:ffff::1", mlid: 0xc001 }

export const makeQueue = (
  world: QueueWorld,
  kind: (typeof queueKinds)[number],
  place: Place
): Effect.Effect<void, { readonly message: string }, Fabric.Seams | Scope.Scope> =>
  Effect.gen(function*() {
    const { other } = place
    const isXrc = kind.includes("Xrc") || kind === "OpenedQueuePair"
    // Soft-RoCE refuses XRC: most of it is made on the other device.
    const domain = place.domain === undefined || (isXrc && place.domain.context.name !== "mlx5_0" && other > 1)
      ? yield* Effect.flatMap(DeviceContext.openByName("mlx5_0"), ProtectionDomain.alloc)
      : place.domain
    const { context } = domain
    const queue = anyOf(place.queues, context, other, CompletionQueue.make(context, { cqe: 4 }))
    const xrcDomain = anyOf(world.xrcDomains, context, other, XrcDomain.open(context))
    const datagram = anyOf(
      world.datagrams,
      context,
      other,
      Effect.flatMap(queue, (queue) => QueuePair.make(domain, { qpType: "ud", sendCq: queue, recvCq: queue }))
    )
    const receiver = anyOf(
      world.receivers,
      context,
      other,
      Effect.flatMap(xrcDomain, (xrcDomain) => QueuePair.makeExtended(xrcDomain, { qpType: "xrcRecv" }))
    )
    switch (kind) {
      case "XrcDomain":
        world.xrcDomains.push(yield* XrcDomain.open(context))
        return
      case "SharedReceiveQueue": {
        const srq = yield* SharedReceiveQueue.make(domain, { maxWr: 4 })
        world.receives.push(srq)
        return yield* SharedReceiveQueue.modify(srq, { srqLimit: 2 })
      }
      case "XrcSharedReceiveQueue":
        yield* SharedReceiveQueue.makeExtended(domain, {
          srqType: "xrc",
          maxWr: 4,
          xrcDomain: yield* xrcDomain,
          completionQueue: yield* queue
        })
        return
      case "QueuePair": {
        const srq = yield* anyOf(world.receives, context, other, SharedReceiveQueue.make(domain, { maxWr: 4 }))
        const completions = yield* queue
        const self = yield* QueuePair.make(domain, { qpType: "uc", sendCq: completions, recvCq: completions, srq })
        return yield* QueuePair.toInit(self, { portNum: 1 })
      }
      case "ExtendedQueuePair": {
        const completions = yield* queue
        const self = yield* QueuePair.makeExtended(domain, {
          qpType: "ud",
          sendCq: completions,
          recvCq: completions,
          sendOpsFlags: ["send"]
        })
        world.datagrams.push(self)
        yield* QueuePair.toInit(self, { portNum: 1, qkey: 1 })
        yield* QueuePair.toRtr(self, {})
        yield* QueuePair.toRts(self, { sqPsn: 1 })
        const way = context.name === "mlx5_0" ? { dlid: 1 } : { grh: { dgid: "::ffff:10.0.0.1", sgidIndex: 1 } }
        const to = yield* AddressHandle.make(domain, { portNum: 1, ...way })
        return yield* SendBatch.post(self, (batch) => {
          batch.send({ wrId: 1n })
          batch.setUdAddr(to, 1, 1)
          batch.setSgeList([])
        })
      }
      case "XrcQueuePair":
        world.receivers.push(yield* QueuePair.makeExtended(yield* xrcDomain, { qpType: "xrcRecv" }))
        return
      case "OpenedQueuePair": {
        const { qpNum, xrcDomain } = yield* receiver
        if (xrcDomain !== undefined) yield* QueuePair.open(xrcDomain, qpNum)
        return
      }
      case "MulticastAttachment":
        yield* MulticastAttachment.attach(yield* datagram, group)
    }
  })
