/**
 * Datagrams to everybody in a multicast group.
 *
 * @since 0.1.0
 */
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as MulticastAttachment from "@effect-rdma/verbs/MulticastAttachment"
import type * as Verbs from "@effect-rdma/verbs/Verbs"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as CmAddress from "./CmAddress.ts"
import * as CmId from "./CmId.ts"
import type * as ConnectionError from "./ConnectionError.ts"
import * as ConnectionOptions from "./ConnectionOptions.ts"
import * as DatagramSocket from "./DatagramSocket.ts"
import * as EventChannel from "./EventChannel.ts"
import { attempts } from "./internal/attempts.ts"
import * as Datagrams from "./internal/datagrams.ts"
import { refused } from "./internal/idOperation.ts"
import { watch } from "./internal/watch.ts"
import * as MulticastMembership from "./MulticastMembership.ts"
import type * as RdmaCm from "./RdmaCm.ts"

/**
 * A group that this host is in, the socket to do so, and where datagrams to all of the group go.
 *
 * @category models
 * @since 0.1.0
 */
export interface MulticastGroup {
  readonly socket: DatagramSocket.DatagramSocket
  readonly members: DatagramSocket.DatagramPeer
}

/**
 * Joins a group on the device of the `source` address, or of the one that the route to the group leads to, and attaches a
 * socket to it. Owned by the scope, which leaves the group. It waits without a thread and can be interrupted, which leaves
 * nothing. `timeout` and `retry` are as in `Connection.connect`.
 *
 * Fails with the errno of the event when the network refuses, with `EINVAL` for an address that is no group, and as
 * `CmId.resolveAddress`.
 *
 * ```ts
 * import { MulticastGroup } from "@effect-rdma/rdmacm"
 * import { Effect } from "effect"
 *
 * export const announce = Effect.scoped(Effect.gen(function*() {
 *   const group = yield* MulticastGroup.join({ address: "239.1.2.3:0", source: "10.0.0.1:0" })
 *   yield* MulticastGroup.send(group, new TextEncoder().encode("I am here"))
 *   const { bytes } = yield* MulticastGroup.receive(group)
 *   return bytes
 * }))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const join = (
  options: DatagramSocket.Depths & {
    readonly address: CmAddress.Input
    readonly source?: CmAddress.Input
    readonly timeout?: Duration.Input
    readonly retry?: Schedule.Schedule<unknown, ConnectionError.ConnectError>
  }
): Effect.Effect<MulticastGroup, ConnectionError.ConnectError, RdmaCm.RdmaCm | Verbs.Verbs | Scope.Scope> =>
  Effect.flatMap(
    decode(options),
    ({ address, source, ...depths }) =>
      attempts(address, { ...options, portSpace: "udp" }, (destination) =>
        Effect.gen(function*() {
          const id = yield* CmId.make(yield* EventChannel.make(), "udp")
          yield* CmId.resolveAddress(id, { destination, ...(source === undefined ? undefined : { source }) })
          const socket = yield* Datagrams.open(id, { ...depths, domain: options.domain })
          const { group: { ahAttr, qkey, qpNum } } = yield* MulticastMembership.join(id, destination)
          if (ahAttr?.grh === undefined) {
            return yield* refused("rdma_join_multicast", "ENODATA", "The answer does not tell where the group is")
          }
          yield* MulticastAttachment.attach(socket.queuePair, { gid: ahAttr.grh.dgid, mlid: ahAttr.dlid })
          const handle = yield* AddressHandle.make(socket.domain, ahAttr)
          yield* watch(id, socket.messages)
          const group: MulticastGroup = { socket, members: { handle, qpNum, qkey } }
          return group
        }))
  )

/**
 * Sends a datagram to everybody in the group, as `DatagramSocket.send`. Whether it comes back here too is the device's to
 * say.
 *
 * @category operations
 * @since 0.1.0
 */
export const send = (
  { members, socket }: MulticastGroup,
  bytes: Uint8Array
): Effect.Effect<void, DatagramSocket.TransferError> => DatagramSocket.send(socket, members, bytes)

/**
 * The next datagram to the group, as `DatagramSocket.receive`.
 *
 * @category operations
 * @since 0.1.0
 */
export const receive = (
  { socket }: MulticastGroup
): Effect.Effect<DatagramSocket.Datagram, DatagramSocket.TransferError> => DatagramSocket.receive(socket)

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const decode = Schema.decodeEffect(
  Schema.Struct({
    ...ConnectionOptions.Depths.fields,
    address: CmAddress.CmAddress,
    source: Schema.optionalKey(CmAddress.CmAddress)
  })
)
