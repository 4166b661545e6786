/** What a batch of sends refuses before C, which would crash or wait for ever. */
import { Fabric, LeakCheck } from "@effect-rdma/testkit"
import {
  AddressHandle,
  CompletionQueue,
  DeviceContext,
  MemoryRegion,
  MemoryWindow,
  ProtectionDomain,
  QueuePair,
  QueuePairInitAttributes,
  SendBatch,
  type VerbsError
} from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, type Scope } from "effect"
import { assertReason } from "../src/internal/conformance.ts"

const run = (program: Effect.Effect<void, unknown, Fabric.Fabric | Fabric.Seams | Scope.Scope>) =>
  LeakCheck.check(program).pipe(Effect.provide(Fabric.layer))

const optionsOf = (queue: CompletionQueue.CompletionQueue) => ({
  sendCq: queue,
  recvCq: queue,
  cap: { maxSendWr: 4, maxSendSge: 2, maxInlineData: 8 },
  sendOpsFlags: QueuePairInitAttributes.SendOperation.literals.filter((flag) =>
    flag !== "flush" && flag !== "atomicWrite"
  )
})

const parts = Effect.gen(function*() {
  const context = yield* DeviceContext.openByName("mlx5_0")
  const domain = yield* ProtectionDomain.alloc(context)
  const queue = yield* CompletionQueue.make(context, { cqe: 8 })
  return { domain, queue, to: yield* AddressHandle.make(domain, { portNum: 1, dlid: 1 }) }
})

/** A connected one is its own peer. */
const toRts = Effect.fnUntraced(function*(self: QueuePair.QueuePair) {
  const isConnected = self.qpType !== "ud"
  const receiver = { ahAttr: { portNum: 1, dlid: 1 }, destQpNum: self.qpNum, rqPsn: 1, pathMtu: 1024 } as const
  const responder = self.qpType === "rc" ? { maxDestRdAtomic: 1, minRnrTimer: 12 } : {}
  const requester = { timeout: 14, retryCnt: 7, rnrRetry: 7, maxRdAtomic: 1 }
  const access = isConnected ? { qpAccessFlags: [] } : { qkey: 1 }
  yield* QueuePair.modify(self, { qpState: "init", portNum: 1, pkeyIndex: 0, ...access })
  yield* QueuePair.modify(self, { qpState: "rtr", ...(isConnected ? receiver : {}), ...responder })
  yield* QueuePair.modify(self, { qpState: "rts", sqPsn: 1, ...(isConnected ? requester : {}) })
})

const setup = Effect.fnUntraced(function*() {
  const { domain, queue, to } = yield* parts
  const self = yield* QueuePair.makeExtended(domain, { qpType: "rc", ...optionsOf(queue) })
  yield* toRts(self)
  return { domain, queue, self, to }
})

const setupOf = Effect.fnUntraced(function*(qpType: "ud" | "xrcSend") {
  const { domain, queue, to } = yield* parts
  const self = yield* QueuePair.makeExtended(domain, { qpType, ...optionsOf(queue) })
  yield* toRts(self)
  return { domain, queue, self, to }
})

const refuses = Effect.fnUntraced(function*(
  self: QueuePair.QueuePair,
  build: (batch: SendBatch.Builder) => void,
  call: string,
  hint: RegExp
) {
  const error: VerbsError.VerbsError = yield* Effect.flip(SendBatch.post(self, build))
  assertReason(error, call, "EINVAL")
  assert.match(error.message, hint)
})

const request = { wrId: 1n }
const remote = { rkey: 1, remoteAddr: 0n }
const piece = { addr: 0n, length: 1, lkey: 1 }

const late = async (batch: SendBatch.Builder) => {
  await Promise.resolve()
  batch.send(request)
}

const sent = (set: (batch: SendBatch.Builder) => void) => (batch: SendBatch.Builder) => {
  batch.send(request)
  set(batch)
}

describe("batches of the fabric", () => {
  it.effect("the builder ends with its batch", () =>
    run(Effect.gen(function*() {
      const { self } = yield* setup()
      const kept: Array<SendBatch.Builder> = []
      yield* SendBatch.post(self, (batch) => void kept.push(batch))
      const thrown = yield* Effect.exit(SendBatch.post(self, (batch) => {
        kept.push(batch)
        throw new Error("stop")
      }))
      assert.isTrue(Exit.isFailure(thrown))
      assert.strictEqual(kept.length, 2)
      for (const batch of kept) {
        for (const member of Object.values(batch)) {
          assert.throws(() => Reflect.apply(member, undefined, []), /batch has ended/)
        }
      }
    })))

  it.effect("what returns anything is EINVAL", () =>
    run(Effect.gen(function*() {
      const { self } = yield* setup()
      yield* refuses(self, late, "ibv_wr_start", /synchronous/)
      yield* refuses(self, () => Effect.void, "ibv_wr_start", /synchronous/)
    })))

  it.effect("a batch or a reset inside of a batch of the same queue pair is EBUSY, and a batch of another one it is posted", () =>
    run(Effect.gen(function*() {
      const { domain, self } = yield* setup()
      const other = yield* setup()
      const region = yield* MemoryRegion.alloc(domain, { length: 64, access: ["localWrite", "mwBind"] })
      const window = yield* MemoryWindow.alloc(domain, 1)
      let inner: Exit.Exit<void, VerbsError.VerbsError> | undefined
      let bound: Exit.Exit<void, unknown> | undefined
      let reset: Exit.Exit<void, unknown> | undefined
      yield* SendBatch.post(self, () => {
        bound = Effect.runSyncExit(MemoryWindow.bind(window, self, { region, wrId: 1n, access: ["remoteRead"] }))
        inner = Effect.runSyncExit(SendBatch.post(self, () => assert.fail("the builder ran")))
        reset = Effect.runSyncExit(QueuePair.toReset(self))
        Effect.runSync(SendBatch.post(other.self, () => {}))
      })
      assert(reset !== undefined && Exit.isFailure(reset))
      assert.match(Cause.pretty(reset.cause), /ibv_modify_qp.*EBUSY/)
      assert(inner !== undefined)
      assertReason(yield* Effect.flip(inner), "ibv_wr_start", "EBUSY")
      assert(bound !== undefined && Exit.isFailure(bound))
      assert.match(Cause.pretty(bound.cause), /ibv_bind_mw.*EBUSY/)
      yield* SendBatch.post(self, () => {})
    })))

  it.effect("a window is bound by live handles of the device", () =>
    run(Effect.gen(function*() {
      const { domain, self } = yield* setup()
      const other = yield* setup()
      const mr = yield* MemoryRegion.alloc(domain, { length: 64, access: ["localWrite", "mwBind"] })
      const window = yield* MemoryWindow.alloc(domain, 2)
      const bind = { mr, addr: mr.address, length: 1n, access: ["remoteRead"] } as const
      yield* SendBatch.post(self, (batch) => batch.bindMw(request, window, 1, bind))
      yield* refuses(other.self, (batch) => batch.bindMw(request, window, 1, bind), "ibv_wr_bind_mw", /device/)
      const otherWindow = yield* MemoryWindow.alloc(other.domain, 2)
      yield* refuses(other.self, (batch) => batch.bindMw(request, otherWindow, 1, bind), "ibv_wr_bind_mw", /device/)
      const dead = yield* Effect.scoped(MemoryWindow.alloc(domain, 2))
      const exit = yield* Effect.exit(SendBatch.post(self, (batch) => batch.bindMw(request, dead, 1, bind)))
      assert.match(String(exit), /used after it was released/)
    })))

  it.effect("handles of another kind are EINVAL", () =>
    run(Effect.gen(function*() {
      const { domain, self } = yield* setup()
      const datagrams = yield* setupOf("ud")
      const mr = yield* MemoryRegion.alloc(domain, { length: 64, access: ["localWrite", "mwBind"] })
      const window = yield* MemoryWindow.alloc(domain, 2)
      const bind = { addr: mr.address, length: 1n, access: ["remoteRead"] } as const
      // As code without types can call it.
      const binds = (window: unknown, mr: unknown) => (batch: SendBatch.Builder) =>
        void Reflect.apply(batch.bindMw, undefined, [request, window, 1, { ...bind, mr }])
      yield* refuses(self, binds(mr, mr), "ibv_wr_bind_mw", /kind MemoryWindow/)
      yield* refuses(self, binds(window, window), "ibv_wr_bind_mw", /kind MemoryRegion/)
      yield* refuses(
        datagrams.self,
        sent((batch) => Reflect.apply(batch.setUdAddr, undefined, [datagrams.domain, 1, 1])),
        "ibv_wr_set_ud_addr",
        /kind AddressHandle/
      )
      yield* SendBatch.post(self, binds(window, mr))
    })))

  it.effect("calls out of order are EINVAL, and say what is wrong", () =>
    run(Effect.gen(function*() {
      const { self, to } = yield* setup()
      const datagrams = yield* setupOf("ud")
      const xrc = yield* setupOf("xrcSend")
      const bytes = new Uint8Array(1)
      yield* refuses(self, (batch) => batch.setSge(piece), "ibv_wr_set_sge", /No request/)
      yield* refuses(self, (batch) => batch.send(request), "ibv_wr_send", /needs its data/)
      yield* refuses(
        self,
        (batch) => {
          batch.rdmaRead(request, remote)
          batch.localInv(request, 1)
        },
        "ibv_wr_rdma_read",
        /needs its data/
      )
      yield* refuses(datagrams.self, (batch) => batch.send(request), "ibv_wr_send", /needs its data and address/)
      yield* refuses(
        xrc.self,
        (batch) => {
          batch.send(request)
          batch.setSge(piece)
        },
        "ibv_wr_send",
        /needs its address/
      )
      yield* refuses(
        self,
        (batch) => {
          batch.send(request)
          batch.setSge(piece)
          batch.setInlineData(bytes)
        },
        "ibv_wr_set_inline_data",
        /no more data/
      )
      yield* refuses(
        self,
        (batch) => {
          batch.rdmaRead(request, remote)
          batch.setInlineData(bytes)
        },
        "ibv_wr_set_inline_data",
        /no inline data/
      )
      yield* refuses(
        self,
        (batch) => {
          batch.send(request)
          batch.setInlineDataList([bytes, bytes])
          batch.setInlineDataList([])
        },
        "ibv_wr_set_inline_data_list",
        /no more data/
      )
      yield* refuses(
        self,
        (batch) => {
          batch.atomicFetchAdd(request, remote, 1n)
          batch.setInlineDataList([bytes])
        },
        "ibv_wr_set_inline_data_list",
        /no inline data/
      )
      const addressed = (batch: SendBatch.Builder) => {
        batch.send(request)
        batch.setUdAddr(to, 1, 1)
      }
      yield* refuses(self, addressed, "ibv_wr_set_ud_addr", /no such addresses/)
      yield* refuses(xrc.self, addressed, "ibv_wr_set_ud_addr", /no such addresses/)
      yield* refuses(
        datagrams.self,
        (batch) => {
          batch.send(request)
          batch.setXrcSrqn(1)
        },
        "ibv_wr_set_xrc_srqn",
        /no such addresses/
      )
    })))

  it.effect("an address handle of another device is EINVAL", () =>
    run(Effect.gen(function*() {
      const { self } = yield* setupOf("ud")
      const other = yield* setupOf("ud")
      yield* refuses(
        self,
        (batch) => {
          batch.send(request)
          batch.setUdAddr(other.to, 1, 1)
        },
        "ibv_wr_set_ud_addr",
        /device/
      )
    })))

  it.effect("numbers beyond their range are EINVAL, and named", () =>
    run(Effect.gen(function*() {
      const { self } = yield* setup()
      const tooLarge = 2n ** 64n
      const attempts: ReadonlyArray<readonly [RegExp, string, (batch: SendBatch.Builder) => void]> = [
        [/wrId/, "send", (batch) => batch.send({ wrId: -1n })],
        [/immData/, "send_imm", (batch) => batch.sendImm(request, 2 ** 32)],
        [/invalidateRkey/, "send_inv", (batch) => batch.sendInv(request, 0.5)],
        [/invalidateRkey/, "local_inv", (batch) => batch.localInv(request, Number.NaN)],
        [/mss/, "send_tso", (batch) => batch.sendTso(request, new Uint8Array(1), 65536)],
        [/header.length/, "send_tso", (batch) => batch.sendTso(request, new Uint8Array(65536), 1)],
        [/rkey/, "rdma_write", (batch) => batch.rdmaWrite(request, { ...remote, rkey: -1 })],
        [/remoteAddr/, "rdma_read", (batch) => batch.rdmaRead(request, { ...remote, remoteAddr: tooLarge })],
        [/immData/, "rdma_write_imm", (batch) => batch.rdmaWriteImm(request, remote, -1)],
        [/compare/, "atomic_cmp_swp", (batch) => batch.atomicCmpSwp(request, remote, tooLarge, 0n)],
        [/swap/, "atomic_cmp_swp", (batch) => batch.atomicCmpSwp(request, remote, 0n, tooLarge)],
        [/add/, "atomic_fetch_add", (batch) => batch.atomicFetchAdd(request, remote, -1n)],
        [/addr/, "set_sge", sent((batch) => batch.setSge({ ...piece, addr: -1n }))],
        [/length/, "set_sge", sent((batch) => batch.setSge({ ...piece, length: 2 ** 32 }))],
        [/lkey/, "set_sge_list", sent((batch) => batch.setSgeList([piece, { ...piece, lkey: 1.5 }]))]
      ]
      for (const [name, call, build] of attempts) yield* refuses(self, build, `ibv_wr_${call}`, name)
      const datagrams = yield* setupOf("ud")
      const to = (qpn: number, qkey: number) => sent((batch) => batch.setUdAddr(datagrams.to, qpn, qkey))
      yield* refuses(datagrams.self, to(2 ** 24, 1), "ibv_wr_set_ud_addr", /remoteQpn/)
      yield* refuses(datagrams.self, to(1, 2 ** 32), "ibv_wr_set_ud_addr", /remoteQkey/)
      const xrc = yield* setupOf("xrcSend")
      yield* refuses(xrc.self, sent((batch) => batch.setXrcSrqn(-1)), "ibv_wr_set_xrc_srqn", /remoteSrqn/)
    })))
})
