import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as CompletionCounterAttributes from "@effect-rdma/verbs/CompletionCounterAttributes"
import type * as CompletionCounter from "@effect-rdma/verbs/operations/CompletionCounter"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import * as Effect from "effect/Effect"
import type * as Host from "../host.ts"
import { fail, type OfContext, query, reclaim, type VerbsState } from "./state.ts"

/** Completion counters of one host: mlx5 has them, but not with the library of MLNX_OFED. */
export const make = (state: VerbsState): CompletionCounter.Operations => {
  const { host: { heap }, queuePairs } = state
  const counters = heap.store<"ibv_comp_cntr", CounterState>("ibv_comp_cntr")
  state.onClose.push((context) => reclaim(counters, context))

  const on = <A>(
    call: string,
    pointer: Pointer.Pointer<"ibv_comp_cntr">,
    run: (counter: CounterState) => Effect.Effect<A, VerbsError>
  ): Effect.Effect<A, VerbsError> =>
    Effect.suspend(() => {
      const counter = counters.get(call, pointer)
      return counter.device.plugged ? run(counter) : fail(call, "EIO")
    })

  const where = <A>(
    call: string,
    context: Pointer.Pointer<"ibv_context">,
    run: (device: Host.DeviceState) => Effect.Effect<A, VerbsError>
  ): Effect.Effect<A, VerbsError> =>
    Effect.suspend(() => {
      const { experimental, provider } = state.host.contexts.get(call, context).device.description
      if (provider !== "mlx5" || experimental === true) return fail(call, "EOPNOTSUPP")
      return query(state, call, context, run)
    })

  const set = (call: string, which: Which) => (pointer: Pointer.Pointer<"ibv_comp_cntr">, value: bigint) =>
    on(call, pointer, (counter) => {
      if (value > capabilities.maxValue) return fail(call, "EINVAL", { value })
      counter[which] = value
      return Effect.void
    })
  const inc = (call: string, which: Which) => (pointer: Pointer.Pointer<"ibv_comp_cntr">, amount: bigint) =>
    on(call, pointer, (counter) => {
      if (amount > capabilities.maxValue) return fail(call, "EINVAL", { amount })
      advance(counter, which, amount)
      return Effect.void
    })
  const read = (call: string, which: Which) => (pointer: Pointer.Pointer<"ibv_comp_cntr">) =>
    on(call, pointer, (counter) => Effect.succeed(counter[which]))

  return {
    queryCompCntrCaps: (context) => where("ibv_query_comp_cntr_caps", context, () => Effect.succeed(capabilities)),
    createCompCntr: (context) =>
      where("ibv_create_comp_cntr", context, (device) => {
        const taken = Array.from(counters.values()).filter(([, counter]) => counter.device === device).length
        if (taken >= capabilities.maxCounters) return fail("ibv_create_comp_cntr", "ENOMEM")
        const made = { kind: "CompletionCounter", device, context, completed: 0n, failed: 0n, users: 0 } as const
        return Effect.succeed(counters.alloc({ ...made }))
      }),
    destroyCompCntr: (pointer) =>
      on("ibv_destroy_comp_cntr", pointer, ({ users }) => {
        const call = "ibv_destroy_comp_cntr"
        if (users > 0) return fail(call, "EBUSY")
        counters.free(call, pointer)
        return Effect.void
      }),
    setCompCntr: set("ibv_set_comp_cntr", "completed"),
    setErrCompCntr: set("ibv_set_err_comp_cntr", "failed"),
    incCompCntr: inc("ibv_inc_comp_cntr", "completed"),
    incErrCompCntr: inc("ibv_inc_err_comp_cntr", "failed"),
    readCompCntr: read("ibv_read_comp_cntr", "completed"),
    readErrCompCntr: read("ibv_read_err_comp_cntr", "failed"),
    qpAttachCompCntr: (qp, pointer, operations) =>
      on("ibv_qp_attach_comp_cntr", pointer, (counter) => {
        const call = "ibv_qp_attach_comp_cntr"
        const { context, object } = queuePairs.get(call, qp)
        if (context !== counter.context || operations.length === 0) return fail(call, "EINVAL")
        if (!object.parts.includes(counter)) {
          object.parts = [...object.parts, counter]
          counter.users++
        }
        object.counters.push((operation, isFailed) => {
          if (operations.includes(operation)) advance(counter, isFailed ? "failed" : "completed", 1n)
        })
        return Effect.void
      })
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

interface CounterState extends OfContext {
  completed: bigint
  failed: bigint
  /** The queue pairs that it is attached to: each counts it until it goes, for there is no way back. */
  users: number
}

type Which = "completed" | "failed"

const advance = (counter: CounterState, which: Which, amount: bigint): void => {
  counter[which] = (counter[which] + amount) % (capabilities.maxValue + 1n)
}

const capabilities: CompletionCounterAttributes.Capabilities = {
  maxValue: 0xffff_ffff_ffffn,
  maxCounters: 256,
  supportedQpAttachOps: ["send", "recv", "rdmaRead", "remoteRdmaRead", "rdmaWrite", "remoteRdmaWrite"]
}
