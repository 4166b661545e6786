/**
 * Keys that peers name memory by: `rkey` of `ibv_reg_mr(3)` and `ibv_alloc_mw(3)`.
 *
 * @since 0.1.0
 */

/**
 * The key for the next bind of a memory window of type 2: the lowest byte of a key is the caller's to choose, and one more
 * than before makes the old key worthless to whoever kept it. `ibv_inc_rkey(3)`.
 *
 * ```ts
 * import { RemoteKey } from "@effect-rdma/verbs"
 *
 * RemoteKey.increment(0x1234_56ff) // => 0x1234_5600
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const increment = (rkey: number): number => ((rkey & 0xffff_ff00) | ((rkey + 1) & 0xff)) >>> 0
