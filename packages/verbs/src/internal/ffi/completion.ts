/**
 * Completion channels and completion queues on the real library.
 *
 * @since 0.1.0
 */
import type * as Library from "@effect-rdma/core/Library"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Readiness from "@effect-rdma/core/Readiness"
import * as ReturnConvention from "@effect-rdma/core/ReturnConvention"
import * as Effect from "effect/Effect"
import type * as Completion from "../../operations/Completion.ts"
import type { VerbsError } from "../../VerbsError.ts"
import * as Layout from "../Layout.ts"
import { errorOf } from "./error.ts"

export const make = (library: Library.Library): Completion.Operations => {
  const createCompChannel = library.bind("ibv_create_comp_channel", ["pointer"], "pointer")
  const destroyCompChannel = library.bind("ibv_destroy_comp_channel", ["pointer"], "int")
  const createCq = library.bind("ibv_create_cq", ["pointer", "int", "pointer", "pointer", "int"], "pointer")
  const destroyCq = library.bind("ibv_destroy_cq", ["pointer"], "int")

  return {
    createCompChannel: (context) =>
      Effect.uninterruptible(Effect.tap(
        ReturnConvention.pointerOrErrno<"ibv_comp_channel", VerbsError>(
          () => createCompChannel(context),
          (errno) => errorOf("ibv_create_comp_channel", errno)
        ),
        (channel) =>
          Readiness.setNonBlocking(descriptorOf(channel)).pipe(
            Effect.mapError(({ errno, fd }) => errorOf("ibv_create_comp_channel", errno, { fd })),
            Effect.tapError(() => Effect.sync(() => destroyCompChannel(channel)))
          )
      )),
    destroyCompChannel: (channel) =>
      ReturnConvention.returnedErrno(
        () => destroyCompChannel(channel),
        (errno) => errorOf("ibv_destroy_comp_channel", errno)
      ),
    createCq: (context, { channel, compVector, cqContext, cqe }) =>
      Effect.map(
        ReturnConvention.pointerOrErrno<"ibv_cq", VerbsError>(
          () => createCq(context, cqe, BigInt(cqContext), channel ?? null, compVector),
          (errno) => errorOf("ibv_create_cq", errno, { cqe, compVector })
        ),
        madeOf
      ),
    destroyCq: (cq) => ReturnConvention.returnedErrno(() => destroyCq(cq), (errno) => errorOf("ibv_destroy_cq", errno))
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const descriptorOf = (channel: bigint): number =>
  Layout.CompChannel.get("fd", NativeMemory.view(channel, Layout.CompChannel.size))

const madeOf = (cq: Pointer.Pointer<"ibv_cq">): Completion.MadeQueue => ({
  cq,
  cqe: Layout.Cq.get("cqe", NativeMemory.view(cq, Layout.Cq.size))
})
