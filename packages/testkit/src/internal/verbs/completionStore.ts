import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as WorkCompletion from "@effect-rdma/verbs/WorkCompletion"
import type * as WorkCompletionOpcode from "@effect-rdma/verbs/WorkCompletionOpcode"
import type * as WorkCompletionStatus from "@effect-rdma/verbs/WorkCompletionStatus"
import * as Arrivals from "../arrivals.ts"
import type * as Host from "../host.ts"
import * as Events from "./events.ts"
import type { Ring } from "./queueState.ts"
import type { CompletionQueueState, VerbsState } from "./state.ts"

/** A completion in its queue: what both kinds of poll read, and the requests of a ring that are free once it was read. */
export interface Completed {
  readonly wrId: bigint
  readonly status: WorkCompletionStatus.WorkCompletionStatus
  readonly qpNum: number
  vendorErr: number
  opcode: WorkCompletionOpcode.WorkCompletionOpcode
  wcFlags: number
  byteLen: number
  immData: number | undefined
  invalidatedRkey: number | undefined
  srcQp: number
  slid: number
  sl: number
  dlidPathBits: number
  ring: Ring | undefined
  frees: number
  /** What a test put in, with all that only an extended queue tells. */
  made: Host.Completion | undefined
}

/** A completion as the device clears it, before it says more. */
export const make = (
  wrId: bigint,
  status: WorkCompletionStatus.WorkCompletionStatus,
  qpNum: number
): Completed => ({
  wrId,
  status,
  qpNum,
  vendorErr: 0,
  opcode: "recv",
  wcFlags: 0,
  byteLen: 0,
  immData: undefined,
  invalidatedRkey: undefined,
  srcQp: 0,
  slid: 0,
  sl: 0,
  dlidPathBits: 0,
  ring: undefined,
  frees: 0,
  made: undefined
})

/** `enum ibv_wc_flags`. */
export const withGrh = 1
export const withImm = 2
export const withIpCsumOk = 4
export const withInv = 8

/** Says what immediate data came with a message. */
export const addImm = (completed: Completed, immData: number | undefined): void => {
  if (immData === undefined) return
  completed.wcFlags |= withImm
  completed.immData = immData
}

/** Puts a completion into a queue, as a device does, or as tests want it; `false` when there was no room for it. */
export const complete = (
  verbs: VerbsState,
  queue: CompletionQueueState,
  completed: Completed,
  isSolicited: boolean
): boolean => {
  const { fabric, host } = verbs
  if (fabric.onArrival.size === 0 && queue.held.length === 0) return put(verbs, queue, completed, isSolicited)
  const arrival = {
    arrival: "completion",
    host: host.name,
    device: queue.device.name,
    completion: plain(completed)
  } as const
  let hasRoom = true
  queue.late.add(completed)
  Arrivals.arrive(fabric, queue.held, arrival, {
    put: () => {
      const isThere = verbs.completionQueues.find(queue.pointer) === queue
      if (queue.late.delete(completed) && isThere) hasRoom = put(verbs, queue, completed, isSolicited)
    },
    // Its place in a ring is free once.
    putAgain: () => void put(verbs, queue, { ...completed, ring: undefined }, isSolicited),
    drop: () => {
      queue.late.delete(completed)
      free(completed)
    }
  })
  return hasRoom
}

const put = (
  verbs: VerbsState,
  queue: CompletionQueueState,
  completed: Completed,
  isSolicited: boolean
): boolean => {
  const { armed, completions, device } = queue
  const isMlx5 = device.description.provider === "mlx5"
  if (queue.isOverrun || !device.plugged) return true
  if (completions.length >= queue.cqe) {
    // rxe loses the completion and goes on.
    queue.isOverrun = isMlx5
    Events.raise(verbs, queue.context, { _tag: "CompletionQueue", event: "cqErr", pointer: queue.pointer })
    return false
  }
  completions.push(completed)
  if (armed === undefined) return true
  // A failed completion counts as solicited, but rxe looks at the sender's wish alone.
  if (armed === "solicited" && !isSolicited && !(isMlx5 && completed.status !== "success")) return true
  queue.armed = undefined
  queue.channel?.pending.push(queue.pointer)
  queue.channel?.readable.openUnsafe()
  return true
}

/** Takes the next completion out of a queue. */
export const take = (queue: CompletionQueueState): Completed | undefined => {
  const next = queue.completions.shift()
  if (next !== undefined) free(next)
  return next
}

/** Forgets the completions of a queue pair that were not polled; their places in a shared ring are free then. */
export const forget = (queue: CompletionQueueState | undefined, qpNum: number): void => {
  queue?.completions.retain((completed) => {
    const isOther = completed.qpNum !== qpNum
    if (!isOther) free(completed)
    return isOther
  })
  for (const completed of queue?.late ?? []) {
    if (completed.qpNum !== qpNum) continue
    queue?.late.delete(completed)
    free(completed)
  }
}

const free = ({ frees, ring }: Completed): void => {
  if (ring !== undefined) ring.used -= frees
}

/** What a plain poll tells. */
export const plain = (completed: Completed): WorkCompletion.WorkCompletion => {
  const { qpNum, status, vendorErr, wrId } = completed
  if (status !== "success") return { wrId, status, vendorErr, qpNum }
  return {
    wrId,
    status,
    vendorErr,
    qpNum,
    opcode: completed.opcode,
    byteLen: completed.byteLen,
    immData: completed.immData,
    invalidatedRkey: completed.invalidatedRkey,
    srcQp: completed.srcQp,
    hasGrh: (completed.wcFlags & withGrh) !== 0,
    pkeyIndex: 0,
    slid: completed.slid,
    sl: completed.sl,
    dlidPathBits: completed.dlidPathBits
  }
}

/** Puts a completion of a test into a queue. */
export const completeFromTest = (
  verbs: VerbsState,
  cq: Pointer.Pointer<"ibv_cq">,
  made: Host.Completion
): void => {
  const queue = verbs.completionQueues.get("Fabric.complete", cq)
  const { solicited = false, ...fields } = made
  const { qpNum = 0, status, wrId } = fields
  complete(verbs, queue, { ...make(wrId, status, qpNum), ...fields, qpNum, made }, solicited)
}
