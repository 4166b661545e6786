/**
 * Posting and polling on the real library: what its inline functions do, which is to call what the device context has in
 * `ops`.
 *
 * @since 0.1.0
 */
import * as Library from "@effect-rdma/core/Library"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import type * as DataPath from "../../operations/DataPath.ts"
import * as DeviceLayout from "../DeviceLayout.ts"
import * as MemoryCodec from "../memoryCodec.ts"
import * as QueueLayout from "../QueueLayout.ts"
import * as RequestCodec from "../requestCodec.ts"
import { errorOf } from "./error.ts"

/**
 * Requests are written to memory of their own, from which the provider copies them during the call: one room serves all.
 * `forget` is told of what was destroyed, since an address may come back with another object behind it.
 */
export const make = (): { readonly dataPath: DataPath.DataPath; readonly forget: (object: bigint) => void } => {
  const sends = new Map<bigint, Post>()
  const receives = new Map<bigint, Post>()
  const polls = new Map<bigint, Poll>()
  const room = RequestCodec.makeRoom()
  const bad = NativeMemory.map(8)
  const refused = new DataView(bad.bytes.buffer)

  const post = (
    call: string,
    native: Post,
    queue: bigint,
    size: number,
    requests: ReadonlyArray<unknown>
  ): DataPath.Posted => {
    const { address } = room.memory
    refused.setBigUint64(0, 0n, true)
    const result = native(queue, address, bad.address)
    if (result === 0) return { count: requests.length, error: undefined }
    const at = refused.getBigUint64(0, true)
    // A provider that does not name one has refused before it looked at the first.
    const count = at === 0n ? 0 : Number(at - address) / size
    return { count, error: errorOf(call, Math.abs(result), { posted: count, of: requests.length }) }
  }

  return {
    dataPath: {
      postSend: (qp, requests) => {
        if (requests.length === 0) return nothing
        const native = sends.get(qp) ?? kept(sends, qp, postOf(qp, "postSend"))
        RequestCodec.writeSends(room, requests)
        const posted = post("ibv_post_send", native, qp, QueueLayout.SendWr.size, requests)
        for (let index = 0; index < posted.count; index++) {
          const bind = requests[index]?.bind
          if (bind !== undefined) MemoryCodec.setKey(bind.mw, bind.rkey)
        }
        return posted
      },
      postRecv: (qp, requests) => {
        if (requests.length === 0) return nothing
        const native = receives.get(qp) ?? kept(receives, qp, postOf(qp, "postRecv"))
        RequestCodec.writeReceives(room, requests)
        return post("ibv_post_recv", native, qp, QueueLayout.RecvWr.size, requests)
      },
      postSrqRecv: (srq, requests) => {
        if (requests.length === 0) return nothing
        const native = receives.get(srq) ?? kept(receives, srq, postOf(srq, "postSrqRecv"))
        RequestCodec.writeReceives(room, requests)
        return post("ibv_post_srq_recv", native, srq, QueueLayout.RecvWr.size, requests)
      },
      pollCq: (cq, numEntries) => {
        const native = polls.get(cq) ?? kept(polls, cq, pollOf(cq))
        RequestCodec.reserveCompletions(room, numEntries)
        const count = native(cq, numEntries, room.memory.address)
        if (count > 0) return { completions: RequestCodec.readCompletions(room, count), error: undefined }
        // A number of the provider's own, and no errno.
        return count === 0 ? nobody : { completions: [], error: errorOf("ibv_poll_cq", 0, { returned: count }) }
      }
    },
    forget: (object) => {
      sends.delete(object)
      receives.delete(object)
      polls.delete(object)
    }
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

type Post = Library.NativeFunction<["pointer", "pointer", "pointer"], "int">
type Poll = Library.NativeFunction<["pointer", "int", "pointer"], "int">

const nothing: DataPath.Posted = { count: 0, error: undefined }

/** Who waits polls often: that makes no garbage. */
const nobody: DataPath.Polled = { completions: [], error: undefined }

const kept = <A>(all: Map<bigint, A>, object: bigint, made: A): A => {
  all.set(object, made)
  return made
}

/** Queue pairs, shared receive queues and completion queues all begin with the pointer to their context. */
const operationOf = (object: bigint, op: "postSend" | "postRecv" | "postSrqRecv" | "pollCq"): bigint => {
  const context = NativeMemory.view(object, 8).getBigUint64(0, true)
  return DeviceLayout.Context.get(op, NativeMemory.view(context, DeviceLayout.Context.size))
}

const postOf = (object: bigint, op: "postSend" | "postRecv" | "postSrqRecv"): Post =>
  Library.fromAddress(operationOf(object, op), ["pointer", "pointer", "pointer"], "int")

const pollOf = (cq: bigint): Poll =>
  Library.fromAddress(operationOf(cq, "pollCq"), ["pointer", "int", "pointer"], "int")
