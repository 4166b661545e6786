/**
 * The part of the seam of libibverbs that moves data: `ibv_post_send(3)`, `ibv_post_recv(3)`, `ibv_post_srq_recv(3)` and
 * `ibv_poll_cq(3)`.
 *
 * They are plain functions, got by one effect. In C they are inline functions: they never wait, and one Effect for each
 * would cost more than the call. So whoever uses them can look at a handle, note what is under way and call, all in one
 * turn of the JS thread, with no room for an interruption or a release in between.
 *
 * @since 0.1.0
 */
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as Effect from "effect/Effect"
import type * as AccessFlags from "../AccessFlags.ts"
import type { VerbsError } from "../VerbsError.ts"
import type * as WorkCompletion from "../WorkCompletion.ts"
import type * as WorkRequestOpcode from "../WorkRequestOpcode.ts"
import type * as SendBatch from "./SendBatch.ts"

/**
 * `struct ibv_recv_wr` without its link.
 *
 * @category models
 * @since 0.1.0
 */
export interface ReceiveRequest {
  readonly wrId: bigint
  readonly sgList: ReadonlyArray<SendBatch.Piece>
}

/**
 * `struct ibv_send_wr` without its link. `inlineData` stands in place of `sgList` and sets `IBV_SEND_INLINE`: the bytes are
 * copied during the call. What an opcode has no use for is left out.
 *
 * @category models
 * @since 0.1.0
 */
export interface SendRequest extends ReceiveRequest {
  readonly opcode: WorkRequestOpcode.WorkRequestOpcode
  readonly flags: ReadonlyArray<SendBatch.SendFlag>
  readonly inlineData?: Uint8Array | undefined
  readonly immData?: number | undefined
  readonly invalidateRkey?: number | undefined
  /** Of writes, reads and atomics. */
  readonly remote?: SendBatch.Remote | undefined
  /** What is compared, or what is added. */
  readonly compareAdd?: bigint | undefined
  readonly swap?: bigint | undefined
  readonly ud?: Datagram | undefined
  readonly remoteSrqn?: number | undefined
  readonly bind?: Bind | undefined
  readonly tso?: { readonly header: Uint8Array; readonly mss: number } | undefined
}

/**
 * Where a datagram goes: `wr.ud`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Datagram {
  readonly ah: Pointer.Pointer<"ibv_ah">
  readonly remoteQpn: number
  readonly remoteQkey: number
}

/**
 * What a window of type 2 is bound to, and the key that it has then: `bind_mw`. The struct of the window has that key once
 * the bind was posted, which libibverbs leaves to the program.
 *
 * @category models
 * @since 0.1.0
 */
export interface Bind {
  readonly mw: Pointer.Pointer<"ibv_mw">
  readonly rkey: number
  readonly mr: Pointer.Pointer<"ibv_mr">
  readonly addr: bigint
  readonly length: bigint
  readonly access: AccessFlags.AccessFlags
}

/**
 * What came of a post. The requests are posted one after the other: the first `count` of them are under way, the one
 * behind was refused with `error`, and the rest was not looked at.
 *
 * @category models
 * @since 0.1.0
 */
export interface Posted {
  readonly count: number
  readonly error: VerbsError | undefined
}

/**
 * What a poll got: the completions, which are the caller's from then on.
 *
 * @category models
 * @since 0.1.0
 */
export interface Polled {
  readonly completions: ReadonlyArray<WorkCompletion.WorkCompletion>
  readonly error: VerbsError | undefined
}

/**
 * The functions that move data. Nothing is checked: that is done by who calls.
 *
 * @category models
 * @since 0.1.0
 */
export interface DataPath {
  readonly postSend: (qp: Pointer.Pointer<"ibv_qp">, requests: ReadonlyArray<SendRequest>) => Posted
  readonly postRecv: (qp: Pointer.Pointer<"ibv_qp">, requests: ReadonlyArray<ReceiveRequest>) => Posted
  readonly postSrqRecv: (srq: Pointer.Pointer<"ibv_srq">, requests: ReadonlyArray<ReceiveRequest>) => Posted
  /** At most `numEntries` completions, none when the queue is empty. */
  readonly pollCq: (cq: Pointer.Pointer<"ibv_cq">, numEntries: number) => Polled
}

/**
 * How data moves.
 *
 * @category services
 * @since 0.1.0
 */
export interface Operations {
  /** The same functions at each time. */
  readonly dataPath: Effect.Effect<DataPath>
}
