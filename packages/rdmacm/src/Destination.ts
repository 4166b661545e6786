/**
 * Addresses and names to connect to or to listen on.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import * as AddressInfo from "./AddressInfo.ts"
import * as CmAddress from "./CmAddress.ts"
import * as ConnectionError from "./ConnectionError.ts"
import { refused } from "./internal/idOperation.ts"
import type * as PortSpace from "./PortSpace.ts"
import type * as RdmaCm from "./RdmaCm.ts"
import type { RdmaCmError } from "./RdmaCmError.ts"

/**
 * A name of a host, and a port or the name of a service.
 *
 * @category schemas
 * @since 0.1.0
 */
export const HostName = Schema.TaggedStruct("HostName", { node: Schema.NonEmptyString, service: Schema.NonEmptyString })

/**
 * Accepts an address as {@link CmAddress.CmAddress}, or a name and a service as text.
 *
 * ```ts
 * import { Destination } from "@effect-rdma/rdmacm"
 * import { Schema } from "effect"
 *
 * const decode = Schema.decodeSync(Destination.Destination)
 * String(decode("10.0.0.1:7471")) // => "10.0.0.1:7471"
 * decode("storage.example:7471")._tag // => "HostName"
 * ```
 *
 * @category schemas
 * @since 0.1.0
 */
export const Destination = Schema.Union([
  CmAddress.CmAddress,
  // Digits and dots alone are an address, or none.
  Schema.String.check(Schema.isPattern(/^(?![\d.]+:)[\w][\w.-]*:[\w-]+$/)).pipe(Schema.decodeTo(
    HostName,
    SchemaTransformation.transform({
      decode: (text: string) => {
        const [node = "", service = ""] = text.split(":")
        return { _tag: "HostName" as const, node, service }
      },
      encode: ({ node, service }) => `${node}:${service}`
    })
  ))
])

/**
 * The type of {@link Destination}.
 *
 * @category models
 * @since 0.1.0
 */
export type Destination = typeof Destination.Type

/**
 * What a caller may give for a {@link Destination}.
 *
 * @category models
 * @since 0.1.0
 */
export type Input = typeof Destination.Encoded

/**
 * Tries the addresses of a destination one after the other, those of IPv6 first, until one will do. Of several that fail the
 * error is a `CandidatesFailed`; of a single one it is its own. A name is looked up as by `AddressInfo.get`, and fails as
 * that when nothing is found.
 *
 * @category combinators
 * @since 0.1.0
 */
export const firstOf = <A, R>(
  destination: Destination,
  options: { readonly portSpace: PortSpace.PortSpace; readonly isPassive?: boolean },
  attempt: (
    address: CmAddress.CmAddress
  ) => Effect.Effect<A, ConnectionError.AttemptError | Schema.SchemaError, R>
): Effect.Effect<A, ConnectionError.ConnectError, R | RdmaCm.RdmaCm> =>
  Effect.flatMap(
    candidates(destination, options),
    (addresses) => tryFrom(addresses, attempt, [])
  )

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

type Failures = ConnectionError.CandidatesFailed["failures"]

const tryFrom = <A, R>(
  [address, ...others]: readonly [CmAddress.CmAddress, ...ReadonlyArray<CmAddress.CmAddress>],
  attempt: (address: CmAddress.CmAddress) => Effect.Effect<A, ConnectionError.AttemptError | Schema.SchemaError, R>,
  before: Failures
): Effect.Effect<A, ConnectionError.ConnectError, R> =>
  Effect.catch(attempt(address), (error): Effect.Effect<A, ConnectionError.ConnectError, R> => {
    if (error._tag === "SchemaError") return Effect.fail(error)
    const failures = [...before, { address: CmAddress.format(address), error }]
    const [next, ...rest] = others
    if (next !== undefined) return tryFrom([next, ...rest], attempt, failures)
    return Effect.fail(failures.length === 1 ? error : new ConnectionError.CandidatesFailed({ failures }))
  })

/** librdmacm takes the first address that it finds: one of each family. */
const families = ["ipv6", "ipv4"] as const

const candidates = (
  destination: Destination,
  { isPassive = false, portSpace }: { readonly portSpace: PortSpace.PortSpace; readonly isPassive?: boolean }
): Effect.Effect<
  readonly [CmAddress.CmAddress, ...ReadonlyArray<CmAddress.CmAddress>],
  RdmaCmError | Schema.SchemaError,
  RdmaCm.RdmaCm
> => {
  if (destination._tag !== "HostName") return Effect.succeed([destination])
  const { node, service } = destination
  const lookUp = (family: "ipv4" | "ipv6") =>
    AddressInfo.get({
      node,
      service,
      portSpace,
      family,
      flags: isPassive ? ["family", "noRoute", "passive"] : ["family", "noRoute"]
    })
  return Effect.flatMap(Effect.forEach(families, (family) => Effect.result(lookUp(family))), (results) => {
    const [first, ...others] = results.flatMap((result) =>
      Result.isFailure(result)
        ? []
        : result.success.flatMap((info) => (isPassive ? info.source : info.destination) ?? [])
    )
    if (first !== undefined) return Effect.succeed([first, ...others] as const)
    const failed = results.findLast(Result.isFailure)
    return Effect.fail(failed?.failure ?? refused("rdma_getaddrinfo", "ENOENT", "The name has no address", { node }))
  })
}
