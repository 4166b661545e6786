/**
 * An opened device: `ibv_open_device(3)` and `ibv_close_device`, and the queries on it.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import type * as DeviceAttributes from "./DeviceAttributes.ts"
import * as DeviceList from "./DeviceList.ts"
import type * as ExtendedDeviceAttributes from "./ExtendedDeviceAttributes.ts"
import type * as GidEntry from "./GidEntry.ts"
import { refused } from "./internal/refused.ts"
import * as Verbs from "./Verbs.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * A device context. `name` is the kernel's, such as `mlx5_0` or `rxe0`.
 *
 * @category models
 * @since 0.1.0
 */
export interface DeviceContext extends Resource.Resource<"DeviceContext", Pointer.Pointer<"ibv_context">> {
  readonly name: string
  readonly verbs: Verbs.Verbs["Service"]
}

/**
 * Opens a listed device. The context is owned by the scope; everything made on it is released before it is closed. The
 * list is needed only for the call. Fails with `EACCES` when the device node refuses, `ENOENT` when the device is gone: then
 * libibverbs may block the JS thread for 5 s, in case udev is about to make the node.
 *
 * @category constructors
 * @since 0.1.0
 */
export const open = (device: DeviceList.Device): Effect.Effect<DeviceContext, VerbsError, Scope.Scope> =>
  acquire(device, CreationSite.capture(open))

/**
 * Opens the device of a name, and frees the list that it was found in. Fails with `ENODEV` when no device has the name.
 *
 * ```ts
 * import { DeviceContext, Port } from "@effect-rdma/verbs"
 * import { Effect } from "effect"
 *
 * const activeMtu = Effect.scoped(Effect.gen(function*() {
 *   const context = yield* DeviceContext.openByName("rxe0")
 *   const port = yield* Port.query(context, 1)
 *   return port.activeMtu
 * }))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const openByName = (name: string): Effect.Effect<DeviceContext, VerbsError, Verbs.Verbs | Scope.Scope> => {
  const site = CreationSite.capture(openByName)
  return Effect.flatMap(Effect.scope, (scope) =>
    Effect.scoped(Effect.flatMap(DeviceList.get(), ({ devices }) => {
      const device = devices.find((device) => device.name === name)
      return device === undefined
        ? Effect.fail(noSuchDevice(name, devices))
        : Effect.provideService(acquire(device, site), Scope.Scope, scope)
    })))
}

/**
 * A context that somebody else opened and closes, such as one of librdmacm's. It is never closed by us; what is made on
 * it is released when the scope closes. `pointer` must stay valid until then.
 *
 * @category constructors
 * @since 0.1.0
 */
export const borrow = (
  pointer: Pointer.Pointer<"ibv_context">,
  site: CreationSite.CreationSite | undefined = CreationSite.capture(borrow)
): Effect.Effect<DeviceContext, never, Verbs.Verbs | Scope.Scope> =>
  Effect.flatMap(Verbs.Verbs, (verbs) =>
    Effect.flatMap(verbs.getDeviceName(pointer), (name) =>
      Resource.make({
        kind: "DeviceContext",
        pair,
        site,
        parents: [],
        ownership: "borrowed",
        acquire: Effect.succeed(pointer),
        release: () => Effect.void,
        fields: () => ({ name, verbs })
      })))

/**
 * Opens a device once more through the descriptor of another context, so that objects of that one can be imported:
 * `ibv_import_device(3)`. The descriptor, of {@link commandDescriptor} or given by another process, stays the caller's. The
 * context is owned by the scope. Fails with `EINVAL` or `EBADF` when the descriptor is not one of a device, with
 * `EOPNOTSUPP` where the provider cannot, as all but mlx5.
 *
 * @category constructors
 * @since 0.1.0
 */
export const import_ = (
  cmdFd: number
): Effect.Effect<DeviceContext, VerbsError | Schema.SchemaError, Verbs.Verbs | Scope.Scope> => {
  const site = CreationSite.capture(import_)
  return Effect.flatMap(
    Effect.all([Verbs.Verbs, Schema.decodeEffect(descriptor)(cmdFd)]),
    ([verbs, cmdFd]) => {
      let name = ""
      return Resource.make({
        kind: "DeviceContext",
        pair: ["ibv_import_device", "ibv_close_device"],
        site,
        parents: [],
        goneWithDevice: true,
        acquire: Effect.tap(
          verbs.importDevice(cmdFd),
          (pointer) =>
            Effect.map(verbs.getDeviceName(pointer), (found) => {
              name = found
            })
        ),
        release: verbs.closeDevice,
        fields: () => ({ name, verbs })
      })
    }
  )
}
export { import_ as import }

/**
 * The descriptor of a context, for {@link import}. It belongs to the library: it must not be closed.
 *
 * @category getters
 * @since 0.1.0
 */
export const commandDescriptor = (self: DeviceContext): Effect.Effect<number> => Resource.use(self, self.verbs.getCmdFd)

/**
 * What the device is and can do: `ibv_query_device(3)`. Fails with `EIO` when the device is gone.
 *
 * @category queries
 * @since 0.1.0
 */
export const query = (self: DeviceContext): Effect.Effect<DeviceAttributes.DeviceAttributes, VerbsError> =>
  Resource.use(self, self.verbs.queryDevice)

/**
 * Every valid GID of every port with its type: `ibv_query_gid_table(3)`. Fails with `EOPNOTSUPP` on a libibverbs that is too
 * old for it (before rdma-core 32).
 *
 * @category queries
 * @since 0.1.0
 */
export const gidTable = (self: DeviceContext): Effect.Effect<ReadonlyArray<GidEntry.GidEntry>, VerbsError> =>
  Resource.use(self, self.verbs.queryGidTable)

/**
 * What the device can do beyond that, nested as in C: `ibv_query_device_ex(3)`. A library or a provider that is too old for
 * it answers as {@link query}, with zeroes for the rest. Fails with `EIO` when the device is gone.
 *
 * @category queries
 * @since 0.1.0
 */
export const queryExtended = (
  self: DeviceContext
): Effect.Effect<ExtendedDeviceAttributes.ExtendedDeviceAttributes, VerbsError> =>
  Resource.use(self, self.verbs.queryDeviceEx)

/**
 * The device's clock at this moment, which the timestamps of completions are taken from: `ibv_query_rt_values_ex(3)`. Fails
 * with `EOPNOTSUPP` where the provider has none, as Soft-RoCE.
 *
 * @category queries
 * @since 0.1.0
 */
export const queryRtValues = (
  self: DeviceContext
): Effect.Effect<ExtendedDeviceAttributes.RealTimeValues, VerbsError> => Resource.use(self, self.verbs.queryRtValuesEx)

/**
 * How many interrupts of the device can tell of completions: `num_comp_vectors` of the context.
 *
 * @category queries
 * @since 0.1.0
 */
export const numCompVectors = (self: DeviceContext): Effect.Effect<number> =>
  Resource.use(self, self.verbs.numCompVectors)

/**
 * Fails with `EINVAL` unless two handles are of one device: mixing them never reaches native code.
 *
 * @internal
 */
export const ensureSame = (call: string, self: Owned, that: Owned): Effect.Effect<void, VerbsError> =>
  ensure(call, self, self.context, that)

/**
 * {@link ensureSame} for a context and a handle.
 *
 * @internal
 */
export const ensureOn = (call: string, context: DeviceContext, that: Owned): Effect.Effect<void, VerbsError> =>
  ensure(call, context, context, that)

interface Owned extends Resource.Any {
  readonly context: DeviceContext
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const ensure = (
  call: string,
  self: Resource.Any,
  context: DeviceContext,
  that: Owned
): Effect.Effect<void, VerbsError> =>
  Effect.suspend(() =>
    context.verbs === that.context.verbs && Resource.raw(context) === Resource.raw(that.context)
      ? Effect.void
      : Effect.fail(
        refused(call, "EINVAL", "Both must be of one device context", {
          [Resource.nameOf(self)]: context.name,
          [Resource.nameOf(that)]: that.context.name
        })
      )
  )

const descriptor = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0x7fff_ffff }))

/** @internal */
export const pair = ["ibv_open_device", "ibv_close_device"] as const

const acquire = (device: DeviceList.Device, site: CreationSite.CreationSite | undefined) =>
  Resource.make({
    kind: "DeviceContext",
    pair,
    site,
    parents: [],
    goneWithDevice: true,
    uses: [device.list],
    acquire: device.verbs.openDevice(device.pointer),
    release: device.verbs.closeDevice,
    fields: () => ({ name: device.name, verbs: device.verbs })
  })

const noSuchDevice = (name: string, devices: ReadonlyArray<DeviceList.Device>) =>
  refused(
    "ibv_open_device",
    "ENODEV",
    devices.length === 0
      ? "The host has no RDMA device that libibverbs has a provider for: see what `rdma link` lists, and whether the " +
        "providers are installed (ibverbs-providers)"
      : `The host has ${devices.map((device) => device.name).join(", ")}`,
    { name }
  )
