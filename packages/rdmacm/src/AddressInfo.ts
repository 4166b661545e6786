/**
 * Names and services as addresses: `rdma_getaddrinfo(3)` and `rdma_freeaddrinfo`.
 *
 * @since 0.1.0
 */
import * as Ledger from "@effect-rdma/core/Ledger"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as AddressInfoAttributes from "./AddressInfoAttributes.ts"
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

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const decode = Schema.decodeEffect(Query)

const countPair = Effect.map(Ledger.Ledger, (ledger) => ledger.bracketed(["rdma_getaddrinfo", "rdma_freeaddrinfo"]))
