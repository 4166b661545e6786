/**
 * Queues that librdmacm makes on an id, and its endpoints, on the real library.
 *
 * @since 0.1.0
 */
import type * as Library from "@effect-rdma/core/Library"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as Pointer from "@effect-rdma/core/Pointer"
import * as Readiness from "@effect-rdma/core/Readiness"
import * as ReturnConvention from "@effect-rdma/core/ReturnConvention"
import * as NativeStruct from "@effect-rdma/verbs/NativeStruct"
import * as Effect from "effect/Effect"
import type { RdmaCm } from "../../RdmaCm.ts"
import type { RdmaCmError } from "../../RdmaCmError.ts"
import * as InfoCodec from "../addressInfoCodec.ts"
import * as Codec from "../codec.ts"
import * as Layout from "../Layout.ts"
import { withArena } from "./addressInfo.ts"
import { done, errorOf, notPollable } from "./error.ts"

export const make = (library: Library.Library) => {
  const createQp = library.bind("rdma_create_qp", ["pointer", "pointer", "buffer"], "int")
  const destroyQp = library.bind("rdma_destroy_qp", ["pointer"], "void")
  const createSrq = library.bind("rdma_create_srq", ["pointer", "pointer", "buffer"], "int")
  const destroySrq = library.bind("rdma_destroy_srq", ["pointer"], "void")
  const createEp = library.bind("rdma_create_ep", ["pointer", "pointer", "pointer", "pointer"], "int")
  const destroyEp = library.bind("rdma_destroy_ep", ["pointer"], "void")
  const getRequest = library.bind("rdma_get_request", ["pointer", "buffer"], "int")

  /** Its own channel would block; an id that cannot be set otherwise is destroyed. */
  const withoutBlocking = (call: string, id: Pointer.Pointer<"rdma_cm_id">) =>
    Readiness.setNonBlocking(descriptorOf(id)).pipe(
      Effect.mapError((error) => notPollable(call, error)),
      Effect.tapError(() => Effect.sync(() => destroyEp(id))),
      Effect.as(id)
    )

  return {
    createQp: (id, pd, attributes) =>
      Effect.suspend(() => {
        const init = NativeStruct.queuePairInit(attributes)
        return Effect.map(
          done("rdma_create_qp", () => createQp(id, pd ?? null, init), { qpType: attributes.qpType }),
          () => NativeStruct.readMadeQueuePair(Pointer.make<"ibv_qp">(Codec.readIdState(id).qp ?? 0n), init)
        )
      }),
    destroyQp: (id) => Effect.sync(() => destroyQp(id)),
    createSrq: (id, pd, attributes) =>
      Effect.suspend(() => {
        const init = NativeStruct.sharedReceiveQueueInit(attributes)
        return Effect.map(
          done("rdma_create_srq", () => createSrq(id, pd ?? null, init), attributes),
          () => NativeStruct.readMadeSharedReceiveQueue(Pointer.make<"ibv_srq">(Codec.readIdState(id).srq ?? 0n), init)
        )
      }),
    destroySrq: (id) => Effect.sync(() => destroySrq(id)),

    createEp: (info, pd, attributes) =>
      withArena(InfoCodec.roomOf(info), (arena) => {
        const out = arena.put(new Uint8Array(8))
        const init = attributes === undefined
          ? 0n
          : arena.put(new Uint8Array(NativeStruct.queuePairInit(attributes).buffer))
        return Effect.flatMap(
          ReturnConvention.onWorker<number>((done) =>
            createEp.async(out, InfoCodec.encode(arena, info), pd ?? null, init, done)
          ),
          ({ errno, result }): Effect.Effect<Pointer.Pointer<"rdma_cm_id">, RdmaCmError> =>
            result === 0
              ? withoutBlocking("rdma_create_ep", Pointer.make(arena.view(out, 8).getBigUint64(0, true)))
              : Effect.fail(errorOf("rdma_create_ep", errno, { portSpace: info.portSpace, qpType: info.qpType }))
        )
      }),
    destroyEp: (id) => Effect.sync(() => destroyEp(id)),
    getRequest: (listener) =>
      Effect.uninterruptible(Effect.suspend(() => {
        const out = new BigUint64Array(1)
        return Effect.flatMap(
          done("rdma_get_request", () => getRequest(listener, out)),
          () => {
            const id = Pointer.make<"rdma_cm_id">(out[0] ?? 0n)
            const event = Codec.readEvent(Layout.CmId.get("event", NativeMemory.view(id, Layout.CmId.size)))
            return Effect.as(withoutBlocking("rdma_get_request", id), { id, event })
          }
        )
      })),
    awaitRequest: (listener) =>
      Effect.suspend(() =>
        Effect.mapError(
          Readiness.readable(descriptorOf(listener)),
          (error) => notPollable("rdma_get_request", error)
        )
      )
  } satisfies Partial<RdmaCm["Service"]>
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** The descriptor of the channel that an endpoint made for itself. */
const descriptorOf = (id: bigint): number =>
  Layout.EventChannel.get(
    "fd",
    NativeMemory.view(Layout.CmId.get("channel", NativeMemory.view(id, Layout.CmId.size)), Layout.EventChannel.size)
  )
