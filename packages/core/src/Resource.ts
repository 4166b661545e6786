/**
 * The one place where create meets destroy. Every handle of every library is made here, so the rules of lifetimes hold
 * for all of them:
 *
 * - acquiring is uninterruptible, up to and including the registered release;
 * - a child is released before each of its parents, whichever scope closes first, and exactly once;
 * - a second or concurrent release waits for the first;
 * - a released handle is dead: using it is a defect and never reaches native code;
 * - what is under way on a handle holds a lease; release refuses new leases, wakes or awaits the ones out, then runs;
 * - a release that fails stops no other release; it is in the exit's Cause as a `ReleaseError`.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as Hash from "effect/Hash"
import * as Scope from "effect/Scope"
import * as CreationSite from "./CreationSite.ts"
import * as Ledger from "./Ledger.ts"
import type * as NativeError from "./NativeError.ts"
import { ReleaseError } from "./ReleaseError.ts"

/**
 * What marks a handle of this library.
 *
 * @category type ids
 * @since 0.1.0
 */
export const TypeId = "~@effect-rdma/core/Resource"

/**
 * A scoped handle of one kind around a raw native value. The kind keeps handles from being mixed.
 *
 * @category models
 * @since 0.1.0
 */
export interface Resource<out Kind extends string, out Raw = unknown> {
  readonly [TypeId]: Node<Raw>
  readonly kind: Kind
}

/**
 * A handle of any kind.
 *
 * @category models
 * @since 0.1.0
 */
export type Any = Resource<string>

/**
 * A dead handle was used. It is a defect: the program kept a handle past its scope.
 *
 * @category errors
 * @since 0.1.0
 */
export class UseAfterRelease extends Data.TaggedError("UseAfterRelease")<{
  readonly resource: string
  readonly released: string
}> {
  override get message() {
    return `${this.resource} was used after it was released (${this.released})`
  }
}

/**
 * What a failed release does: `die` puts a `ReleaseError` in the exit's Cause, `log` logs it as an error. Both count it
 * in the ledger, where the resource stays as `leaked`.
 *
 * @category references
 * @since 0.1.0
 */
export const OnReleaseFailure = Context.Reference<"die" | "log">("@effect-rdma/core/OnReleaseFailure", {
  defaultValue: () => "die"
})

interface Node<out Raw> extends Ledger.Entry {
  parents: ReadonlyArray<Node<unknown>>
  readonly children: Set<Node<unknown>>
  readonly ledger: Ledger.Ledger
  readonly scope: Scope.Closeable
  readonly cannotRefuse: boolean
  readonly goneWithDevice: boolean
  readonly raw: Raw
  readonly releaseRaw: Effect.Effect<void, NativeError.NativeError>
  state: Ledger.Entry["state"]
  /** How it went, for the message of a later use. */
  released: string
  leases: number
  idle: Deferred.Deferred<void> | undefined
  releasing: Deferred.Deferred<void> | undefined
  /** Told when the release begins. */
  holders: Set<() => void> | undefined
  done: Deferred.Deferred<void> | undefined
}

/**
 * What {@link make} needs to pair a create with its destroy.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<Kind extends string, Raw, Fields extends object, E, R> {
  readonly kind: Kind
  readonly pair: Ledger.Pair
  /** Where the public constructor was called: `CreationSite.capture(constructor)`. */
  readonly site: CreationSite.CreationSite | undefined
  /** Handles that must outlive this one: it is released before any of them. */
  readonly parents: ReadonlyArray<Any>
  /** Handles that are needed only while acquiring. */
  readonly uses?: ReadonlyArray<Any>
  /** A borrowed resource is listed and released in order, but its native object is not ours to destroy. */
  readonly ownership?: "owned" | "borrowed"
  /**
   * The C function returns nothing and would free the object under what still lives on it. When a child could not be
   * released, it is not called, and this resource is a failed release too.
   */
  readonly cannotRefuse?: boolean
  /** `EIO` from the release says that the device is gone, and its kernel objects with it: that counts as released. */
  readonly goneWithDevice?: boolean
  readonly acquire: Effect.Effect<Raw, E, R>
  readonly release: (raw: Raw) => Effect.Effect<void, NativeError.NativeError>
  /** What the handle carries; it stays readable after the release. `self` may be kept, not read. */
  readonly fields: (raw: Raw, self: Resource<Kind, Raw>) => Fields
}

/**
 * Acquires a native object as a scoped handle. Fails as `acquire` fails, and then nothing was made. Dies with
 * {@link UseAfterRelease} when a parent is released or is being released.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <Kind extends string, Raw, Fields extends object, E, R = never>(
  options: Options<Kind, Raw, Fields, E, R>
): Effect.Effect<Resource<Kind, Raw> & Fields, E, R | Scope.Scope> =>
  Effect.uninterruptible(Effect.withFiber((fiber) => {
    const scope = Context.getUnsafe(fiber.context, Scope.Scope)
    const parents = options.parents.map(liveNode)
    const leased = options.uses === undefined ? parents : [...parents, ...options.uses.map(liveNode)]
    for (const node of leased) node.leases++
    return Effect.flatMap(Effect.exit(options.acquire), (exit) => {
      // Entering the child and returning the leases is one turn, so no parent can be released in between.
      if (Exit.isFailure(exit)) {
        leased.forEach(returnLease)
        return Effect.failCause(exit.cause)
      }
      const ledger = fiber.getRef(Ledger.Ledger)
      const node: Node<Raw> = {
        name: ledger.nextName(options.kind),
        kind: options.kind,
        pair: options.pair,
        ownership: options.ownership ?? "owned",
        site: fiber.getRef(CreationSite.CaptureSites) ? options.site : undefined,
        parents,
        children: new Set(),
        ledger,
        // A scope of its own detaches from the caller's scope once the resource went with its parent.
        scope: Scope.forkUnsafe(scope),
        cannotRefuse: options.cannotRefuse ?? false,
        goneWithDevice: options.goneWithDevice ?? false,
        raw: exit.value,
        releaseRaw: Effect.suspend(() => options.release(exit.value)),
        state: "live",
        released: "",
        leases: 0,
        idle: undefined,
        releasing: undefined,
        holders: undefined,
        done: undefined
      }
      node.ledger.acquired(node)
      for (const parent of parents) parent.children.add(node)
      leased.forEach(returnLease)
      return Effect.map(
        Scope.addFinalizerExit(node.scope, (exit) => release(node, `its scope closed with ${exit._tag}`)),
        () => {
          const self: Resource<Kind, Raw> = Object.assign(Object.create(Prototype), {
            kind: options.kind,
            [TypeId]: node
          })
          return Object.assign(self, options.fields(exit.value, self))
        }
      )
    })
  }))

// Neither printing nor comparing a handle may walk through the ledger and the whole tree.
const Prototype = {
  [Equal.symbol](this: Any, that: unknown) {
    return this === that
  },
  [Hash.symbol](this: Any) {
    return Hash.random(this)
  },
  toJSON(this: Any) {
    return { _id: this[TypeId].name, state: this[TypeId].state }
  },
  toString(this: Any) {
    return this[TypeId].name
  },
  [Symbol.for("nodejs.util.inspect.custom")](this: Any) {
    return `${this[TypeId].name} (${this[TypeId].state})`
  }
}

/**
 * The raw native value of a live handle. Throws {@link UseAfterRelease} for a dead one. It is valid only as long as the
 * handle is: within {@link use} or {@link withLease}, or while acquiring a child. Elsewhere another fiber may release the
 * handle between this and the native call, since Effect may yield there.
 *
 * @category getters
 * @since 0.1.0
 */
export const raw = <Raw>(self: Resource<string, Raw>): Raw => liveNode(self).raw

/**
 * The name of a handle in the ledger and in messages, such as `AddressHandle#5`.
 *
 * @category getters
 * @since 0.1.0
 */
export const nameOf = (self: Any): string => self[TypeId].name

/**
 * Whether the handle can be used.
 *
 * @category guards
 * @since 0.1.0
 */
export const isLive = (self: Any): boolean => self[TypeId].state === "live"

/**
 * Puts a handle under another parent than before, because C moved the native object there. The caller holds leases on
 * all three, so that none is released meanwhile.
 *
 * @category combinators
 * @since 0.1.0
 */
export const move = (self: Any, from: Any, to: Any): void => {
  const node = self[TypeId]
  node.parents = node.parents.map((parent) => parent === from[TypeId] ? to[TypeId] : parent)
  from[TypeId].children.delete(node)
  to[TypeId].children.add(node)
}

/**
 * Puts a handle under one more parent, because C tied the native object to it after it was made: from then on it is
 * released before that one too. The caller holds leases on both, so that none is released meanwhile.
 *
 * @category combinators
 * @since 0.1.0
 */
export const addParent = (self: Any, parent: Any): void => {
  const node = self[TypeId]
  if (!node.parents.includes(parent[TypeId])) node.parents = [...node.parents, parent[TypeId]]
  parent[TypeId].children.add(node)
}

/**
 * Undoes {@link addParent}, because C untied the native object: the handle no longer goes with that parent. The caller
 * holds leases on both.
 *
 * @category combinators
 * @since 0.1.0
 */
export const removeParent = (self: Any, parent: Any): void => {
  const node = self[TypeId]
  node.parents = node.parents.filter((other) => other !== parent[TypeId])
  parent[TypeId].children.delete(node)
}

/**
 * Runs native calls on a live handle: release waits until they have ended. Dies with {@link UseAfterRelease} when the
 * handle is dead.
 *
 * @category combinators
 * @since 0.1.0
 */
export const use = <Raw, A, E, R>(
  self: Resource<string, Raw>,
  calls: (raw: Raw) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => withLease(self, Effect.suspend(() => calls(self[TypeId].raw)))

/**
 * Runs an effect that must end before the handle is released: release waits for it. The effect must not release the
 * handle itself, for it would wait for its own end.
 *
 * @category combinators
 * @since 0.1.0
 */
export const withLease = <A, E, R>(self: Any, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const node = liveNode(self)
      node.leases++
      return node
    }),
    () => effect,
    (node) => Effect.sync(() => returnLease(node))
  )

/**
 * Takes a lease in the middle of a turn, for what goes on after it: release tells `onRelease` that it has begun, then waits
 * until the returned function was called. Throws {@link UseAfterRelease} for a dead handle.
 *
 * @category unsafe
 * @since 0.1.0
 */
export const holdUnsafe = (self: Any, onRelease: () => void): () => void => {
  const node = liveNode(self)
  node.leases++
  node.holders ??= new Set()
  // One of its own, so that whoever holds twice is two.
  const told = () => onRelease()
  node.holders.add(told)
  return () => {
    if (node.holders?.delete(told) === true) returnLease(node)
  }
}

/**
 * Runs an effect that waits for something on the handle: release interrupts it, and it dies with
 * {@link UseAfterRelease}.
 *
 * @category combinators
 * @since 0.1.0
 */
export const whileLive = <A, E, R>(self: Any, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  withLease(
    self,
    Effect.suspend(() => {
      const node = self[TypeId]
      node.releasing ??= Deferred.makeUnsafe()
      return Effect.raceFirst(
        effect,
        Effect.flatMap(Deferred.await(node.releasing), () => Effect.die(useAfterRelease(node)))
      )
    })
  )

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const useAfterRelease = (node: Node<unknown>) =>
  new UseAfterRelease({ resource: Ledger.formatEntry(node), released: node.released })

const liveNode = <Raw>(self: Resource<string, Raw>): Node<Raw> => {
  const node = self[TypeId]
  if (node.state !== "live") throw useAfterRelease(node)
  return node
}

const returnLease = (node: Node<unknown>): void => {
  node.leases--
  if (node.leases === 0 && node.idle !== undefined) Deferred.doneUnsafe(node.idle, Exit.void)
}

const release = (node: Node<unknown>, why: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (node.state === "releasing") {
      node.done ??= Deferred.makeUnsafe()
      // Each in a turn of its own: a long chain of closers must not resume on one stack.
      return Effect.andThen(Deferred.await(node.done), Effect.yieldNow)
    }
    if (node.state !== "live") return Effect.void
    node.state = "releasing"
    node.released = why
    if (node.releasing !== undefined) Deferred.doneUnsafe(node.releasing, Exit.void)
    if (node.holders !== undefined) { for (const told of node.holders) told() }
    return node.leases === 0 && node.children.size === 0 ? releaseAlone(node) : releaseAfterOthers(node)
  })

const releaseAlone = (node: Node<unknown>): Effect.Effect<void> =>
  Effect.flatMap(Effect.exit(node.releaseRaw), (exit) => settle(node, exit))

const releaseAfterOthers = Effect.fnUntraced(function*(node: Node<unknown>) {
  if (node.leases > 0) {
    node.idle = Deferred.makeUnsafe()
    yield* Deferred.await(node.idle)
  }
  const exits: Array<Exit.Exit<void>> = []
  for (const child of Array.from(node.children).toReversed()) {
    exits.push(yield* Effect.exit(release(child, `with its parent ${node.name}`)))
  }
  const isRefused = node.cannotRefuse && node.children.size > 0
  exits.push(
    yield* Effect.exit(isRefused ? settle(node, Exit.die("not called while a child lives")) : releaseAlone(node))
  )
  return yield* Exit.asVoidAll(exits)
})

const settle = (node: Node<unknown>, exit: Exit.Exit<void, NativeError.NativeError>): Effect.Effect<void> => {
  const error = releaseErrorOf(node, exit)
  node.state = error === undefined ? "released" : "leaked"
  if (error === undefined) {
    node.ledger.released(node)
    // A leaked child stays, so that the parent's own failure can name it.
    for (const parent of node.parents) parent.children.delete(node)
  } else {
    node.ledger.failed(node)
  }
  if (node.done !== undefined) Deferred.doneUnsafe(node.done, Exit.void)
  Scope.closeUnsafe(node.scope, Exit.void)
  if (error === undefined) return Effect.void
  return Effect.flatMap(OnReleaseFailure, (policy) => policy === "die" ? Effect.die(error) : Effect.logError(error))
}

const releaseErrorOf = (
  node: Node<unknown>,
  exit: Exit.Exit<void, NativeError.NativeError>
): ReleaseError | undefined => {
  if (Exit.isSuccess(exit)) return undefined
  const cause = Cause.squash(exit.cause)
  const native = exit.cause.reasons.find((reason) => reason._tag === "Fail")?.error
  // The kernel has reclaimed the object already; a retry could never succeed.
  if (node.goneWithDevice && native?.reason._tag === "EIO") return undefined
  return new ReleaseError({
    call: native?.call ?? node.pair[1],
    resource: Ledger.formatEntry(node),
    errno: native?.reason.errno,
    liveChildren: Array.from(node.children, Ledger.formatEntry),
    cause
  })
}
