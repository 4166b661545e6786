/**
 * Completion channels and completion queues on the real library.
 *
 * @since 0.1.0
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as Library from "@effect-rdma/core/Library"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as Pointer from "@effect-rdma/core/Pointer"
import * as Readiness from "@effect-rdma/core/Readiness"
import * as ReturnConvention from "@effect-rdma/core/ReturnConvention"
import * as Effect from "effect/Effect"
import * as CompletionQueueAttributes from "../../CompletionQueueAttributes.ts"
import type * as Completion from "../../operations/Completion.ts"
import type { VerbsError } from "../../VerbsError.ts"
import * as CompletionLayout from "../CompletionLayout.ts"
import * as ContextOps from "../contextOps.ts"
import * as DeviceLayout from "../DeviceLayout.ts"
import { errorOf, queueErrorOf, unsupported } from "./error.ts"
import * as Poll from "./poll.ts"

export const make = (
  library: Library.Library,
  forget: (destroyed: bigint) => void
): Completion.Operations => {
  const createCompChannel = library.bind("ibv_create_comp_channel", ["pointer"], "pointer")
  const destroyCompChannel = library.bind("ibv_destroy_comp_channel", ["pointer"], "int")
  const createCq = library.bind("ibv_create_cq", ["pointer", "int", "pointer", "pointer", "int"], "pointer")
  const destroyCq = library.bind("ibv_destroy_cq", ["pointer"], "int")
  const resizeCq = library.bind("ibv_resize_cq", ["pointer", "int"], "int")
  const getCqEvent = library.bind("ibv_get_cq_event", ["pointer", "buffer", "buffer"], "int")
  const ackCqEvents = library.bind("ibv_ack_cq_events", ["pointer", "uint"], "void")
  const polls = new Map<bigint, Poll.Poll>()

  return {
    numCompVectors: (context) =>
      Effect.sync(() =>
        DeviceLayout.Context.get("numCompVectors", NativeMemory.view(context, DeviceLayout.Context.size))
      ),

    createCompChannel: (context) =>
      Effect.uninterruptible(Effect.tap(
        ReturnConvention.pointerOrErrno<"ibv_comp_channel", VerbsError>(
          () => createCompChannel(context),
          (errno) => errorOf("ibv_create_comp_channel", errno)
        ),
        (channel) =>
          Readiness.setNonBlocking(descriptorOf(channel)).pipe(
            Effect.mapError(notPollable("ibv_create_comp_channel")),
            Effect.tapError(() => Effect.sync(() => destroyCompChannel(channel)))
          )
      )),
    destroyCompChannel: (channel) =>
      ReturnConvention.returnedErrno(
        () => destroyCompChannel(channel),
        (errno) => errorOf("ibv_destroy_comp_channel", errno)
      ),

    createCq: (context, { channel, compVector, cqContext, cqe }) =>
      Effect.map(
        ReturnConvention.pointerOrErrno<"ibv_cq", VerbsError>(
          () => createCq(context, cqe, BigInt(cqContext), channel ?? null, compVector),
          (errno) => queueErrorOf("ibv_create_cq", errno, { cqe, compVector })
        ),
        madeOf
      ),
    createCqEx: (context, attributes) =>
      Effect.suspend(() => {
        const op = ContextOps.addressOf(context, DeviceLayout.contextOps.createCqEx)
        if (op === 0n) return Effect.fail(unsupported("ibv_create_cq_ex", "EOPNOTSUPP"))
        const native = encode(attributes)
        const { compVector, cqe, wcFlags } = attributes
        return Effect.map(
          ReturnConvention.pointerOrErrno<"ibv_cq", VerbsError>(
            () => Library.fromAddress(op, ["pointer", "buffer"], "pointer")(context, native),
            (errno) => queueErrorOf("ibv_create_cq_ex", errno, { cqe, compVector, wcFlags: wcFlags.join(" ") })
          ),
          madeOf
        )
      }),
    destroyCq: (cq) =>
      Effect.suspend(() => {
        const channel = readCq("channel", cq)
        return ReturnConvention.returnedErrno(
          () => {
            const result = destroyCq(cq)
            if (result === 0) {
              polls.delete(cq)
              forget(cq)
            }
            if (result === EIO && channel !== 0n) takeBack(channel)
            return result
          },
          (errno) => errorOf("ibv_destroy_cq", errno)
        )
      }),
    resizeCq: (cq, cqe) =>
      Effect.map(
        ReturnConvention.returnedErrno(() => resizeCq(cq, cqe), (errno) => errorOf("ibv_resize_cq", errno, { cqe })),
        () => readCq("cqe", cq)
      ),
    modifyCq: (cq, moderation) =>
      Effect.suspend(() => {
        const op = ContextOps.addressOf(readCq("context", cq), DeviceLayout.contextOps.modifyCq)
        if (op === 0n) return Effect.fail(unsupported("ibv_modify_cq", "EOPNOTSUPP"))
        const attributes = CompletionLayout.ModifyCqAttr.allocate()
        CompletionLayout.ModifyCqAttr.write(attributes, { attrMask: moderate, ...moderation })
        return ReturnConvention.returnedErrno(
          () => Library.fromAddress(op, ["pointer", "buffer"], "int")(cq, attributes),
          (errno) => errorOf("ibv_modify_cq", errno, moderation)
        )
      }),
    reqNotifyCq: (cq, solicitedOnly) =>
      Effect.suspend(() => {
        const context = NativeMemory.view(readCq("context", cq), DeviceLayout.Context.size)
        const op = DeviceLayout.Context.get("reqNotifyCq", context)
        return ReturnConvention.returnedErrno(
          () => Library.fromAddress(op, ["pointer", "int"], "int")(cq, solicitedOnly ? 1 : 0),
          (errno) => errorOf("ibv_req_notify_cq", errno, { solicitedOnly })
        )
      }),

    getCqEvent: (channel) =>
      Effect.suspend(() => {
        const cq = new BigUint64Array(1)
        const cqContext = new BigUint64Array(1)
        return Effect.map(
          ReturnConvention.minusOneErrno(
            () => {
              const result = getCqEvent(channel, cq, cqContext)
              if (result >= 0) ackCqEvents(cq[0] ?? 0n, 1)
              return result
            },
            (errno) => errno === EAGAIN ? noEvent : errorOf("ibv_get_cq_event", errno)
          ),
          () => ({ cq: Pointer.make<"ibv_cq">(cq[0] ?? 0n), cqContext: Number(cqContext[0]) })
        )
      }),
    awaitCqEvent: (channel) =>
      Effect.suspend(() => Effect.mapError(Readiness.readable(descriptorOf(channel)), notPollable("ibv_get_cq_event"))),

    startPoll: (cq, wcFlags, each) =>
      Effect.suspend(() => {
        let poll = polls.get(cq)
        if (poll === undefined) polls.set(cq, poll = Poll.make(cq, wcFlags))
        return poll(each)
      })
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const notPollable = (call: string) => ({ errno, fd }: Readiness.NotPollable) => errorOf(call, errno, { fd })

const EIO = Errno.numberOf("EIO")

/** `IBV_CQ_ATTR_MODERATE` of `enum ibv_cq_attr_mask`. */
const moderate = 1

/** `enum ibv_cq_init_attr_mask`. */
const withFlags = 1
const withParentDomain = 2

/** `enum ibv_create_cq_attr_flags`. */
const singleThreadedFlag = 1
const ignoreOverrunFlag = 2

const encode = (
  { channel, compVector, cqContext, cqe, ignoreOverrun, parentDomain, singleThreaded, wcFlags }:
    Completion.ExtendedQueueAttributes
): DataView => {
  const flags = (singleThreaded ? singleThreadedFlag : 0) | (ignoreOverrun ? ignoreOverrunFlag : 0)
  const view = CompletionLayout.CqInitAttrEx.allocate()
  CompletionLayout.CqInitAttrEx.write(view, {
    cqe,
    cqContext: BigInt(cqContext),
    channel: channel ?? 0n,
    compVector,
    wcFlags: BigInt(wcFlags.reduce((bits, flag) => bits | CompletionQueueAttributes.wcFlagBits[flag], 0)),
    compMask: (flags === 0 ? 0 : withFlags) | (parentDomain === undefined ? 0 : withParentDomain),
    flags,
    parentDomain: parentDomain ?? 0n
  })
  return view
}

const EAGAIN = Errno.numberOf("EAGAIN")

// One for all: who drains a channel ends with it each time, and never looks at its stack.
const noEvent = errorOf("ibv_get_cq_event", EAGAIN)

const readCq = <Field extends "context" | "channel" | "cqe">(field: Field, cq: bigint) =>
  CompletionLayout.Cq.get(field, NativeMemory.view(cq, CompletionLayout.Cq.size))

const madeOf = (cq: Pointer.Pointer<"ibv_cq">): Completion.MadeQueue => ({ cq, cqe: readCq("cqe", cq) })

const viewOf = (channel: bigint): DataView => NativeMemory.view(channel, CompletionLayout.CompChannel.size)

const descriptorOf = (channel: bigint): number => CompletionLayout.CompChannel.get("fd", viewOf(channel))

// The library counts a queue that went with its device for ever, and would never close the descriptor.
const takeBack = (channel: bigint): void => {
  const view = viewOf(channel)
  CompletionLayout.CompChannel.set("refcnt", view, CompletionLayout.CompChannel.get("refcnt", view) - 1)
}
