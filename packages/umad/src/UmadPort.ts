/**
 * A port of a channel adapter: `umad_get_port(3)` and `umad_release_port`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as CaName from "./CaName.ts"
import type * as PortAttributes from "./PortAttributes.ts"
import type * as Umad from "./Umad.ts"
import type { UmadError } from "./UmadError.ts"
import type * as UmadLibrary from "./UmadLibrary.ts"

/**
 * A port with the attributes that it had when it was got.
 *
 * @category models
 * @since 0.1.0
 */
export interface UmadPort extends Resource.Resource<"UmadPort", Umad.GotPort> {
  readonly attributes: PortAttributes.PortAttributes
}

/**
 * Which port: either, both or none. What is left out is chosen: an active port first, else the first there is.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Filter = Schema.Struct({
  caName: Schema.optionalKey(CaName.CaName),
  portNum: Schema.optionalKey(Identifier.PortNumber)
})

/**
 * Gets a port, owned by the scope. Fails with `ENODEV` when no adapter fits the filter or none has the name, with `EIO`
 * when the adapter has no such port (or, with a port number, when there is no such adapter), and as a `SchemaError` for a
 * name over 19 bytes, before any call.
 *
 * ```ts
 * import { UmadLibrary, UmadPort } from "@effect-rdma/umad"
 * import { Effect } from "effect"
 *
 * const activePort = Effect.scoped(Effect.gen(function*() {
 *   const umad = yield* UmadLibrary.init()
 *   const port = yield* UmadPort.get(umad)
 *   return port.attributes
 * }))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const get = (
  library: UmadLibrary.UmadLibrary,
  filter: typeof Filter.Encoded = {}
): Effect.Effect<UmadPort, UmadError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(get)
  return Effect.flatMap(Effect.suspend(() => decodeFilter(filter)), ({ caName, portNum }) =>
    Resource.make({
      kind: "UmadPort",
      pair: ["umad_get_port", "umad_release_port"],
      site,
      parents: [library],
      acquire: library.umad.getPort(caName, portNum ?? anyPort),
      release: ({ port }) => library.umad.releasePort(port),
      fields: ({ attributes }) => ({ attributes })
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const decodeFilter = Schema.decodeEffect(Filter)

const anyPort = Identifier.AnyPortNumber.make(0)
