/**
 * Reading the completions of an extended queue of the real library, through the functions in the queue itself.
 *
 * @since 0.1.0
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as Library from "@effect-rdma/core/Library"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as Effect from "effect/Effect"
import type * as CompletionQueueAttributes from "../../CompletionQueueAttributes.ts"
import type * as ExtendedCompletion from "../../ExtendedCompletion.ts"
import type { VerbsError } from "../../VerbsError.ts"
import * as WorkCompletionOpcode from "../../WorkCompletionOpcode.ts"
import * as WorkCompletionStatus from "../../WorkCompletionStatus.ts"
import * as CompletionLayout from "../CompletionLayout.ts"
import { errorOf } from "./error.ts"

/** Reads completions until `each` returns `false` or there is none. */
export type Poll = (
  each: (completion: ExtendedCompletion.ExtendedCompletion) => boolean
) => Effect.Effect<number, VerbsError>

/**
 * The poll of a queue that was made with these flags; valid as long as the queue.
 *
 * Each completion has a bracket of its own, without `ibv_next_poll`. At the end of the queue that function still wants
 * its `ibv_end_poll`, says the manual, and mlx5 holds its lock until then; rxe has ended the poll itself, and a second end
 * moves its queue on by a completion that is not there. Whoever stops before the end is right on both.
 */
export const make = (cq: bigint, wcFlags: ReadonlyArray<CompletionQueueAttributes.WcFlag>): Poll => {
  const queue = CompletionLayout.CqEx.read(NativeMemory.view(cq, CompletionLayout.CqEx.size))
  const start = Library.fromAddress(queue.startPoll, ["pointer", "buffer"], "int")
  const end = Library.fromAddress(queue.endPoll, ["pointer"], "void")
  const attributes = CompletionLayout.PollCqAttr.allocate()
  const read = readerOf(cq, queue, new Set(wcFlags))
  const ended = <A>(run: () => A): A => {
    try {
      return run()
    } finally {
      end(cq)
    }
  }
  return (each) => {
    for (let count = 0;;) {
      const started = start(cq, attributes)
      // Nothing is begun then, so nothing is to be ended.
      if (started === ENOENT) return Effect.succeed(count)
      if (started !== 0) return Effect.fail(errorOf("ibv_start_poll", started, { count }))
      const completion = ended(read)
      count++
      if (!each(completion)) return Effect.succeed(count)
    }
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const ENOENT = Errno.numberOf("ENOENT")

/** `enum ibv_wc_flags`. */
const withImm = 2
const withInv = 8

const u32 = (address: bigint) => Library.fromAddress(address, ["pointer"], "u32")
const u64 = (address: bigint) => Library.fromAddress(address, ["pointer"], "u64")

type Functions = ReturnType<typeof CompletionLayout.CqEx.read>

/** Reads the completion that the poll stands at; the functions are looked up once. */
const readerOf = (
  cq: bigint,
  queue: Functions,
  wcFlags: ReadonlySet<CompletionQueueAttributes.WcFlag>
): () => ExtendedCompletion.ExtendedCompletion => {
  const asked = <A>(flag: CompletionQueueAttributes.WcFlag, make: () => A): A | undefined =>
    wcFlags.has(flag) ? make() : undefined
  const opcode = Library.fromAddress(queue.readOpcode, ["pointer"], "int")
  const vendorErr = u32(queue.readVendorErr)
  const flagsOf = Library.fromAddress(queue.readWcFlags, ["pointer"], "uint")
  const qpNum = asked("qpNum", () => u32(queue.readQpNum))
  const immData = asked("imm", () => u32(queue.readImmData))
  const tmInfo = asked("tmInfo", () => Library.fromAddress(queue.readTmInfo, ["pointer", "buffer"], "void"))
  const numbers = [
    ["byteLen", asked("byteLen", () => u32(queue.readByteLen))],
    ["srcQp", asked("srcQp", () => u32(queue.readSrcQp))],
    ["slid", asked("slid", () => u32(queue.readSlid))],
    ["sl", asked("sl", () => Library.fromAddress(queue.readSl, ["pointer"], "u8"))],
    ["dlidPathBits", asked("dlidPathBits", () => Library.fromAddress(queue.readDlidPathBits, ["pointer"], "u8"))],
    ["cvlan", asked("cvlan", () => Library.fromAddress(queue.readCvlan, ["pointer"], "u16"))],
    ["flowTag", asked("flowTag", () => u32(queue.readFlowTag))]
  ] as const
  const times = [
    ["completionTs", asked("completionTimestamp", () => u64(queue.readCompletionTs))],
    ["completionWallclockNs", asked("completionTimestampWallclock", () => u64(queue.readCompletionWallclockNs))]
  ] as const
  const fields = NativeMemory.view(cq, CompletionLayout.CqEx.size)
  const tag = CompletionLayout.WcTmInfo.allocate()

  return () => {
    const completion: Mutable = {
      wrId: CompletionLayout.CqEx.get("wrId", fields),
      status: WorkCompletionStatus.fromNative(CompletionLayout.CqEx.get("status", fields)),
      vendorErr: vendorErr(cq)
    }
    if (qpNum !== undefined) completion.qpNum = qpNum(cq)
    if (completion.status !== "success") return completion
    const flags = flagsOf(cq)
    completion.opcode = WorkCompletionOpcode.fromNative(opcode(cq))
    completion.wcFlags = flags
    if (immData !== undefined && (flags & withImm) !== 0) completion.immData = fromNetworkOrder(immData(cq))
    if (immData !== undefined && (flags & withInv) !== 0) completion.invalidatedRkey = immData(cq)
    for (const [name, readNumber] of numbers) if (readNumber !== undefined) completion[name] = readNumber(cq)
    for (const [name, readTime] of times) if (readTime !== undefined) completion[name] = readTime(cq)
    if (tmInfo !== undefined) {
      tmInfo(cq, tag)
      completion.tmInfo = CompletionLayout.WcTmInfo.read(tag)
    }
    return completion
  }
}

type Mutable = {
  -readonly [Key in keyof ExtendedCompletion.ExtendedCompletion]: ExtendedCompletion.ExtendedCompletion[Key]
}

// `__be32` comes back as a number of the host's byte order over bytes of network order.
const fromNetworkOrder = (word: number): number => {
  const view = new DataView(new ArrayBuffer(4))
  view.setUint32(0, word, true)
  return view.getUint32(0)
}
