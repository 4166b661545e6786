/**
 * Memory that is registered for the connection of an id: `rdma_reg_msgs(3)`, `rdma_reg_read(3)`, `rdma_reg_write(3)` and
 * `rdma_dereg_mr`. It is a memory region of verbs in librdmacm's domain for the device.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as AccessFlags from "@effect-rdma/verbs/AccessFlags"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import type * as Verbs from "@effect-rdma/verbs/Verbs"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as CmId from "./CmId.ts"
import type { RdmaCmError } from "./RdmaCmError.ts"

/**
 * What memory is for: `messages` that are sent and received, or also for the other side to `read` or to `write`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Use = Schema.Literals(["messages", "read", "write"])

/**
 * Allocates zeroed memory and registers it for the connection of an id; owned by the scope, and deregistered before the id is
 * destroyed. It works with a queue pair that librdmacm makes in its own domain, see `CmQueuePair.make`, and with those that are
 * made in `CmId.domain`.
 *
 * Blocks and fails as `MemoryRegion.alloc`, and with `EINVAL` before the call when the id is bound to no device.
 *
 * ```ts
 * import { CmMemoryRegion } from "@effect-rdma/rdmacm"
 * import type { CmId } from "@effect-rdma/rdmacm"
 *
 * const inbox = (id: CmId.CmId) => CmMemoryRegion.alloc(id, { length: 4096, use: "messages" })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const alloc = (
  cmId: CmId.CmId,
  options: { readonly length: number; readonly use: typeof Use.Type }
): Effect.Effect<
  MemoryRegion.MemoryRegion,
  RdmaCmError | VerbsError | Schema.SchemaError,
  Verbs.Verbs | Scope.Scope
> => {
  const site = CreationSite.capture(alloc)
  return Effect.flatMap(
    Effect.all([decodeUse({ use: options.use }), CmId.domain(cmId)]),
    ([{ use }, domain]) =>
      MemoryRegion.allocAs(domain, { length: options.length, access: access[use] }, { site, pair: pairs[use] })
  )
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const decodeUse = Schema.decodeEffect(Schema.Struct({ use: Use }))

const access: { readonly [U in typeof Use.Type]: AccessFlags.AccessFlags } = {
  messages: ["localWrite"],
  read: ["localWrite", "remoteRead"],
  write: ["localWrite", "remoteWrite"]
}

const pairs = {
  messages: ["rdma_reg_msgs", "rdma_dereg_mr"],
  read: ["rdma_reg_read", "rdma_dereg_mr"],
  write: ["rdma_reg_write", "rdma_dereg_mr"]
} as const
