/**
 * Batches of sends on the real library: the builders are pointers in `struct ibv_qp_ex`.
 *
 * @since 0.1.0
 */
import * as Library from "@effect-rdma/core/Library"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as Pointer from "@effect-rdma/core/Pointer"
import * as ReturnConvention from "@effect-rdma/core/ReturnConvention"
import * as Effect from "effect/Effect"
import * as AccessFlags from "../../AccessFlags.ts"
import type * as Queue from "../../operations/Queue.ts"
import type * as SendBatch from "../../operations/SendBatch.ts"
import { VerbsError } from "../../VerbsError.ts"
import * as MemoryCodec from "../memoryCodec.ts"
import * as MemoryLayout from "../MemoryLayout.ts"
import * as QueueLayout from "../QueueLayout.ts"
import { sendFlags } from "../requestCodec.ts"
import { errorOf, unsupported } from "./error.ts"

export const make = (library: Library.Library): Pick<Queue.Operations, "wrComplete"> => {
  const toExtended = library.bindOptional("ibv_qp_to_qp_ex", ["pointer"], "pointer")
  return {
    wrComplete: (qp, build) =>
      Effect.suspend(() => {
        const extended = toExtended?.(qp) ?? null
        if (Pointer.isNull(extended)) return Effect.fail(unsupported("ibv_wr_start", "EOPNOTSUPP"))
        const view = NativeMemory.view(extended, QueueLayout.QpEx.size)
        const start = slotOf(view, "wrStart", [], "void")
        const complete = slotOf(view, "wrComplete", [], "int")
        const abort = slotOf(view, "wrAbort", [], "void")
        const bound: Array<() => void> = []
        start(extended)
        try {
          build(builder(extended, view, bound))
        } catch (thrown) {
          abort(extended)
          return thrown instanceof VerbsError ? Effect.fail(thrown) : Effect.die(thrown)
        }
        // At once: what an effect awaits in between would wait with the lock held.
        return Effect.runSync(Effect.result(ReturnConvention.returnedErrno(
          () => complete(extended),
          (errno) => errorOf("ibv_wr_complete", errno)
        ))).pipe(Effect.fromResult, Effect.tap(() => Effect.sync(() => bound.forEach((note) => note()))))
      })
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

type Slot = Exclude<keyof typeof QueueLayout.QpEx.fields, "compMask" | "wrId" | "wrFlags">

const calls = {
  wrAtomicCmpSwp: "ibv_wr_atomic_cmp_swp",
  wrAtomicFetchAdd: "ibv_wr_atomic_fetch_add",
  wrBindMw: "ibv_wr_bind_mw",
  wrLocalInv: "ibv_wr_local_inv",
  wrRdmaRead: "ibv_wr_rdma_read",
  wrRdmaWrite: "ibv_wr_rdma_write",
  wrRdmaWriteImm: "ibv_wr_rdma_write_imm",
  wrSend: "ibv_wr_send",
  wrSendImm: "ibv_wr_send_imm",
  wrSendInv: "ibv_wr_send_inv",
  wrSendTso: "ibv_wr_send_tso",
  wrSetUdAddr: "ibv_wr_set_ud_addr",
  wrSetXrcSrqn: "ibv_wr_set_xrc_srqn",
  wrSetInlineData: "ibv_wr_set_inline_data",
  wrSetInlineDataList: "ibv_wr_set_inline_data_list",
  wrSetSge: "ibv_wr_set_sge",
  wrSetSgeList: "ibv_wr_set_sge_list",
  wrStart: "ibv_wr_start",
  wrComplete: "ibv_wr_complete",
  wrAbort: "ibv_wr_abort",
  wrAtomicWrite: "ibv_wr_atomic_write"
} as const satisfies { readonly [Name in Slot]: string }

/** A function of the struct; all take it as their first argument. Throws where the provider has none. */
const slotOf = <const A extends ReadonlyArray<keyof Library.Arguments>, R extends keyof Library.Results>(
  view: DataView,
  slot: Slot,
  argumentTypes: A,
  resultType: R
): Library.NativeFunction<["pointer", ...A], R> => {
  const address = QueueLayout.QpEx.get(slot, view)
  if (address === 0n) throw unsupported(calls[slot], "EOPNOTSUPP")
  return Library.fromAddress(address, ["pointer", ...argumentTypes], resultType)
}

/**
 * The builder of flushes stands behind the struct of version 44. It is looked for only on a queue pair that was made with
 * `flush`: a library that took the flag has it.
 */
const flushSlot = QueueLayout.QpEx.size

/** `enum ibv_placement_type`. */
const placements = { global: 1, persistent: 2 } as const

/** A number whose four bytes are in network order. */
const networkOrder = (value: number): number => {
  const view = new DataView(new ArrayBuffer(4))
  view.setUint32(0, value)
  return view.getUint32(0, true)
}

const same = (value: number): number => value

/** The array of C and behind it the bytes: one buffer, so that the call that is given it keeps all of it in place. */
const dataList = (pieces: ReadonlyArray<Uint8Array>): Uint8Array => {
  const { DataBuf } = QueueLayout
  let end = pieces.length * DataBuf.size
  const memory = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, Math.max(end, DataBuf.size)))
  const list = new DataView(memory.buffer)
  const address = NativeMemory.addressOf(memory)
  pieces.forEach((bytes, index) => {
    memory.set(bytes, end)
    DataBuf.write(list, { addr: address + BigInt(end), length: BigInt(bytes.length) }, index * DataBuf.size)
    end += bytes.length
  })
  return memory
}

/** `bound` collects what is to be noted of binds once they are posted. */
const builder = (qp: bigint, view: DataView, bound: Array<() => void>): SendBatch.Builder => {
  const begin = ({ flags = [], wrId }: SendBatch.Request): void => {
    QueueLayout.QpEx.set("wrId", view, wrId)
    QueueLayout.QpEx.set("wrFlags", view, flags.reduce((bits, flag) => bits | sendFlags[flag], 0))
  }
  const remote = (slot: "wrRdmaRead" | "wrRdmaWrite") => (request: SendBatch.Request, to: SendBatch.Remote): void => {
    const run = slotOf(view, slot, ["u32", "u64"], "void")
    begin(request)
    run(qp, to.rkey, to.remoteAddr)
  }
  const withNumber = (slot: "wrSendImm" | "wrSendInv" | "wrLocalInv", toNative: (value: number) => number) =>
  (
    request: SendBatch.Request,
    value: number
  ): void => {
    const run = slotOf(view, slot, ["u32"], "void")
    begin(request)
    run(qp, toNative(value))
  }
  return {
    send: (request) => {
      const run = slotOf(view, "wrSend", [], "void")
      begin(request)
      run(qp)
    },
    sendImm: withNumber("wrSendImm", networkOrder),
    sendInv: withNumber("wrSendInv", same),
    sendTso: (request, header, mss) => {
      const run = slotOf(view, "wrSendTso", ["buffer", "u16", "u16"], "void")
      begin(request)
      run(qp, header, header.length, mss)
    },
    rdmaWrite: remote("wrRdmaWrite"),
    rdmaWriteImm: (request, to, immData) => {
      const run = slotOf(view, "wrRdmaWriteImm", ["u32", "u64", "u32"], "void")
      begin(request)
      run(qp, to.rkey, to.remoteAddr, networkOrder(immData))
    },
    rdmaRead: remote("wrRdmaRead"),
    atomicCmpSwp: (request, to, compare, swap) => {
      const run = slotOf(view, "wrAtomicCmpSwp", ["u32", "u64", "u64", "u64"], "void")
      begin(request)
      run(qp, to.rkey, to.remoteAddr, compare, swap)
    },
    atomicFetchAdd: (request, to, add) => {
      const run = slotOf(view, "wrAtomicFetchAdd", ["u32", "u64", "u64"], "void")
      begin(request)
      run(qp, to.rkey, to.remoteAddr, add)
    },
    atomicWrite: (request, to, bytes) => {
      if (bytes.length !== 8) throw new RangeError(`an atomic write has 8 bytes, not ${bytes.length}`)
      const run = slotOf(view, "wrAtomicWrite", ["u32", "u64", "buffer"], "void")
      begin(request)
      run(qp, to.rkey, to.remoteAddr, bytes)
    },
    flush: (request, to, length, placement, level) => {
      const address = NativeMemory.view(qp, flushSlot + 8).getBigUint64(flushSlot, true)
      if (address === 0n) throw unsupported("ibv_wr_flush", "EOPNOTSUPP")
      begin(request)
      Library.fromAddress(address, ["pointer", "u32", "u64", "u64", "u8", "u8"], "void")(
        qp,
        to.rkey,
        to.remoteAddr,
        length,
        placement.reduce((bits, kind) => bits | placements[kind], 0),
        level === "range" ? 0 : 1
      )
    },
    localInv: withNumber("wrLocalInv", same),
    bindMw: (request, mw, rkey, { access, addr, length, mr }) => {
      const run = slotOf(view, "wrBindMw", ["pointer", "u32", "buffer"], "void")
      const bind = QueueLayout.MwBindInfo.allocate()
      QueueLayout.MwBindInfo.write(bind, { mr, addr, length, mwAccessFlags: AccessFlags.toNative(access) })
      begin(request)
      run(qp, mw, rkey, bind)
      bound.push(() => MemoryCodec.setKey(mw, rkey))
    },

    setUdAddr: (ah, remoteQpn, remoteQkey) =>
      slotOf(view, "wrSetUdAddr", ["pointer", "u32", "u32"], "void")(qp, ah, remoteQpn, remoteQkey),
    setXrcSrqn: (remoteSrqn) => slotOf(view, "wrSetXrcSrqn", ["u32"], "void")(qp, remoteSrqn),
    setSge: ({ addr, length, lkey }) => slotOf(view, "wrSetSge", ["u32", "u64", "u32"], "void")(qp, lkey, addr, length),
    setSgeList: (pieces) => {
      const list = new DataView(new ArrayBuffer(Math.max(pieces.length, 1) * MemoryLayout.Sge.size))
      pieces.forEach((piece, index) => MemoryLayout.Sge.write(list, piece, index * MemoryLayout.Sge.size))
      slotOf(view, "wrSetSgeList", ["size", "buffer"], "void")(qp, pieces.length, list)
    },
    setInlineData: (bytes) => slotOf(view, "wrSetInlineData", ["buffer", "size"], "void")(qp, bytes, bytes.length),
    setInlineDataList: (pieces) =>
      slotOf(view, "wrSetInlineDataList", ["size", "buffer"], "void")(qp, pieces.length, dataList(pieces))
  }
}
