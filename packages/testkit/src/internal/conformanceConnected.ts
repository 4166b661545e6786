/**
 * What the conformance suites of the data path have in common: two connected queue pairs with memory, and the completions
 * that they wait for.
 *
 * @since 0.1.0
 */
import type * as AccessFlags from "@effect-rdma/verbs/AccessFlags"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import * as MemoryWindow from "@effect-rdma/verbs/MemoryWindow"
import type * as Batch from "@effect-rdma/verbs/operations/SendBatch"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import type * as QueuePairAttributes from "@effect-rdma/verbs/QueuePairAttributes"
import type * as QueuePairInitAttributes from "@effect-rdma/verbs/QueuePairInitAttributes"
import * as RemoteKey from "@effect-rdma/verbs/RemoteKey"
import * as SendBatch from "@effect-rdma/verbs/SendBatch"
import type * as VerbsError from "@effect-rdma/verbs/VerbsError"
import type * as WorkCompletion from "@effect-rdma/verbs/WorkCompletion"
import type * as WorkRequest from "@effect-rdma/verbs/WorkRequest"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as VerbsLane from "../conformance/VerbsLane.ts"
import { verbsSuite } from "./conformanceVerbs.ts"

/** Whatever a peer can ask for. */
export const remoteAccess = ["remoteWrite", "remoteRead", "remoteAtomic"] as const

/** What a region takes that is not told otherwise. */
export const allAccess: AccessFlags.AccessFlags = ["localWrite", ...remoteAccess, "mwBind"]

/** How an end is made. */
export interface EndOptions {
  /** The domain of its queue pair and its region. */
  readonly on?: ProtectionDomain.AnyDomain
  /** Where its requests complete: a queue of its own unless told otherwise. */
  readonly queue?: CompletionQueue.CompletionQueue
  readonly cap?: typeof QueuePairAttributes.Capacities.Encoded
  readonly sqSigAll?: boolean
  readonly sendOpsFlags?: ReadonlyArray<QueuePairInitAttributes.SendOperation>
  /** Of its region, which has all of it unless told otherwise, and 4096 bytes. */
  readonly access?: AccessFlags.AccessFlags
  readonly length?: number
}

type Connected = "rc" | "uc"
type Path = Omit<NonNullable<Parameters<typeof QueuePair.connect>[3]>, "receives">

const room = { maxSendWr: 16, maxRecvWr: 16, maxSendSge: 4, maxRecvSge: 4, maxInlineData: 64 }

const partsOf = Effect.fnUntraced(function*(
  on: ProtectionDomain.AnyDomain,
  { access = allAccess, cap, length = 4096, sqSigAll = false, ...options }: EndOptions
) {
  const queue = options.queue ?? (yield* CompletionQueue.make(on.context, { cqe: 64 }))
  const region = yield* MemoryRegion.alloc(on, { length, access })
  return { queue, region, attributes: { sendCq: queue, recvCq: queue, cap: { ...room, ...cap }, sqSigAll } }
})

/** One end of a connection: a queue pair with a completion queue and a region of its own. */
const endOf = <Type extends Connected>(
  queuePair: QueuePair.QueuePair<Type>,
  queue: CompletionQueue.CompletionQueue,
  region: MemoryRegion.MemoryRegion
) => ({
  on: region.domain,
  queue,
  queuePair,
  region,
  send: (...requests: ReadonlyArray<WorkRequest.SendRequest>) => QueuePair.postSend(queuePair, requests),
  receive: (...requests: ReadonlyArray<WorkRequest.ReceiveRequest>) => QueuePair.postRecv(queuePair, requests),
  /** A part of the region. */
  part: (offset = 0, length = 8) => ({ region, offset, length }),
  /** The same for peers. */
  remote: (offset = 0) => remoteOf(region, offset),
  /** Waits for so many completions, and tells each as `wrId status`. */
  told: (count: number) => Effect.map(completionsOf(queue, count), linesOf),
  /** Waits for one completion, of a request that succeeded. */
  succeeded: Effect.map(completionsOf(queue, 1), ([completion]) => {
    if (completion?.status === "success") return completion
    return assert.fail(`a request ended with ${completion?.status}`)
  }),
  /** No completion is there, nor comes soon. */
  silent: Effect.gen(function*() {
    yield* Effect.sleep("30 millis")
    assert.deepStrictEqual(linesOf(yield* CompletionQueue.poll(queue, 64)), [])
  })
})

export type End<Type extends Connected = Connected> = ReturnType<typeof endOf<Type>>

/** An end in RESET. */
export const reliableEnd = Effect.fnUntraced(function*(on: ProtectionDomain.AnyDomain, options: EndOptions = {}) {
  const { attributes, queue, region } = yield* partsOf(on, options)
  const { sendOpsFlags } = options
  const queuePair = sendOpsFlags === undefined
    ? yield* QueuePair.make(on, { ...attributes, qpType: "rc" })
    : yield* QueuePair.makeExtended(on, { ...attributes, qpType: "rc", sendOpsFlags })
  return endOf(queuePair, queue, region)
})

const unreliableEnd = Effect.fnUntraced(function*(on: ProtectionDomain.AnyDomain, options: EndOptions = {}) {
  const { attributes, queue, region } = yield* partsOf(on, options)
  return endOf(yield* QueuePair.make(on, { ...attributes, qpType: "uc" }), queue, region)
})

/** Two ends, on one domain unless told otherwise, and what each grants the other. */
export interface Options {
  readonly a?: EndOptions
  readonly b?: EndOptions
  readonly path?: Path
  readonly pathB?: Path
}

/** What the suites of the data path begin with. */
export const connectedSuite = <Others>(lane: VerbsLane.VerbsLane<Others>) => {
  const { domain, portNum, ...suite } = verbsSuite(lane)

  const connect = Effect.fnUntraced(function*(a: End, b: End, path: Path = {}, pathB: Path = path) {
    const atA = yield* QueuePair.endpoint(a.queuePair, { portNum })
    const atB = yield* QueuePair.endpoint(b.queuePair, { portNum })
    yield* QueuePair.connect(a.queuePair, atA, atB, { qpAccessFlags: remoteAccess, ...path })
    yield* QueuePair.connect(b.queuePair, atB, atA, { qpAccessFlags: remoteAccess, ...pathB })
  })

  const pairOf = <Ended extends End>(
    end: (
      on: ProtectionDomain.AnyDomain,
      options?: EndOptions
    ) => Effect.Effect<Ended, VerbsError.VerbsError | Schema.SchemaError, Scope.Scope>
  ) =>
    Effect.fnUntraced(function*({ a, b, path, pathB }: Options = {}) {
      const on = a?.on ?? b?.on ?? (yield* domain)
      const ends = { a: yield* end(a?.on ?? on, a), b: yield* end(b?.on ?? on, b) }
      yield* connect(ends.a, ends.b, path, pathB)
      return ends
    })

  const connected = { rc: pairOf(reliableEnd), uc: pairOf(unreliableEnd) }
  return {
    ...suite,
    domain,
    portNum,
    connect,
    /** Two ends that are connected with each other. */
    connected,
    /** Two ends, of which `a` posts batches, from a region full of a pattern. */
    batching: Effect.gen(function*() {
      const { a, b } = yield* connected.rc({ a: { sendOpsFlags: batched } })
      a.region.bytes.set(pattern(4096))
      return {
        a,
        b,
        piece: (offset = 0, length = 8) => pieceOf(a.region, offset, length),
        batch: (build: (batch: SendBatch.Builder) => void) => SendBatch.post(a.queuePair, build)
      }
    }),
    /** Two ends, and a window of type 2 of `b` on bytes 1024 to 2048 of its region. */
    windowed: Effect.fnUntraced(function*(access: AccessFlags.AccessFlags = remoteAccess) {
      const { a, b } = yield* connected.rc()
      const window = yield* MemoryWindow.alloc(b.on, 2)
      yield* b.send(bindOf(window, b, { offset: 1024, length: 1024, access }))
      assert.deepInclude<object>(yield* b.succeeded, { wrId: 5n, opcode: "bindMw" })
      return { a, b, window, at: (offset: number) => ({ ...b.remote(offset), rkey: window.rkey }) }
    }),
    /** Two domains of one context. */
    twoDomains: Effect.gen(function*() {
      const first = yield* domain
      return [first, yield* ProtectionDomain.alloc(first.context)] as const
    })
  }
}

const batched = [
  "send",
  "sendWithImm",
  "sendWithInv",
  "rdmaWrite",
  "rdmaWriteWithImm",
  "rdmaRead",
  "atomicCmpAndSwp",
  "atomicFetchAndAdd",
  "localInv",
  "bindMw"
] as const

/** The requests that name memory of a peer, and the right that each needs there. */
export const rightFor = {
  rdmaWrite: "remoteWrite",
  rdmaRead: "remoteRead",
  atomicFetchAndAdd: "remoteAtomic",
  atomicCmpAndSwp: "remoteAtomic"
} as const

export type RemoteOpcode = keyof typeof rightFor

export const remoteOpcodes: ReadonlyArray<RemoteOpcode> = [
  "rdmaWrite",
  "rdmaRead",
  "atomicFetchAndAdd",
  "atomicCmpAndSwp"
]

/** A request number 1 on eight bytes here and there: an atomic one makes 1 of 0. */
export const requestOf = (
  opcode: RemoteOpcode,
  piece: WorkRequest.Sge,
  remote: Batch.Remote,
  flags: ReadonlyArray<Batch.SendFlag> = ["signaled"]
): WorkRequest.SendRequest => {
  const common = { wrId: 1n, flags, sgList: [piece], remote }
  switch (opcode) {
    case "rdmaWrite":
    case "rdmaRead":
      return { opcode, ...common }
    case "atomicFetchAndAdd":
      return { opcode, add: 1n, ...common }
    case "atomicCmpAndSwp":
      return { opcode, compare: 0n, swap: 1n, ...common }
  }
}

/** A bind to the region of an end, by the next key unless told otherwise. */
export const bindOf = (
  window: MemoryWindow.MemoryWindow,
  { region }: End,
  part: { readonly offset?: number; readonly length?: number; readonly access: AccessFlags.AccessFlags },
  rkey = RemoteKey.increment(window.rkey)
) => ({ opcode: "bindMw", wrId: 5n, flags: ["signaled"], bind: { window, region, rkey, ...part } } as const)

/** An address and a key for peers, which may be out of bounds. */
export const remoteOf = (
  { address, rkey }: { readonly address: bigint; readonly rkey: number },
  offset = 0
): Batch.Remote => ({ remoteAddr: address + BigInt(offset), rkey })

/** A piece with the key of a region, which may be out of its bounds. */
export const pieceOf = (
  { address, lkey }: MemoryRegion.MemoryRegion,
  offset: number,
  length: number
): Batch.Piece => ({ addr: address + BigInt(offset), length, lkey })

/** Waits for so many completions; a device that does not tell them fails the test with those that came. */
export const completionsOf = Effect.fnUntraced(function*(queue: CompletionQueue.CompletionQueue, count: number) {
  const came: Array<WorkCompletion.WorkCompletion> = []
  while (came.length < count) {
    const more = yield* Effect.timeoutOrElse(CompletionQueue.next(queue, count - came.length), {
      duration: "8 seconds",
      orElse: () => Effect.sync(() => assert.fail(`${came.length} of ${count} completions came: ${linesOf(came)}`))
    })
    came.push(...more)
  }
  return came
})

export const linesOf = (completions: ReadonlyArray<WorkCompletion.WorkCompletion>): ReadonlyArray<string> =>
  completions.map(({ status, wrId }) => `${wrId} ${status}`)

/** Bytes that tell where they are, another row of them for each seed. */
export const pattern = (length: number, seed = 1): Uint8Array =>
  Uint8Array.from({ length }, (_, index) => (index * 7 + (index >> 8) * 13 + seed * 31) & 0xff)

/** Two rows of bytes are the same; tells the first place where they are not. */
export const assertBytes = (actual: Uint8Array, expected: Uint8Array): void => {
  assert.strictEqual(actual.length, expected.length)
  const at = actual.findIndex((byte, index) => byte !== expected[index])
  if (at >= 0) assert.fail(`byte ${at} of ${actual.length} is ${actual[at]}, not ${expected[at]}`)
}

/** The 64 bits at an offset, in the byte order of this host. */
export const wordAt = ({ bytes }: MemoryRegion.MemoryRegion, offset = 0): bigint =>
  viewOf(bytes).getBigUint64(offset, true)

export const setWord = ({ bytes }: MemoryRegion.MemoryRegion, value: bigint, offset = 0): void =>
  viewOf(bytes).setBigUint64(offset, value, true)

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
