/**
 * An address handle: `ibv_create_ah(3)` and `ibv_destroy_ah`, `ibv_create_ah_from_wc(3)` and `ibv_init_ah_from_wc`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import * as Gid from "@effect-rdma/core/Gid"
import * as Identifier from "@effect-rdma/core/Identifier"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as AddressHandleAttributes from "./AddressHandleAttributes.ts"
import type * as DeviceContext from "./DeviceContext.ts"
import type * as EthernetDestination from "./EthernetDestination.ts"
import type * as ProtectionDomain from "./ProtectionDomain.ts"
import * as ReceivedDatagram from "./ReceivedDatagram.ts"
import { VerbsError } from "./VerbsError.ts"

/**
 * The way to a peer, for sends on UD queue pairs of the same domain. It must live until every send that names it has
 * completed.
 *
 * @category models
 * @since 0.1.0
 */
export interface AddressHandle extends Resource.Resource<"AddressHandle", Pointer.Pointer<"ibv_ah">> {
  readonly context: DeviceContext.DeviceContext
  readonly domain: ProtectionDomain.AnyDomain
  readonly attributes: AddressHandleAttributes.AddressHandleAttributes
}

/**
 * Creates an address handle, owned by the scope and released before its domain. On RoCE the kernel resolves the neighbour
 * meanwhile, which blocks the JS thread for up to a second when nobody answers.
 *
 * Bad attributes fail as a `SchemaError` with the path of the field, before any call. On RoCE: `ETIMEDOUT` when no
 * neighbour answers, `ENETUNREACH` without a route, `EINVAL` without a `grh`, for a port that the device does not have or
 * a `sgidIndex` beyond the table, `ENODATA` for an empty place of it. `ENOMEM` when the device has no more. A provider may refuse a
 * port without saying why: then the reason is `UnknownErrno` with number 0.
 *
 * ```ts
 * import { AddressHandle } from "@effect-rdma/verbs"
 * import type { ProtectionDomain } from "@effect-rdma/verbs"
 *
 * const toPeer = (domain: ProtectionDomain.ProtectionDomain) =>
 *   AddressHandle.make(domain, { portNum: 1, grh: { dgid: "::ffff:10.0.0.2", sgidIndex: 1 } })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  domain: ProtectionDomain.AnyDomain,
  attributes: AddressHandleAttributes.Input
): Effect.Effect<AddressHandle, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(make)
  return Effect.flatMap(Effect.suspend(() => decodeAttributes(attributes)), (attributes) =>
    Resource.make({
      kind: "AddressHandle",
      pair: ["ibv_create_ah", "ibv_destroy_ah"],
      site,
      parents: [domain],
      goneWithDevice: true,
      acquire: Effect.suspend(() => domain.context.verbs.createAh(Resource.raw(domain), attributes)).pipe(
        explaining(attributes)
      ),
      release: domain.context.verbs.destroyAh,
      fields: () => ({ context: domain.context, domain, attributes })
    }))
}

/**
 * Creates the address handle that answers the sender of a received datagram; `portNum` is the port that it arrived on.
 * Owned by the scope and released before its domain. Fails as {@link make}, with `EINVAL` when the destination is a
 * multicast group or no GID of the port, and with `EPROTONOSUPPORT` when the routing header is none.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromReceived = (
  domain: ProtectionDomain.AnyDomain,
  portNum: number,
  received: typeof ReceivedDatagram.ReceivedDatagram.Encoded
): Effect.Effect<AddressHandle, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(fromReceived)
  return Effect.flatMap(decodeReceived(portNum, received), ([portNum, received]) =>
    Effect.flatMap(
      Resource.use(domain.context, (context) => domain.context.verbs.initAhFromWc(context, portNum, received)),
      (attributes) =>
        Resource.make({
          kind: "AddressHandle",
          pair: ["ibv_create_ah_from_wc", "ibv_destroy_ah"],
          site,
          parents: [domain],
          goneWithDevice: true,
          acquire: Effect.suspend(() => domain.context.verbs.createAhFromWc(Resource.raw(domain), portNum, received))
            .pipe(
              explaining(attributes)
            ),
          release: domain.context.verbs.destroyAh,
          fields: () => ({ context: domain.context, domain, attributes })
        })
    ))
}

/**
 * The attributes that answer the sender of a received datagram, without creating anything: `ibv_init_ah_from_wc`. Fails
 * with `EINVAL` when the destination is a multicast group or no GID of the port, and with `EPROTONOSUPPORT` when the
 * routing header is none.
 *
 * @category queries
 * @since 0.1.0
 */
export const attributesOfSender = (
  context: DeviceContext.DeviceContext,
  portNum: number,
  received: typeof ReceivedDatagram.ReceivedDatagram.Encoded
): Effect.Effect<AddressHandleAttributes.AddressHandleAttributes, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    decodeReceived(portNum, received),
    ([portNum, received]) => Resource.use(context, (pointer) => context.verbs.initAhFromWc(pointer, portNum, received))
  )

/**
 * The MAC address and the VLAN that lead to a GID on RoCE: `ibv_resolve_eth_l2_from_gid`. The library asks the routing and
 * neighbour tables of the kernel, and the neighbour itself when they do not know it: this **blocks the JS thread for up to
 * three seconds** when nobody answers.
 *
 * Attributes without a `grh` fail as a `SchemaError` before the call. `EINVAL` for a port or a `sgidIndex` that the device
 * does not have, and for a source GID that is no address of this host; `EHOSTUNREACH` when there is no route, or nobody
 * answers.
 *
 * @category queries
 * @since 0.1.0
 */
export const resolveEthernet = (
  context: DeviceContext.DeviceContext,
  attributes: typeof AddressHandleAttributes.RoutedAttributes.Encoded
): Effect.Effect<EthernetDestination.EthernetDestination, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    Effect.suspend(() => Schema.decodeEffect(AddressHandleAttributes.RoutedAttributes)(attributes)),
    (attributes) => Resource.use(context, (pointer) => context.verbs.resolveEthL2FromGid(pointer, attributes))
  )

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const decodeAttributes = Schema.decodeEffect(AddressHandleAttributes.AddressHandleAttributes)

const decodeReceived = (portNum: number, received: typeof ReceivedDatagram.ReceivedDatagram.Encoded) =>
  Effect.suspend(() =>
    Effect.all([
      Schema.decodeEffect(Identifier.PortNumber)(portNum),
      Schema.decodeEffect(ReceivedDatagram.ReceivedDatagram)(received)
    ])
  )

/** Adds where the packets were to go, and what to look at: an errno alone says little of an address. */
const explaining = (attributes: AddressHandleAttributes.AddressHandleAttributes) =>
  Effect.mapError((error: VerbsError) => {
    const { grh, portNum } = attributes
    const hint = error.hint ?? hints[error.reason._tag]
    return new VerbsError({
      call: error.call,
      reason: error.reason,
      input: {
        ...error.input,
        portNum,
        ...(grh === undefined ? undefined : { dgid: Gid.formatCompressed(grh.dgid), sgidIndex: grh.sgidIndex })
      },
      ...(hint === undefined ? undefined : { hint })
    })
  })

const lookAtTheTable = "The port and the sgidIndex must be the device's own, and of the address family of the dgid: " +
  "DeviceContext.gidTable lists them. RoCE needs a grh"

const hints: { readonly [Reason in VerbsError["reason"]["_tag"]]?: string } = {
  EINVAL: lookAtTheTable,
  ENODATA: lookAtTheTable,
  ETIMEDOUT: "No neighbour answers for the dgid on the network of the sgidIndex",
  ENETUNREACH: "The host has no route to the dgid",
  UnknownErrno: "Some providers refuse a port that the device does not have so"
}
