import type * as MadAddress from "@effect-rdma/umad/MadAddress"
import type * as Topology from "../../Topology.ts"
import type * as Host from "../host.ts"

/** A port of a running fabric. */
export interface Place {
  readonly host: Host.HostState
  readonly device: Host.DeviceState
  readonly port: Topology.Port
}

/** A MAD as it leaves a port. */
export interface SentMad {
  readonly from: Place
  readonly address: MadAddress.MadAddress
  /** With the transaction id of the wire, whose upper half the kernel wrote. Not to be changed or kept. */
  readonly mad: Uint8Array
}

/**
 * What the firmware and the managers of the fabric reply to a MAD: the whole reply, which may be longer than a packet where
 * the class has RMPP, with the transaction id of the request. `undefined` is no reply of theirs: then the MAD goes to the
 * agents of the port that it is addressed to, and to nobody when there is none.
 */
export const answer = (_fabric: Host.FabricState, _sent: SentMad): Uint8Array | undefined => undefined
