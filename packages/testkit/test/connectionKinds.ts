/** The kinds of what is made on ids in the random programs of `lifetimes.test.ts`. */
import { Resource } from "@effect-rdma/core"
import {
  type AddressInfoAttributes,
  CmId,
  CmQueuePair,
  CmSharedReceiveQueue,
  Endpoint,
  EventChannel,
  MulticastMembership
} from "@effect-rdma/rdmacm"
import type { Fabric } from "@effect-rdma/testkit"
import { CompletionQueue, ProtectionDomain } from "@effect-rdma/verbs"
import { Effect, type Scope } from "effect"
import { parametersOf, to } from "./connections.ts"
import { pick, type Place } from "./kinds.ts"

export const connectionKinds = [
  "CmQueuePair",
  "CmSharedReceiveQueue",
  "MulticastMembership",
  "EndpointId",
  "Endpoint",
  "ConnectionRequest",
  "MigratedId"
] as const

export interface ConnectionWorld {
  readonly channels: Array<EventChannel.EventChannel>
  readonly ids: Array<CmId.CmId>
  /** Bound to the device, for connections and for datagrams. */
  readonly bound: Array<CmId.CmId>
  readonly datagrams: Array<CmId.CmId>
  qpNum: number
}

export const connectionWorld = (): ConnectionWorld => ({
  channels: [],
  ids: [],
  bound: [],
  datagrams: [],
  qpNum: 0x4000
})

const own = "10.0.0.1:0"

const info = (flags: ReadonlyArray<"passive">): AddressInfoAttributes.AddressInfo => ({
  flags,
  portSpace: "tcp",
  qpType: "rc",
  source: flags.length > 0 ? to(own) : undefined,
  destination: flags.length > 0 ? undefined : to("10.0.0.1:9"),
  sourceName: undefined,
  destinationName: undefined,
  route: new Uint8Array(),
  connect: new Uint8Array()
})

const options = { queuePair: { cap: { maxSendWr: 2, maxRecvWr: 2 } } }

const whileTimePasses = (passes: Effect.Effect<void>) => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.raceFirst(effect, Effect.forever(passes))

/** `passes` lets the time of resolutions pass. */
export const makeConnection = (
  world: ConnectionWorld,
  kind: (typeof connectionKinds)[number],
  { other, parent }: Place,
  passes: Effect.Effect<void>
): Effect.Effect<void, { readonly message: string }, Fabric.Seams | Scope.Scope> =>
  Effect.gen(function*() {
    const waiting = whileTimePasses(passes)
    const channel = pick(world.channels, parent) ?? (yield* EventChannel.make())
    const bind = Effect.fnUntraced(function*(portSpace: "tcp" | "udp") {
      const id = yield* CmId.make(channel, portSpace)
      yield* CmId.bind(id, own)
      ;(portSpace === "tcp" ? world.bound : world.datagrams).push(id)
      world.ids.push(id)
      return id
    })
    const bound = Effect.suspend(() => {
      const id = pick(world.bound, parent)
      return id === undefined || other === 0 ? bind("tcp") : Effect.succeed(id)
    })
    switch (kind) {
      case "CmQueuePair": {
        const id = yield* bound
        if (other % 2 === 0) {
          yield* CmQueuePair.make(id, { qpType: "rc", cap: { maxSendWr: 2, maxRecvWr: 2 } })
          return
        }
        const context = yield* CmId.context(id)
        const domain = yield* ProtectionDomain.alloc(context)
        const queue = yield* CompletionQueue.make(context, { cqe: 4 })
        yield* CmQueuePair.make(id, { qpType: "rc", domain, sendCq: queue, recvCq: queue })
        return
      }
      case "CmSharedReceiveQueue":
        yield* CmSharedReceiveQueue.make(yield* bound, { maxWr: 2 })
        return
      case "MulticastMembership": {
        const id = pick(world.datagrams, other) ?? (yield* bind("udp"))
        yield* waiting(MulticastMembership.join(id, `239.1.1.${1 + other}:0`))
        return
      }
      case "EndpointId":
        world.ids.push(yield* waiting(Endpoint.make(channel, info([]), other % 2 === 0 ? {} : options)))
        return
      case "Endpoint":
        yield* Endpoint.listen(info(["passive"]), options)
        return
      case "ConnectionRequest": {
        const listener = yield* bind("tcp")
        yield* CmId.listen(listener)
        const { localAddress } = yield* CmId.state(listener)
        if (localAddress === undefined) return
        const client = yield* CmId.make(channel, "tcp")
        yield* waiting(CmId.resolveAddress(client, { destination: localAddress }))
        yield* waiting(CmId.resolveRoute(client))
        yield* Resource.use(client, (id) => channel.cm.connect(id, parametersOf(world.qpNum++)))
        const { id } = yield* CmId.nextRequest(listener)
        world.ids.push(id)
        if (other % 2 === 0) yield* CmQueuePair.make(id, { qpType: "rc", cap: { maxSendWr: 2, maxRecvWr: 2 } })
        return yield* CmId.reject(id)
      }
      case "MigratedId": {
        const id = pick(world.ids, other) ?? (yield* bound)
        return yield* CmId.migrate(id, channel)
      }
    }
  })
