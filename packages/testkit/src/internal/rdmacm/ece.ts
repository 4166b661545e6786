import type * as Errno from "@effect-rdma/core/Errno"
import type * as Ece from "@effect-rdma/verbs/Ece"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import * as Effect from "effect/Effect"
import { type CmState, type IdState, noEce } from "./state.ts"

/** What the device of a queue pair that librdmacm has made proposes; what the other side has, the queue pair is told. */
export const propose = ({ verbs }: CmState, self: IdState): Effect.Effect<void, VerbsError> =>
  Effect.suspend(() => {
    const { on: { qp }, remoteEce } = self
    if (qp === undefined) return Effect.void
    return Effect.flatMap(orElse(verbs.queryEce(qp), noEce), (own) => {
      self.localEce = own
      if (remoteEce.vendorId === 0) return Effect.void
      const isOther = remoteEce.vendorId !== own.vendorId
      return orElse(verbs.setEce(qp, isOther ? { ...own, options: 0 } : remoteEce), undefined)
    })
  })

/** Takes what the response says, which is of the same vendor or of nobody. */
export const agree = (
  { verbs }: CmState,
  self: IdState,
  ece: Ece.Ece
): Effect.Effect<void, VerbsError | Errno.ErrnoName> =>
  Effect.suspend((): Effect.Effect<void, VerbsError | Errno.ErrnoName> => {
    const { localEce, on: { qp } } = self
    if (ece.vendorId !== 0 && ece.vendorId !== localEce.vendorId) return Effect.fail("EINVAL")
    self.remoteEce = ece
    if (qp === undefined) return Effect.void
    return orElse(verbs.setEce(qp, { vendorId: localEce.vendorId, options: ece.options, compMask: 0 }), undefined)
  })

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const orElse = <A>(effect: Effect.Effect<A, VerbsError>, value: A): Effect.Effect<A, VerbsError> =>
  Effect.catchReason(effect, "VerbsError", "EOPNOTSUPP", () => Effect.succeed(value))
