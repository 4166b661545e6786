/** The kinds of domains, and what is made on one alone, in the random programs of `lifetimes.test.ts`. */
import type { Fabric } from "@effect-rdma/testkit"
import {
  AddressHandle,
  DeviceContext,
  ParentDomain,
  ProtectionDomain,
  ResourceDomain,
  ThreadDomain
} from "@effect-rdma/verbs"
import { Effect, type Scope } from "effect"
import { kept, onParent, pick, type Place } from "./kinds.ts"

export const domainKinds = [
  "ProtectionDomain",
  "ThreadDomain",
  "ParentDomain",
  "AddressHandle",
  "ReceivedAddressHandle",
  "ResourceDomain",
  "Imports"
] as const

export interface DomainWorld {
  readonly protection: Array<ProtectionDomain.ProtectionDomain>
  readonly thread: Array<ThreadDomain.ThreadDomain>
  readonly resource: Array<ResourceDomain.ResourceDomain>
  /** Those that others are made on. */
  readonly all: Array<ProtectionDomain.AnyDomain>
}

export const domainWorld = (): DomainWorld => ({ protection: [], thread: [], resource: [], all: [] })

export const makeDomain = (
  world: DomainWorld,
  kind: (typeof domainKinds)[number],
  { context, domain, other, parent }: Place
): Effect.Effect<void, { readonly message: string }, Fabric.Seams | Scope.Scope> => {
  switch (kind) {
    case "ProtectionDomain":
      return onParent(context, (context) =>
        Effect.map(ProtectionDomain.alloc(context), (domain) => {
          world.protection.push(domain)
          world.all.push(domain)
        }))
    case "ThreadDomain":
      return onParent(context, (context) => kept(world.thread, ThreadDomain.alloc(context)))
    case "ParentDomain":
      return onParent(
        pick(world.protection, parent),
        (domain) => kept(world.all, ParentDomain.alloc(domain, pick(world.thread, other)))
      )
    case "AddressHandle":
      return onParent(domain, (domain) =>
        AddressHandle.make(
          domain,
          domain.context.name === "rxe0"
            ? { portNum: 1, grh: { dgid: "::ffff:10.0.0.2", sgidIndex: 1 } }
            : { portNum: 1, dlid: 2 }
        ))
    case "ReceivedAddressHandle":
      return onParent(domain, (domain) => AddressHandle.fromReceived(domain, 1, { slid: 2, sl: 0, dlidPathBits: 0 }))
    case "ResourceDomain":
      return onParent(
        context,
        (context) =>
          kept(
            world.resource,
            ResourceDomain.make(context, other % 2 === 0 ? { threadModel: "single" } : { msgModel: "lowLatency" })
          )
      )
    case "Imports":
      return onParent(pick(world.protection, parent), (domain) =>
        Effect.gen(function*() {
          const context = yield* DeviceContext.import(yield* DeviceContext.commandDescriptor(domain.context))
          yield* ProtectionDomain.import(context, yield* ProtectionDomain.handle(domain))
        }))
  }
}
