/**
 * Address handles on the real library.
 *
 * @since 0.1.0
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as Gid from "@effect-rdma/core/Gid"
import type * as Library from "@effect-rdma/core/Library"
import * as ReturnConvention from "@effect-rdma/core/ReturnConvention"
import * as Effect from "effect/Effect"
import type * as Address from "../../operations/Address.ts"
import * as ReceivedDatagram from "../../ReceivedDatagram.ts"
import * as AddressLayout from "../AddressLayout.ts"
import * as Codec from "../codec.ts"
import { errorOf } from "./error.ts"

export const make = (library: Library.Library): Address.Operations => {
  const createAh = library.bind("ibv_create_ah", ["pointer", "buffer"], "pointer")
  const destroyAh = library.bind("ibv_destroy_ah", ["pointer"], "int")
  const initAhFromWc = library.bind("ibv_init_ah_from_wc", ["pointer", "u8", "buffer", "buffer", "buffer"], "int")
  const createAhFromWc = library.bind("ibv_create_ah_from_wc", ["pointer", "buffer", "buffer", "u8"], "pointer")
  const resolveEthL2FromGid = library.bind(
    "ibv_resolve_eth_l2_from_gid",
    ["pointer", "buffer", "buffer", "buffer"],
    "int"
  )
  const operations: Address.Operations = {
    createAh: (pd, attributes) =>
      ReturnConvention.pointerOrErrno(
        () => createAh(pd, Codec.encodeAddressHandleAttributes(attributes)),
        (errno) => errorOf("ibv_create_ah", errno, { portNum: attributes.portNum })
      ),
    destroyAh: (ah) => ReturnConvention.returnedErrno(() => destroyAh(ah), (errno) => errorOf("ibv_destroy_ah", errno)),
    initAhFromWc: (context, portNum, received) =>
      Effect.suspend(() => {
        const attributes = AddressLayout.AhAttr.allocate()
        return Effect.map(
          ReturnConvention.minusOneErrno(
            () => initAhFromWc(context, portNum, Codec.encodeReceived(received), routingHeaderOf(received), attributes),
            (errno) => errorOf("ibv_init_ah_from_wc", errno, { portNum })
          ),
          () => Codec.decodeAddressHandleAttributes(attributes)
        )
      }),
    createAhFromWc: (pd, portNum, received) =>
      ReturnConvention.pointerOrErrno(
        () => createAhFromWc(pd, Codec.encodeReceived(received), routingHeaderOf(received), portNum),
        (errno) => errorOf("ibv_create_ah_from_wc", errno, { portNum })
      ),
    resolveEthL2FromGid: (context, attributes) =>
      Effect.suspend(() => {
        const { grh: { dgid, sgidIndex }, portNum } = attributes
        const mac = new Uint8Array(6)
        const vlan = new Uint16Array(1)
        return Effect.map(
          ReturnConvention.negativeErrno(
            () => resolveEthL2FromGid(context, Codec.encodeAddressHandleAttributes(attributes), mac, vlan),
            (errno, variable) =>
              // Some of what it calls says -1 and puts the cause into errno, the rest is the negative errno.
              errorOf("ibv_resolve_eth_l2_from_gid", errno === Errno.numberOf("EPERM") ? variable : errno, {
                portNum,
                dgid: Gid.formatCompressed(dgid),
                sgidIndex
              })
          ),
          () => ({ mac, vlan: vlanOf(vlan[0] ?? noVlan) })
        )
      })
  }

  return operations
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

// The library reads the header also of a completion that says it has none.
const routingHeaderOf = ({ grh }: ReceivedDatagram.ReceivedDatagram): Uint8Array =>
  grh ?? new Uint8Array(ReceivedDatagram.routingHeaderBytes)

/** What stands in for the number of a VLAN where there is none; numbers have 12 bits. */
const noVlan = 0xffff

const vlanOf = (vlan: number): number | undefined => vlan > 0xfff ? undefined : vlan
