/**
 * Posting sends as one batch: `ibv_wr_start`, the builders, and `ibv_wr_complete` or `ibv_wr_abort` of `ibv_wr_post(3)`.
 *
 * @since 0.1.0
 */
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Ledger from "@effect-rdma/core/Ledger"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import type * as AccessFlags from "./AccessFlags.ts"
import type * as AddressHandle from "./AddressHandle.ts"
import type * as DeviceContext from "./DeviceContext.ts"
import * as Work from "./internal/queuePairWork.ts"
import { ensureUnsigned, ensureUnsigned64, orRefused, refused } from "./internal/refused.ts"
import * as RequestQueue from "./internal/requestQueue.ts"
import * as WindowBinding from "./internal/windowBinding.ts"
import type * as MemoryRegion from "./MemoryRegion.ts"
import type * as MemoryWindow from "./MemoryWindow.ts"
import type * as SeamBatch from "./operations/SendBatch.ts"
import type * as QueuePair from "./QueuePair.ts"
import type * as QueuePairInitAttributes from "./QueuePairInitAttributes.ts"
import type * as QueuePairType from "./QueuePairType.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * Builds requests. Each begins with a call of the first kind (`send`, `rdmaWrite`, …) and is completed by those that set
 * its data and its address: one of `setSge`, `setSgeList` and, for sends and writes, `setInlineData` and `setInlineDataList`;
 * on UD `setUdAddr`, on XRC `setXrcSrqn`. `flush`, `localInv`, `bindMw` and `atomicWrite` take no data, `localInv` and `bindMw` no address.
 *
 * On Soft-RoCE no inline data of a batch arrives: the provider never says to its kernel that there is any. That of
 * rdma-core 44 counts each piece of `setSgeList` as long as the first. `QueuePair.postSend` does both right.
 *
 * Whatever it refuses aborts the batch. Once the batch has ended it refuses everything.
 *
 * @category models
 * @since 0.1.0
 */
export interface Builder extends Omit<SeamBatch.Builder, "setUdAddr" | "bindMw"> {
  readonly setUdAddr: (to: AddressHandle.AddressHandle, remoteQpn: number, remoteQkey: number) => void
  readonly bindMw: (
    request: SeamBatch.Request,
    window: MemoryWindow.MemoryWindow,
    rkey: number,
    bind: {
      readonly mr: MemoryRegion.MemoryRegion
      readonly addr: bigint
      readonly length: bigint
      readonly access: AccessFlags.AccessFlags
    }
  ) => void
}

/**
 * Posts what `build` says, all of it or nothing. `build` runs in one turn of the JS thread, since the lock of the send
 * queue is held meanwhile; it can await nothing. When it throws, the batch is aborted and the effect dies with what was
 * thrown. Memory that a request names must stay registered until it completed, and an address handle alive.
 *
 * The queue pair must have been made with `sendOpsFlags`. `EOPNOTSUPP` for a request that these do not name, `ENOMEM` when the
 * send queue has no room for the batch, `EINVAL` for a request with too many pieces, or before RTS where the kernel looks.
 *
 * What C would not survive fails before it gets there: `EINVAL` for a request that lacks data or an address or has them
 * twice, for pieces of inline data without room for all, for a number beyond its range, for handles of another device, and when `build` returns anything, such as a
 * promise; `EBUSY` inside of `build` of the same queue pair.
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
      if (self.sendOpsFlags.length === 0) return Effect.fail(notAsked("ibv_wr_start", "sendOpsFlags"))
      return orRefused(() => {
        Work.ensureSending("ibv_wr_start", self)
        const begun: Begun = { wrIds: [], binds: [] }
        return self.context.verbs.wrComplete(qp, (builder) => run(self, builder, build, begun)).pipe(
          Effect.onError(() =>
            Effect.sync(() => begun.wrIds.toReversed().forEach((wrId) => RequestQueue.undo(self.work.sends, wrId)))
          ),
          Work.inOneTurn,
          Effect.tap(() =>
            Effect.sync(() => {
              begun.binds.forEach((bind) => WindowBinding.bound(self, bind))
              ledger.bracketed(["ibv_wr_start", "ibv_wr_complete"])
            })
          ),
          Effect.uninterruptible
        )
      })
    }))

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const notAsked = (call: string, flag: string): VerbsError =>
  refused(call, "EOPNOTSUPP", `The queue pair must be made with ${flag}`)

/** What a batch holds: the numbers of its requests, and its binds. */
interface Begun {
  readonly wrIds: Array<bigint>
  readonly binds: Array<Parameters<typeof WindowBinding.bound>[1]>
}

/** Whatever it throws aborts the batch. */
const run = (
  self: QueuePair.QueuePair,
  builder: SeamBatch.Builder,
  build: (batch: Builder) => unknown,
  begun: Begun
): void => {
  const guard = guardOf(self, builder, begun)
  self.work.isBuilding = true
  try {
    const returned = build(guard.builder)
    if (returned !== undefined) {
      // Its builder has ended: that it fails is told here already.
      if (returned instanceof Promise) returned.catch(() => {})
      throw refused("ibv_wr_start", "EINVAL", "build must be synchronous and return nothing")
    }
    guard.ensureComplete()
  } finally {
    guard.end()
    self.work.isBuilding = false
  }
}

type Part = "data" | "address"

interface Operation {
  readonly call: string
  /** The slots of kinds that were not asked for hold anything: only what was is let through. */
  readonly flag: QueuePairInitAttributes.SendOperation
  readonly data: "none" | "sge" | "sgeOrInline"
  readonly isLocal?: boolean
}

const operations = {
  send: { call: "ibv_wr_send", flag: "send", data: "sgeOrInline" },
  sendImm: { call: "ibv_wr_send_imm", flag: "sendWithImm", data: "sgeOrInline" },
  sendInv: { call: "ibv_wr_send_inv", flag: "sendWithInv", data: "sgeOrInline" },
  sendTso: { call: "ibv_wr_send_tso", flag: "tso", data: "sge" },
  rdmaWrite: { call: "ibv_wr_rdma_write", flag: "rdmaWrite", data: "sgeOrInline" },
  rdmaWriteImm: { call: "ibv_wr_rdma_write_imm", flag: "rdmaWriteWithImm", data: "sgeOrInline" },
  rdmaRead: { call: "ibv_wr_rdma_read", flag: "rdmaRead", data: "sge" },
  atomicCmpSwp: { call: "ibv_wr_atomic_cmp_swp", flag: "atomicCmpAndSwp", data: "sge" },
  atomicFetchAdd: { call: "ibv_wr_atomic_fetch_add", flag: "atomicFetchAndAdd", data: "sge" },
  atomicWrite: { call: "ibv_wr_atomic_write", flag: "atomicWrite", data: "none" },
  flush: { call: "ibv_wr_flush", flag: "flush", data: "none" },
  localInv: { call: "ibv_wr_local_inv", flag: "localInv", data: "none", isLocal: true },
  bindMw: { call: "ibv_wr_bind_mw", flag: "bindMw", data: "none", isLocal: true }
} as const satisfies { readonly [Name in keyof Builder]?: Operation }

/** Which types of queue pairs need an address with each request, and who sets it. */
const addressed: { readonly [Type in QueuePairType.QueuePairType]?: string } = {
  ud: "ibv_wr_set_ud_addr",
  xrcSend: "ibv_wr_set_xrc_srqn"
}

/** The bits of a number in C and the number. */
type Numbers = Readonly<Record<string, readonly [bits: 64, value: bigint] | readonly [bits: number, value: number]>>

const ensureInRange = (call: string, numbers: Numbers): void => {
  for (const [name, [bits, value]] of Object.entries(numbers)) {
    if (typeof value === "bigint" || bits === 64) ensureUnsigned64(call, name, value as bigint)
    else ensureUnsigned(call, name, value, bits)
  }
}

const ofRemote = ({ remoteAddr, rkey }: SeamBatch.Remote): Numbers => ({
  rkey: [32, rkey],
  remoteAddr: [64, remoteAddr]
})

/** Code without types can pass any handle, and the library follows its pointer. */
const ensureHandle = (
  call: string,
  { context }: QueuePair.QueuePair,
  kind: string,
  other: Resource.Any & { readonly context: DeviceContext.DeviceContext }
): void => {
  if (other.kind !== kind) {
    throw refused(call, "EINVAL", `It must be of kind ${kind}`, { given: Resource.nameOf(other) })
  }
  const isSame = other.context.verbs === context.verbs && Resource.raw(other.context) === Resource.raw(context)
  if (isSame) return
  throw refused(call, "EINVAL", "It must be of the device context of the queue pair", { given: Resource.nameOf(other) })
}

const ensurePiece = (call: string) => ({ addr, length, lkey }: SeamBatch.Piece): void =>
  ensureInRange(call, { addr: [64, addr], length: [32, length], lkey: [32, lkey] })

/** The builder that lets through only what C survives, and what tells it that the batch ends. */
const guardOf = (self: QueuePair.QueuePair, native: SeamBatch.Builder, begun: Begun) => {
  let hasEnded = false
  const failures: Array<unknown> = []
  let pending: (Operation & { readonly needs: Set<Part> }) | undefined

  const ensureComplete = (): void => {
    // Also what `build` caught.
    if (failures.length > 0) throw failures[0]
    if (pending === undefined || pending.needs.size === 0) return
    const needs = Array.from(pending.needs).join(" and ")
    throw refused(pending.call, "EINVAL", `The request still needs its ${needs}`, { needs })
  }

  const member =
    <A extends ReadonlyArray<unknown>>(call: string, body: (...values: A) => void) => (...values: A): void => {
      if (hasEnded) throw refused(call, "EINVAL", "The batch has ended")
      try {
        body(...values)
      } catch (thrown) {
        failures.push(thrown)
        throw thrown
      }
    }

  const begins = <A extends ReadonlyArray<unknown>>(
    operation: Operation,
    numbersOf: (...values: A) => Numbers,
    begin: (request: SeamBatch.Request, ...values: A) => void
  ) =>
    member(operation.call, (request: SeamBatch.Request, ...values: A) => {
      const { call, data, flag, isLocal = false } = operation
      if (!self.sendOpsFlags.includes(flag)) throw notAsked(call, `${flag} among its sendOpsFlags`)
      ensureComplete()
      ensureInRange(call, { wrId: [64, request.wrId], ...numbersOf(...values) })
      const { sends } = self.work
      Work.ensureRoom(call, sends, 1)
      const wrId = RequestQueue.begin(sends, request.wrId, Work.isSignaled(self.work, request.flags))
      begun.wrIds.push(wrId)
      begin({ ...request, wrId }, ...values)
      const needs = new Set<Part>()
      if (data !== "none") needs.add("data")
      if (!isLocal && addressed[self.qpType] !== undefined) needs.add("address")
      pending = { ...operation, needs }
    })

  const sets = <A extends ReadonlyArray<unknown>>(
    call: string,
    part: Part,
    ensure: (...values: A) => void,
    set: (...values: A) => void
  ) =>
    member(call, (...values: A) => {
      if (part === "address" && addressed[self.qpType] !== call) {
        throw refused(call, "EINVAL", "The queue pair has no such addresses", { qpType: self.qpType })
      }
      if (pending === undefined) throw refused(call, "EINVAL", "No request has been begun")
      const input = { request: pending.call }
      if (!pending.needs.has(part)) throw refused(call, "EINVAL", `The request takes no more ${part}`, input)
      if (call.startsWith("ibv_wr_set_inline_data") && pending.data !== "sgeOrInline") {
        throw refused(call, "EINVAL", "The request takes no inline data", input)
      }
      ensure(...values)
      set(...values)
      pending.needs.delete(part)
    })

  // The provider of Soft-RoCE looks at each piece alone, and writes all of them one behind the other.
  const ensureInline = (call: string, pieces: ReadonlyArray<Uint8Array>): void => {
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
    const room = self.cap.maxInlineData
    if (length > room) {
      throw refused(call, "EINVAL", `The queue pair has room for ${room} bytes of inline data`, { length })
    }
  }

  const builder: Builder = {
    send: begins(operations.send, () => ({}), native.send),
    sendImm: begins(operations.sendImm, (immData) => ({ immData: [32, immData] }), native.sendImm),
    sendInv: begins(operations.sendInv, (rkey) => ({ invalidateRkey: [32, rkey] }), native.sendInv),
    sendTso: begins(
      operations.sendTso,
      (header, mss) => ({ "header.length": [16, header.length], mss: [16, mss] }),
      native.sendTso
    ),
    rdmaWrite: begins(operations.rdmaWrite, ofRemote, native.rdmaWrite),
    rdmaWriteImm: begins(
      operations.rdmaWriteImm,
      (to, immData) => ({ ...ofRemote(to), immData: [32, immData] }),
      native.rdmaWriteImm
    ),
    rdmaRead: begins(operations.rdmaRead, ofRemote, native.rdmaRead),
    atomicCmpSwp: begins(
      operations.atomicCmpSwp,
      (to, compare, swap) => ({ ...ofRemote(to), compare: [64, compare], swap: [64, swap] }),
      native.atomicCmpSwp
    ),
    atomicFetchAdd: begins(
      operations.atomicFetchAdd,
      (to, add) => ({ ...ofRemote(to), add: [64, add] }),
      native.atomicFetchAdd
    ),
    atomicWrite: begins(
      operations.atomicWrite,
      (to: SeamBatch.Remote, _bytes: Uint8Array) => ofRemote(to),
      (request, to, bytes) => {
        if (bytes.length !== 8) {
          throw refused("ibv_wr_atomic_write", "EINVAL", "An atomic write has 8 bytes", { length: bytes.length })
        }
        native.atomicWrite(request, to, bytes)
      }
    ),
    flush: begins(operations.flush, (to, length) => ({ ...ofRemote(to), length: [64, length] }), native.flush),
    localInv: begins(operations.localInv, (rkey) => ({ invalidateRkey: [32, rkey] }), native.localInv),
    bindMw: begins(
      operations.bindMw,
      (_window, rkey, { addr, length }) => ({ rkey: [32, rkey], addr: [64, addr], length: [64, length] }),
      (request, window, rkey, { mr, ...bind }: Parameters<Builder["bindMw"]>[3]) => {
        ensureHandle("ibv_wr_bind_mw", self, "MemoryWindow", window)
        ensureHandle("ibv_wr_bind_mw", self, "MemoryRegion", mr)
        native.bindMw(request, Resource.raw(window), rkey, { ...bind, mr: Resource.raw(mr).mr })
        begun.binds.push({ window, region: mr, rkey, length: Number(bind.length) })
      }
    ),
    setUdAddr: sets(
      "ibv_wr_set_ud_addr",
      "address",
      (to: AddressHandle.AddressHandle, remoteQpn: number, remoteQkey: number) => {
        ensureInRange("ibv_wr_set_ud_addr", { remoteQpn: [24, remoteQpn], remoteQkey: [32, remoteQkey] })
        ensureHandle("ibv_wr_set_ud_addr", self, "AddressHandle", to)
      },
      (to, remoteQpn, remoteQkey) =>
        native.setUdAddr(Resource.raw(to), Identifier.Qpn.make(remoteQpn), Identifier.QKey.make(remoteQkey))
    ),
    setXrcSrqn: sets(
      "ibv_wr_set_xrc_srqn",
      "address",
      (remoteSrqn) => ensureInRange("ibv_wr_set_xrc_srqn", { remoteSrqn: [32, remoteSrqn] }),
      native.setXrcSrqn
    ),
    setSge: sets("ibv_wr_set_sge", "data", ensurePiece("ibv_wr_set_sge"), native.setSge),
    setSgeList: sets(
      "ibv_wr_set_sge_list",
      "data",
      (pieces) => pieces.forEach(ensurePiece("ibv_wr_set_sge_list")),
      native.setSgeList
    ),
    setInlineData: sets(
      "ibv_wr_set_inline_data",
      "data",
      (bytes: Uint8Array) => ensureInline("ibv_wr_set_inline_data", [bytes]),
      native.setInlineData
    ),
    setInlineDataList: sets(
      "ibv_wr_set_inline_data_list",
      "data",
      (pieces) => ensureInline("ibv_wr_set_inline_data_list", pieces),
      native.setInlineDataList
    )
  }
  const end = (): void => {
    hasEnded = true
  }
  return { builder, ensureComplete, end }
}
