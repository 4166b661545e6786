/** The kinds of steering in the random programs of `lifetimes.test.ts`. */
import type { Fabric } from "@effect-rdma/testkit"
import {
  CompletionQueue,
  Counters,
  DeviceContext,
  Flow,
  FlowAction,
  ProtectionDomain,
  QueuePair,
  RwqIndTable,
  WorkQueue
} from "@effect-rdma/verbs"
import { Effect, type Scope } from "effect"
import { anyOf, type Place } from "./kinds.ts"

export const steeringKinds = ["WorkQueue", "RwqIndTable", "FlowAction", "Counters", "Flow", "SpreadingPair"] as const

export interface SteeringWorld {
  readonly workQueues: Array<WorkQueue.WorkQueue>
  readonly tables: Array<RwqIndTable.RwqIndTable>
  readonly actions: Array<FlowAction.FlowAction>
  readonly counters: Array<Counters.Counters>
}

export const steeringWorld = (): SteeringWorld => ({ workQueues: [], tables: [], actions: [], counters: [] })

export const makeSteering = (
  world: SteeringWorld,
  kind: (typeof steeringKinds)[number],
  place: Place
): Effect.Effect<void, { readonly message: string }, Fabric.Seams | Scope.Scope> =>
  Effect.gen(function*() {
    const { other } = place
    // Soft-RoCE refuses all of it: most are made on the other device.
    const domain = place.domain === undefined || (place.domain.context.name !== "mlx5_0" && other > 1)
      ? yield* Effect.flatMap(DeviceContext.openByName("mlx5_0"), ProtectionDomain.alloc)
      : place.domain
    const { context } = domain
    const queue = anyOf(place.queues, context, other, CompletionQueue.make(context, { cqe: 4 }))
    const work = anyOf(
      world.workQueues,
      context,
      other,
      Effect.flatMap(queue, (queue) => WorkQueue.make(domain, queue, { maxWr: 2 }))
    )
    const action = FlowAction.makeEsp(context, { keymat: { aesKey: new Uint8Array(16) } })
    switch (kind) {
      case "WorkQueue":
        world.workQueues.push(yield* WorkQueue.make(domain, yield* queue, { maxWr: 2 }))
        return
      case "RwqIndTable":
        world.tables.push(yield* RwqIndTable.make([yield* work, yield* work]))
        return
      case "FlowAction":
        world.actions.push(yield* action)
        return
      case "Counters":
        world.counters.push(yield* Counters.make(context))
        return
      case "SpreadingPair": {
        const table = Effect.flatMap(work, (work) => RwqIndTable.make([work]))
        yield* QueuePair.makeExtended(domain, {
          qpType: "rawPacket",
          rwqIndTbl: yield* anyOf(world.tables, context, other, table),
          rxHashConf: { rxHashKey: new Uint8Array(40), rxHashFields: ["srcIpv4"] }
        })
        return
      }
      case "Flow": {
        const cq = yield* queue
        const pair = yield* QueuePair.make(domain, {
          qpType: "ud",
          sendCq: cq,
          recvCq: cq,
          cap: { maxSendWr: 1, maxRecvWr: 1, maxSendSge: 1, maxRecvSge: 1 }
        })
        yield* Flow.make(pair, {
          port: 1,
          specs: [
            { _tag: "ActionHandle", action: yield* anyOf(world.actions, context, other, action) },
            { _tag: "ActionCount", counters: yield* anyOf(world.counters, context, other, Counters.make(context)) }
          ]
        })
      }
    }
  })
