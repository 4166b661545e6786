/**
 * Multicast groups on the real library.
 *
 * @since 0.1.0
 */
import type * as Library from "@effect-rdma/core/Library"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as CmAddress from "../../CmAddress.ts"
import type { RdmaCm } from "../../RdmaCm.ts"
import * as Layout from "../Layout.ts"
import * as Sockaddr from "../sockaddr.ts"
import { done } from "./error.ts"

export const make = (library: Library.Library) => {
  const joinMulticast = library.bind("rdma_join_multicast", ["pointer", "buffer", "pointer"], "int")
  const joinMulticastEx = library.bind("rdma_join_multicast_ex", ["pointer", "buffer", "pointer"], "int")
  const leaveMulticast = library.bind("rdma_leave_multicast", ["pointer", "buffer"], "int")

  return {
    joinMulticast: (id, address, context) =>
      done("rdma_join_multicast", () => joinMulticast(id, Sockaddr.encode(address), context), {
        address: CmAddress.format(address)
      }),
    joinMulticastEx: (id, address, joinFlags, context) =>
      done("rdma_join_multicast_ex", () => joinMulticastEx(id, encodeJoin(address, joinFlags), context), {
        address: CmAddress.format(address),
        joinFlags
      }),
    leaveMulticast: (id, address) =>
      done("rdma_leave_multicast", () => leaveMulticast(id, Sockaddr.encode(address)), {
        address: CmAddress.format(address)
      })
  } satisfies Partial<RdmaCm["Service"]>
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** `RDMA_CM_JOIN_MC_ATTR_ADDRESS` and `_JOIN_FLAGS`. */
export const joinMask = 1 | 2

/** `enum rdma_cm_mc_join_flags` in its order. */
export const joinFlagValues = ["fullMember", "sendOnlyFullMember"] as const

/** The struct and the address in one piece of memory, which stays in place for as long as it is referenced. */
const encodeJoin = (address: CmAddress.CmAddress, joinFlags: typeof joinFlagValues[number]): DataView => {
  const addr = new Uint8Array(Sockaddr.encode(address).buffer)
  const bytes = new Uint8Array(new ArrayBuffer(Layout.JoinMcAttrEx.size + addr.length))
  bytes.set(addr, Layout.JoinMcAttrEx.size)
  const view = new DataView(bytes.buffer)
  Layout.JoinMcAttrEx.write(view, {
    compMask: joinMask,
    joinFlags: joinFlagValues.indexOf(joinFlags),
    addr: NativeMemory.addressOf(bytes) + BigInt(Layout.JoinMcAttrEx.size)
  })
  return view
}
