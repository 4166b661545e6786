import type * as DataPath from "@effect-rdma/verbs/operations/DataPath"
import type * as SendBatch from "@effect-rdma/verbs/operations/SendBatch"
import { VerbsError } from "@effect-rdma/verbs/VerbsError"
import type * as WorkRequestOpcode from "@effect-rdma/verbs/WorkRequestOpcode"
import * as Effect from "effect/Effect"
import { FabricMisuse } from "../../FabricMisuse.ts"
import * as Posting from "./posting.ts"
import type { QueuePairState } from "./queueState.ts"
import { fail } from "./state.ts"

/** One batch on a queue pair: what `build` says is posted as a whole, or not at all. */
export const run = (
  { object }: QueuePairState,
  build: (builder: SendBatch.Builder) => void
): Effect.Effect<void, VerbsError> => {
  const { cap, device, sends: { ring } } = object
  const isRxe = device.description.provider === "rxe"
  const requests: Array<DataPath.SendRequest> = []
  let isTooMuch = false
  const begin =
    (opcode: WorkRequestOpcode.WorkRequestOpcode) =>
    ({ flags = [], wrId }: SendBatch.Request, rest: Partial<DataPath.SendRequest> = {}): void => {
      requests.push({ sgList: [], opcode, wrId, flags, ...rest })
      if (ring.used + requests.length > cap.maxSendWr) isTooMuch = true
    }
  const set = (call: string, isRoomy: boolean, rest: Partial<DataPath.SendRequest>): void => {
    const last = requests.pop()
    // The library would write in front of the queue.
    if (last === undefined) throw new FabricMisuse({ call, problem: "no request has been begun" })
    requests.push({ ...last, ...rest })
    if (!isRoomy) isTooMuch = true
  }
  const [send, sendImm, sendInv] = [begin("send"), begin("sendWithImm"), begin("sendWithInv")]
  const [write, writeImm, read] = [begin("rdmaWrite"), begin("rdmaWriteWithImm"), begin("rdmaRead")]
  const [compareAndSwap, fetchAndAdd] = [begin("atomicCmpAndSwp"), begin("atomicFetchAndAdd")]
  const [atomicWrite, flush] = [begin("atomicWrite"), begin("flush")]
  const [invalidate, bind, tso] = [begin("localInv"), begin("bindMw"), begin("tso")]
  try {
    build({
      send: (request) => send(request),
      sendImm: (request, immData) => sendImm(request, { immData }),
      sendInv: (request, invalidateRkey) => sendInv(request, { invalidateRkey }),
      sendTso: (request, header, mss) => tso(request, { tso: { header, mss } }),
      rdmaWrite: (request, remote) => write(request, { remote }),
      rdmaWriteImm: (request, remote, immData) => writeImm(request, { remote, immData }),
      rdmaRead: (request, remote) => read(request, { remote }),
      atomicCmpSwp: (request, remote, compareAdd, swap) => compareAndSwap(request, { remote, compareAdd, swap }),
      atomicFetchAdd: (request, remote, compareAdd) => fetchAndAdd(request, { remote, compareAdd }),
      atomicWrite: (request, remote, bytes) => atomicWrite(request, { remote, inlineData: bytes }),
      flush: (request, remote) => flush(request, { remote }),
      localInv: (request, invalidateRkey) => invalidate(request, { invalidateRkey }),
      bindMw: (request, mw, rkey, info) => bind(request, { bind: { ...info, mw, rkey } }),
      setUdAddr: (ah, remoteQpn, remoteQkey) => set("ibv_wr_set_ud_addr", true, { ud: { ah, remoteQpn, remoteQkey } }),
      setXrcSrqn: (remoteSrqn) => set("ibv_wr_set_xrc_srqn", true, { remoteSrqn }),
      setSge: (piece) => set("ibv_wr_set_sge", true, { sgList: [piece] }),
      setSgeList: (sgList) =>
        set("ibv_wr_set_sge_list", sgList.length <= cap.maxSendSge, { sgList: isRxe ? asRxeCounts(sgList) : sgList }),
      setInlineData: (bytes) =>
        set(
          "ibv_wr_set_inline_data",
          bytes.length <= cap.maxInlineData,
          isRxe ? { sgList: [{ ...notFlagged, length: bytes.length }] } : { inlineData: bytes.slice() }
        ),
      setInlineDataList: (pieces) => {
        const call = "ibv_wr_set_inline_data_list"
        const inlineData = Buffer.concat(pieces)
        const isRoomy = inlineData.length <= cap.maxInlineData
        if (isRxe && !isRoomy && pieces.every(({ length }) => length <= cap.maxInlineData)) {
          throw new FabricMisuse({ call, problem: "the provider would write behind the request" })
        }
        // rxe of 44.0 leaves the length at 0.
        set(call, isRoomy, isRxe ? { sgList: [] } : { inlineData })
      }
    })
  } catch (thrown) {
    return thrown instanceof VerbsError ? Effect.fail(thrown) : Effect.die(thrown)
  }
  const call = "ibv_wr_complete"
  if (isTooMuch) return fail(call, isRxe ? "ENOSPC" : "ENOMEM")
  for (const request of requests) Posting.push(object, request)
  const refused = Posting.ring(object)
  if (refused !== undefined) return fail(call, refused)
  Posting.noteKeys(object, requests)
  return Effect.void
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** rxe of 44.0 sets no flag with inline data: its kernel takes the bytes for a piece, and finds no region. */
const notFlagged = { addr: 0n, lkey: 0 } as const

/** rxe of 44.0 counts the length of the first piece for each. */
const asRxeCounts = (pieces: ReadonlyArray<SendBatch.Piece>): ReadonlyArray<SendBatch.Piece> => {
  let left = pieces.length * (pieces[0]?.length ?? 0)
  const counted = pieces.map((piece) => {
    const length = Math.min(piece.length, left)
    left -= length
    return { ...piece, length }
  })
  return left === 0 ? counted : [...counted, { ...notFlagged, length: left }]
}
