/**
 * A memory region: `ibv_reg_mr(3)` and its relatives, and `ibv_dereg_mr`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Ledger from "@effect-rdma/core/Ledger"
import type * as NativeMemory from "@effect-rdma/core/NativeMemory"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as Semaphore from "effect/Semaphore"
import * as AccessFlags from "./AccessFlags.ts"
import type * as DeviceContext from "./DeviceContext.ts"
import type * as DeviceMemory from "./DeviceMemory.ts"
import type * as DmaBuffer from "./DmaBuffer.ts"
import type * as DmaHandle from "./DmaHandle.ts"
import * as Making from "./internal/memoryRegion.ts"
import * as OwnedMemory from "./internal/ownedMemory.ts"
import { refused } from "./internal/refused.ts"
import * as Reregister from "./internal/reregister.ts"
import * as MemoryAttributes from "./MemoryAttributes.ts"
import type * as ProtectionDomain from "./ProtectionDomain.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * What a region is to the library. `mapping` are the pages that it owns; `lent` keeps alive what the device may use.
 *
 * @internal
 */
export interface Raw {
  readonly mr: Pointer.Pointer<"ibv_mr">
  readonly changes: Semaphore.Semaphore
  readonly mapping: NativeMemory.Mapping | undefined
  lent: ReadonlyArray<Uint8Array>
}

/**
 * Memory that the device may use. Work requests on this host name it by `lkey`, peers by `rkey`, both with addresses from
 * `address` on. `handle` is its number in the kernel. `bytes` are the memory itself; they are empty where it is not memory
 * of this process, and after the release where the region owned it. `usable` is false once a {@link rereg} left it
 * broken. A {@link rereg} changes these fields.
 *
 * @category models
 * @since 0.1.0
 */
export interface MemoryRegion extends Resource.Resource<"MemoryRegion", Raw> {
  readonly context: DeviceContext.DeviceContext
  readonly domain: ProtectionDomain.AnyDomain
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly access: AccessFlags.AccessFlags
  readonly address: bigint
  readonly length: bigint
  readonly handle: number
  readonly lkey: number
  readonly rkey: number
  readonly usable: boolean
}

/**
 * Allocates zeroed memory on pages of its own and registers it. Both are owned by the scope: the memory is unmapped after
 * `ibv_dereg_mr` succeeded, and `bytes` and every view of its buffer are then of length 0. When it fails, the pages stay
 * mapped for ever, since the device may still write to them.
 *
 * Blocks while the kernel pins the pages, in the order of 0.1 ms for a MiB. Fails with `ENOMEM` when there is no memory or
 * the limit of locked memory is reached (the hint tells it), with `EPERM` when that limit is 0, with `EINVAL` before any
 * call when `remoteWrite` or `remoteAtomic` come without `localWrite`, and with `EINVAL` or `EOPNOTSUPP` for access that the
 * device does not have. With a `dmaHandle` it is `ibv_reg_mr_ex` (rdma-core 59 or newer).
 *
 * ```ts
 * import { MemoryRegion } from "@effect-rdma/verbs"
 * import type { ProtectionDomain } from "@effect-rdma/verbs"
 *
 * const mailbox = (domain: ProtectionDomain.ProtectionDomain) =>
 *   MemoryRegion.alloc(domain, { length: 4096, access: ["localWrite", "remoteWrite"] })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const alloc = (
  domain: ProtectionDomain.AnyDomain,
  options: typeof MemoryAttributes.Allocating.Encoded & WithDmaHandle
): Effect.Effect<MemoryRegion, VerbsError | Schema.SchemaError, Scope.Scope> =>
  allocAs(domain, options, { site: CreationSite.capture(alloc) })

/**
 * {@link alloc} as another library does it: the ledger and errors of a release have its names for the functions (`rdma_reg_msgs`
 * and `rdma_dereg_mr` of librdmacm), and the place where its constructor was called. It is what `CmMemoryRegion` is made with.
 *
 * @category constructors
 * @since 0.1.0
 */
export const allocAs = (
  domain: ProtectionDomain.AnyDomain,
  options: typeof MemoryAttributes.Allocating.Encoded & WithDmaHandle,
  names: { readonly site: CreationSite.CreationSite | undefined; readonly pair?: Ledger.Pair }
): Effect.Effect<MemoryRegion, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const { dmaHandle } = options
  return Effect.flatMap(
    Schema.decodeEffect(MemoryAttributes.Allocating)(options),
    ({ length, ...registering }) =>
      Making.make({
        domain,
        ...userMemory(dmaHandle, registering),
        ...names,
        acquire: Effect.flatMap(Making.map(length), (mapping) =>
          Effect.map(
            // The device never got the pages.
            Effect.onError(
              Making.registerBytes(domain, mapping.bytes, registering, dmaHandle),
              () => Effect.sync(mapping.unmap)
            ),
            (registration) => ({ registration, bytes: mapping.bytes, mapping })
          ))
      })
  )
}

/**
 * Registers memory of the caller, which must not be written to while the device works on it. The handle keeps the bytes
 * alive until the region is deregistered; their buffer is marked as untransferable, which cannot be undone, so that nobody
 * can detach it. Memory that does not stay in place is refused: see `MemoryAttributes.Bytes`. Memory of another region or
 * of a `DmaBuffer` can be registered too: then the region is released before that one.
 *
 * The kernel pins whole pages, and on kernels before 5.12 libibverbs hides them from children of a fork when asked to:
 * prefer {@link alloc}. Blocks and fails as that, and with `EFAULT` when the memory cannot be used so.
 *
 * ```ts
 * import { MemoryRegion } from "@effect-rdma/verbs"
 * import type { ProtectionDomain } from "@effect-rdma/verbs"
 *
 * const readable = (domain: ProtectionDomain.ProtectionDomain, bytes: Uint8Array) =>
 *   MemoryRegion.register(domain, bytes, { access: ["remoteRead"] })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const register = (
  domain: ProtectionDomain.AnyDomain,
  bytes: Uint8Array,
  options: typeof MemoryAttributes.Registering.Encoded & WithDmaHandle = {}
): Effect.Effect<MemoryRegion, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(register)
  const { dmaHandle } = options
  return Effect.flatMap(
    Effect.all([Making.decodeBytes(bytes), Schema.decodeEffect(MemoryAttributes.Registering)(options)]),
    ([bytes, registering]) =>
      Making.make({
        domain,
        site,
        ...userMemory(dmaHandle, registering),
        owner: OwnedMemory.ownerOf(bytes.buffer),
        acquire: Effect.map(
          Making.registerBytes(domain, bytes, registering, dmaHandle),
          (registration) => ({ registration, bytes, mapping: undefined })
        )
      })
  )
}

/**
 * Registers a part of a dma-buf, such as memory of a GPU: `ibv_reg_dmabuf_mr`. The descriptor is needed only for the call.
 * Fails with `EOPNOTSUPP` where the kernel, the provider or the library has none, with `EBADF` for a closed descriptor,
 * with `EINVAL` when it is of no dma-buf or the part is not in it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const registerDmabuf = (
  domain: ProtectionDomain.AnyDomain,
  options: typeof MemoryAttributes.Dmabuf.Encoded & WithDmaHandle
): Effect.Effect<MemoryRegion, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(registerDmabuf)
  const { dmaHandle } = options
  return Effect.flatMap(Schema.decodeEffect(MemoryAttributes.Dmabuf)(options), (dmabuf) => {
    const { access, fd, iova } = dmabuf
    const [offset, length] = [BigInt(dmabuf.offset), BigInt(dmabuf.length)]
    const { verbs } = domain.context
    return Making.make({
      domain,
      site,
      pair: dmaHandle === undefined ? ["ibv_reg_dmabuf_mr", "ibv_dereg_mr"] : ["ibv_reg_mr_ex", "ibv_dereg_mr"],
      access,
      iova,
      dmaHandle,
      acquire: Making.withoutBytes(Effect.suspend(() =>
        dmaHandle === undefined
          ? verbs.regDmabufMr(Resource.raw(domain), { offset, length, iova, fd }, access)
          : verbs.regMrEx(Resource.raw(domain), {
            length,
            access,
            iova,
            fd,
            fdOffset: offset,
            dmah: Resource.raw(dmaHandle)
          })
      ))
    })
  })
}

/**
 * Registers a part of device memory: `ibv_reg_dm_mr`. Addresses count from the begin of the part, because `zeroBased`
 * always goes with it: without it the kernel answers `EINVAL`. Released before the device memory. Fails with `EINVAL` when
 * the part is not inside of it, and before the call when the two are of different devices.
 *
 * @category constructors
 * @since 0.1.0
 */
export const registerDeviceMemory = (
  domain: ProtectionDomain.AnyDomain,
  memory: DeviceMemory.DeviceMemory,
  part: typeof MemoryAttributes.Part.Encoded
): Effect.Effect<MemoryRegion, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(registerDeviceMemory)
  return Effect.flatMap(Schema.decodeEffect(MemoryAttributes.Part)(part), ({ access, length, offset }) => {
    const zeroBased: AccessFlags.AccessFlags = access.includes("zeroBased") ? access : [...access, "zeroBased"]
    return Making.make({
      domain,
      site,
      pair: ["ibv_reg_dm_mr", "ibv_dereg_mr"],
      access: zeroBased,
      parent: memory,
      acquire: Making.withoutBytes(Effect.suspend(() =>
        domain.context.verbs.regDmMr(
          Resource.raw(domain),
          Resource.raw(memory),
          { offset: BigInt(offset), length: BigInt(length) },
          zeroBased
        )
      ))
    })
  })
}

/**
 * Registers a part of a buffer of the library: `ibv_reg_buf_mr`. Released before the buffer. Fails with `EINVAL` when the
 * buffer is of another domain, before any call when the part is not inside of it, and with `EOPNOTSUPP` before rdma-core 64.
 *
 * @category constructors
 * @since 0.1.0
 */
export const registerBuffer = (
  domain: ProtectionDomain.AnyDomain,
  buffer: DmaBuffer.DmaBuffer,
  part: typeof MemoryAttributes.Part.Encoded
): Effect.Effect<MemoryRegion, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(registerBuffer)
  return Effect.flatMap(Schema.decodeEffect(MemoryAttributes.Part)(part), ({ access, length, offset }) =>
    Making.make({
      domain,
      site,
      pair: ["ibv_reg_buf_mr", "ibv_dereg_mr"],
      access,
      parent: buffer,
      acquire: Effect.suspend(() => {
        const buf = Resource.raw(buffer)
        if (offset + length > buffer.bytes.length) {
          return Effect.fail(
            refused("ibv_reg_buf_mr", "EINVAL", `The buffer has ${buffer.bytes.length} bytes`, { offset, length })
          )
        }
        const bytes = buffer.bytes.subarray(offset, offset + length)
        return Effect.map(
          domain.context.verbs.regBufMr(Resource.raw(domain), buf, bytes, access),
          (registration) => ({ registration, bytes, mapping: undefined })
        )
      })
    }))
}

/**
 * Allocates the null region: what is written to it is dropped, and it reads as zeros. It has no `rkey`. Fails with
 * `EOPNOTSUPP` where the provider has none: `ibv_alloc_null_mr`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const allocNull = (
  domain: ProtectionDomain.AnyDomain
): Effect.Effect<MemoryRegion, VerbsError, Scope.Scope> =>
  Making.make({
    domain,
    site: CreationSite.capture(allocNull),
    pair: ["ibv_alloc_null_mr", "ibv_dereg_mr"],
    access: [],
    acquire: Making.withoutBytes(Effect.suspend(() => domain.context.verbs.allocNullMr(Resource.raw(domain))))
  })

/**
 * Imports the region of a `handle` that another context of the same device file made in the same domain: `ibv_import_mr`.
 * It is borrowed: the release, `ibv_unimport_mr`, leaves the region to whoever registered it, who must keep it until then.
 * Its access is not known here. Fails with `EINVAL` or `ENOENT` for an unknown handle, with `EOPNOTSUPP` where the
 * provider cannot import.
 *
 * @category constructors
 * @since 0.1.0
 */
export const import_ = (
  domain: ProtectionDomain.ProtectionDomain,
  handle: number
): Effect.Effect<MemoryRegion, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(import_)
  return Effect.flatMap(Schema.decodeEffect(MemoryAttributes.Handle)(handle), (handle) =>
    Making.make({
      domain,
      site,
      pair: ["ibv_import_mr", "ibv_unimport_mr"],
      access: [],
      acquire: Making.withoutBytes(Effect.suspend(() => domain.context.verbs.importMr(Resource.raw(domain), handle)))
    }))
}
export { import_ as import }

/**
 * Changes the domain, the memory or the access of a region, each if it is given: `ibv_rereg_mr`. Its fields tell the new
 * state, and the keys may be others. The region is released before its new domain. New memory is borrowed as by
 * {@link register}, but cannot be a region's own; memory that the region owned stays mapped until its release, since other
 * regions may be on it. No work request may name the region meanwhile.
 *
 * The input of an error tells the `code` of `enum ibv_rereg_mr_err_code`: after `IBV_REREG_MR_ERR_INPUT` and
 * `IBV_REREG_MR_ERR_DONT_FORK_NEW` the region is what it was, after the others it is not `usable` and its scope still
 * deregisters it. Fails with `EOPNOTSUPP` where the provider cannot, as Soft-RoCE; the region is then what it was.
 *
 * @category combinators
 * @since 0.1.0
 */
export const rereg = (
  self: MemoryRegion,
  changes: {
    readonly domain?: ProtectionDomain.AnyDomain
    readonly bytes?: Uint8Array
    readonly access?: ReadonlyArray<AccessFlags.AccessFlag>
  }
): Effect.Effect<void, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    Effect.all([
      changes.bytes === undefined ? Effect.undefined : Making.decodeBytes(changes.bytes),
      changes.access === undefined ? Effect.undefined : Schema.decodeEffect(AccessFlags.AccessFlags)(changes.access)
    ]),
    ([bytes, access]) => Effect.uninterruptible(Reregister.change(self, changes.domain, bytes, access))
  )

/**
 * Advises the device to bring pages of an `onDemand` region in before they are used: `ibv_advise_mr(3)`. Fails with
 * `EOPNOTSUPP` where the provider has no on-demand paging, with `EFAULT` when a page cannot be brought in.
 *
 * @category combinators
 * @since 0.1.0
 */
export const advise = (
  self: MemoryRegion,
  options: typeof MemoryAttributes.Advising.Encoded
): Effect.Effect<void, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    Schema.decodeEffect(MemoryAttributes.Advising)(options),
    ({ advice, flush, length, offset }) =>
      Resource.use(self, () => {
        const rest = Number(self.length) - offset
        if (rest < 0 || (length ?? 0) > rest) {
          return Effect.fail(
            refused("ibv_advise_mr", "EINVAL", `The region has ${self.length} bytes`, { offset, length })
          )
        }
        const piece = {
          addr: self.address + BigInt(offset),
          length: length ?? Math.min(rest, 0xffff_ffff),
          lkey: self.lkey
        }
        return Resource.use(self.domain, (domain) => self.context.verbs.adviseMr(domain, advice, flush, [piece]))
      })
  )

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

interface WithDmaHandle {
  readonly dmaHandle?: DmaHandle.DmaHandle
}

/** What goes with memory of the process: the function that registers it, by what it is registered with. */
const userMemory = (
  dmaHandle: DmaHandle.DmaHandle | undefined,
  { access, iova }: typeof MemoryAttributes.Registering.Type
): Pick<Making.Making, "pair" | "access" | "iova" | "dmaHandle"> => ({
  pair: dmaHandle !== undefined
    ? ["ibv_reg_mr_ex", "ibv_dereg_mr"]
    : iova !== undefined
    ? ["ibv_reg_mr_iova", "ibv_dereg_mr"]
    : ["ibv_reg_mr", "ibv_dereg_mr"],
  access,
  iova,
  dmaHandle
})
