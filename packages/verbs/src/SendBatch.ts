/**
 * Posting sends as one batch: `ibv_wr_start`, the builders, and `ibv_wr_complete` or `ibv_wr_abort` of `ibv_wr_post(3)`.
 *
 * @since 0.1.0
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Ledger from "@effect-rdma/core/Ledger"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import type * as AddressHandle from "./AddressHandle.ts"
import type * as SeamBatch from "./operations/SendBatch.ts"
import type * as QueuePair from "./QueuePair.ts"
import type * as QueuePairInitAttributes from "./QueuePairInitAttributes.ts"
import { VerbsError } from "./VerbsError.ts"

/**
 * Builds requests. Each begins with a call of the first kind (`send`, `rdmaWrite`, …) and is completed by those that set
 * its data and, on UD, its address.
 *
 * @category models
 * @since 0.1.0
 */
export interface Builder extends Omit<SeamBatch.Builder, "setUdAddr"> {
  readonly setUdAddr: (to: AddressHandle.AddressHandle, remoteQpn: number, remoteQkey: number) => void
}

/**
 * Posts what `build` says, all of it or nothing. `build` runs in one turn of the JS thread, since the lock of the send
 * queue is held meanwhile; it can await nothing. When it throws, the batch is aborted and the effect dies with what was
 * thrown. Memory that a request names must stay registered until it completed, and an address handle alive.
 *
 * The queue pair must have been made with `sendOpsFlags`. `EOPNOTSUPP` for a request that these do not name, `ENOMEM` when the
 * send queue has no room for the batch, `EINVAL` for a request with too many pieces, or before RTS where the kernel looks.
 *
 * ```ts
 * import { SendBatch } from "@effect-rdma/verbs"
 * import type { QueuePair } from "@effect-rdma/verbs"
 *
 * const hello = (queuePair: QueuePair.QueuePair<"rc">) =>
 *   SendBatch.post(queuePair, (batch) => {
 *     batch.send({ wrId: 1n, flags: ["signaled"] })
 *     batch.setInlineData(new TextEncoder().encode("hello"))
 *   })
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const post = (
  self: QueuePair.QueuePair,
  build: (batch: Builder) => void
): Effect.Effect<void, VerbsError> =>
  Effect.flatMap(Ledger.Ledger, (ledger) =>
    Resource.use(self, (qp) => {
      if (self.sendOpsFlags.length === 0) return Effect.fail(refused("ibv_wr_start", "sendOpsFlags"))
      return Effect.tap(
        self.context.verbs.wrComplete(qp, (builder) => build(scoped(builder, self.sendOpsFlags))),
        () => Effect.sync(() => ledger.bracketed(["ibv_wr_start", "ibv_wr_complete"]))
      )
    }))

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

type Operation = QueuePairInitAttributes.SendOperation

const refused = (call: string, flag: string): VerbsError =>
  new VerbsError({
    call,
    reason: NativeReason.fromErrno(Errno.numberOf("EOPNOTSUPP")),
    input: {},
    hint: `The queue pair must be made with ${flag}`
  })

// The slots of kinds that were not asked for hold anything: only what was is let through.
const scoped = (builder: SeamBatch.Builder, flags: ReadonlyArray<Operation>): Builder => {
  const asked = <Arguments extends ReadonlyArray<unknown>>(
    operation: Operation,
    call: string,
    run: (...values: Arguments) => void
  ) =>
  (...values: Arguments): void => {
    if (!flags.includes(operation)) throw refused(call, `${operation} among its sendOpsFlags`)
    run(...values)
  }
  return {
    ...builder,
    send: asked("send", "ibv_wr_send", builder.send),
    sendImm: asked("sendWithImm", "ibv_wr_send_imm", builder.sendImm),
    sendInv: asked("sendWithInv", "ibv_wr_send_inv", builder.sendInv),
    sendTso: asked("tso", "ibv_wr_send_tso", builder.sendTso),
    rdmaWrite: asked("rdmaWrite", "ibv_wr_rdma_write", builder.rdmaWrite),
    rdmaWriteImm: asked("rdmaWriteWithImm", "ibv_wr_rdma_write_imm", builder.rdmaWriteImm),
    rdmaRead: asked("rdmaRead", "ibv_wr_rdma_read", builder.rdmaRead),
    atomicCmpSwp: asked("atomicCmpAndSwp", "ibv_wr_atomic_cmp_swp", builder.atomicCmpSwp),
    atomicFetchAdd: asked("atomicFetchAndAdd", "ibv_wr_atomic_fetch_add", builder.atomicFetchAdd),
    atomicWrite: asked("atomicWrite", "ibv_wr_atomic_write", builder.atomicWrite),
    flush: asked("flush", "ibv_wr_flush", builder.flush),
    localInv: asked("localInv", "ibv_wr_local_inv", builder.localInv),
    bindMw: asked("bindMw", "ibv_wr_bind_mw", builder.bindMw),
    setUdAddr: (to, remoteQpn, remoteQkey) =>
      builder.setUdAddr(Resource.raw(to), Identifier.Qpn.make(remoteQpn), Identifier.QKey.make(remoteQkey))
  }
}
