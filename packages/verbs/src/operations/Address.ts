/**
 * The part of the seam of libibverbs for address handles.
 *
 * @since 0.1.0
 */
import type * as Identifier from "@effect-rdma/core/Identifier"
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as Effect from "effect/Effect"
import type * as AddressHandleAttributes from "../AddressHandleAttributes.ts"
import type * as EthernetDestination from "../EthernetDestination.ts"
import type * as ReceivedDatagram from "../ReceivedDatagram.ts"
import type { VerbsError } from "../VerbsError.ts"

/**
 * Ways to a peer.
 *
 * @category services
 * @since 0.1.0
 */
export interface Operations {
  readonly createAh: (
    pd: Pointer.Pointer<"ibv_pd">,
    attributes: AddressHandleAttributes.AddressHandleAttributes
  ) => Effect.Effect<Pointer.Pointer<"ibv_ah">, VerbsError>
  readonly destroyAh: (ah: Pointer.Pointer<"ibv_ah">) => Effect.Effect<void, VerbsError>
  readonly initAhFromWc: (
    context: Pointer.Pointer<"ibv_context">,
    portNum: Identifier.PortNumber,
    received: ReceivedDatagram.ReceivedDatagram
  ) => Effect.Effect<AddressHandleAttributes.AddressHandleAttributes, VerbsError>
  readonly createAhFromWc: (
    pd: Pointer.Pointer<"ibv_pd">,
    portNum: Identifier.PortNumber,
    received: ReceivedDatagram.ReceivedDatagram
  ) => Effect.Effect<Pointer.Pointer<"ibv_ah">, VerbsError>
  /** Blocks until a neighbour answers, for up to three seconds. */
  readonly resolveEthL2FromGid: (
    context: Pointer.Pointer<"ibv_context">,
    attributes: AddressHandleAttributes.RoutedAttributes
  ) => Effect.Effect<EthernetDestination.EthernetDestination, VerbsError>
}
