/**
 * Structs of `infiniband/verbs.h` as bytes, for bindings of other libraries that take or fill them, such as librdmacm.
 * Programs have no use for it.
 *
 * @since 0.1.0
 */
import * as Identifier from "@effect-rdma/core/Identifier"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as AddressHandleAttributes from "./AddressHandleAttributes.ts"
import type * as Ece from "./Ece.ts"
import * as AddressLayout from "./internal/AddressLayout.ts"
import * as Codec from "./internal/codec.ts"
import * as QueueCodec from "./internal/queueCodec.ts"
import * as QueueLayout from "./internal/QueueLayout.ts"
import type * as Queue from "./operations/Queue.ts"
import * as QueuePairAttributes from "./QueuePairAttributes.ts"
import * as QueuePairState from "./QueuePairState.ts"
import type * as SharedReceiveQueueAttributes from "./SharedReceiveQueueAttributes.ts"

/**
 * `struct ibv_qp_attr` with nothing but a state in it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const queuePairAttributes = (qpState: QueuePairState.QueuePairState): DataView<ArrayBuffer> => {
  const view = QueueLayout.QpAttr.allocate()
  QueueLayout.QpAttr.set("qpState", view, QueuePairState.toNative(qpState))
  return view
}

/**
 * The attributes of `struct ibv_qp_attr` that a mask names.
 *
 * @category getters
 * @since 0.1.0
 */
export const readModification = (view: DataView, mask: number): QueuePairAttributes.Modification => {
  const attributes = QueueCodec.decodeQueuePairAttributes(view)
  return Object.fromEntries(
    QueuePairAttributes.attributesOf(mask).flatMap((name) => {
      const value = attributes[name]
      return value === undefined || value === "unknown" ? [] : [[name, value]]
    })
  )
}

/**
 * `struct ibv_ah_attr`; `undefined` while it has no port.
 *
 * @category getters
 * @since 0.1.0
 */
export const readAddress = (view: DataView): AddressHandleAttributes.AddressHandleAttributes | undefined =>
  AddressLayout.AhAttr.get("portNum", view) === 0 ? undefined : Codec.decodeAddressHandleAttributes(view)

/**
 * `struct ibv_qp_init_attr`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const queuePairInit = QueueCodec.encodeQueuePairInit

/**
 * A queue pair that a call made from {@link queuePairInit}, which it wrote the room into.
 *
 * @category getters
 * @since 0.1.0
 */
export const readMadeQueuePair = (qp: Pointer.Pointer<"ibv_qp">, init: DataView): Queue.MadeQueuePair => ({
  qp,
  qpNum: Identifier.Qpn.make(QueueLayout.Qp.get("qpNum", NativeMemory.view(qp, QueueLayout.Qp.size)) & 0xffffff),
  cap: QueueCodec.decodeCap(init)
})

/**
 * `struct ibv_srq_init_attr`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const sharedReceiveQueueInit = (
  { maxSge, maxWr }: SharedReceiveQueueAttributes.SharedReceiveQueueAttributes
): DataView => {
  const view = QueueLayout.SrqInitAttr.allocate()
  QueueLayout.SrqInitAttr.set("attr", view, { maxWr, maxSge, srqLimit: 0 })
  return view
}

/**
 * A shared receive queue that a call made from {@link sharedReceiveQueueInit}, which it wrote the room into.
 *
 * @category getters
 * @since 0.1.0
 */
export const readMadeSharedReceiveQueue = (
  srq: Pointer.Pointer<"ibv_srq">,
  init: DataView
): Queue.MadeSharedReceiveQueue => {
  const { maxSge, maxWr } = QueueLayout.SrqInitAttr.get("attr", init)
  return { srq, maxSge, maxWr }
}

/**
 * `struct ibv_ece`, with zeroes when nothing is given.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ece = (values: Partial<Ece.Ece> = {}): DataView => {
  const view = QueueLayout.Ece.allocate()
  QueueLayout.Ece.write(view, values)
  return view
}

/**
 * `struct ibv_ece`.
 *
 * @category getters
 * @since 0.1.0
 */
export const readEce = (view: DataView): Ece.Ece => QueueLayout.Ece.read(view)
