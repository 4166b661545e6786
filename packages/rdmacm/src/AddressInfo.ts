/**
 * Names and services as addresses: `rdma_getaddrinfo(3)` and `rdma_freeaddrinfo`.
 *
 * @since 0.1.0
 */
import * as Ledger from "@effect-rdma/core/Ledger"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as AddressInfoAttributes from "./AddressInfoAttributes.ts"
import type * as CmId from "./CmId.ts"
import * as ConnectionError from "./ConnectionError.ts"
import { eventError, withEvent } from "./internal/idOperation.ts"
import * as RdmaCm from "./RdmaCm.ts"
import type { RdmaCmError } from "./RdmaCmError.ts"

/**
 * A name of a host, a service, and what kind of address is wanted. One of both must be there.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Query = Schema.Struct({
  node: Schema.optionalKey(Schema.NonEmptyString),
  service: Schema.optionalKey(Schema.NonEmptyString),
  ...AddressInfoAttributes.Hints.fields
})

/**
 * Every address of a name, and where an endpoint would be for it. The list of C is copied and freed at once.
 *
 * It waits on a worker thread for as long as name servers take, which cannot be interrupted; `numericHost` asks none. Fails with
 * `ENOENT` for a name or a service that nobody knows, with `EAGAIN` when the name server does not answer, with `ENODEV` without
 * an RDMA device, and with `EINVAL` for hints that do not go together.
 *
 * ```ts
 * import { AddressInfo } from "@effect-rdma/rdmacm"
 *
 * const toListen = AddressInfo.get({ service: "7471", flags: ["passive"], portSpace: "tcp" })
 * ```
 *
 * @category queries
 * @since 0.1.0
 */
export const get = (
  query: typeof Query.Encoded
): Effect.Effect<
  ReadonlyArray<AddressInfoAttributes.AddressInfo>,
  RdmaCmError | Schema.SchemaError,
  RdmaCm.RdmaCm
> =>
  Effect.flatMap(
    Effect.all([RdmaCm.RdmaCm, decode(query)]),
    ([cm, { node, service, ...hints }]) => Effect.tap(cm.getaddrinfo(node, service, hints), () => countPair)
  )

/**
 * As {@link get}, for an id, and with its event: `rdma_resolve_addrinfo(3)` and `rdma_query_addrinfo(3)`. With the flag `sa` the
 * subnet administrator is asked for a service, which waits without a thread and can be interrupted; else it is on a worker
 * thread as {@link get}. Fails with `EOPNOTSUPP` where the library is older than rdma-core 60, and as {@link get}.
 *
 * @category queries
 * @since 0.1.0
 */
export const resolve = (
  cmId: CmId.CmId,
  query: typeof Query.Encoded
): Effect.Effect<
  ReadonlyArray<AddressInfoAttributes.AddressInfo>,
  RdmaCmError | ConnectionError.DeviceRemoved | Schema.SchemaError
> =>
  Effect.flatMap(decode(query), ({ node, service, ...hints }) => {
    const input = { ...(node === undefined ? {} : { node }), ...(service === undefined ? {} : { service }) }
    return Effect.flatMap(
      withEvent(
        cmId,
        "again",
        ["addrinfoResolved", "addrinfoError", "deviceRemoval"],
        Resource.use(cmId, (id) => cmId.channel.cm.resolveAddrinfo(id, node, service, hints))
      ),
      (event): ReturnType<typeof resolve> => {
        switch (event.event) {
          case "addrinfoResolved":
            return Effect.tap(Resource.use(cmId, cmId.channel.cm.queryAddrinfo), () => countQuery)
          case "addrinfoError":
            return Effect.fail(eventError("rdma_resolve_addrinfo", event, input))
          default:
            return Effect.fail(
              new ConnectionError.DeviceRemoved({ call: "rdma_resolve_addrinfo", status: event.status })
            )
        }
      }
    )
  })

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const decode = Schema.decodeEffect(Query)

const countPair = Effect.map(Ledger.Ledger, (ledger) => ledger.bracketed(["rdma_getaddrinfo", "rdma_freeaddrinfo"]))

const countQuery = Effect.map(
  Ledger.Ledger,
  (ledger) => ledger.bracketed(["rdma_query_addrinfo", "rdma_freeaddrinfo"])
)
