/** What the programs with a seeded bug are made of. */
import { Resource } from "@effect-rdma/core"
import { type Explorer, Fabric } from "@effect-rdma/testkit"
import {
  type AddressHandle,
  CompletionChannel,
  CompletionQueue,
  DeviceContext,
  MemoryRegion,
  ProtectionDomain,
  QueuePair
} from "@effect-rdma/verbs"
import { Effect, type Scope } from "effect"

export type Program = Effect.Effect<unknown, unknown, Fabric.Fabric | Fabric.Seams | Scope.Scope>

/** A program with one classic fault, and the same without it. */
export interface SeededBug {
  readonly name: string
  readonly faulty: Program
  readonly corrected: Program
  readonly kind: Explorer.Finding["kind"]
  /** What the report must say. */
  readonly report: RegExp
  readonly mayFail?: Explorer.Options<Fabric.Fabric>["mayFail"]
}

export const context = DeviceContext.openByName("rxe0")

export const domain = Effect.flatMap(context, (context) => ProtectionDomain.alloc(context))

export const address: Parameters<typeof AddressHandle.make>[1] = {
  portNum: 1,
  grh: { dgid: "::ffff:10.0.0.2", sgidIndex: 1 }
}

/** The seam and the pointer of a domain, for programs that do without handles. */
export const rawDomain = Effect.map(domain, (domain) => ({
  verbs: domain.context.verbs,
  context: Resource.raw(domain.context),
  pd: Resource.raw(domain)
}))

export interface SideOptions {
  readonly cqe?: number
  readonly maxRecvWr?: number
}

/** A queue pair that waits by a channel, and memory. */
export const side = Effect.fnUntraced(function*({ cqe = 8, maxRecvWr = 4 }: SideOptions = {}) {
  const context = yield* DeviceContext.openByName("rxe0")
  const domain = yield* ProtectionDomain.alloc(context)
  const channel = yield* CompletionChannel.make(context)
  const queue = yield* CompletionQueue.make(context, { cqe, channel })
  const cap = { maxRecvWr, maxSendWr: 4 }
  const pair = yield* QueuePair.make(domain, { qpType: "rc", sendCq: queue, recvCq: queue, cap })
  const region = yield* MemoryRegion.alloc(domain, { length: 64, access: ["localWrite"] })
  const local = yield* QueuePair.endpoint(pair, { portNum: 1, gidIndex: 1 })
  return { context, domain, channel, queue, pair, region, local, sgList: [{ region }] }
})

export type Side = Effect.Success<ReturnType<typeof side>>

/** Two connected hosts. */
export const sides = Effect.fnUntraced(function*(options: SideOptions & { readonly rnrRetry?: number } = {}) {
  const a = yield* side(options)
  const b = yield* Effect.provide(side(options), Fabric.host("host-b"))
  const { rnrRetry = 7 } = options
  const path = { rnrRetry, retryCnt: 2, qpAccessFlags: ["remoteRead", "remoteWrite", "remoteAtomic"] } as const
  yield* QueuePair.connect(a.pair, a.local, b.local, path)
  yield* QueuePair.connect(b.pair, b.local, a.local, path)
  return { a, b }
})
