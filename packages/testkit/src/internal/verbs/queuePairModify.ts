import type * as Errno from "@effect-rdma/core/Errno"
import type * as Gid from "@effect-rdma/core/Gid"
import * as Identifier from "@effect-rdma/core/Identifier"
import type * as Lid from "@effect-rdma/core/Lid"
import type * as AddressHandleAttributes from "@effect-rdma/verbs/AddressHandleAttributes"
import type * as QueuePairAttributes from "@effect-rdma/verbs/QueuePairAttributes"
import * as QueuePairTransition from "@effect-rdma/verbs/QueuePairTransition"
import * as Host from "../host.ts"
import * as Address from "./address.ts"
import * as QueuePairError from "./queuePairError.ts"
import { isUnderWay, type QueuePairObject, type QueuePairState } from "./queueState.ts"
import * as Requester from "./requester.ts"
import { portOf } from "./state.ts"

/** The errno that refuses a change, as the kernel and rxe of Linux 6.1 find it. */
export const refuse = (
  fabric: Host.FabricState,
  device: Host.DeviceState,
  { attributes: before, qpType, state }: QueuePairObject,
  attributes: QueuePairAttributes.Modification
): Errno.ErrnoName | undefined => {
  const { description } = device
  const { ahAttr, altPath, curQpState, maxRdAtomic, pathMtu, portNum } = attributes
  if (curQpState !== undefined && !["rtr", "rts", "sqd", "sqe"].includes(curQpState)) return "EINVAL"
  if (portNum !== undefined && (portNum === 0 || portOf(device, portNum) === undefined)) return "EINVAL"
  if (ahAttr !== undefined) {
    // The kernel compares with the port of INIT before anything else.
    if (ahAttr.portNum !== (portNum ?? before.portNum)) return "EINVAL"
    const refused = refusePath(fabric, device, ahAttr)
    if (refused !== undefined) return refused
  }
  if (altPath !== undefined) {
    const isInfiniBand = (number: Identifier.PortNumber | undefined) =>
      number !== undefined && portOf(device, number)?.linkLayer === "infiniband"
    if (!isInfiniBand(altPath.portNum) || !isInfiniBand(portNum ?? before.portNum)) return "EINVAL"
  }
  if (QueuePairTransition.problemOf(qpType, state, attributes) !== undefined) return "EINVAL"
  const port = portOf(device, portNum ?? before.portNum ?? Identifier.PortNumber.make(1))
  if (pathMtu !== undefined && port !== undefined && port.maxMtu !== "unknown" && pathMtu > port.maxMtu) return "EINVAL"
  if (maxRdAtomic !== undefined && maxRdAtomic > description.attributes.maxQpInitRdAtom) return "EINVAL"
  return undefined
}

/** What a permitted change does. */
export const apply = (object: QueuePairObject, attributes: QueuePairAttributes.Modification): void => {
  const { curQpState: _, enSqdAsyncNotify = false, qpState, ...values } = attributes
  const { sends, state } = object
  const isRxe = object.device.description.provider === "rxe"
  if (qpState === "reset") {
    object.state = "reset"
    // rxe goes on telling what was set before.
    if (!isRxe) object.attributes = {}
    return QueuePairError.drop(object)
  }
  object.attributes = { ...object.attributes, ...values }
  if (values.sqPsn !== undefined) sends.psn = values.sqPsn
  if (values.rqPsn !== undefined) {
    object.expectedPsn = values.rqPsn
    object.isMissing = false
  }
  if (qpState === "err") return QueuePairError.toError(object)
  object.state = qpState ?? state
  sends.draining = sends.draining && object.state === "sqd"
  if (qpState === "sqd" && state === "rts") {
    // rxe tells whether it was asked to or not.
    sends.draining = isRxe || enSqdAsyncNotify
    Requester.drained(object)
  }
  // rxe goes on at the next doorbell only.
  if (qpState === "rts" && !isRxe) Requester.run(object)
}

/** What a query tells. */
export const report = (
  { description }: Host.DeviceState,
  { attributes, cap, sends, state }: QueuePairObject
): QueuePairAttributes.QueuePairAttributes => ({
  qpState: state,
  // rxe never writes it.
  curQpState: description.provider === "rxe" ? "reset" : state,
  pathMtu: attributes.pathMtu ?? 256,
  pathMigState: attributes.pathMigState ?? "migrated",
  qkey: attributes.qkey ?? Identifier.QKey.make(0),
  rqPsn: attributes.rqPsn ?? Identifier.Psn.make(0),
  sqPsn: attributes.sqPsn ?? Identifier.Psn.make(0),
  destQpNum: attributes.destQpNum ?? Identifier.Qpn.make(0),
  qpAccessFlags: attributes.qpAccessFlags ?? [],
  cap,
  ahAttr: attributes.ahAttr,
  altPath: attributes.altPath,
  pkeyIndex: attributes.pkeyIndex ?? Identifier.PKeyIndex.make(0),
  enSqdAsyncNotify: false,
  sqDraining: state === "sqd" && isUnderWay(sends),
  maxRdAtomic: powerOfTwo(attributes.maxRdAtomic ?? 0),
  maxDestRdAtomic: powerOfTwo(attributes.maxDestRdAtomic ?? 0),
  minRnrTimer: attributes.minRnrTimer ?? 0,
  portNum: attributes.portNum ?? Identifier.AnyPortNumber.make(0),
  timeout: attributes.timeout ?? 0,
  retryCnt: attributes.retryCnt ?? 0,
  rnrRetry: attributes.rnrRetry ?? 0,
  rateLimit: attributes.rateLimit ?? 0
})

/** Whether a queue pair can be attached to a group: on RoCE the LID does not count. */
export const isGroup = ({ device, object }: QueuePairState, gid: Gid.Gid, lid: Lid.Lid): boolean => {
  if (object.qpType !== "ud" || !Address.isMulticast(gid)) return false
  const { portNum } = object.attributes
  const ports = portNum === undefined
    ? device.description.ports
    : device.description.ports.filter((port) => port.number === portNum)
  return ports.some((port) => port.linkLayer === "ethernet") || (lid >= 0xc000 && lid !== 0xffff)
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** rxe rounds depths up, and the adapters do too; in a byte, 256 is 0. */
const powerOfTwo = (count: number): number => count === 0 ? 0 : 2 ** Math.ceil(Math.log2(count)) % 256

const refusePath = (
  fabric: Host.FabricState,
  device: Host.DeviceState,
  ahAttr: AddressHandleAttributes.AddressHandleAttributes
): Errno.ErrnoName | undefined => {
  const port = portOf(device, ahAttr.portNum)
  if (port === undefined) return "EINVAL"
  if (port.linkLayer === "ethernet") {
    const refused = Address.refuseAddress(fabric, device, ahAttr)
    return refused === 0 ? "EINVAL" : refused
  }
  // Unlike an address handle of InfiniBand, the kernel checks the path of a queue pair.
  if (ahAttr.grh === undefined) return undefined
  const { sgidIndex } = ahAttr.grh
  if (sgidIndex >= port.gidTblLen) return "EINVAL"
  return Host.gidsOf(port).some((row) => row.index === sgidIndex) ? undefined : "ENODATA"
}
