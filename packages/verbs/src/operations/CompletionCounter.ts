/**
 * The part of the seam of libibverbs for completion counters, which came after version 44 of rdma-core: without them
 * every operation is `EOPNOTSUPP`.
 *
 * @since 0.1.0
 */
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as Effect from "effect/Effect"
import type * as CompletionCounterAttributes from "../CompletionCounterAttributes.ts"
import type { VerbsError } from "../VerbsError.ts"

/**
 * Counters that the device keeps instead of completions.
 *
 * @category services
 * @since 0.1.0
 */
export interface Operations {
  readonly queryCompCntrCaps: (
    context: Pointer.Pointer<"ibv_context">
  ) => Effect.Effect<CompletionCounterAttributes.Capabilities, VerbsError>
  readonly createCompCntr: (
    context: Pointer.Pointer<"ibv_context">,
    attributes: CompletionCounterAttributes.CompletionCounterAttributes
  ) => Effect.Effect<Pointer.Pointer<"ibv_comp_cntr">, VerbsError>
  readonly destroyCompCntr: (counter: Pointer.Pointer<"ibv_comp_cntr">) => Effect.Effect<void, VerbsError>
  readonly setCompCntr: (counter: Pointer.Pointer<"ibv_comp_cntr">, value: bigint) => Effect.Effect<void, VerbsError>
  readonly setErrCompCntr: (counter: Pointer.Pointer<"ibv_comp_cntr">, value: bigint) => Effect.Effect<void, VerbsError>
  readonly incCompCntr: (counter: Pointer.Pointer<"ibv_comp_cntr">, amount: bigint) => Effect.Effect<void, VerbsError>
  readonly incErrCompCntr: (
    counter: Pointer.Pointer<"ibv_comp_cntr">,
    amount: bigint
  ) => Effect.Effect<void, VerbsError>
  readonly readCompCntr: (counter: Pointer.Pointer<"ibv_comp_cntr">) => Effect.Effect<bigint, VerbsError>
  readonly readErrCompCntr: (counter: Pointer.Pointer<"ibv_comp_cntr">) => Effect.Effect<bigint, VerbsError>
  /** There is no way back: the counter can be destroyed only after the queue pair. */
  readonly qpAttachCompCntr: (
    qp: Pointer.Pointer<"ibv_qp">,
    counter: Pointer.Pointer<"ibv_comp_cntr">,
    operations: ReadonlyArray<CompletionCounterAttributes.AttachedOperation>
  ) => Effect.Effect<void, VerbsError>
}
