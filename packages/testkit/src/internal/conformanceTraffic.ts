/**
 * What the conformance suites of the data path have in common: queue pairs with memory, connected to each other, and
 * waits that end.
 *
 * @since 0.1.0
 */
import type * as AccessFlags from "@effect-rdma/verbs/AccessFlags"
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as AsyncEvent from "@effect-rdma/verbs/AsyncEvent"
import * as AsyncEvents from "@effect-rdma/verbs/AsyncEvents"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import type * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import type * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import type * as QueuePairAttributes from "@effect-rdma/verbs/QueuePairAttributes"
import * as SharedReceiveQueue from "@effect-rdma/verbs/SharedReceiveQueue"
import type * as WorkCompletion from "@effect-rdma/verbs/WorkCompletion"
import type * as WorkRequest from "@effect-rdma/verbs/WorkRequest"
import { assert } from "@effect/vitest"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as VerbsLane from "../conformance/VerbsLane.ts"
import { verbsSuite } from "./conformanceVerbs.ts"

/** A queue pair with queues and memory: sends leave from the first half of it, receives arrive in the second. */
export interface End<out Type extends "rc" | "uc" | "ud" = "rc" | "uc" | "ud"> {
  readonly domain: ProtectionDomain.AnyDomain
  readonly sends: CompletionQueue.CompletionQueue
  readonly receives: CompletionQueue.CompletionQueue
  readonly queuePair: QueuePair.QueuePair<Type>
  readonly region: MemoryRegion.MemoryRegion
}

export interface EndOptions {
  readonly sends?: CompletionQueue.CompletionQueue
  readonly receives?: CompletionQueue.CompletionQueue
  readonly srq?: SharedReceiveQueue.SharedReceiveQueue
  readonly cap?: (typeof QueuePairAttributes.Capacities)["Encoded"]
  readonly sqSigAll?: boolean
}

/** A queue pair in RESET, of which each kind of completion has a queue of its own unless told otherwise. */
export const end = Effect.fnUntraced(function*<const Type extends "rc" | "uc" | "ud">(
  domain: ProtectionDomain.AnyDomain,
  qpType: Type,
  { cap = {}, receives, sends, sqSigAll = false, srq }: EndOptions = {}
) {
  const sendCq = sends ?? (yield* CompletionQueue.make(domain.context, { cqe: 64 }))
  const recvCq = receives ?? (yield* CompletionQueue.make(domain.context, { cqe: 64 }))
  const queuePair = yield* QueuePair.make(domain, {
    qpType,
    sendCq,
    recvCq,
    cap: { maxSendWr: 16, maxRecvWr: 16, maxSendSge: 3, maxRecvSge: 3, maxInlineData: 64, ...cap },
    sqSigAll,
    ...(srq === undefined ? {} : { srq })
  })
  const region = yield* MemoryRegion.alloc(domain, { length: 2 * half, access: everything })
  const made: End<Type> = { domain, sends: sendCq, receives: recvCq, queuePair, region }
  return made
})

export const half = 8192

export type Connecting = Omit<NonNullable<Parameters<typeof QueuePair.connect>[3]>, "receives">

/** The objects of {@link verbsSuite}, and ends that can send. */
export const trafficSuite = <Others>(lane: VerbsLane.VerbsLane<Others>) => {
  const suite = verbsSuite(lane)
  const { domain, portNum, ready } = suite

  /** Connects two queue pairs in RESET, with all that peers may do. */
  const connect = Effect.fnUntraced(function*(
    one: End<"rc" | "uc">,
    other: End<"rc" | "uc">,
    options: Connecting = {}
  ) {
    const local = yield* QueuePair.endpoint(one.queuePair, { portNum })
    const remote = yield* QueuePair.endpoint(other.queuePair, { portNum })
    const all = { qpAccessFlags: ["remoteWrite", "remoteRead", "remoteAtomic"], ...options } as const
    yield* QueuePair.connect(one.queuePair, local, remote, all)
    yield* QueuePair.connect(other.queuePair, remote, local, all)
  })

  const connectedOn = Effect.fnUntraced(function*<const Type extends "rc" | "uc">(
    on: ProtectionDomain.AnyDomain,
    qpType: Type,
    { a: optionsOfA = {}, b: optionsOfB = {}, ...options }: Connecting & {
      readonly a?: EndOptions
      readonly b?: EndOptions
    } = {}
  ) {
    const a = yield* end(on, qpType, optionsOfA)
    const b = yield* end(on, qpType, optionsOfB)
    yield* connect(a, b, options)
    return { a, b }
  })

  /** A queue pair for datagrams in RTS. */
  const datagramsOn = Effect.fnUntraced(function*(on: ProtectionDomain.AnyDomain, options: EndOptions = {}) {
    const made = yield* end(on, "ud", options)
    yield* ready.ud(made.queuePair)
    return made
  })

  /** So many senders, each with a receiver of its own on one queue; the receives are in the memory of the first one. */
  const onOneQueue = Effect.fnUntraced(function*(count: number, maxWr = 16, options: Connecting = {}) {
    const on = yield* domain
    const srq = yield* SharedReceiveQueue.make(on, { maxWr, maxSge: 2 })
    const pairs = yield* Effect.forEach(
      Array.from({ length: count }),
      () => connectedOn(on, "rc", { ...options, b: { srq } })
    )
    const [first] = pairs
    if (first === undefined) return assert.fail("there is no pair")
    const receive = (wrId: bigint, length = 64) => ({ wrId, sgList: [room(first.b, 64 * Number(wrId), length)] })
    return {
      srq,
      pairs,
      first,
      receive,
      textOf: (wrId: bigint, length: number) => textIn(first.b, length, 64 * Number(wrId))
    }
  })

  return {
    ...suite,
    connect,
    onOneQueue,
    connectedOn,
    connected: (options: Parameters<typeof connectedOn>[2] = {}) =>
      Effect.flatMap(domain, (on) => connectedOn(on, "rc", options)),
    datagramsOn,
    /** Two queue pairs for datagrams, and the way from one to the other. */
    datagrams: Effect.gen(function*() {
      const on = yield* domain
      const [a, b] = [yield* datagramsOn(on), yield* datagramsOn(on)]
      const ah = yield* AddressHandle.make(on, lane.loop)
      return { a, b, ah, toB: addressed(ah, b) }
    }),
    /** How many bytes before the data of a datagram its receive has room for. */
    headerBytes: 40
  }
}

/** The key of queue pairs for datagrams. */
export const qkey = 0x1111

export const addressed = (ah: AddressHandle.AddressHandle, { queuePair }: End): WorkRequest.Datagram => ({
  ah,
  remoteQpn: queuePair.qpNum,
  remoteQkey: qkey
})

/** A part of the memory that messages leave from. */
export const piece = ({ region }: End, offset = 0, length = 8): WorkRequest.Sge => ({ region, offset, length })

/** A part of the memory that messages arrive in. */
export const room = ({ region }: End, offset = 0, length = 8): WorkRequest.Sge => ({
  region,
  offset: half + offset,
  length
})

/** Where a peer may write to, or read from. */
export const remoteOf = ({ region }: End, offset = 0) => ({
  rkey: region.rkey,
  remoteAddr: region.address + BigInt(half + offset)
})

/** Puts a text where messages leave from, and gives the piece. */
export const put = (self: End, text: string, offset = 0): WorkRequest.Sge => {
  const bytes = new TextEncoder().encode(text)
  self.region.bytes.set(bytes, offset)
  return piece(self, offset, bytes.length)
}

/** What arrived. */
export const textIn = ({ region }: End, length: number, offset = 0): string =>
  new TextDecoder().decode(region.bytes.subarray(half + offset, half + offset + length))

/** Posts messages that tell of their end. */
export const postSends = (self: End, ...wrIds: ReadonlyArray<bigint>) =>
  QueuePair.postSend(
    self.queuePair,
    wrIds.map((wrId) => ({ opcode: "send", wrId, flags: ["signaled"], sgList: [piece(self)] }))
  )

/** Posts receives, all with the same memory. */
export const postReceives = (self: End, ...wrIds: ReadonlyArray<bigint>) =>
  QueuePair.postRecv(self.queuePair, wrIds.map((wrId) => ({ wrId, sgList: [room(self)] })))

export const limit: Duration.Input = "10 seconds"

/** Waits, but not for ever. */
export const within = <A, E, R>(what: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.timeoutOrElse(effect, {
    duration: limit,
    orElse: () => Effect.sync(() => assert.fail(`${what}: not within ${limit}`))
  })

/** Waits for so many completions. */
export const take = Effect.fnUntraced(function*(queue: CompletionQueue.CompletionQueue, count: number) {
  const taken: Array<WorkCompletion.WorkCompletion> = []
  while (taken.length < count) {
    const next = CompletionQueue.next(queue, count - taken.length)
    taken.push(...(yield* within(`${count} completions, after ${outcomes(taken)}`, next)))
  }
  return taken
})

/** The number and the status of each. */
export const outcomes = (completions: ReadonlyArray<WorkCompletion.WorkCompletion>): ReadonlyArray<string> =>
  completions.map(({ status, wrId }) => `${wrId} ${status}`)

/** Waits for completions with these numbers and statuses. */
export const assertTaken = Effect.fnUntraced(function*(
  queue: CompletionQueue.CompletionQueue,
  expected: ReadonlyArray<string>
) {
  const taken = yield* take(queue, expected.length)
  assert.deepStrictEqual(outcomes(taken), expected)
  return taken
})

/** Waits for one that succeeded. */
export const takeOne = Effect.fnUntraced(function*(queue: CompletionQueue.CompletionQueue) {
  const [taken] = yield* take(queue, 1)
  return succeeded(taken)
})

export const succeeded = (completion: WorkCompletion.WorkCompletion | undefined): WorkCompletion.Succeeded =>
  completion?.status === "success" ? completion : assert.fail(`it ended with ${completion?.status}`)

/** For some time nothing comes. */
export const assertQuiet = Effect.fnUntraced(function*(...queues: ReadonlyArray<CompletionQueue.CompletionQueue>) {
  yield* Effect.sleep("40 millis")
  for (const queue of queues) assert.deepStrictEqual(outcomes(yield* CompletionQueue.poll(queue)), [])
})

/** Waits for the next event of an object. */
export const nextEvent = (
  context: DeviceContext.DeviceContext,
  handle: Parameters<typeof AsyncEvent.concerns>[1]
): Effect.Effect<string, unknown> =>
  within(
    `an event of ${handle.kind}`,
    AsyncEvents.stream(context).pipe(
      Stream.filter((event) => AsyncEvent.concerns(event, handle)),
      Stream.runHead,
      Effect.flatMap(Effect.fromOption),
      Effect.map(({ event }) => event)
    )
  )

/** For some time there is no event of an object. */
export const assertNoEvent = (
  context: DeviceContext.DeviceContext,
  handle: Parameters<typeof AsyncEvent.concerns>[1]
): Effect.Effect<void, unknown> =>
  AsyncEvents.stream(context).pipe(
    Stream.filter((event) => AsyncEvent.concerns(event, handle)),
    Stream.runForEach(({ event }) => Effect.sync(() => assert.fail(`${handle.kind} told ${event}`))),
    Effect.timeoutOption("40 millis"),
    Effect.asVoid
  )

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const everything: AccessFlags.AccessFlags = ["localWrite", "remoteWrite", "remoteRead", "remoteAtomic", "mwBind"]
