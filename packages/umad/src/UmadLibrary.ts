/**
 * The initialised library: `umad_init(3)` and `umad_done`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Umad from "./Umad.ts"
import type { UmadError } from "./UmadError.ts"

/**
 * What every port and adapter is got from.
 *
 * @category models
 * @since 0.1.0
 */
export interface UmadLibrary extends Resource.Resource<"UmadLibrary", void> {
  readonly umad: Umad.Umad["Service"]
}

/**
 * Initialises libibumad for the scope; ports and adapters got from it are released before `umad_done`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const init = (): Effect.Effect<UmadLibrary, UmadError, Umad.Umad | Scope.Scope> => {
  const site = CreationSite.capture(init)
  return Effect.flatMap(Umad.Umad, (umad) =>
    Resource.make({
      kind: "UmadLibrary",
      pair: ["umad_init", "umad_done"],
      site,
      parents: [],
      acquire: umad.init,
      release: () => umad.done,
      fields: () => ({ umad })
    }))
}

/**
 * The names of the channel adapters: `umad_get_cas_names(3)`. None is an empty array. Names of 20 bytes and more are
 * missing, since the library leaves them out.
 *
 * @category queries
 * @since 0.1.0
 */
export const caNames = (self: UmadLibrary): Effect.Effect<ReadonlyArray<string>, UmadError> =>
  Resource.use(self, () => self.umad.getCasNames)
