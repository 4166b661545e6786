/**
 * What stands between `ibv_wr_start` and `ibv_wr_complete`: `ibv_wr_post(3)`.
 *
 * @since 0.1.0
 */
import type * as Identifier from "@effect-rdma/core/Identifier"
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as AccessFlags from "../AccessFlags.ts"

/**
 * `enum ibv_send_flags` but for inline data, which a batch asks for by giving it.
 *
 * @category models
 * @since 0.1.0
 */
export type SendFlag = "fence" | "signaled" | "solicited" | "ipCsum"

/**
 * What every request has: `wr_id` comes back in its completion.
 *
 * @category models
 * @since 0.1.0
 */
export interface Request {
  readonly wrId: bigint
  readonly flags?: ReadonlyArray<SendFlag>
}

/**
 * The memory of a peer.
 *
 * @category models
 * @since 0.1.0
 */
export interface Remote {
  readonly rkey: number
  readonly remoteAddr: bigint
}

/**
 * One piece of registered memory: `struct ibv_sge`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Piece {
  readonly addr: bigint
  readonly length: number
  readonly lkey: number
}

/**
 * Builds requests: one of the first kind begins a request, those that set something complete it. Nothing is told until
 * the batch ends; then the whole batch is posted, or nothing of it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Builder {
  readonly send: (request: Request) => void
  readonly sendImm: (request: Request, immData: number) => void
  readonly sendInv: (request: Request, invalidateRkey: number) => void
  readonly sendTso: (request: Request, header: Uint8Array, mss: number) => void
  readonly rdmaWrite: (request: Request, remote: Remote) => void
  readonly rdmaWriteImm: (request: Request, remote: Remote, immData: number) => void
  readonly rdmaRead: (request: Request, remote: Remote) => void
  readonly atomicCmpSwp: (request: Request, remote: Remote, compare: bigint, swap: bigint) => void
  readonly atomicFetchAdd: (request: Request, remote: Remote, add: bigint) => void
  /** The eight bytes are written as one. */
  readonly atomicWrite: (request: Request, remote: Remote, bytes: Uint8Array) => void
  /** Makes what was written before it visible (`global`) or lasting (`persistent`): the range, or the whole region. */
  readonly flush: (
    request: Request,
    remote: Remote,
    length: bigint,
    placement: ReadonlyArray<"global" | "persistent">,
    level: "range" | "mr"
  ) => void
  readonly localInv: (request: Request, invalidateRkey: number) => void
  readonly bindMw: (
    request: Request,
    mw: Pointer.Pointer<"ibv_mw">,
    rkey: number,
    bind: {
      readonly mr: Pointer.Pointer<"ibv_mr">
      readonly addr: bigint
      readonly length: bigint
      readonly access: AccessFlags.AccessFlags
    }
  ) => void

  readonly setUdAddr: (
    ah: Pointer.Pointer<"ibv_ah">,
    remoteQpn: Identifier.Qpn,
    remoteQkey: Identifier.QKey
  ) => void
  readonly setXrcSrqn: (remoteSrqn: number) => void
  readonly setSge: (piece: Piece) => void
  readonly setSgeList: (pieces: ReadonlyArray<Piece>) => void
  /** The bytes are copied into the request: they may be reused at once. */
  readonly setInlineData: (bytes: Uint8Array) => void
  /** As {@link Builder.setInlineData}, from several pieces, one behind the other. */
  readonly setInlineDataList: (pieces: ReadonlyArray<Uint8Array>) => void
}
