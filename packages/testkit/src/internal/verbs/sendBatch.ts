import type * as SendBatch from "@effect-rdma/verbs/operations/SendBatch"
import { VerbsError } from "@effect-rdma/verbs/VerbsError"
import * as Effect from "effect/Effect"
import { FabricMisuse } from "../../FabricMisuse.ts"
import type { QueuePairState } from "./queueState.ts"
import { fail } from "./state.ts"

/** One batch on a queue pair: what `build` says is posted as a whole, or not at all. */
export const run = (
  { device, object }: QueuePairState,
  build: (builder: SendBatch.Builder) => void
): Effect.Effect<void, VerbsError> => {
  const { provider } = device.description
  const { cap, sends, state } = object
  const full = provider === "rxe" ? "ENOSPC" : "ENOMEM"
  const requests: Array<SendBatch.Request> = []
  let isTooMuch = false
  const begin = (request: SendBatch.Request): void => {
    requests.push(request)
    if (sends.length + requests.length > cap.maxSendWr) isTooMuch = true
  }
  const set = (call: string, isRoomy: boolean): void => {
    // The library would write in front of the queue.
    if (requests.length === 0) throw new FabricMisuse({ call, problem: "no request has been begun" })
    if (!isRoomy) isTooMuch = true
  }
  try {
    build({
      send: begin,
      sendImm: begin,
      sendInv: begin,
      sendTso: begin,
      rdmaWrite: begin,
      rdmaWriteImm: begin,
      rdmaRead: begin,
      atomicCmpSwp: begin,
      atomicFetchAdd: begin,
      atomicWrite: begin,
      flush: begin,
      localInv: begin,
      bindMw: begin,
      setUdAddr: () => set("ibv_wr_set_ud_addr", true),
      setXrcSrqn: () => set("ibv_wr_set_xrc_srqn", true),
      setSge: () => set("ibv_wr_set_sge", true),
      setSgeList: (pieces) => set("ibv_wr_set_sge_list", pieces.length <= cap.maxSendSge),
      setInlineData: (bytes) => set("ibv_wr_set_inline_data", bytes.length <= cap.maxInlineData),
      setInlineDataList: (pieces) => {
        const call = "ibv_wr_set_inline_data_list"
        const isRoomy = pieces.reduce((sum, { length }) => sum + length, 0) <= cap.maxInlineData
        if (provider === "rxe" && !isRoomy && pieces.every(({ length }) => length <= cap.maxInlineData)) {
          throw new FabricMisuse({ call, problem: "the provider would write behind the request" })
        }
        set(call, isRoomy)
      }
    })
  } catch (thrown) {
    return thrown instanceof VerbsError ? Effect.fail(thrown) : Effect.die(thrown)
  }
  const call = "ibv_wr_complete"
  if (isTooMuch) return fail(call, full)
  // rxe asks its kernel, mlx5 writes to the doorbell and the device says nothing.
  if (provider === "rxe" && !device.plugged) return fail(call, "EIO")
  if (provider === "rxe" && state !== "rts" && state !== "sqd" && state !== "err") return fail(call, "EINVAL")
  object.sends = [...sends, ...requests]
  return Effect.void
}
