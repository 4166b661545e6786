/**
 * The RDMA devices of a host: `ibv_get_device_list(3)` and `ibv_free_device_list`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Operations from "./operations/Device.ts"
import * as Verbs from "./Verbs.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * A device as listed: plain data, and the list it must be opened from.
 *
 * @category models
 * @since 0.1.0
 */
export interface Device extends Operations.ListedDevice {
  readonly list: Resource.Resource<"DeviceList">
  readonly verbs: Verbs.Verbs["Service"]
}

/**
 * An array of devices that libibverbs owns. A device can be opened until the list is released; a context that was
 * opened from it stays valid after that.
 *
 * @category models
 * @since 0.1.0
 */
export interface DeviceList extends Resource.Resource<"DeviceList", Operations.DeviceArray> {
  readonly devices: ReadonlyArray<Device>
}

/**
 * Lists the devices of the host, freshly each time. The list is owned by the scope and freed with it. No devices is an
 * empty list; a kernel without RDMA fails with `RdmaUnavailable`. Blocks for the time of reading sysfs.
 *
 * ```ts
 * import { DeviceList } from "@effect-rdma/verbs"
 * import { Effect } from "effect"
 *
 * const names = Effect.scoped(
 *   Effect.map(DeviceList.get(), (list) => list.devices.map((device) => device.name))
 * )
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const get = (): Effect.Effect<DeviceList, VerbsError, Verbs.Verbs | Scope.Scope> => {
  const site = CreationSite.capture(get)
  return Effect.flatMap(Verbs.Verbs, (verbs) =>
    Resource.make({
      kind: "DeviceList",
      pair: ["ibv_get_device_list", "ibv_free_device_list"],
      site,
      parents: [],
      acquire: verbs.getDeviceList,
      release: (raw) => verbs.freeDeviceList(raw.list),
      fields: (raw, list) => ({ devices: raw.devices.map((device) => ({ ...device, list, verbs })) })
    }))
}
