/**
 * What the conformance suites of the data path have in common: queue pairs with memory, connected to each other or for
 * datagrams.
 *
 * @since 0.1.0
 */
import type * as AccessFlags from "@effect-rdma/verbs/AccessFlags"
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import * as MemoryWindow from "@effect-rdma/verbs/MemoryWindow"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import type * as QueuePairAttributes from "@effect-rdma/verbs/QueuePairAttributes"
import * as ReceivedDatagram from "@effect-rdma/verbs/ReceivedDatagram"
import * as SendBatch from "@effect-rdma/verbs/SendBatch"
import * as SharedReceiveQueue from "@effect-rdma/verbs/SharedReceiveQueue"
import type * as WorkRequest from "@effect-rdma/verbs/WorkRequest"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as VerbsLane from "../conformance/VerbsLane.ts"
import { pattern, textIn } from "./conformanceBytes.ts"
import { takeOne } from "./conformanceCompletions.ts"
import { bindOf, pieceOf, remoteOf } from "./conformanceRequests.ts"
import { verbsSuite } from "./conformanceVerbs.ts"

/** Whatever a peer can ask for. */
export const remoteAccess = ["remoteWrite", "remoteRead", "remoteAtomic"] as const

/** What a region takes that is not told otherwise. */
export const allAccess: AccessFlags.AccessFlags = ["localWrite", ...remoteAccess, "mwBind"]

/** The key of queue pairs for datagrams. */
export const qkey = 0x1111

/** How an end is made. */
export interface EndOptions {
  /** Where its sends and its receives complete: in a queue of their own unless told otherwise. */
  readonly sends?: CompletionQueue.CompletionQueue
  readonly receives?: CompletionQueue.CompletionQueue
  readonly srq?: SharedReceiveQueue.SharedReceiveQueue
  readonly cap?: typeof QueuePairAttributes.Capacities.Encoded
  readonly sqSigAll?: boolean
  /** Of its region, which has all of it unless told otherwise, and 4096 bytes. */
  readonly access?: AccessFlags.AccessFlags
  readonly length?: number
}

/** An end in RESET. */
export const end = Effect.fnUntraced(function*<const Type extends "rc" | "uc" | "ud">(
  on: ProtectionDomain.AnyDomain,
  qpType: Type,
  options: EndOptions = {}
) {
  const { attributes, ...parts } = yield* partsOf(on, options)
  return endOf({ ...parts, queuePair: yield* QueuePair.make(on, { ...attributes, qpType }) })
})

/** One in RESET that posts batches. */
const batchingEnd = Effect.fnUntraced(function*(on: ProtectionDomain.AnyDomain) {
  const { attributes, ...parts } = yield* partsOf(on, {})
  const queuePair = yield* QueuePair.makeExtended(on, { ...attributes, qpType: "rc", sendOpsFlags: batched })
  return endOf({ ...parts, queuePair })
})

const partsOf = Effect.fnUntraced(function*(
  on: ProtectionDomain.AnyDomain,
  { access = allAccess, cap, length = 4096, sqSigAll = false, srq, ...queues }: EndOptions
) {
  const sends = queues.sends ?? (yield* CompletionQueue.make(on.context, { cqe: 64 }))
  const receives = queues.receives ?? (yield* CompletionQueue.make(on.context, { cqe: 64 }))
  const attributes = {
    sendCq: sends,
    recvCq: receives,
    cap: { maxSendWr: 16, maxRecvWr: 16, maxSendSge: 4, maxRecvSge: 4, maxInlineData: 64, ...cap },
    sqSigAll,
    ...(srq === undefined ? {} : { srq })
  }
  return { attributes, sends, receives, region: yield* MemoryRegion.alloc(on, { length, access }) }
})

/** A queue pair with completion queues and a region. */
export type End<Type extends "rc" | "uc" | "ud" = "rc" | "uc" | "ud"> = ReturnType<typeof endOf<Type>>

const endOf = <Type extends "rc" | "uc" | "ud">(parts: {
  readonly queuePair: QueuePair.QueuePair<Type>
  readonly sends: CompletionQueue.CompletionQueue
  readonly receives: CompletionQueue.CompletionQueue
  readonly region: MemoryRegion.MemoryRegion
}) => {
  const { queuePair, region } = parts
  return {
    ...parts,
    on: region.domain,
    postSend: (...requests: ReadonlyArray<WorkRequest.SendRequest>) => QueuePair.postSend(queuePair, requests),
    postRecv: (...requests: ReadonlyArray<WorkRequest.ReceiveRequest>) => QueuePair.postRecv(queuePair, requests),
    /** A part of the region. */
    part: (offset = 0, length = 8) => ({ region, offset, length }),
    /** The same for peers. */
    remote: (offset = 0) => remoteOf(region, offset)
  }
}

type Path = Omit<NonNullable<Parameters<typeof QueuePair.connect>[3]>, "receives">

/** Two ends, and how each takes the path to the other. */
export interface PairOptions {
  /** A domain of the lane's device unless told otherwise. */
  readonly on?: ProtectionDomain.AnyDomain
  readonly a?: EndOptions
  readonly b?: EndOptions & { readonly on?: ProtectionDomain.AnyDomain }
  readonly path?: Path
  /** For the second end, if not the same. */
  readonly pathB?: Path
}

/** The objects of {@link verbsSuite}, and ends that can send. */
export const dataPathSuite = <Others>(lane: VerbsLane.VerbsLane<Others>) => {
  const suite = verbsSuite(lane)
  const { domain, portNum, ready } = suite

  /** Connects two ends in RESET, with all that peers may do. */
  const connect = Effect.fnUntraced(function*(
    a: End<"rc" | "uc">,
    b: End<"rc" | "uc">,
    path: Path = {},
    pathB: Path = path
  ) {
    const atA = yield* QueuePair.endpoint(a.queuePair, { portNum })
    const atB = yield* QueuePair.endpoint(b.queuePair, { portNum })
    yield* QueuePair.connect(a.queuePair, atA, atB, { qpAccessFlags: remoteAccess, ...path })
    yield* QueuePair.connect(b.queuePair, atB, atA, { qpAccessFlags: remoteAccess, ...pathB })
  })

  const pairOf = <const Type extends "rc" | "uc">(qpType: Type) =>
    Effect.fnUntraced(function*({ path, pathB, ...options }: PairOptions = {}) {
      const on = options.on ?? (yield* domain)
      const a = yield* end(on, qpType, options.a)
      const b = yield* end(options.b?.on ?? on, qpType, options.b)
      yield* connect(a, b, path, pathB)
      return { a, b }
    })

  const connected = { rc: pairOf("rc"), uc: pairOf("uc") }

  /** An end for datagrams in RTS. */
  const datagramsOn = Effect.fnUntraced(function*(on: ProtectionDomain.AnyDomain, options: EndOptions = {}) {
    const made = yield* end(on, "ud", options)
    yield* ready.ud(made.queuePair)
    return made
  })

  return {
    ...suite,
    connect,
    /** Two ends that are connected with each other. */
    connected,
    /** Two ends, of which `a` posts batches, from a region full of a pattern. */
    batching: Effect.gen(function*() {
      const on = yield* domain
      const [a, b] = [yield* batchingEnd(on), yield* end(on, "rc")]
      yield* connect(a, b)
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
      yield* b.postSend(bindOf(window, b, { offset: 1024, length: 1024, access }))
      assert.deepInclude<object>(yield* takeOne(b.sends), { wrId: 5n, opcode: "bindMw" })
      return { a, b, window, at: (offset: number) => ({ ...b.remote(offset), rkey: window.rkey }) }
    }),
    /** Two domains of one context. */
    twoDomains: Effect.gen(function*() {
      const first = yield* domain
      return [first, yield* ProtectionDomain.alloc(first.context)] as const
    }),
    /** So many senders, each with a receiver of its own on one queue; the receives are in the memory of the first one. */
    onOneQueue: Effect.fnUntraced(function*(count: number, maxWr = 16, path: Path = {}) {
      const on = yield* domain
      const srq = yield* SharedReceiveQueue.make(on, { maxWr, maxSge: 2 })
      const pairs = yield* Effect.forEach(
        Array.from({ length: count }),
        () => connected.rc({ on, b: { srq }, path })
      )
      const [first] = pairs
      if (first === undefined) return assert.fail("there is no pair")
      return {
        srq,
        pairs,
        first,
        receive: (wrId: bigint, length = 64) => ({ wrId, sgList: [first.b.part(64 * Number(wrId), length)] }),
        textOf: (wrId: bigint, length: number) => textIn(first.b, length, 64 * Number(wrId))
      }
    }),
    datagramsOn,
    /** Two ends for datagrams, and the way from one to the other. */
    datagrams: Effect.fnUntraced(function*(options: EndOptions = {}) {
      const on = yield* domain
      const [a, b] = [yield* datagramsOn(on, options), yield* datagramsOn(on, options)]
      const ah = yield* AddressHandle.make(on, lane.loop)
      return { a, b, ah, toB: addressed(ah, b) }
    }),
    /** How many bytes before the data of a datagram its receive has room for. */
    headerBytes: ReceivedDatagram.routingHeaderBytes
  }
}

export const addressed = (ah: AddressHandle.AddressHandle, { queuePair }: End): WorkRequest.Datagram => ({
  ah,
  remoteQpn: queuePair.qpNum,
  remoteQkey: qkey
})

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

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
