/**
 * The connection of an id as something that is there for as long as a scope: `rdma_connect(3)` or `rdma_accept(3)`, and
 * `rdma_disconnect(3)`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Ledger from "@effect-rdma/core/Ledger"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as CmEvent from "./CmEvent.ts"
import * as CmId from "./CmId.ts"
import type * as ConnectionError from "./ConnectionError.ts"
import type * as ConnectionParameters from "./ConnectionParameters.ts"
import type { RdmaCmError } from "./RdmaCmError.ts"

/**
 * The connection of an id. `answer` is what the other side said to a `connect`.
 *
 * @category models
 * @since 0.1.0
 */
export interface CmConnection extends Resource.Resource<"CmConnection", Pointer.Pointer<"rdma_cm_id">> {
  readonly cmId: CmId.CmId
  readonly answer?: CmEvent.CmEvent
}

type Failure = RdmaCmError | ConnectionError.ConnectionError | Schema.SchemaError

/**
 * Connects as `CmId.connect` does, until the scope ends, which disconnects, before the id is destroyed. It does not wait for
 * the other side's answer to that; `CmId.disconnect` does. Nothing is disconnected when it did not come to a connection, or
 * when the other side has ended it and this one answered. A queue pair that librdmacm made is flushed.
 *
 * @category constructors
 * @since 0.1.0
 */
export const connect = (
  cmId: CmId.CmId,
  parameters: ConnectionParameters.Input = {}
): Effect.Effect<CmConnection, Failure, Scope.Scope> => {
  const site = CreationSite.capture(connect)
  return Effect.flatMap(
    during(cmId, ["rdma_connect", "rdma_disconnect"], site),
    (self) => Effect.map(CmId.connect(cmId, parameters), (answer) => Object.assign(self, { answer }))
  )
}

/**
 * Accepts the request of an id as `CmId.accept` does, until the scope ends: see {@link connect}.
 *
 * @category constructors
 * @since 0.1.0
 */
export const accept = (
  cmId: CmId.CmId,
  parameters: ConnectionParameters.Input = {}
): Effect.Effect<CmConnection, Failure, Scope.Scope> => {
  const site = CreationSite.capture(accept)
  return Effect.flatMap(
    during(cmId, ["rdma_accept", "rdma_disconnect"], site),
    (self) => Effect.as(CmId.accept(cmId, parameters), self)
  )
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** Made before connecting, which can be interrupted: from then on whatever comes of it is undone. */
const during = (
  cmId: CmId.CmId,
  pair: Ledger.Pair,
  site: CreationSite.CreationSite | undefined
): Effect.Effect<CmConnection, never, Scope.Scope> =>
  Resource.make({
    kind: "CmConnection",
    pair,
    site,
    parents: [cmId],
    acquire: Effect.sync(() => Resource.raw(cmId)),
    release: (id: Pointer.Pointer<"rdma_cm_id">) =>
      Effect.suspend(() =>
        cmId.progress.isConnected
          // The other side may have been faster.
          ? Effect.catchReason(cmId.channel.cm.disconnect(id), "RdmaCmError", "EINVAL", () => Effect.void)
          : Effect.void
      ),
    fields: () => ({ cmId })
  })
