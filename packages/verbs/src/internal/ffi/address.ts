/**
 * Address handles on the real library.
 *
 * @since 0.1.0
 */
import type * as Library from "@effect-rdma/core/Library"
import * as ReturnConvention from "@effect-rdma/core/ReturnConvention"
import * as Effect from "effect/Effect"
import type * as Address from "../../operations/Address.ts"
import * as ReceivedDatagram from "../../ReceivedDatagram.ts"
import * as Codec from "../codec.ts"
import * as Layout from "../Layout.ts"
import { errorOf } from "./error.ts"

export const make = (library: Library.Library): Address.Operations => {
  const createAh = library.bind("ibv_create_ah", ["pointer", "buffer"], "pointer")
  const destroyAh = library.bind("ibv_destroy_ah", ["pointer"], "int")
  const initAhFromWc = library.bind("ibv_init_ah_from_wc", ["pointer", "u8", "buffer", "buffer", "buffer"], "int")
  const createAhFromWc = library.bind("ibv_create_ah_from_wc", ["pointer", "buffer", "buffer", "u8"], "pointer")
  const operations: Address.Operations = {
    createAh: (pd, attributes) =>
      ReturnConvention.pointerOrErrno(
        () => createAh(pd, Codec.encodeAddressHandleAttributes(attributes)),
        (errno) => errorOf("ibv_create_ah", errno, { portNum: attributes.portNum })
      ),
    destroyAh: (ah) => ReturnConvention.returnedErrno(() => destroyAh(ah), (errno) => errorOf("ibv_destroy_ah", errno)),
    initAhFromWc: (context, portNum, received) =>
      Effect.suspend(() => {
        const attributes = Layout.AhAttr.allocate()
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
      )
  }

  return operations
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

// The library reads the header also of a completion that says it has none.
const routingHeaderOf = ({ grh }: ReceivedDatagram.ReceivedDatagram): Uint8Array =>
  grh ?? new Uint8Array(ReceivedDatagram.routingHeaderBytes)
