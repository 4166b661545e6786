/**
 * Memory on the device itself: `ibv_alloc_dm(3)` and `ibv_free_dm`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as DeviceContext from "./DeviceContext.ts"
import { refused } from "./internal/refused.ts"
import * as MemoryAttributes from "./MemoryAttributes.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * Memory of the device, which a region makes usable for work requests. `length` is `undefined` when it was imported.
 *
 * @category models
 * @since 0.1.0
 */
export interface DeviceMemory extends Resource.Resource<"DeviceMemory", Pointer.Pointer<"ibv_dm">> {
  readonly context: DeviceContext.DeviceContext
  readonly length: number | undefined
  readonly handle: number
}

/**
 * Allocates memory on the device, owned by the scope. Regions on it are released before it. Fails with `EOPNOTSUPP` where
 * the device has none, with `EINVAL` for more than it has at all, with `ENOMEM` when it is full.
 *
 * ```ts
 * import { DeviceMemory } from "@effect-rdma/verbs"
 * import type { DeviceContext } from "@effect-rdma/verbs"
 *
 * const counters = (context: DeviceContext.DeviceContext) => DeviceMemory.alloc(context, { length: 64 })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const alloc = (
  context: DeviceContext.DeviceContext,
  options: typeof MemoryAttributes.DeviceMemory.Encoded
): Effect.Effect<DeviceMemory, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(alloc)
  return Effect.flatMap(
    Schema.decodeEffect(MemoryAttributes.DeviceMemory)(options),
    ({ length, logAlignReq }) =>
      make(
        context,
        site,
        length,
        Resource.use(context, (pointer) => context.verbs.allocDm(pointer, { length: BigInt(length), logAlignReq }))
      )
  )
}

/**
 * Imports the device memory of a `handle` that another context of the same device file allocated. It is borrowed: the
 * release, `ibv_unimport_dm`, leaves the memory to whoever allocated it. Fails with `EINVAL` or `ENOENT` for an unknown
 * handle, with `EOPNOTSUPP` where the provider cannot import.
 *
 * @category constructors
 * @since 0.1.0
 */
export const import_ = (
  context: DeviceContext.DeviceContext,
  handle: number
): Effect.Effect<DeviceMemory, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(import_)
  return Effect.flatMap(Schema.decodeEffect(MemoryAttributes.Handle)(handle), (handle) =>
    make(
      context,
      site,
      undefined,
      Resource.use(context, (pointer) => context.verbs.importDm(pointer, handle))
    ))
}
export { import_ as import }

/**
 * Copies bytes to an offset of the device memory: `ibv_memcpy_to_dm`. Blocks for the copy over PCIe. Fails with `EFAULT`
 * when they do not fit, before the call where the length is known; mlx5 wants the offset and the length to be multiples of 4.
 *
 * @category combinators
 * @since 0.1.0
 */
export const memcpyTo = (
  self: DeviceMemory,
  offset: number,
  bytes: Uint8Array
): Effect.Effect<void, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    Schema.decodeEffect(MemoryAttributes.Offset)(offset),
    (offset) =>
      Resource.use(self, (pointer) =>
        Effect.andThen(
          ensureWithin("ibv_memcpy_to_dm", self, offset, bytes.length),
          self.context.verbs.memcpyToDm(pointer, BigInt(offset), bytes)
        ))
  )

/**
 * Copies bytes from an offset of the device memory: `ibv_memcpy_from_dm`. Blocks and fails as {@link memcpyTo}.
 *
 * @category combinators
 * @since 0.1.0
 */
export const memcpyFrom = (
  self: DeviceMemory,
  offset: number,
  length: number
): Effect.Effect<Uint8Array<ArrayBuffer>, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    Effect.all([
      Schema.decodeEffect(MemoryAttributes.Offset)(offset),
      Schema.decodeEffect(MemoryAttributes.Length)(length)
    ]),
    ([offset, length]) =>
      Resource.use(self, (pointer) =>
        Effect.andThen(
          ensureWithin("ibv_memcpy_from_dm", self, offset, length),
          self.context.verbs.memcpyFromDm(pointer, BigInt(offset), length)
        ))
  )

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** The length of an import is known to the provider alone. */
const ensureWithin = (
  call: string,
  { length: size }: DeviceMemory,
  offset: number,
  length: number
): Effect.Effect<void, VerbsError> =>
  size === undefined || offset + length <= size
    ? Effect.void
    : Effect.fail(
      refused(call, "EFAULT", `The device memory has ${size} bytes`, { offset, length })
    )

const make = (
  context: DeviceContext.DeviceContext,
  site: CreationSite.CreationSite | undefined,
  length: number | undefined,
  acquire: Effect.Effect<{ readonly dm: Pointer.Pointer<"ibv_dm">; readonly handle: number }, VerbsError>
): Effect.Effect<DeviceMemory, VerbsError, Scope.Scope> =>
  Effect.suspend(() => {
    const { freeDm, unimportDm } = context.verbs
    const isImport = length === undefined
    let handle = 0
    return Resource.make({
      kind: "DeviceMemory",
      pair: isImport ? ["ibv_import_dm", "ibv_unimport_dm"] : ["ibv_alloc_dm", "ibv_free_dm"],
      site,
      parents: [context],
      cannotRefuse: isImport,
      goneWithDevice: true,
      acquire: Effect.map(acquire, (made) => {
        handle = made.handle
        return made.dm
      }),
      release: isImport ? unimportDm : freeDm,
      fields: () => ({ context, length, handle })
    })
  })
