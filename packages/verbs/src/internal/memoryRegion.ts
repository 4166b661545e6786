/**
 * How every memory region is made and released, whatever its memory is.
 *
 * @since 0.1.0
 */
import type * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Ledger from "@effect-rdma/core/Ledger"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { markAsUntransferable } from "node:worker_threads"
import * as AccessFlags from "../AccessFlags.ts"
import * as DeviceContext from "../DeviceContext.ts"
import type * as DeviceMemory from "../DeviceMemory.ts"
import type * as DmaBuffer from "../DmaBuffer.ts"
import type * as DmaHandle from "../DmaHandle.ts"
import * as MemoryAttributes from "../MemoryAttributes.ts"
import type { MemoryRegion, Raw } from "../MemoryRegion.ts"
import type * as Memory from "../operations/Memory.ts"
import type * as ProtectionDomain from "../ProtectionDomain.ts"
import { VerbsError } from "../VerbsError.ts"
import * as OwnedMemory from "./ownedMemory.ts"
import { refused } from "./refused.ts"

type Registering = typeof MemoryAttributes.Registering.Type

/** A registration, the memory of it, and the pages where they are its own. */
export interface Acquired {
  readonly registration: Memory.Registration
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly mapping: NativeMemory.Mapping | undefined
}

/** What {@link make} needs. */
export interface Making {
  readonly domain: ProtectionDomain.AnyDomain
  readonly site: CreationSite.CreationSite | undefined
  readonly pair: Ledger.Pair
  readonly access: AccessFlags.AccessFlags
  readonly iova?: bigint | undefined
  readonly dmaHandle?: DmaHandle.DmaHandle | undefined
  readonly parent?: DeviceMemory.DeviceMemory | DmaBuffer.DmaBuffer
  /** What the memory goes with, perhaps of another device. */
  readonly owner?: Resource.Any | undefined
  readonly acquire: Effect.Effect<Acquired, VerbsError>
}

/** A region, with its release and its parents. Fails with `EINVAL` before any call for access that no kernel allows. */
export const make = (
  { access, acquire, dmaHandle, domain, iova, owner, pair, parent, site }: Making
): Effect.Effect<MemoryRegion, VerbsError, Scope.Scope> => {
  const others = [dmaHandle, parent].filter((handle) => handle !== undefined)
  const { context } = domain
  const [call, release] = pair
  const isImport = release === "ibv_unimport_mr"
  const ensured = Effect.all([
    AccessFlags.ensureAllowed(call, access),
    ...others.map((handle) => DeviceContext.ensureSame(call, domain, handle))
  ], { discard: true })
  return Effect.suspend(() => {
    let made: Acquired
    return Resource.make({
      kind: "MemoryRegion",
      pair,
      site,
      parents: owner === undefined ? [domain, ...others] : [domain, ...others, owner],
      cannotRefuse: isImport,
      goneWithDevice: true,
      acquire: Effect.map(Effect.andThen(ensured, acquire), (acquired): Raw => {
        made = acquired
        const { bytes, mapping, registration: { mr } } = acquired
        return { mr, changes: Semaphore.makeUnsafe(1), mapping, lent: [bytes] }
      }),
      release: (raw) =>
        isImport
          ? context.verbs.unimportMr(raw.mr)
          : Effect.mapBoth(context.verbs.deregMr(raw.mr), {
            onSuccess: () => {
              if (raw.mapping !== undefined && !OwnedMemory.isPinned(raw.mapping.bytes.buffer)) raw.mapping.unmap()
            },
            onFailure: (error) => {
              // A device that is still there can cause EIO as well, and nobody tries again after it.
              if (error.reason._tag === "EIO") { for (const { buffer } of raw.lent) OwnedMemory.pin(buffer) }
              return error
            }
          }),
      fields: ({ mapping }, self) => {
        if (mapping !== undefined) OwnedMemory.own(mapping.bytes.buffer, self)
        return {
          context,
          domain,
          bytes: made.bytes,
          access,
          ...stateOf(made.registration, access, iova),
          usable: true
        }
      }
    })
  })
}

/** What a handle tells of a registration. */
export const stateOf = (
  { addr, handle, length, lkey, rkey }: Memory.Registration,
  access: AccessFlags.AccessFlags,
  iova: bigint | undefined
) => ({ address: iova ?? (access.includes("zeroBased") ? 0n : addr), length, handle, lkey, rkey })

/** Registers memory of the process. */
export const registerBytes = (
  domain: ProtectionDomain.AnyDomain,
  bytes: Uint8Array<ArrayBuffer>,
  { access, iova }: Registering,
  dmaHandle: DmaHandle.DmaHandle | undefined
): Effect.Effect<Memory.Registration, VerbsError> =>
  Effect.suspend(() => {
    const { verbs } = domain.context
    const pd = Resource.raw(domain)
    if (dmaHandle !== undefined) {
      return verbs.regMrEx(pd, {
        length: BigInt(bytes.length),
        access,
        bytes,
        dmah: Resource.raw(dmaHandle),
        ...(iova === undefined ? {} : { iova })
      })
    }
    return iova === undefined
      ? verbs.regMr(pd, bytes, access)
      : Effect.mapError(verbs.regMrIova(pd, bytes, iova, access), explainingIova)
  })

const explainingIova = (error: VerbsError): VerbsError =>
  error.reason._tag !== "EINVAL" || error.hint !== undefined ? error : new VerbsError({
    call: error.call,
    reason: error.reason,
    input: error.input,
    hint: "The iova must be at the same place within a page as the memory"
  })

/** Pages of their own, or `ENOMEM`. */
export const map = (length: number): Effect.Effect<NativeMemory.Mapping, VerbsError> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(NativeMemory.map(length))
    } catch (cause) {
      if (!(cause instanceof RangeError)) throw cause
      return Effect.fail(refused("mmap", "ENOMEM", cause.message, { length }))
    }
  })

const none = new Uint8Array(0)

/** A registration of what is not memory of the process. */
export const withoutBytes = (registering: Effect.Effect<Memory.Registration, VerbsError>) =>
  Effect.map(registering, (registration): Acquired => ({ registration, bytes: none, mapping: undefined }))

/** Bytes that can be lent; from then on nobody can detach their buffer. */
export const decodeBytes = (bytes: Uint8Array): Effect.Effect<Uint8Array<ArrayBuffer>, Schema.SchemaError> =>
  Effect.map(Schema.decodeEffect(MemoryAttributes.Bytes)(bytes), () => {
    if (!isFixed(bytes)) throw new TypeError("unreachable: refused by the schema")
    // Memory with an owner is detached by that one.
    if (OwnedMemory.ownerOf(bytes.buffer) === undefined) {
      markAsUntransferable(bytes.buffer)
      MemoryAttributes.markAsOurs(bytes.buffer)
    }
    return bytes
  })

const isFixed = (bytes: Uint8Array): bytes is Uint8Array<ArrayBuffer> => bytes.buffer instanceof ArrayBuffer
