/**
 * What can be posted to a queue pair: part of the module `QueuePair`.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as SendBatch from "../operations/SendBatch.ts"
import type { QueuePair } from "../QueuePair.ts"
import type { VerbsError } from "../VerbsError.ts"
import type * as WorkCompletion from "../WorkCompletion.ts"
import type * as WorkRequest from "../WorkRequest.ts"
import * as Awaited from "./awaited.ts"
import * as Posting from "./posting.ts"

/**
 * Posts requests to the send queue, one after the other: `ibv_post_send(3)`. It does not wait: their completions are to be
 * polled from `sendCq`. Memory and address handles must stay alive until then; when a region goes before its request has
 * completed, the device refuses that, and touches nothing.
 *
 * Refused before any call, and then none was posted: with `ENOMEM` when there is no room for all (the hint tells whether
 * they are too many for the queue, whether completions must be polled first, or whether none of those under way will
 * have one), with `EINVAL` for too many pieces, too much inline data, bytes that are not in their region, what the type of
 * the queue pair cannot do, numbers out of range, handles of another device, and before RTS; with `EBUSY` while a batch is
 * built. When the provider refuses one, `posted` in the input of the error tells how many were posted before it.
 *
 * ```ts
 * import { QueuePair } from "@effect-rdma/verbs"
 * import type { MemoryRegion } from "@effect-rdma/verbs"
 *
 * const twoMessages = (queuePair: QueuePair.QueuePair<"rc">, region: MemoryRegion.MemoryRegion) =>
 *   QueuePair.postSend(queuePair, [
 *     { opcode: "send", inlineData: new TextEncoder().encode("hello") },
 *     { opcode: "send", wrId: 2n, flags: ["signaled"], sgList: [{ region, length: 1024 }] }
 *   ])
 * ```
 *
 * @category operations
 * @since 0.1.0
 */
export const postSend = (
  self: QueuePair,
  requests: ReadonlyArray<WorkRequest.SendRequest>
): Effect.Effect<void, VerbsError> => Posting.post(self, (dataPath) => Posting.send(self, dataPath, requests))

/**
 * Posts receives, from INIT on: `ibv_post_recv(3)`. As {@link postSend}, with the completions in `recvCq`; on a queue pair
 * with a shared receive queue it is `SharedReceiveQueue.postRecv` that posts them, and this is refused with `EINVAL`.
 *
 * @category operations
 * @since 0.1.0
 */
export const postRecv = (
  self: QueuePair,
  requests: ReadonlyArray<WorkRequest.ReceiveRequest>
): Effect.Effect<void, VerbsError> => Posting.post(self, (dataPath) => Posting.receive(self, dataPath, requests))

/**
 * Sends one message and waits until it is done: with `immData` `IBV_WR_SEND_WITH_IMM`, with `invalidateRkey`
 * `IBV_WR_SEND_WITH_INV`. It waits for room in the send queue, then for the completion, as the fiber's `WaitStrategy`
 * says; completions of others in `sendCq` are kept for those who poll them.
 *
 * The memory is the device's from the post until the completion: the regions and the address handle are not released
 * before. So an interruption waits as well, for `WaitStrategy.InterruptionGrace`; then the queue pair is moved to ERR,
 * which flushes the request. The release of a region does the same.
 *
 * Fails with `WorkCompletionError` when the request failed, and as {@link postSend} when it cannot be posted; with `EINVAL`
 * when the queue pair has no completion queue for it, with `ECANCELED` when it is reset, with `ETIMEDOUT` when not even the
 * flush completed, and as `CompletionQueue.next` when nobody can poll any more. Dies with `UseAfterRelease` when the queue
 * pair is released.
 *
 * ```ts
 * import { QueuePair } from "@effect-rdma/verbs"
 * import { Effect } from "effect"
 *
 * const hello = (queuePair: QueuePair.QueuePair<"rc">) =>
 *   QueuePair.send(queuePair, { inlineData: new TextEncoder().encode("hello") }).pipe(
 *     Effect.catchTag("WorkCompletionError", (error) => Effect.logError(`not sent: ${error.status}`))
 *   )
 * ```
 *
 * @category operations
 * @since 0.1.0
 */
export const send = (
  self: QueuePair<"rc" | "uc" | "ud" | "xrcSend" | "rawPacket">,
  { immData, invalidateRkey, ...request }:
    & WorkRequest.Common
    & WorkRequest.Payload
    & { readonly immData?: number; readonly invalidateRkey?: number }
): Effect.Effect<WorkCompletion.Succeeded, VerbsError | WorkCompletion.WorkCompletionError> =>
  Awaited.send(
    self,
    immData !== undefined
      ? { ...request, opcode: "sendWithImm", immData }
      : invalidateRkey !== undefined
      ? { ...request, opcode: "sendWithInv", invalidateRkey }
      : { ...request, opcode: "send" }
  )

/**
 * Writes to memory of the peer and waits until it is there; with `immData` the peer is told of it by the completion of a
 * receive. As {@link send}.
 *
 * @category operations
 * @since 0.1.0
 */
export const rdmaWrite = (
  self: QueuePair<"rc" | "uc" | "xrcSend">,
  { immData, ...request }:
    & WorkRequest.Common
    & WorkRequest.Payload
    & { readonly remote: SendBatch.Remote; readonly immData?: number }
): Effect.Effect<WorkCompletion.Succeeded, VerbsError | WorkCompletion.WorkCompletionError> =>
  Awaited.send(
    self,
    immData === undefined
      ? { ...request, opcode: "rdmaWrite" }
      : { ...request, opcode: "rdmaWriteWithImm", immData }
  )

/**
 * Reads memory of the peer into the pieces and waits until it is there. As {@link send}.
 *
 * @category operations
 * @since 0.1.0
 */
export const rdmaRead = (
  self: QueuePair<"rc" | "xrcSend">,
  request: WorkRequest.Common & WorkRequest.Target & { readonly remote: SendBatch.Remote }
): Effect.Effect<WorkCompletion.Succeeded, VerbsError | WorkCompletion.WorkCompletionError> =>
  Awaited.send(self, { ...request, opcode: "rdmaRead" })

/**
 * Puts `swap` in place of eight bytes of the peer when they are `compare`, and what was there into the piece, in the byte
 * order of this host. As {@link send}.
 *
 * @category operations
 * @since 0.1.0
 */
export const atomicCmpAndSwp = (
  self: QueuePair<"rc" | "xrcSend">,
  request:
    & WorkRequest.Common
    & WorkRequest.Target
    & { readonly remote: SendBatch.Remote; readonly compare: bigint; readonly swap: bigint }
): Effect.Effect<WorkCompletion.Succeeded, VerbsError | WorkCompletion.WorkCompletionError> =>
  Awaited.send(self, { ...request, opcode: "atomicCmpAndSwp" })

/**
 * Adds to eight bytes of the peer, and puts what was there into the piece, in the byte order of this host. As {@link send}.
 *
 * @category operations
 * @since 0.1.0
 */
export const atomicFetchAndAdd = (
  self: QueuePair<"rc" | "xrcSend">,
  request: WorkRequest.Common & WorkRequest.Target & { readonly remote: SendBatch.Remote; readonly add: bigint }
): Effect.Effect<WorkCompletion.Succeeded, VerbsError | WorkCompletion.WorkCompletionError> =>
  Awaited.send(self, { ...request, opcode: "atomicFetchAndAdd" })

/**
 * Binds a window of type 2 to a part of a region and waits until peers may use it by its new `rkey`, which is also in the
 * window then. As {@link send}; windows of type 1 are bound by `MemoryWindow.bind`.
 *
 * @category operations
 * @since 0.1.0
 */
export const bindMw = (
  self: QueuePair<"rc" | "uc" | "xrcSend">,
  request: WorkRequest.Common & { readonly bind: WorkRequest.Bind }
): Effect.Effect<WorkCompletion.Succeeded, VerbsError | WorkCompletion.WorkCompletionError> =>
  Awaited.send(self, { ...request, opcode: "bindMw" })

/**
 * Makes the key of a window of type 2 one that nobody can use, and waits until it is. As {@link send}.
 *
 * @category operations
 * @since 0.1.0
 */
export const localInv = (
  self: QueuePair<"rc" | "uc" | "xrcSend">,
  request: WorkRequest.Common & { readonly invalidateRkey: number }
): Effect.Effect<WorkCompletion.Succeeded, VerbsError | WorkCompletion.WorkCompletionError> =>
  Awaited.send(self, { ...request, opcode: "localInv" })

/**
 * Posts one receive and waits for its message, as {@link send}. A receive cannot be taken back: interrupting this flushes
 * the queue pair at once. Where that is not what is meant, post receives and wait by `CompletionQueue.next` or
 * `CompletionQueue.stream`, which can be interrupted freely.
 *
 * @category operations
 * @since 0.1.0
 */
export const recv = (
  self: QueuePair<"rc" | "uc" | "ud" | "rawPacket">,
  request: WorkRequest.ReceiveRequest
): Effect.Effect<WorkCompletion.Succeeded, VerbsError | WorkCompletion.WorkCompletionError> =>
  Awaited.receive(self, request)
