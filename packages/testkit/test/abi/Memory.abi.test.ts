/**
 * Memory on the echo provider, field by field as the C compiler reads and writes it: what no kernel of a test machine has,
 * and what a real provider does not do on demand.
 */
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import { ReleaseError } from "@effect-rdma/core/ReleaseError"
import * as Resource from "@effect-rdma/core/Resource"
import * as Lane from "@effect-rdma/testkit/conformance/Lane"
import * as LeakCheck from "@effect-rdma/testkit/LeakCheck"
import * as AccessFlags from "@effect-rdma/verbs/AccessFlags"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as DeviceMemory from "@effect-rdma/verbs/DeviceMemory"
import * as DmabufDescriptor from "@effect-rdma/verbs/DmabufDescriptor"
import * as DmaBuffer from "@effect-rdma/verbs/DmaBuffer"
import * as DmaHandle from "@effect-rdma/verbs/DmaHandle"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import * as MemoryWindow from "@effect-rdma/verbs/MemoryWindow"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as Verbs from "@effect-rdma/verbs/Verbs"
import { assert, describe, vi } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import { openSync, readdirSync } from "node:fs"
import { koffi as loadKoffi } from "../../../core/src/internal/koffi.ts"
import * as Compiler from "./Compiler.ts"
import * as Echo from "./Echo.ts"

const names = (calls: ReadonlyArray<Echo.Report>) => calls.map(({ op }) => op)
const address = (handle: Resource.Resource<string, bigint>) => String(Resource.raw(handle))
const mrOf = (region: MemoryRegion.MemoryRegion) => String(Resource.raw(region).mr)
const defects = (exit: Exit.Exit<unknown, unknown>): ReadonlyArray<unknown> =>
  Exit.isFailure(exit) ? exit.cause.reasons.filter(Cause.isDieReason).map(({ defect }) => defect) : []
const koffi = loadKoffi()
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex")
const openFiles = () => readdirSync("/proc/self/fd").length

/** A bind with nothing looked at before. */
const bindAs = (self: QueuePair.QueuePair, mw: MemoryWindow.MemoryWindow, mr: MemoryRegion.MemoryRegion) =>
  mw.context.verbs.bindMw(Resource.raw(self), Resource.raw(mw), {
    wrId: 0n,
    flags: [],
    mr: Resource.raw(mr).mr,
    addr: mr.address,
    length: 1n,
    access: []
  })

const keys = { handle: 0x8000_0001, lkey: 0x8000_0002, rkey: 0xffff_fffe }

describe.skipIf(Compiler.missing !== undefined)("memory of libibverbs", () => {
  const lane = Echo.lane()
  const test = Lane.test(lane)
  const { echo } = lane
  const domain = Effect.tap(
    Effect.flatMap(DeviceContext.openByName("echo0"), ProtectionDomain.alloc),
    () => Effect.sync(() => echo().calls())
  )

  // ---------------------------------------------------------------------------
  // Regions
  // ---------------------------------------------------------------------------

  test("allocated memory is registered where it is, and is still there when it is deregistered", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const mr = yield* Effect.scoped(Effect.gen(function*() {
        const region = yield* MemoryRegion.alloc(pd, { length: 60, access: ["localWrite", "remoteRead"] })
        const at = String(NativeMemory.addressOf(region.bytes))
        assert.deepStrictEqual(echo().calls(), [{
          op: "reg_mr_iova2",
          pd: address(pd),
          addr: at,
          length: "60",
          iova: at,
          access: "5",
          bytes: "00".repeat(60)
        }])
        assert.deepInclude<object>(region, { ...keys, address: BigInt(at), length: 60n })
        region.bytes[0] = 201
        return mrOf(region)
      }))
      assert.deepStrictEqual(echo().calls(), [{ op: "dereg_mr", mr, first: "201" }])
    }))

  test("every flag of access is its bit", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      for (const flag of AccessFlags.all) {
        const access = flag.startsWith("remote") ? ["localWrite", flag] as const : [flag]
        yield* Effect.scoped(MemoryRegion.alloc(pd, { length: 1, access }))
        assert.deepInclude(echo().calls()[0], { access: String(AccessFlags.toNative(access)) })
      }
    }))

  test("memory of the caller is registered from its first byte, with the address of choice", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const bytes = Uint8Array.from({ length: 32 }, (_, index) => index).subarray(8, 24)
      const region = yield* MemoryRegion.register(pd, bytes, { access: [], iova: 0xffff_ffff_ffff_f008n })
      assert.deepInclude(echo().calls()[0], {
        op: "reg_mr_iova2",
        length: "16",
        bytes: hex(bytes),
        iova: "18446744073709547528",
        access: "0"
      })
      assert.strictEqual(region.address, 0xffff_ffff_ffff_f008n)
    }))

  test("a registration that is refused leaves nothing, and tells of the limit of locked memory", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const live = echo().live()
      for (const errno of [12, 1, 22, 0]) {
        echo().script("reg_mr_iova2", { errno })
        const error = yield* Effect.flip(MemoryRegion.alloc(pd, { length: 12_345 }))
        assert.strictEqual(error._tag, "VerbsError")
        if (error._tag !== "VerbsError") return
        assert.strictEqual(error.call, "ibv_reg_mr")
        assert.strictEqual(error.reason.errno, errno)
        const hint = error.hint ?? ""
        if (errno === 12 || errno === 1) assert.match(hint, /Pinning 12345 bytes failed.*(RLIMIT_MEMLOCK|not limited)/)
        else assert.strictEqual(hint, "")
      }
      assert.strictEqual(echo().live(), live)
      echo().calls()
    }))

  test("when deregistering fails, the memory stays mapped and the exit tells it", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs.Verbs
      const pointer = echo().open("rdmaCore")
      let kept: MemoryRegion.MemoryRegion | undefined
      let raw: MemoryRegion.Raw | undefined
      const exit = yield* Effect.exit(LeakCheck.check(Effect.gen(function*() {
        const pd = yield* Effect.flatMap(DeviceContext.borrow(pointer), ProtectionDomain.alloc)
        kept = yield* MemoryRegion.alloc(pd, { length: 8192 })
        raw = Resource.raw(kept)
        echo().script("dereg_mr", { result: 16 })
      })))
      const [release] = defects(exit)
      assert.instanceOf(release, ReleaseError)
      assert.deepInclude(release, { call: "ibv_dereg_mr", errno: 16 })
      assert.strictEqual(kept?.bytes.length, 8192)
      kept?.bytes.fill(1)
      if (raw !== undefined) yield* verbs.deregMr(raw.mr)
      echo().close(pointer)
    }))

  test("EIO counts as released, but the memory stays mapped", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs.Verbs
      const pd = yield* domain
      const [region, { mr }] = yield* Effect.scoped(Effect.map(MemoryRegion.alloc(pd, { length: 8192 }), (region) => {
        echo().script("dereg_mr", { result: 5 })
        return [region, Resource.raw(region)] as const
      }))
      assert.strictEqual(region.bytes.length, 8192)
      yield* verbs.deregMr(mr)
    }))

  test("a region on a dma-buf, on device memory and on nothing", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const memory = yield* DeviceMemory.alloc(pd.context, { length: 128 })
      echo().calls()
      yield* MemoryRegion.registerDmabuf(pd, {
        fd: 77,
        offset: 2 ** 40,
        length: 2 ** 33,
        iova: 1n << 63n,
        access: ["remoteRead"]
      })
      yield* MemoryRegion.registerDeviceMemory(pd, memory, {
        offset: 64,
        length: 32,
        access: ["localWrite", "remoteAtomic"]
      })
      const none = yield* MemoryRegion.allocNull(pd)
      assert.deepStrictEqual(echo().calls(), [
        {
          op: "reg_dmabuf_mr",
          pd: address(pd),
          offset: String(2 ** 40),
          length: String(2 ** 33),
          iova: String(1n << 63n),
          fd: "77",
          access: "4"
        },
        {
          op: "reg_dm_mr",
          pd: address(pd),
          dm: address(memory),
          offset: "64",
          length: "32",
          access: String(1 + 8 + 32)
        },
        { op: "alloc_null_mr", pd: address(pd) }
      ])
      assert.deepInclude<object>(none, { ...keys, length: 0xffff_ffff_ffff_ffffn })
      for (
        const [op, make] of [
          ["reg_dmabuf_mr", MemoryRegion.registerDmabuf(pd, { fd: 1, length: 1 })],
          ["reg_dm_mr", MemoryRegion.registerDeviceMemory(pd, memory, { length: 1 })],
          ["alloc_null_mr", MemoryRegion.allocNull(pd)]
        ] as const
      ) {
        echo().script(op, { errno: 95 })
        assert.deepInclude(yield* Effect.flip(make), { call: `ibv_${op}` })
      }
    }))

  test("a change passes what changes, and reads back the keys", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const to = yield* ProtectionDomain.alloc(pd.context)
      const region = yield* MemoryRegion.alloc(pd, { length: 64 })
      const unchanged = { op: "rereg_mr", mr: mrOf(region), pd: "0", addr: "0", length: "0", access: "0" }
      echo().calls()
      yield* MemoryRegion.rereg(region, { access: ["localWrite", "remoteWrite"] })
      assert.deepStrictEqual(echo().calls(), [{ ...unchanged, flags: "4", access: "3" }])
      assert.deepInclude<object>(region, { lkey: keys.lkey + 1, rkey: keys.rkey - 1 })
      yield* MemoryRegion.rereg(region, { domain: to })
      assert.deepStrictEqual(echo().calls(), [{ ...unchanged, flags: "2", pd: address(to) }])
      const bytes = new Uint8Array(100)
      yield* MemoryRegion.rereg(region, { domain: pd, bytes, access: [] })
      const at = NativeMemory.addressOf(bytes)
      assert.deepStrictEqual(echo().calls(), [
        { ...unchanged, flags: "7", pd: address(pd), addr: String(at), length: "100" }
      ])
      assert.deepInclude<object>(region, { address: at, length: 100n, lkey: keys.lkey + 3 })
    }))

  for (
    const [result, code, usable] of [
      [-1, "IBV_REREG_MR_ERR_INPUT", true],
      [-2, "IBV_REREG_MR_ERR_DONT_FORK_NEW", true],
      [-3, "IBV_REREG_MR_ERR_DO_FORK_OLD", false],
      [-4, "IBV_REREG_MR_ERR_CMD", false],
      [-5, "IBV_REREG_MR_ERR_CMD_AND_DO_FORK_NEW", false]
    ] as const
  ) {
    test(`${code} leaves the region ${usable ? "as it was" : "unusable"}, and it is deregistered`, () =>
      Effect.gen(function*() {
        const pd = yield* domain
        yield* Effect.scoped(Effect.gen(function*() {
          const region = yield* MemoryRegion.alloc(pd, { length: 64 })
          echo().script("rereg_mr", { result, errno: 12 })
          const error = yield* Effect.flip(MemoryRegion.rereg(region, { bytes: new Uint8Array(8) }))
          assert.deepInclude(error, { call: "ibv_rereg_mr", input: { code } })
          assert.strictEqual(region.usable, usable)
          assert.strictEqual(region.bytes.length, 64)
          echo().calls()
          const again = yield* Effect.exit(MemoryRegion.rereg(region, { access: [] }))
          assert.strictEqual(Exit.isSuccess(again), usable)
          assert.strictEqual(echo().calls().length, usable ? 1 : 0)
        }))
        assert.deepStrictEqual(names(echo().calls()), ["dereg_mr"])
      }))
  }

  test("advice names a part of the region by its local key", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const region = yield* MemoryRegion.alloc(pd, { length: 5000, access: ["onDemand"], iova: 0x10000n })
      echo().calls()
      yield* MemoryRegion.advise(region, { advice: "prefetchNoFault", offset: 16, length: 100 })
      yield* MemoryRegion.advise(region, { advice: "prefetchWrite", flush: true })
      yield* MemoryRegion.advise(region, { advice: "prefetch" })
      const common = { op: "advise_mr", pd: address(pd), num_sge: "1" }
      assert.deepStrictEqual(echo().calls(), [
        { ...common, advice: "2", flags: "0", sge0: `65552 100 ${keys.lkey}` },
        { ...common, advice: "1", flags: "1", sge0: `65536 5000 ${keys.lkey}` },
        { ...common, advice: "0", flags: "0", sge0: `65536 5000 ${keys.lkey}` }
      ])
      echo().script("advise_mr", { result: 14 })
      const error = yield* Effect.flip(MemoryRegion.advise(region, { advice: "prefetch" }))
      assert.deepInclude(error, { call: "ibv_advise_mr" })
      const verbs = yield* Verbs.Verbs
      yield* verbs.adviseMr(Resource.raw(pd), "prefetch", false, [
        { addr: 1n << 63n, length: 0xffff_ffff, lkey: 1 },
        { addr: 2n, length: 3, lkey: 4 }
      ])
      assert.deepInclude(echo().last(), { num_sge: "2", sge0: `${1n << 63n} 4294967295 1`, sge1: "2 3 4" })
    }))

  // ---------------------------------------------------------------------------
  // Windows
  // ---------------------------------------------------------------------------

  test("a window of each type is made in its domain, a refused one leaves nothing", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      for (const type of [1, 2] as const) {
        const mw = yield* Effect.scoped(Effect.map(MemoryWindow.alloc(pd, type), (window) => {
          assert.deepInclude<object>(window, { type, rkey: 0x8765_4321, handle: 0x8000_0003 })
          return address(window)
        }))
        assert.deepStrictEqual(echo().calls(), [
          { op: "alloc_mw", pd: address(pd), type: String(type) },
          { op: "dealloc_mw", mw }
        ])
      }
      echo().script("alloc_mw", { errno: 95 })
      assert.deepInclude(yield* Effect.flip(MemoryWindow.alloc(pd, 2)), { call: "ibv_alloc_mw" })
    }))

  const connected = Effect.fnUntraced(function*(pd: ProtectionDomain.ProtectionDomain) {
    const queue = yield* CompletionQueue.make(pd.context, { cqe: 8 })
    const queuePair = yield* QueuePair.make(pd, { qpType: "rc", sendCq: queue, recvCq: queue, cap: { maxSendWr: 8 } })
    yield* QueuePair.modify(queuePair, { qpState: "rts" })
    return { queue, queuePair }
  })

  test("a bind: every field, the key that comes of it, and the window goes before the region", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const { queue, queuePair } = yield* connected(pd)
      const window = yield* MemoryWindow.alloc(pd, 1)
      yield* Effect.scoped(Effect.gen(function*() {
        const region = yield* MemoryRegion.alloc(pd, { length: 100, access: ["localWrite", "mwBind"] })
        echo().calls()
        const last = Effect.suspend(() => Echo.completed(echo(), queue, [echo().last()]))
        const report = {
          op: "bind_mw",
          qp: address(queuePair),
          mw: address(window),
          wr_id: "0",
          send_flags: "0",
          mr: mrOf(region),
          addr: String(region.address),
          length: "100",
          mw_access_flags: "0"
        }
        yield* MemoryWindow.bind(window, queuePair, { region, access: [] })
        assert.deepStrictEqual(yield* last, [report])
        assert.strictEqual(window.rkey, 0x8765_4322)
        yield* MemoryWindow.bind(window, queuePair, { region, length: 0, access: [] })
        assert.deepStrictEqual(yield* last, [{ ...report, length: "0" }])
        for (
          const [access, bits] of [
            ["remoteWrite", 2],
            ["remoteRead", 4],
            ["remoteAtomic", 8],
            ["zeroBased", 32]
          ] as const
        ) {
          yield* MemoryWindow.bind(window, queuePair, { region, access: [access] })
          assert.deepStrictEqual(yield* last, [{ ...report, mw_access_flags: String(bits) }])
        }
        for (const [flag, bits] of [["fence", 1], ["signaled", 2]] as const) {
          yield* MemoryWindow.bind(window, queuePair, { region, access: [], flags: [flag] })
          assert.deepStrictEqual(yield* last, [{ ...report, send_flags: String(bits) }])
        }
        const wrId = 0xffff_ffff_ffff_ffffn
        yield* MemoryWindow.bind(window, queuePair, {
          region,
          offset: 60,
          length: 40,
          access: ["remoteRead", "remoteWrite"],
          wrId,
          flags: ["signaled", "fence"]
        })
        assert.deepStrictEqual(yield* last, [{
          ...report,
          wr_id: String(wrId),
          send_flags: "3",
          addr: String(region.address + 60n),
          length: "40",
          mw_access_flags: "6"
        }])
        assert.strictEqual(window.rkey, 0x8765_4321 + 9)
        echo().calls()
      }))
      assert.deepStrictEqual(names(echo().calls()), ["dealloc_mw", "dereg_mr"])
    }))

  test("a bind that the provider refuses changes nothing, and what C refuses does not reach it", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const { queuePair } = yield* connected(pd)
      const [window, other] = [yield* MemoryWindow.alloc(pd, 1), yield* MemoryWindow.alloc(pd, 2)]
      const elsewhere = yield* MemoryRegion.alloc(yield* ProtectionDomain.alloc(pd.context), { length: 1 })
      yield* Effect.scoped(Effect.gen(function*() {
        const region = yield* MemoryRegion.alloc(pd, { length: 100, access: ["localWrite", "mwBind"] })
        for (const [result, reason] of [[12, "ENOMEM"], [22, "EINVAL"], [95, "EOPNOTSUPP"]] as const) {
          echo().script("bind_mw", { result, errno: 1 })
          const error = yield* Effect.flip(MemoryWindow.bind(window, queuePair, { region, access: ["remoteRead"] }))
          assert.deepInclude(error, { call: "ibv_bind_mw" })
          assert.include(error.message, reason)
        }
        assert.strictEqual(window.rkey, 0x8765_4321)
        echo().calls()
        assert.include((yield* Effect.flip(bindAs(queuePair, other, region))).message, "EINVAL")
        assert.include((yield* Effect.flip(bindAs(queuePair, window, elsewhere))).message, "EPERM")
        assert.deepStrictEqual(echo().calls(), [])
      }))
      // Nothing was bound, so the region goes alone.
      assert.deepStrictEqual(names(echo().calls()), ["dereg_mr"])
    }))

  const releases: ReadonlyArray<{
    readonly op: string
    readonly make: (
      pd: ProtectionDomain.ProtectionDomain
    ) => Effect.Effect<Effect.Effect<void, unknown>, unknown, Scope.Scope>
  }> = [
    {
      op: "dealloc_mw",
      make: (pd) => Effect.map(MemoryWindow.alloc(pd, 2), (made) => pd.context.verbs.deallocMw(Resource.raw(made)))
    },
    {
      op: "free_dm",
      make: ({ context }) =>
        Effect.map(DeviceMemory.alloc(context, { length: 64 }), (made) => context.verbs.freeDm(Resource.raw(made)))
    },
    {
      op: "dealloc_dmah",
      make: ({ context }) =>
        Effect.map(DmaHandle.alloc(context), (made) => context.verbs.deallocDmah(Resource.raw(made)))
    }
  ]

  for (const { make, op } of releases) {
    test(`when ${op} fails, the exit tells it`, () =>
      Effect.gen(function*() {
        const pointer = echo().open("rdmaCore")
        let again: Effect.Effect<void, unknown> = Effect.void
        const exit = yield* Effect.exit(LeakCheck.check(Effect.gen(function*() {
          again = yield* make(yield* Effect.flatMap(DeviceContext.borrow(pointer), ProtectionDomain.alloc))
          echo().script(op, { result: 16 })
        })))
        assert.deepInclude(defects(exit)[0], { call: `ibv_${op}`, errno: 16 })
        yield* again
        echo().close(pointer)
      }))
  }

  // ---------------------------------------------------------------------------
  // Device memory
  // ---------------------------------------------------------------------------

  test("device memory is allocated, written, read and freed through the functions that it carries", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const { context } = pd
      const dm = yield* Effect.scoped(Effect.gen(function*() {
        const memory = yield* DeviceMemory.alloc(context, { length: 128, logAlignReq: 6 })
        assert.strictEqual(memory.handle, 0x8000_0004)
        const dm = address(memory)
        const bytes = new Uint8Array([1, 2, 3, 254])
        yield* DeviceMemory.memcpyTo(memory, 96, bytes)
        assert.deepStrictEqual(yield* DeviceMemory.memcpyFrom(memory, 96, 4), bytes)
        assert.deepStrictEqual(echo().calls(), [
          { op: "alloc_dm", context: address(context), length: "128", log_align_req: "6", comp_mask: "0" },
          { op: "memcpy_to_dm", dm, offset: "96", bytes: "010203fe" },
          { op: "memcpy_from_dm", dm, offset: "96", length: "4" }
        ])
        echo().script("memcpy_to_dm", { result: 14, errno: 1 })
        const written = yield* Effect.flip(DeviceMemory.memcpyTo(memory, 0, bytes))
        assert.deepInclude(written, { call: "ibv_memcpy_to_dm" })
        assert.include(written.message, "EFAULT")
        echo().script("memcpy_from_dm", { result: 22 })
        assert.include((yield* Effect.flip(DeviceMemory.memcpyFrom(memory, 0, 4))).message, "EINVAL")
        echo().calls()
        return dm
      }))
      assert.deepStrictEqual(echo().calls(), [{ op: "free_dm", dm }])
      echo().script("alloc_dm", { errno: 12 })
      assert.deepInclude(yield* Effect.flip(DeviceMemory.alloc(context, { length: 1 })), { call: "ibv_alloc_dm" })
    }))

  // ---------------------------------------------------------------------------
  // What came after rdma-core 44
  // ---------------------------------------------------------------------------

  test("the hints of a DMA handle have their bits, and a region with it goes before it", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const { context } = pd
      const none = {
        op: "alloc_dmah",
        context: address(context),
        comp_mask: "0",
        cpu_id: "0",
        ph: "0",
        tph_mem_type: "0"
      }
      for (
        const [hints, report] of [
          [{}, {}],
          [{ cpuId: 0xffff_ffff }, { comp_mask: "1", cpu_id: "4294967295" }],
          [{ ph: 255 }, { comp_mask: "2", ph: "255" }],
          [{ tphMemType: "persistent" }, { comp_mask: "4", tph_mem_type: "1" }],
          [{ cpuId: 1, ph: 2, tphMemType: "volatile" }, { comp_mask: "7", cpu_id: "1", ph: "2" }]
        ] as const
      ) {
        yield* Effect.scoped(DmaHandle.alloc(context, hints))
        assert.deepStrictEqual(echo().calls()[0], { ...none, ...report })
      }
      yield* Effect.scoped(Effect.gen(function*() {
        const dmaHandle = yield* DmaHandle.alloc(context)
        const dmah = address(dmaHandle)
        echo().calls()
        const region = yield* MemoryRegion.alloc(pd, { length: 64, access: ["localWrite"], dmaHandle })
        const report = {
          op: "reg_mr_ex",
          pd: address(pd),
          length: "64",
          access: "1",
          comp_mask: String(2 + 16),
          iova: "0",
          addr: String(region.address),
          fd: "0",
          fd_offset: "0",
          dmah,
          buf: "0"
        }
        yield* MemoryRegion.register(pd, region.bytes, { dmaHandle, iova: 4096n })
        yield* MemoryRegion.registerDmabuf(pd, { fd: 9, offset: 8, length: 7, iova: 6n, access: [], dmaHandle })
        assert.deepStrictEqual(echo().calls(), [
          report,
          { ...report, comp_mask: String(1 + 2 + 16), iova: "4096" },
          {
            ...report,
            comp_mask: String(1 + 4 + 8 + 16),
            addr: "0",
            iova: "6",
            fd: "9",
            fd_offset: "8",
            length: "7",
            access: "0"
          }
        ])
      }))
      assert.deepStrictEqual(names(echo().calls()), ["dereg_mr", "dereg_mr", "dereg_mr", "dealloc_dmah"])
      echo().script("alloc_dmah", { errno: 22 })
      assert.deepInclude(yield* Effect.flip(DmaHandle.alloc(context)), { call: "ibv_alloc_dmah" })
    }))

  test("a buffer is the library's own memory, and freed after the regions on it", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const [buf, bytes] = yield* Effect.scoped(Effect.gen(function*() {
        const buffer = yield* DmaBuffer.alloc(pd, 16)
        buffer.bytes.set([1, 2, 3])
        yield* MemoryRegion.registerBuffer(pd, buffer, { offset: 4, length: 8, access: ["remoteRead"] })
        assert.deepStrictEqual(echo().calls(), [
          { op: "alloc_buf", pd: address(pd), size: "16" },
          { op: "reg_buf_mr", pd: address(pd), buf: address(buffer), offset: "4", length: "8", access: "4" }
        ])
        return [address(buffer), buffer.bytes] as const
      }))
      const calls = echo().calls()
      assert.deepStrictEqual(names(calls), ["dereg_mr", "free_buf"])
      assert.deepStrictEqual(calls[1], { op: "free_buf", buf, bytes: `010203${"00".repeat(13)}` })
      assert.strictEqual(bytes.length, 0)
      echo().script("alloc_buf", { errno: 12 })
      assert.deepInclude(yield* Effect.flip(DmaBuffer.alloc(pd, 16)), { call: "ibv_alloc_buf" })
    }))

  test("a buffer that JS refuses to see is freed", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const { view } = koffi
      const refusing = vi.spyOn(koffi, "view").mockImplementation((address, length) => {
        if (length === 4321) throw new Error("no external buffers")
        return view(address, length)
      })
      const exit = yield* Effect.exit(DmaBuffer.alloc(pd, 4321))
      refusing.mockRestore()
      assert.match(String(exit), /no external buffers/)
      assert.deepStrictEqual(names(echo().calls()), ["alloc_buf", "free_buf"])
    }))

  test("exports are descriptors that are closed with the scope", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const memory = yield* DeviceMemory.alloc(pd.context, { length: 64 })
      const buffer = yield* DmaBuffer.alloc(pd, 64)
      const before = openFiles()
      yield* Effect.scoped(Effect.gen(function*() {
        yield* DmabufDescriptor.fromDeviceMemory(memory)
        assert.deepStrictEqual(echo().last(), { op: "dm_export_dmabuf_fd", dm: address(memory) })
        yield* DmabufDescriptor.fromBuffer(buffer)
        assert.deepStrictEqual(echo().last(), { op: "export_buf_dmabuf_fd", buf: address(buffer) })
        assert.strictEqual(openFiles(), before + 2)
      }))
      assert.strictEqual(openFiles(), before)
      echo().script("dm_export_dmabuf_fd", { result: -1, errno: 95 })
      const error = yield* Effect.flip(DmabufDescriptor.fromDeviceMemory(memory))
      assert.include(error.message, "EOPNOTSUPP")
      const closed = yield* Effect.flip(pd.context.verbs.closeFd(999_999))
      assert.include(closed.message, "EBADF")
    }))

  // ---------------------------------------------------------------------------
  // Imports
  // ---------------------------------------------------------------------------

  test("what is imported is unimported, children first, and the descriptor stays the caller's", () =>
    Effect.gen(function*() {
      const fd = yield* Effect.acquireRelease(
        Effect.sync(() => openSync("/dev/null", "r")),
        (fd) => Effect.orDie(Effect.flatMap(Verbs.Verbs, (verbs) => verbs.closeFd(fd)))
      )
      const before = openFiles()
      yield* Effect.scoped(Effect.gen(function*() {
        const context = yield* DeviceContext.import(fd)
        assert.strictEqual(context.name, "echo0")
        assert.strictEqual(openFiles(), before + 1)
        assert.notStrictEqual(yield* DeviceContext.commandDescriptor(context), fd)
        const pd = yield* ProtectionDomain.import(context, 0xffff_ffff)
        assert.strictEqual(yield* ProtectionDomain.handle(pd), 0xffff_ffff)
        const region = yield* MemoryRegion.import(pd, 5)
        const memory = yield* DeviceMemory.import(context, 6)
        assert.deepInclude<object>(region, { ...keys, handle: 5, length: 77n })
        assert.strictEqual(memory.handle, 6)
        assert.deepStrictEqual(echo().calls(), [
          { op: "import_device", usable: "1" },
          { op: "import_pd", context: address(context), handle: "4294967295" },
          { op: "import_mr", pd: address(pd), handle: "5" },
          { op: "import_dm", context: address(context), handle: "6" }
        ])
        for (
          const [op, make] of [
            ["import_pd", Effect.asVoid(ProtectionDomain.import(context, 1))],
            ["import_mr", Effect.asVoid(MemoryRegion.import(pd, 1))],
            ["import_dm", Effect.asVoid(DeviceMemory.import(context, 1))]
          ] as const
        ) {
          echo().script(op, { errno: 2 })
          assert.deepInclude(yield* Effect.flip(make), { call: `ibv_${op}` })
        }
        echo().calls()
      }))
      assert.deepStrictEqual(names(echo().calls()), ["unimport_dm", "unimport_mr", "unimport_pd", "close_device"])
      assert.strictEqual(openFiles(), before)
    }))

  for (const closes of [true, false]) {
    test(`a failed import leaves no descriptor when the provider ${closes ? "closed it" : "did not close it"}`, () =>
      Effect.gen(function*() {
        const fd = yield* Effect.acquireRelease(
          Effect.sync(() => openSync("/dev/null", "r")),
          (fd) => Effect.orDie(Effect.flatMap(Verbs.Verbs, (verbs) => verbs.closeFd(fd)))
        )
        const before = openFiles()
        echo().script("import_device", { result: closes ? 1 : 0, errno: 19 })
        const error = yield* Effect.flip(DeviceContext.import(fd))
        assert.deepInclude(error, { call: "ibv_import_device", input: { cmdFd: fd } })
        assert.include(error.message, "ENODEV")
        assert.strictEqual(openFiles(), before)
      }))
  }

  test("what an old provider lacks is EOPNOTSUPP", () =>
    Effect.gen(function*() {
      for (const flavour of ["oldRdmaCore", "legacy", "mlnxOfed"] as const) {
        const pointer = echo().open(flavour)
        yield* Effect.scoped(Effect.gen(function*() {
          const context = yield* DeviceContext.borrow(pointer)
          const pd = yield* ProtectionDomain.alloc(context)
          const { verbs } = context
          const raw = Resource.raw(pd)
          for (
            const attempt of [
              verbs.allocNullMr(raw),
              verbs.adviseMr(raw, "prefetch", false, []),
              verbs.allocMw(raw, 1),
              verbs.allocDm(Resource.raw(context), { length: 1n, logAlignReq: 0 })
            ]
          ) {
            assert.include((yield* Effect.flip(Effect.asVoid(attempt))).message, "EOPNOTSUPP")
          }
        }))
        echo().close(pointer)
      }
    }))
})

describe.skipIf(Compiler.missing !== undefined)("memory of an old libibverbs", () => {
  const lane = Echo.lane(["-DOLD_LIBRARY"])
  const test = Lane.test(lane)
  const { echo } = lane
  const domain = Effect.flatMap(DeviceContext.openByName("echo0"), ProtectionDomain.alloc)

  test("regions are made by the functions that it has", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      yield* MemoryRegion.alloc(pd, { length: 64, access: ["relaxedOrdering"] })
      assert.deepInclude(echo().last(), { op: "reg_mr", length: "64", access: String(1 << 20) })
      yield* MemoryRegion.alloc(pd, { length: 64, iova: 0x1000n })
      assert.deepInclude(echo().last(), { op: "reg_mr_iova", length: "64", iova: "4096", access: "1" })
    }))

  test("what it lacks is EOPNOTSUPP, and the library is not called", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const { context } = pd
      const { verbs } = context
      const memory = yield* DeviceMemory.alloc(context, { length: 64 })
      echo().calls()
      const attempts: ReadonlyArray<
        readonly [string, Effect.Effect<unknown, { readonly message: string }, Scope.Scope | Verbs.Verbs>]
      > = [
        ["ibv_reg_dmabuf_mr", MemoryRegion.registerDmabuf(pd, { fd: 0, length: 1 })],
        ["ibv_reg_mr_ex", verbs.regMrEx(Resource.raw(pd), { length: 1n, access: [], bytes: new Uint8Array(1) })],
        ["ibv_alloc_dmah", DmaHandle.alloc(context)],
        ["ibv_alloc_buf", DmaBuffer.alloc(pd, 1)],
        ["ibv_dm_export_dmabuf_fd", DmabufDescriptor.fromDeviceMemory(memory)],
        ["ibv_import_device", DeviceContext.import(0)],
        ["ibv_import_pd", ProtectionDomain.import(context, 0)],
        ["ibv_import_mr", MemoryRegion.import(pd, 0)],
        ["ibv_import_dm", DeviceMemory.import(context, 0)]
      ]
      for (const [call, attempt] of attempts) {
        const { message } = yield* Effect.flip(attempt)
        assert.include(message, call)
        assert.include(message, "EOPNOTSUPP")
      }
      assert.deepStrictEqual(echo().calls(), [])
    }))
})
