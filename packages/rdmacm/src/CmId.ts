/**
 * A communication identifier, the CM's socket: `rdma_create_id(3)` and `rdma_destroy_id`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as EventChannel from "./EventChannel.ts"
import * as PortSpace from "./PortSpace.ts"
import type { RdmaCmError } from "./RdmaCmError.ts"

/**
 * A CM id on an event channel.
 *
 * @category models
 * @since 0.1.0
 */
export interface CmId extends Resource.Resource<"CmId", Pointer.Pointer<"rdma_cm_id">> {
  readonly channel: EventChannel.EventChannel
  readonly portSpace: PortSpace.PortSpace
}

/**
 * Creates a CM id, owned by the scope and destroyed before its channel. Whatever is made on it goes first, and events
 * are acked when they are read, so its destruction never waits.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  channel: EventChannel.EventChannel,
  portSpace: PortSpace.PortSpace
): Effect.Effect<CmId, RdmaCmError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(make)
  return Effect.flatMap(Effect.suspend(() => decodePortSpace(portSpace)), (portSpace) =>
    Resource.make({
      kind: "CmId",
      pair: ["rdma_create_id", "rdma_destroy_id"],
      site,
      parents: [channel],
      acquire: Effect.suspend(() => channel.cm.createId(Resource.raw(channel), portSpace)),
      release: (id) => channel.unacked.withPermit(channel.cm.destroyId(id)),
      fields: () => ({ channel, portSpace })
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const decodePortSpace = Schema.decodeEffect(PortSpace.PortSpace)
