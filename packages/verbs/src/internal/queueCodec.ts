/**
 * The structs of queue pairs and shared receive queues as values and back.
 *
 * @since 0.1.0
 */
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Mtu from "@effect-rdma/core/Mtu"
import type * as Struct from "@effect-rdma/core/Struct"
import * as AccessFlags from "../AccessFlags.ts"
import type * as AddressHandleAttributes from "../AddressHandleAttributes.ts"
import type * as Queue from "../operations/Queue.ts"
import * as QueuePairAttributes from "../QueuePairAttributes.ts"
import * as QueuePairInitAttributes from "../QueuePairInitAttributes.ts"
import * as QueuePairState from "../QueuePairState.ts"
import * as QueuePairType from "../QueuePairType.ts"
import type * as SharedReceiveQueueAttributes from "../SharedReceiveQueueAttributes.ts"
import * as AddressLayout from "./AddressLayout.ts"
import * as Codec from "./codec.ts"
import * as QueueLayout from "./QueueLayout.ts"

/** `O_CREAT` and `O_EXCL` of `fcntl.h`; the same on every Linux that has RDMA. */
const openFlags = { create: 0o100, exclusive: 0o200 } as const

export const encodeXrcDomainInit = ({ create, exclusive, fd }: Queue.XrcDomainInit): DataView => {
  const view = QueueLayout.XrcdInitAttr.allocate()
  QueueLayout.XrcdInitAttr.write(view, {
    compMask: 1 | 2,
    fd,
    oflags: (create ? openFlags.create : 0) | (exclusive ? openFlags.exclusive : 0)
  })
  return view
}

/** `enum ibv_srq_type` in its order. */
const srqTypes: ReadonlyArray<Queue.ExtendedSharedReceiveQueueInit["srqType"]> = ["basic", "xrc", "tm"]

/** `enum ibv_srq_init_attr_mask`. */
const srqMask = { type: 1, pd: 2, xrcd: 4, cq: 8, tm: 16 } as const

export const encodeSharedReceiveQueueInit = (
  { cq, maxSge, maxWr, pd, srqType, tmCap, xrcd }: Queue.ExtendedSharedReceiveQueueInit
): DataView => {
  const view = QueueLayout.SrqInitAttrEx.allocate()
  QueueLayout.SrqInitAttrEx.write(view, {
    attr: { maxWr, maxSge, srqLimit: 0 },
    compMask: srqMask.type | srqMask.pd |
      (xrcd === undefined ? 0 : srqMask.xrcd) |
      (cq === undefined ? 0 : srqMask.cq) |
      (tmCap === undefined ? 0 : srqMask.tm),
    srqType: srqTypes.indexOf(srqType),
    pd,
    xrcd: xrcd ?? 0n,
    cq: cq ?? 0n,
    ...tmCap
  })
  return view
}

/** `enum ibv_srq_attr_mask`. */
export const maskOfSharedReceiveQueue = (
  { maxWr, srqLimit }: SharedReceiveQueueAttributes.Modification
): number => (maxWr === undefined ? 0 : 1) | (srqLimit === undefined ? 0 : 2)

/** `enum ibv_qp_init_attr_mask`. */
const initMask = {
  pd: 1,
  xrcd: 2,
  createFlags: 4,
  maxTsoHeader: 8,
  rwqIndTbl: 16,
  rxHashConf: 32,
  sendOpsFlags: 64
} as const

const sourceQpn = 1 << 10

/** The plain attributes, in the bytes that both structs have alike. */
const writeInit = (view: DataView, { cap, qpType, recvCq, sendCq, sqSigAll, srq }: Queue.QueuePairInit): void =>
  QueueLayout.QpInitAttr.write(view, {
    sendCq: sendCq ?? 0n,
    recvCq: recvCq ?? 0n,
    srq: srq ?? 0n,
    cap,
    qpType: QueuePairType.toNative(qpType),
    sqSigAll: sqSigAll ? 1 : 0
  })

export const encodeQueuePairInit = (attributes: Queue.QueuePairInit): DataView => {
  const view = QueueLayout.QpInitAttr.allocate()
  writeInit(view, attributes)
  return view
}

/** `rxHashKey` is the address of the key, which must stay for the call. */
export const encodeExtendedInit = (attributes: Queue.ExtendedQueuePairInit, rxHashKey: bigint): DataView => {
  const view = QueueLayout.QpInitAttrEx.allocate()
  writeInit(view, attributes)
  const flags = QueuePairInitAttributes.createFlagsToNative(attributes.createFlags ?? []) |
    (attributes.sourceQpn === undefined ? 0 : sourceQpn)
  const hasFlags = attributes.createFlags !== undefined || attributes.sourceQpn !== undefined
  const names = [
    "pd",
    "xrcd",
    "maxTsoHeader",
    "rwqIndTbl",
    "rxHashConf",
    "sendOpsFlags"
  ] as const
  const { rxHashConf } = attributes
  QueueLayout.QpInitAttrEx.write(view, {
    compMask: names.reduce(
      (mask, name) => attributes[name] === undefined ? mask : mask | initMask[name],
      hasFlags ? initMask.createFlags : 0
    ),
    pd: attributes.pd ?? 0n,
    xrcd: attributes.xrcd ?? 0n,
    createFlags: flags,
    maxTsoHeader: attributes.maxTsoHeader ?? 0,
    rwqIndTbl: attributes.rwqIndTbl ?? 0n,
    sourceQpn: attributes.sourceQpn ?? 0,
    sendOpsFlags: BigInt(QueuePairInitAttributes.sendOperationsToNative(attributes.sendOpsFlags ?? []))
  })
  if (rxHashConf !== undefined) {
    QueueLayout.QpInitAttrEx.write(view, {
      rxHashFunction: 1,
      rxHashKeyLen: rxHashConf.rxHashKey.length,
      rxHashKey,
      rxHashFieldsMask: BigInt(QueuePairInitAttributes.hashFieldsToNative(rxHashConf.rxHashFields))
    })
  }
  return view
}

export const decodeCap = (view: DataView): QueuePairAttributes.Capacities => QueueLayout.QpInitAttr.get("cap", view)

const addressOf = (
  attributes: AddressHandleAttributes.AddressHandleAttributes
): Struct.Type<typeof AddressLayout.AhAttr> =>
  AddressLayout.AhAttr.read(Codec.encodeAddressHandleAttributes(attributes))

export const encodeModification = (
  { ahAttr, altPath, curQpState, enSqdAsyncNotify, pathMigState, pathMtu, qpAccessFlags, qpState, ...plain }:
    QueuePairAttributes.Modification
): DataView => {
  const view = QueueLayout.QpAttr.allocate()
  QueueLayout.QpAttr.write(view, {
    ...plain,
    qpState: qpState === undefined ? 0 : QueuePairState.toNative(qpState),
    curQpState: curQpState === undefined ? 0 : QueuePairState.toNative(curQpState),
    enSqdAsyncNotify: enSqdAsyncNotify === true ? 1 : 0,
    qpAccessFlags: AccessFlags.toNative(qpAccessFlags ?? []),
    pathMtu: pathMtu === undefined ? 0 : Mtu.toNative(pathMtu),
    pathMigState: pathMigState === undefined ? 0 : QueuePairAttributes.migrationStateToNative(pathMigState)
  })
  if (ahAttr !== undefined) QueueLayout.QpAttr.set("ahAttr", view, addressOf(ahAttr))
  if (altPath !== undefined) {
    QueueLayout.QpAttr.write(view, {
      altAhAttr: addressOf(altPath.ahAttr),
      altPkeyIndex: altPath.pkeyIndex,
      altPortNum: altPath.portNum,
      altTimeout: altPath.timeout
    })
  }
  return view
}

/** An address vector inside a struct; none while it has no port. */
const decodeAddress = (
  view: DataView,
  name: "ahAttr" | "altAhAttr"
): AddressHandleAttributes.AddressHandleAttributes | undefined => {
  const { offset, size } = QueueLayout.QpAttr.fields[name]
  const address = new DataView(view.buffer, view.byteOffset + offset, size)
  return AddressLayout.AhAttr.get("portNum", address) === 0 ? undefined : Codec.decodeAddressHandleAttributes(address)
}

export const decodeQueuePairAttributes = (view: DataView): QueuePairAttributes.QueuePairAttributes => {
  const {
    ahAttr: _,
    altAhAttr: _alternate,
    altPkeyIndex,
    altPortNum,
    altTimeout,
    enSqdAsyncNotify,
    qpAccessFlags,
    sqDraining,
    ...attributes
  } = QueueLayout.QpAttr.read(view)
  const alternate = altPortNum === 0 ? undefined : decodeAddress(view, "altAhAttr")
  return {
    ...attributes,
    qpState: QueuePairState.fromNative(attributes.qpState),
    curQpState: QueuePairState.fromNative(attributes.curQpState),
    pathMtu: Mtu.fromNative(attributes.pathMtu),
    pathMigState: QueuePairAttributes.migrationStateFromNative(attributes.pathMigState),
    qkey: Identifier.QKey.make(attributes.qkey),
    rqPsn: Identifier.Psn.make(attributes.rqPsn & 0xffffff),
    sqPsn: Identifier.Psn.make(attributes.sqPsn & 0xffffff),
    destQpNum: Identifier.Qpn.make(attributes.destQpNum & 0xffffff),
    qpAccessFlags: AccessFlags.fromNative(qpAccessFlags),
    ahAttr: decodeAddress(view, "ahAttr"),
    altPath: alternate && {
      ahAttr: alternate,
      pkeyIndex: Identifier.PKeyIndex.make(altPkeyIndex),
      portNum: Identifier.PortNumber.make(altPortNum),
      timeout: altTimeout
    },
    pkeyIndex: Identifier.PKeyIndex.make(attributes.pkeyIndex),
    enSqdAsyncNotify: enSqdAsyncNotify !== 0,
    sqDraining: sqDraining !== 0,
    portNum: Identifier.AnyPortNumber.make(attributes.portNum)
  }
}

/** `IBV_QP_OPEN_ATTR_NUM`, `_XRCD` and `_TYPE`. */
const openMask = 1 | 2 | 8

export const encodeOpen = (
  { qpNum, qpType, xrcd }: {
    readonly qpNum: Identifier.Qpn
    readonly qpType: QueuePairType.QueuePairType
    readonly xrcd: bigint
  }
): DataView => {
  const view = QueueLayout.QpOpenAttr.allocate()
  QueueLayout.QpOpenAttr.write(view, { compMask: openMask, qpNum, xrcd, qpType: QueuePairType.toNative(qpType) })
  return view
}
