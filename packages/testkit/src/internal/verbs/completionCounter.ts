import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as CompletionCounter from "@effect-rdma/verbs/operations/CompletionCounter"
import * as Effect from "effect/Effect"
import { FabricMisuse } from "../../FabricMisuse.ts"
import { fail, type VerbsState } from "./state.ts"

/** Completion counters: the fabric's library is of a version that has none. */
export const make = ({ host: { contexts } }: VerbsState): CompletionCounter.Operations => {
  const refused = (call: string) => (context: Pointer.Pointer<"ibv_context">) =>
    Effect.suspend(() => {
      contexts.get(call, context)
      return fail(call, "EOPNOTSUPP")
    })

  return {
    queryCompCntrCaps: refused("ibv_query_comp_cntr_caps"),
    createCompCntr: refused("ibv_create_comp_cntr"),
    destroyCompCntr: neverMade("ibv_destroy_comp_cntr"),
    setCompCntr: neverMade("ibv_set_comp_cntr"),
    setErrCompCntr: neverMade("ibv_set_err_comp_cntr"),
    incCompCntr: neverMade("ibv_inc_comp_cntr"),
    incErrCompCntr: neverMade("ibv_inc_err_comp_cntr"),
    readCompCntr: neverMade("ibv_read_comp_cntr"),
    readErrCompCntr: neverMade("ibv_read_err_comp_cntr"),
    qpAttachCompCntr: neverMade("ibv_qp_attach_comp_cntr")
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const neverMade = (call: string) => () => Effect.die(new FabricMisuse({ call, problem: "no counter was ever made" }))
