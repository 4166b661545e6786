/**
 * A channel adapter with its ports: `umad_get_ca(3)` and `umad_release_ca`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as CaAttributes from "./CaAttributes.ts"
import * as CaName from "./CaName.ts"
import type * as Umad from "./Umad.ts"
import type { UmadError } from "./UmadError.ts"
import type * as UmadLibrary from "./UmadLibrary.ts"

/**
 * A channel adapter with the attributes that it had when it was got. Its ports are data and go with it.
 *
 * @category models
 * @since 0.1.0
 */
export interface UmadCa extends Resource.Resource<"UmadCa", Umad.GotCa> {
  readonly attributes: CaAttributes.CaAttributes
}

/**
 * Gets a channel adapter by name, or the one that libibumad prefers: the first with an active port. Owned by the scope.
 * Fails with `ENODEV` or `ENOENT` when there is none, and as a `SchemaError` for a name over 19 bytes.
 *
 * @category constructors
 * @since 0.1.0
 */
export const get = (
  library: UmadLibrary.UmadLibrary,
  caName?: string
): Effect.Effect<UmadCa, UmadError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(get)
  return Effect.flatMap(Effect.suspend(() => decodeName(caName)), (caName) =>
    Resource.make({
      kind: "UmadCa",
      pair: ["umad_get_ca", "umad_release_ca"],
      site,
      parents: [library],
      acquire: library.umad.getCa(caName),
      release: ({ ca }) => library.umad.releaseCa(ca),
      fields: ({ attributes }) => ({ attributes })
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const decodeName = Schema.decodeEffect(Schema.UndefinedOr(CaName.CaName))
