/**
 * The channel adapters as sysfs lists them: `umad_get_ca_device_list(3)` and `umad_free_ca_device_list`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Umad from "./Umad.ts"
import type { UmadError } from "./UmadError.ts"
import type * as UmadLibrary from "./UmadLibrary.ts"

/**
 * A list of adapter names, owned by the scope.
 *
 * @category models
 * @since 0.1.0
 */
export interface CaDeviceList extends Resource.Resource<"CaDeviceList", Umad.DeviceNodes> {
  readonly names: ReadonlyArray<string>
}

/**
 * Lists the adapters. None is an empty list: the library cannot tell it from a failure to read sysfs.
 *
 * @category constructors
 * @since 0.1.0
 */
export const get = (library: UmadLibrary.UmadLibrary): Effect.Effect<CaDeviceList, UmadError, Scope.Scope> =>
  Resource.make({
    ...optionsOf(library),
    site: CreationSite.capture(get),
    acquire: library.umad.getCaDeviceList
  })

/**
 * {@link get} by name: `umad_sort_ca_device_list(3)`. Fails with `ENOMEM` as well.
 *
 * @category constructors
 * @since 0.1.0
 */
export const getSorted = (library: UmadLibrary.UmadLibrary): Effect.Effect<CaDeviceList, UmadError, Scope.Scope> =>
  Resource.make({
    ...optionsOf(library),
    site: CreationSite.capture(getSorted),
    acquire: Effect.flatMap(library.umad.getCaDeviceList, (nodes) => {
      const { list } = nodes
      if (list === undefined) return Effect.succeed(nodes)
      return Effect.tapError(library.umad.sortCaDeviceList(list), () => library.umad.freeCaDeviceList(list))
    })
  })

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const optionsOf = (library: UmadLibrary.UmadLibrary) => ({
  kind: "CaDeviceList",
  pair: ["umad_get_ca_device_list", "umad_free_ca_device_list"],
  parents: [library],
  release: ({ list }: Umad.DeviceNodes) => list === undefined ? Effect.void : library.umad.freeCaDeviceList(list),
  fields: ({ names }: Umad.DeviceNodes) => ({ names })
} as const)
