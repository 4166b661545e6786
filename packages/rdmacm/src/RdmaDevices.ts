/**
 * The devices that librdmacm keeps open: `rdma_get_devices(3)` and `rdma_free_devices`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import * as Ledger from "@effect-rdma/core/Ledger"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import type * as Verbs from "@effect-rdma/verbs/Verbs"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as RdmaCm from "./RdmaCm.ts"
import type { RdmaCmError } from "./RdmaCmError.ts"

/**
 * The contexts of librdmacm as verbs contexts, borrowed: they are usable in the scope, what is made on them is released
 * with it, and none is ever closed by us. The array itself is freed before this returns.
 *
 * A machine without devices is an empty array; a kernel without RDMA fails with `RdmaUnavailable`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const get = (): Effect.Effect<
  ReadonlyArray<DeviceContext.DeviceContext>,
  RdmaCmError,
  RdmaCm.RdmaCm | Verbs.Verbs | Scope.Scope
> => {
  const site = CreationSite.capture(get)
  return Effect.flatMap(RdmaCm.RdmaCm, (cm) =>
    Effect.acquireUseRelease(
      cm.getDevices,
      ({ contexts }) => Effect.forEach(contexts, (context) => DeviceContext.borrow(context, site)),
      ({ list }) => list === undefined ? Effect.void : Effect.andThen(cm.freeDevices(list), countPair)
    ))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const countPair = Effect.map(Ledger.Ledger, (ledger) => ledger.bracketed(["rdma_get_devices", "rdma_free_devices"]))
