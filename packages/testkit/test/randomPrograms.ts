/**
 * Random programs over every kind of resource: random parents, in inner and outer scopes, on concurrent fibers, with
 * failures at any call, a device unplugged and an interruption at any point. None may leak, release twice, release a child
 * after its parent, or see EBUSY from order.
 */
import { Errno, Ledger, ReleaseError, Resource } from "@effect-rdma/core"
import { CmId, EventChannel, RdmaDevices } from "@effect-rdma/rdmacm"
import { type Fabric, Faults } from "@effect-rdma/testkit"
import { CaDeviceList, MadBuffer, UmadAgent, UmadCa, UmadLibrary, UmadPort } from "@effect-rdma/umad"
import {
  AsyncEvents,
  CompletionChannel,
  CompletionQueue,
  DeviceContext,
  DeviceList,
  VerbsError
} from "@effect-rdma/verbs"
import { assert } from "@effect/vitest"
import { Arbitrary, Cause, type Context, Effect, Exit, Fiber, Schema, Scope } from "effect"
import * as NetAddress from "effect/net/NetAddress"
import { domainKinds, type DomainWorld, domainWorld, makeDomain } from "./domainKinds.ts"
import { isOneOf, kept, onParent, pick } from "./kinds.ts"
import { makeMemory, memoryKinds, type MemoryWorld, memoryWorld } from "./memoryKinds.ts"
import { makeQueue, queueKinds, type QueueWorld, queueWorld } from "./queueKinds.ts"
import { seamsReleasingAs, slowSeams } from "./randomSeams.ts"
import { makeSteering, steeringKinds, type SteeringWorld, steeringWorld } from "./steeringKinds.ts"

const Pick = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 7 }))

/** What a program can make. Each is made on the handles that `parent` picks among those there are, dead ones included. */
const Kind = Schema.Literals([
  "DeviceList",
  "DeviceContext",
  "RdmaDevices",
  ...domainKinds,
  ...memoryKinds,
  "CompletionChannel",
  "CompletionQueue",
  "ExtendedCompletionQueue",
  ...steeringKinds,
  ...queueKinds,
  "EventChannel",
  "CmId",
  "UmadLibrary",
  "UmadPort",
  "UmadCa",
  "CaDeviceList",
  "OpenPort",
  "UmadAgent",
  "MadBuffer"
])

const Make = Schema.Struct({ make: Kind, parent: Pick, other: Pick, scope: Pick })

// Makes are what most of a program does.
const Step = Schema.Union([
  Make,
  Make,
  Make,
  Make,
  Make,
  Make,
  Schema.Struct({ openScopeIn: Pick }),
  Schema.Struct({ closeScope: Pick }),
  Schema.Struct({ query: Pick }),
  Schema.Struct({ resolveOn: Pick }),
  Schema.Struct({ waitForEvent: Pick }),
  Schema.Struct({ unplug: Schema.Literals(["rxe0", "mlx5_0"]) })
])
type Step = typeof Step.Type

const FaultAt = Schema.Struct({
  nth: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 60 })),
  errno: Schema.Literals(["ENOMEM", "EBUSY", "EINVAL", "EOPNOTSUPP", 0])
})

/** What a program did in its steps, and what would have gone wrong. */
export interface Program {
  readonly strands: ReadonlyArray<ReadonlyArray<Step>>
  readonly faults: ReadonlyArray<Faults.Fault>
  readonly interruptAfter: number
  readonly slow: boolean
}

export const Program: Arbitrary.Arbitrary<Program> = Arbitrary.all({
  // Two fibers over the same handles and scopes.
  strands: Arbitrary.array(Arbitrary.array(Arbitrary.schema(Step), { minLength: 5, maxLength: 30 }), {
    minLength: 1,
    maxLength: 2
  }),
  faults: Arbitrary.array(Arbitrary.schema(FaultAt), { minLength: 0, maxLength: 3 }),
  // After so many turns of the event loop; past the end of most programs it interrupts nothing.
  interruptAfter: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 60 }))),
  // A seam that takes a turn before and after each call, as an asynchronous one would.
  slow: Arbitrary.schema(Schema.Boolean)
})

/** Where a program runs. */
export interface Site {
  readonly seams: Context.Context<Fabric.Seams>
  /** Waits until the resolution of an address has ended. */
  readonly resolved: Effect.Effect<void>
  /** Takes a device away; where that cannot be, the step does nothing. */
  readonly unplug: ((device: string) => Effect.Effect<void>) | undefined
  /** How releases fail: in the place of the native call, or after it, where what they left would stay for good. */
  readonly releasesFail: "instead" | "after"
}

interface World {
  readonly lists: Array<DeviceList.DeviceList>
  readonly contexts: Array<DeviceContext.DeviceContext>
  readonly completionChannels: Array<CompletionChannel.CompletionChannel>
  readonly completionQueues: Array<CompletionQueue.CompletionQueue>
  readonly domains: DomainWorld
  readonly memory: MemoryWorld
  readonly steering: SteeringWorld
  readonly queuing: QueueWorld
  readonly channels: Array<EventChannel.EventChannel>
  readonly ids: Array<CmId.CmId>
  readonly libraries: Array<UmadLibrary.UmadLibrary>
  readonly openPorts: Array<UmadPort.OpenPort>
  readonly scopes: Array<Scope.Closeable>
  readonly defects: Array<unknown>
  readonly unplugged: Set<string>
}

const peer = NetAddress.inetAddressFromStringUnsafe("10.0.0.2:4791")

const make = (
  world: World,
  step: typeof Make.Type
): Effect.Effect<void, { readonly message: string }, Fabric.Seams | Scope.Scope> => {
  const context = pick(world.contexts, step.parent)
  const domain = pick(world.domains.all, step.parent)
  const library = pick(world.libraries, step.parent)
  const place = { context, domain, queues: world.completionQueues, parent: step.parent, other: step.other }
  if (isOneOf(domainKinds, step.make)) return makeDomain(world.domains, step.make, place)
  if (isOneOf(memoryKinds, step.make)) return makeMemory(world.memory, step.make, place)
  if (isOneOf(steeringKinds, step.make)) return makeSteering(world.steering, step.make, place)
  if (isOneOf(queueKinds, step.make)) return makeQueue(world.queuing, step.make, place)
  switch (step.make) {
    case "DeviceList":
      return kept(world.lists, DeviceList.get())
    case "DeviceContext": {
      const device = pick(pick(world.lists, step.parent)?.devices ?? [], step.other)
      return kept(
        world.contexts,
        device === undefined
          ? DeviceContext.openByName(step.other % 2 === 0 ? "rxe0" : "mlx5_0")
          : DeviceContext.open(device)
      )
    }
    case "RdmaDevices":
      return Effect.map(RdmaDevices.get(), (contexts) => {
        world.contexts.push(...contexts)
      })
    case "CompletionChannel":
      return onParent(context, (context) => kept(world.completionChannels, CompletionChannel.make(context)))
    case "CompletionQueue": {
      // Of the same context, so that most are made.
      const channel = pick(world.completionChannels, step.other)
      return onParent(channel?.context ?? context, (context) =>
        kept(
          world.completionQueues,
          CompletionQueue.make(context, { cqe: 4, ...(channel === undefined ? {} : { channel }) })
        ))
    }
    case "ExtendedCompletionQueue": {
      const domain = pick(world.domains.resource, step.parent)
      return onParent(domain?.context ?? context, (context) =>
        kept(
          world.completionQueues,
          CompletionQueue.makeExtended(context, { cqe: 4, ...(domain === undefined ? {} : { domain }) })
        ))
    }
    case "EventChannel":
      return kept(world.channels, EventChannel.make())
    case "CmId":
      return onParent(pick(world.channels, step.parent), (channel) => kept(world.ids, CmId.make(channel, "tcp")))
    case "UmadLibrary":
      return kept(world.libraries, UmadLibrary.init())
    case "UmadPort":
      return onParent(library, (library) => UmadPort.get(library))
    case "UmadCa":
      return onParent(library, (library) => UmadCa.get(library))
    case "CaDeviceList":
      return onParent(library, (library) => CaDeviceList.get(library))
    case "OpenPort":
      return onParent(library, (library) => kept(world.openPorts, UmadPort.open(library)))
    case "UmadAgent":
      return onParent(
        pick(world.openPorts, step.parent),
        (port) => UmadAgent.register(port, { mgmtClass: 0x28, methods: [step.other % 128] })
      )
    case "MadBuffer":
      return onParent(pick(world.openPorts, step.parent), (port) => MadBuffer.alloc(port, 256))
  }
}

/** Runs an effect and notes its defects, even when it is interrupted; typed errors are what faults are for. */
const noting = <A, E, R>(world: World, effect: Effect.Effect<A, E, R>): Effect.Effect<void, never, R> =>
  Effect.onExit(effect, (exit) =>
    Effect.sync(() => {
      if (Exit.isSuccess(exit)) return
      for (const reason of exit.cause.reasons) if (reason._tag === "Die") world.defects.push(reason.defect)
    })).pipe(
      Effect.catchCause((cause) => Cause.hasInterrupts(cause) ? Effect.interrupt : Effect.void),
      Effect.asVoid
    )

const run = (
  site: Site,
  world: World,
  step: Step
): Effect.Effect<void, never, Fabric.Seams> => {
  const scopes = world.scopes.length
  if ("make" in step) {
    const scope = pick(world.scopes, step.scope)!
    return noting(world, Effect.provideService(make(world, step), Scope.Scope, scope))
  }
  if ("openScopeIn" in step) {
    return Effect.map(Scope.fork(world.scopes[step.openScopeIn % scopes]!), (scope) => {
      world.scopes.push(scope)
    })
  }
  if ("closeScope" in step) {
    // Not the root, so that the program goes on.
    const scope = pick(world.scopes.slice(1), step.closeScope)
    return scope === undefined ? Effect.void : noting(world, Scope.close(scope, Exit.void))
  }
  if ("query" in step) {
    const context = pick(world.contexts, step.query)
    return context === undefined ? Effect.void : noting(world, DeviceContext.query(context))
  }
  if ("resolveOn" in step) {
    const id = pick(world.ids, step.resolveOn)
    return id === undefined
      ? Effect.void
      : Effect.andThen(
        noting(world, Resource.use(id, (pointer) => id.channel.cm.resolveAddr(pointer, undefined, peer, 1000))),
        // Then its event is there, and nobody may have taken it when the id is destroyed.
        site.resolved
      )
  }
  if ("waitForEvent" in step) {
    const channel = pick(world.channels, step.waitForEvent)
    const completions = pick(world.completionChannels, step.waitForEvent)
    const context = pick(world.contexts, step.waitForEvent)
    const waits = [
      ...(channel === undefined ? [] : [EventChannel.next(channel)]),
      ...(completions === undefined ? [] : [CompletionChannel.next(completions)]),
      ...(context === undefined ? [] : [AsyncEvents.next(context)])
    ]
    // On fibers of their own: only a release, an unplugged device or the end of the program wakes them.
    return Effect.forEach(
      waits,
      (wait) => Effect.forkChild(noting(world, Effect.ignore(wait)), { startImmediately: true }),
      { discard: true }
    )
  }
  if (site.unplug === undefined || world.unplugged.has(step.unplug)) return Effect.void
  world.unplugged.add(step.unplug)
  return site.unplug(step.unplug)
}

// Something to build on, in an inner scope; what the root gets is made on it too.
const firstSteps: ReadonlyArray<Step> = [
  { openScopeIn: 0 },
  { openScopeIn: 1 },
  ...([
    "DeviceContext",
    "DeviceContext",
    "ProtectionDomain",
    "ThreadDomain",
    "ParentDomain",
    "EventChannel",
    "CmId",
    "UmadLibrary",
    "OpenPort"
  ] as const)
    .map(
      (make, index) => ({ make, parent: index, other: index, scope: index })
    ),
  { resolveOn: 0 }
]

/** What was left of a program, all of it explained. */
export interface Outcome {
  readonly alive: ReadonlyArray<Ledger.Entry>
  readonly unplugged: boolean
  readonly interrupted: boolean
  readonly faults: number
  readonly failedReleases: number
  readonly usesAfterRelease: number
  readonly totals: ReadonlyArray<Ledger.Totals>
}

/** Runs a program to its end, and asserts what must hold anywhere. */
export const runProgram = Effect.fnUntraced(function*(
  site: Site,
  { faults, interruptAfter, slow, strands }: Program
) {
  const ledger = yield* Ledger.Ledger
  const injection = yield* Faults.start(faults)
  // A create must not fail after the native call, so there the releases have an injection of their own; they are the fewer
  // calls by far.
  const inReleases = site.releasesFail === "instead"
    ? injection
    : yield* Faults.start(faults.map(({ nth, ...fault }) => ({ ...fault, nth: Math.ceil(nth / 4), when: "after" })))
  const root = yield* Scope.make()
  const world: World = {
    lists: [],
    contexts: [],
    completionChannels: [],
    completionQueues: [],
    domains: domainWorld(),
    memory: memoryWorld(),
    steering: steeringWorld(),
    queuing: queueWorld(),
    channels: [],
    ids: [],
    libraries: [],
    openPorts: [],
    scopes: [root],
    defects: [],
    unplugged: new Set()
  }
  const injected = injection.wrap(site.seams)
  const seams = inReleases === injection ? injected : seamsReleasingAs(injected, inReleases.wrap(site.seams))
  const program = Effect.forEach(
    strands.map((steps) => [...firstSteps, ...steps]),
    (steps) =>
      Effect.forEach(steps, (step) => Effect.andThen(run(site, world, step), Effect.yieldNow), { discard: true }),
    { concurrency: "unbounded", discard: true }
  ).pipe(Effect.provide(slow ? slowSeams(seams) : seams))

  const fiber = yield* Effect.forkChild(program, { startImmediately: true })
  for (let turn = 0; turn < interruptAfter; turn++) yield* Effect.yieldNow
  yield* Fiber.interrupt(fiber)
  yield* noting(world, Scope.close(root, Exit.void))

  const calls = [...(yield* injection.calls), ...(yield* inReleases.calls)]
  const fired = calls.filter((call) => call.failedWith !== undefined)
  const alive = ledger.live().filter((entry) => entry.ownership === "owned")
  const describe = () => Ledger.formatTree(alive)

  const failures = world.defects.filter((defect) => defect instanceof ReleaseError.ReleaseError)
  for (const defect of world.defects) {
    // Effect makes a typed error a defect when a release fails while it is under way.
    const isElected = failures.length > 0 && defect instanceof VerbsError.VerbsError
    assert.isTrue(
      defect instanceof Resource.UseAfterRelease || defect instanceof ReleaseError.ReleaseError || isElected,
      `${String(defect)}\n${describe()}`
    )
  }
  // What is left is what could not be released.
  assert.deepStrictEqual(alive.filter((entry) => entry.state !== "leaked").map(Ledger.formatEntry), [])
  // A release fails because a fault said so, or because a child could not be released before.
  assert.strictEqual(failures.length, alive.length)
  for (const failure of failures) {
    const byFault = fired.some(({ call, failedWith }) => call === failure.call && failedWith === failure.errno)
    const byChild = failure.liveChildren.length > 0 &&
      (failure.errno === Errno.numberOf("EBUSY") || failure.errno === undefined)
    assert.isTrue(byFault || byChild, failure.message)
  }
  const outcome: Outcome = {
    alive,
    unplugged: world.unplugged.size > 0,
    interrupted: Exit.hasInterrupts(yield* Fiber.await(fiber)),
    faults: fired.length,
    failedReleases: failures.length,
    usesAfterRelease: world.defects.length - failures.length,
    totals: ledger.totals()
  }
  return outcome
})
