/**
 * The node of the connection manager, through which everything of librdmacm goes.
 *
 * @since 0.1.0
 */
import * as DeviceNode from "@effect-rdma/core/DeviceNode"
import * as Errno from "@effect-rdma/core/Errno"
import type { RdmaCmError } from "../../RdmaCmError.ts"
import * as Error from "./error.ts"

const node = "/dev/infiniband/rdma_cm"

const ENODEV = Errno.numberOf("ENODEV")
const ENOENT = Errno.numberOf("ENOENT")

const noDevice = "There is no RDMA device; rdma link lists them. Without hardware: modprobe rdma_rxe && " +
  "rdma link add rxe0 type rxe netdev eth0"

/** With which errno the node would refuse to be opened; the library would wait 5 s for it. */
export const refusal = (): number | undefined => DeviceNode.refusal(node)

/** The error of a call that opens the node. */
export const errorOf = (call: string, errno: number): RdmaCmError => {
  const hint = errno === ENODEV ? noDevice : DeviceNode.hint(errno, node)
  return Error.errorOf(call, errno, {}, errno === ENOENT ? `${hint}. The module is rdma_ucm` : hint)
}
