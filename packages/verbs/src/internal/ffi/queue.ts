/**
 * XRC domains, shared receive queues, queue pairs and multicast on the real library.
 *
 * @since 0.1.0
 */
import * as Library from "@effect-rdma/core/Library"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as ReturnConvention from "@effect-rdma/core/ReturnConvention"
import * as Effect from "effect/Effect"
import * as NativeStruct from "../../NativeStruct.ts"
import type * as Queue from "../../operations/Queue.ts"
import * as QueuePairAttributes from "../../QueuePairAttributes.ts"
import type { VerbsError } from "../../VerbsError.ts"
import * as ContextOps from "../contextOps.ts"
import * as DeviceLayout from "../DeviceLayout.ts"
import * as Codec from "../queueCodec.ts"
import * as QueueLayout from "../QueueLayout.ts"
import { errorOf, queueErrorOf, unsupported } from "./error.ts"
import * as SendBatch from "./sendBatch.ts"

export const make = (library: Library.Library, forget: (destroyed: bigint) => void): Queue.Operations => {
  const forgetting = (object: bigint, destroy: (object: bigint) => number) => (): number => {
    const errno = destroy(object)
    if (errno === 0) forget(object)
    return errno
  }
  const createSrq = library.bind("ibv_create_srq", ["pointer", "buffer"], "pointer")
  const destroySrq = library.bind("ibv_destroy_srq", ["pointer"], "int")
  const modifySrq = library.bind("ibv_modify_srq", ["pointer", "buffer", "int"], "int")
  const querySrq = library.bind("ibv_query_srq", ["pointer", "buffer"], "int")
  const createQp = library.bind("ibv_create_qp", ["pointer", "buffer"], "pointer")
  const destroyQp = library.bind("ibv_destroy_qp", ["pointer"], "int")
  const modifyQp = library.bind("ibv_modify_qp", ["pointer", "buffer", "int"], "int")
  const queryQp = library.bind("ibv_query_qp", ["pointer", "buffer", "int", "buffer"], "int")
  const queryEce = library.bindOptional("ibv_query_ece", ["pointer", "buffer"], "int")
  const setEce = library.bindOptional("ibv_set_ece", ["pointer", "buffer"], "int")
  const attachMcast = library.bind("ibv_attach_mcast", ["pointer", "buffer", "u16"], "int")
  const detachMcast = library.bind("ibv_detach_mcast", ["pointer", "buffer", "u16"], "int")

  return {
    openXrcd: (context, attributes) =>
      create("ibv_open_xrcd", context, "openXrcd", () => Codec.encodeXrcDomainInit(attributes)),
    closeXrcd: (xrcd) =>
      Effect.suspend(() => {
        const op = ContextOps.addressOf(contextOf(xrcd), DeviceLayout.contextOps.closeXrcd)
        return op === 0n
          ? Effect.fail(unsupported("ibv_close_xrcd", "EOPNOTSUPP"))
          : returned("ibv_close_xrcd", () => Library.fromAddress(op, ["pointer"], "int")(xrcd))
      }),

    createSrq: (pd, { maxSge, maxWr }) =>
      Effect.suspend(() => {
        const view = QueueLayout.SrqInitAttr.allocate()
        QueueLayout.SrqInitAttr.set("attr", view, { maxWr, maxSge, srqLimit: 0 })
        return Effect.map(
          ReturnConvention.pointerOrErrno<"ibv_srq", VerbsError>(
            () => createSrq(pd, view),
            (errno) => queueErrorOf("ibv_create_srq", errno, { maxWr, maxSge })
          ),
          (srq) => ({ srq, ...roomOf(QueueLayout.SrqInitAttr.get("attr", view)) })
        )
      }),
    createSrqEx: (context, attributes) =>
      Effect.suspend(() => {
        const view = Codec.encodeSharedReceiveQueueInit(attributes)
        const { maxSge, maxWr, pd, srqType } = attributes
        // As the header does: a basic queue in a domain needs nothing new. The first 20 bytes of the structs are alike.
        const made = srqType === "basic"
          ? ReturnConvention.pointerOrErrno<"ibv_srq", VerbsError>(
            () => createSrq(pd, view),
            (errno) => queueErrorOf("ibv_create_srq_ex", errno, { srqType, maxWr, maxSge })
          )
          : create<"ibv_srq">("ibv_create_srq_ex", context, "createSrqEx", () => view, { srqType, maxWr, maxSge })
        return Effect.map(made, (srq) => ({ srq, ...roomOf(QueueLayout.SrqInitAttrEx.get("attr", view)) }))
      }),
    destroySrq: (srq) => returned("ibv_destroy_srq", forgetting(srq, destroySrq)),
    modifySrq: (srq, attributes) =>
      Effect.suspend(() => {
        const view = QueueLayout.SrqAttr.allocate()
        QueueLayout.SrqAttr.write(view, attributes)
        return returned(
          "ibv_modify_srq",
          () => modifySrq(srq, view, Codec.maskOfSharedReceiveQueue(attributes)),
          attributes
        )
      }),
    querySrq: (srq) =>
      Effect.suspend(() => {
        const view = QueueLayout.SrqAttr.allocate()
        return Effect.map(returned("ibv_query_srq", () => querySrq(srq, view)), () => QueueLayout.SrqAttr.read(view))
      }),
    getSrqNum: (srq) =>
      Effect.suspend(() => {
        const op = ContextOps.addressOf(contextOf(srq), DeviceLayout.contextOps.getSrqNum)
        if (op === 0n) return Effect.fail(unsupported("ibv_get_srq_num", "EOPNOTSUPP"))
        const number = new Uint32Array(1)
        return Effect.map(
          returned("ibv_get_srq_num", () => Library.fromAddress(op, ["pointer", "buffer"], "int")(srq, number)),
          () => number[0] ?? 0
        )
      }),

    createQp: (pd, attributes) =>
      Effect.suspend(() => {
        const view = Codec.encodeQueuePairInit(attributes)
        return Effect.map(
          ReturnConvention.pointerOrErrno<"ibv_qp", VerbsError>(
            () => createQp(pd, view),
            (errno) => queuePairErrorOf("ibv_create_qp", errno, attributes)
          ),
          (qp) => NativeStruct.readMadeQueuePair(qp, view)
        )
      }),
    createQpEx: (context, attributes) =>
      withKey(attributes.rxHashConf?.rxHashKey, (key) => {
        const view = Codec.encodeExtendedInit(attributes, key)
        const { pd } = attributes
        // As the header does: with a domain and nothing else it is the plain call, whose struct is the start of this one.
        const made = pd !== undefined && QueueLayout.QpInitAttrEx.get("compMask", view) === 1
          ? ReturnConvention.pointerOrErrno<"ibv_qp", VerbsError>(
            () => createQp(pd, view),
            (errno) => queuePairErrorOf("ibv_create_qp_ex", errno, attributes)
          )
          : create<"ibv_qp">("ibv_create_qp_ex", context, "createQpEx", () => view, { qpType: attributes.qpType })
        return Effect.map(made, (qp) => NativeStruct.readMadeQueuePair(qp, view))
      }),
    openQp: (context, { qpNum, qpType, xrcd }) =>
      create("ibv_open_qp", context, "openQp", () => Codec.encodeOpen({ qpNum, qpType, xrcd }), { qpNum }),
    destroyQp: (qp) => returned("ibv_destroy_qp", forgetting(qp, destroyQp)),
    modifyQp: (qp, attributes) =>
      returned(
        "ibv_modify_qp",
        () => modifyQp(qp, Codec.encodeModification(attributes), QueuePairAttributes.maskOf(attributes))
      ),
    queryQp: (qp) =>
      Effect.suspend(() => {
        const attributes = QueueLayout.QpAttr.allocate()
        const init = QueueLayout.QpInitAttr.allocate()
        return Effect.map(
          returned("ibv_query_qp", () => queryQp(qp, attributes, everything, init)),
          () => ({ attributes: Codec.decodeQueuePairAttributes(attributes), cap: Codec.decodeCap(init) })
        )
      }),
    modifyQpRateLimit: (qp, attributes) =>
      Effect.suspend(() => {
        const call = "ibv_modify_qp_rate_limit"
        const op = ContextOps.addressOf(contextOf(qp), DeviceLayout.contextOps.modifyQpRateLimit)
        if (op === 0n) return Effect.fail(unsupported(call, "EOPNOTSUPP"))
        const view = QueueLayout.QpRateLimitAttr.allocate()
        QueueLayout.QpRateLimitAttr.write(view, attributes)
        return returned(call, () => Library.fromAddress(op, ["pointer", "buffer"], "int")(qp, view), attributes)
      }),
    queryEce: (qp) =>
      Effect.suspend(() => {
        if (queryEce === undefined) return Effect.fail(unsupported("ibv_query_ece", "EOPNOTSUPP"))
        const view = QueueLayout.Ece.allocate()
        return Effect.map(returned("ibv_query_ece", () => queryEce(qp, view)), () => QueueLayout.Ece.read(view))
      }),
    setEce: (qp, ece) =>
      Effect.suspend(() => {
        if (setEce === undefined) return Effect.fail(unsupported("ibv_set_ece", "EOPNOTSUPP"))
        const view = QueueLayout.Ece.allocate()
        QueueLayout.Ece.write(view, ece)
        return returned("ibv_set_ece", () => setEce(qp, view), ece)
      }),

    attachMcast: (qp, gid, lid) => returned("ibv_attach_mcast", () => attachMcast(qp, gid, lid)),
    detachMcast: (qp, gid, lid) => returned("ibv_detach_mcast", () => detachMcast(qp, gid, lid)),

    ...SendBatch.make(library)
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** Every bit up to IBV_QP_DEST_QPN: all but the rate limit. */
const everything = 0x1f_ffff

const returned = (
  call: string,
  run: () => number,
  input: VerbsError["input"] = {}
): Effect.Effect<void, VerbsError> => ReturnConvention.returnedErrno(run, (errno) => errorOf(call, errno, input))

/** A create that has no symbol: the operation of the context, on the context and one struct. */
const create = <Struct extends string>(
  call: string,
  context: Pointer.Pointer<"ibv_context">,
  op: "openXrcd" | "createSrqEx" | "createQpEx" | "openQp",
  encode: () => DataView,
  input: VerbsError["input"] = {}
): Effect.Effect<Pointer.Pointer<Struct>, VerbsError> =>
  Effect.suspend(() => {
    const address = ContextOps.addressOf(context, DeviceLayout.contextOps[op])
    if (address === 0n) return Effect.fail(unsupported(call, "EOPNOTSUPP"))
    const attributes = encode()
    return ReturnConvention.pointerOrErrno<Struct, VerbsError>(
      () => Library.fromAddress(address, ["pointer", "buffer"], "pointer")(context, attributes),
      (errno) => errorOf(call, errno, input, errno === 0 ? silent : undefined)
    )
  })

const silent = "Some providers refuse attributes that they do not know so"

// XRC domains, shared receive queues and queue pairs all start with their context.
const contextOf = (object: bigint): bigint => NativeMemory.view(object, 8).getBigUint64(0, true)

const roomOf = ({ maxSge, maxWr }: { readonly maxSge: number; readonly maxWr: number }) => ({ maxSge, maxWr })

const queuePairErrorOf = (call: string, errno: number, { cap, qpType }: Queue.QueuePairInit): VerbsError =>
  queueErrorOf(
    call,
    errno,
    { qpType, maxSendWr: cap.maxSendWr, maxRecvWr: cap.maxRecvWr },
    errno === 0 ? silent : undefined
  )

/** The key of a hash is behind a pointer in the struct: it lives outside of the JS heap for the call. */
const withKey = <A>(
  key: Uint8Array | undefined,
  run: (address: bigint) => Effect.Effect<A, VerbsError>
): Effect.Effect<A, VerbsError> =>
  Effect.suspend(() => {
    if (key === undefined || key.length === 0) return run(0n)
    const memory = NativeMemory.map(key.length)
    memory.bytes.set(key)
    return Effect.ensuring(Effect.suspend(() => run(memory.address)), Effect.sync(() => memory.unmap()))
  })
