/** What the kinds of resources in the random programs of `lifetimes.test.ts` have in common. */
import type { CompletionQueue, DeviceContext, ProtectionDomain } from "@effect-rdma/verbs"
import { Effect } from "effect"

/** What a resource is made on, as far as there is any. */
export interface Place {
  readonly context: DeviceContext.DeviceContext | undefined
  readonly domain: ProtectionDomain.AnyDomain | undefined
  readonly queues: Array<CompletionQueue.CompletionQueue>
  readonly parent: number
  readonly other: number
}

export const isOneOf = <Kind extends string>(kinds: ReadonlyArray<Kind>, kind: string): kind is Kind =>
  kinds.some((one) => one === kind)

export const pick = <A>(from: ReadonlyArray<A>, index: number): A | undefined => from[index % from.length]

export const kept = <A, E, R>(into: Array<A>, make: Effect.Effect<A, E, R>) =>
  Effect.map(make, (handle) => {
    into.push(handle)
  })

export const onParent = <A, B, E, R>(parent: A | undefined, make: (parent: A) => Effect.Effect<B, E, R>) =>
  parent === undefined ? Effect.void : Effect.asVoid(make(parent))

/** One that is there, of the same context, or a new one in the same scope: else what is deep is made too seldom. */
export const anyOf = <A extends { readonly context: DeviceContext.DeviceContext }, E, R>(
  all: Array<A>,
  context: DeviceContext.DeviceContext,
  index: number,
  make: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const found = pick(all.filter((one) => one.context === context), index)
    return found === undefined ? Effect.tap(make, (made) => Effect.sync(() => all.push(made))) : Effect.succeed(found)
  })
