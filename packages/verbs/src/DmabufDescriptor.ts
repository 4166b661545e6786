/**
 * The file descriptor of a dma-buf that the library exports: `ibv_dm_export_dmabuf_fd(3)`, `ibv_export_buf_dmabuf_fd(3)`,
 * of rdma-core 62 and 65 or newer.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Ledger from "@effect-rdma/core/Ledger"
import * as Resource from "@effect-rdma/core/Resource"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as DeviceContext from "./DeviceContext.ts"
import type * as DeviceMemory from "./DeviceMemory.ts"
import type * as DmaBuffer from "./DmaBuffer.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * A descriptor `fd` that other subsystems and devices take, closed with the scope. Its memory lives as long as anybody holds
 * the dma-buf, also when the device memory or the buffer is released before.
 *
 * @category models
 * @since 0.1.0
 */
export interface DmabufDescriptor extends Resource.Resource<"DmabufDescriptor", number> {
  readonly fd: number
}

/**
 * Exports device memory. Fails with `EOPNOTSUPP` where the library, the provider or the kernel cannot.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromDeviceMemory = (
  memory: DeviceMemory.DeviceMemory
): Effect.Effect<DmabufDescriptor, VerbsError, Scope.Scope> =>
  make(
    memory,
    ["ibv_dm_export_dmabuf_fd", "close"],
    CreationSite.capture(fromDeviceMemory),
    Resource.use(memory, memory.context.verbs.dmExportDmabufFd)
  )

/**
 * Exports a buffer. Fails with `EOPNOTSUPP` where the library cannot, with `ENODATA` when the buffer is no dma-buf.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromBuffer = (buffer: DmaBuffer.DmaBuffer): Effect.Effect<DmabufDescriptor, VerbsError, Scope.Scope> =>
  make(
    buffer,
    ["ibv_export_buf_dmabuf_fd", "close"],
    CreationSite.capture(fromBuffer),
    Resource.use(buffer, buffer.context.verbs.exportBufDmabufFd)
  )

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const make = (
  of: Resource.Any & { readonly context: DeviceContext.DeviceContext },
  pair: Ledger.Pair,
  site: CreationSite.CreationSite | undefined,
  acquire: Effect.Effect<number, VerbsError>
): Effect.Effect<DmabufDescriptor, VerbsError, Scope.Scope> =>
  Resource.make({
    kind: "DmabufDescriptor",
    pair,
    site,
    parents: [],
    uses: [of],
    acquire,
    release: of.context.verbs.closeFd,
    fields: (fd) => ({ fd })
  })
