import * as Library from "@effect-rdma/core/Library"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as ReturnConvention from "@effect-rdma/core/ReturnConvention"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as DeviceLayout from "../../../verbs/src/internal/DeviceLayout.ts"
import * as DomainLayout from "../../../verbs/src/internal/DomainLayout.ts"
import * as Experimental from "../../../verbs/src/internal/ExperimentalLayout.ts"
import * as Compiler from "./Compiler.ts"
import * as Echo from "./Echo.ts"

const word = (address: bigint) => NativeMemory.view(address, 8).getBigUint64(0, true)

const operation = (context: bigint, name: keyof typeof DeviceLayout.contextOps) =>
  word(context - BigInt(DeviceLayout.contextOps[name].below))

const identity = (errno: number) => errno

describe.skipIf(Compiler.missing !== undefined)("the echo provider", () => {
  it.live("lays a context out as rdma-core does", () =>
    Effect.gen(function*() {
      const echo = yield* Echo.make
      const context = echo.open("rdmaCore")
      const { abiCompat, device, numCompVectors } = DeviceLayout.Context.read(
        NativeMemory.view(context, DeviceLayout.Context.size)
      )
      assert.strictEqual(abiCompat, 2n ** 64n - 1n)
      assert.strictEqual(numCompVectors, 4)
      assert.deepInclude(DeviceLayout.Device.read(NativeMemory.view(device, DeviceLayout.Device.size)), {
        name: "echo0",
        devName: "uverbs0",
        ibdevPath: "/sys/class/infiniband/echo0",
        nodeType: 1,
        transportType: 0
      })
      assert.isAtLeast(
        Number(operation(context, "sz")),
        DeviceLayout.Context.size + DeviceLayout.contextOps.queryPort.below
      )
      assert.strictEqual(operation(context, "hasCompMask"), 0n)
      echo.close(context)
    }))

  it.live("receives thread and parent domains field by field", () =>
    Effect.gen(function*() {
      const echo = yield* Echo.make
      const context = echo.open("rdmaCore")
      const allocTd = Library.fromAddress(operation(context, "allocTd"), ["pointer", "buffer"], "pointer")
      const allocParentDomain = Library.fromAddress(
        operation(context, "allocParentDomain"),
        ["pointer", "buffer"],
        "pointer"
      )
      const deallocTd = Library.fromAddress(operation(context, "deallocTd"), ["pointer"], "int")

      const tdAttr = DomainLayout.TdInitAttr.allocate()
      DomainLayout.TdInitAttr.write(tdAttr, { compMask: 0xdeadbeef })
      const td = yield* ReturnConvention.pointerOrErrno(() => allocTd(context, tdAttr), identity)
      assert.deepStrictEqual(echo.last(), { op: "alloc_td", context: String(context), comp_mask: String(0xdeadbeef) })

      const attr = DomainLayout.ParentDomainInitAttr.allocate()
      DomainLayout.ParentDomainInitAttr.write(attr, { pd: 1n, td, compMask: 2, alloc: 3n, free: 4n, pdContext: 5n })
      yield* ReturnConvention.pointerOrErrno(() => allocParentDomain(context, attr), identity)
      assert.deepStrictEqual(echo.last(), {
        op: "alloc_parent_domain",
        context: String(context),
        pd: "1",
        td: String(td),
        comp_mask: "2",
        alloc: "3",
        free: "4",
        pd_context: "5"
      })

      echo.script("dealloc_td", { result: 16, errno: 1 })
      assert.strictEqual(yield* Effect.flip(ReturnConvention.returnedErrno(() => deallocTd(td), identity)), 16)
      yield* ReturnConvention.returnedErrno(() => deallocTd(td), identity)
      assert.strictEqual(echo.live(), 1)
      echo.close(context)
    }))

  it.live("fails as scripted, with an errno and without", () =>
    Effect.gen(function*() {
      const echo = yield* Echo.make
      const context = echo.open("rdmaCore")
      const allocTd = Library.fromAddress(operation(context, "allocTd"), ["pointer", "buffer"], "pointer")
      const call = ReturnConvention.pointerOrErrno(() => allocTd(context, DomainLayout.TdInitAttr.allocate()), identity)
      echo.script("alloc_td", { errno: 12 })
      echo.script("alloc_td", {})
      assert.strictEqual(yield* Effect.flip(call), 12)
      assert.strictEqual(yield* Effect.flip(call), 0)
      assert.isAbove(Number(yield* call), 0)
      echo.close(context)
    }))

  it.live("fills a port", () =>
    Effect.gen(function*() {
      const echo = yield* Echo.make
      const context = echo.open("rdmaCore")
      const queryPort = Library.fromAddress(
        operation(context, "queryPort"),
        ["pointer", "u8", "buffer", "size"],
        "int"
      )
      const attr = DeviceLayout.PortAttr.allocate()
      yield* ReturnConvention.returnedErrno(() => queryPort(context, 200, attr, attr.byteLength), identity)
      assert.deepInclude(echo.last(), { op: "query_port", port_num: "200", length: "52" })
      assert.deepStrictEqual(DeviceLayout.PortAttr.read(attr), {
        state: 4,
        maxMtu: 5,
        activeMtu: 3,
        gidTblLen: 17,
        portCapFlags: 0x8123_4567,
        maxMsgSz: 2 ** 31,
        badPkeyCntr: 19,
        qkeyViolCntr: 20,
        pkeyTblLen: 128,
        lid: 0x1111,
        smLid: 0x2222,
        lmc: 7,
        maxVlNum: 10,
        smSl: 11,
        subnetTimeout: 18,
        initTypeReply: 6,
        activeWidth: 2,
        activeSpeed: 32,
        physState: 5,
        linkLayer: 1,
        flags: 9,
        portCapFlags2: 0x8002
      })
      echo.close(context)
    }))

  it.live("lays experimental operations out as MLNX_OFED does", () =>
    Effect.gen(function*() {
      const echo = yield* Echo.make
      const context = echo.open("mlnxOfed")
      assert.isTrue((operation(context, "hasCompMask") & Experimental.hasExperimental) !== 0n)
      const start = context - operation(context, "sz") + BigInt(DeviceLayout.Context.size)
      assert.strictEqual(start, context - 104n)
      const experimental = (name: keyof typeof Experimental.experimentalOps) =>
        word(start - BigInt(Experimental.experimentalOps[name].below))
      assert.strictEqual(experimental("sz"), 640n)
      const create = Library.fromAddress(experimental("createResDomain"), ["pointer", "buffer"], "pointer")
      const destroy = Library.fromAddress(experimental("destroyResDomain"), ["pointer", "pointer", "buffer"], "int")

      const attr = Experimental.ResDomainInitAttr.allocate()
      Experimental.ResDomainInitAttr.write(attr, { compMask: 3, threadModel: 2, msgModel: 1 })
      const domain = yield* ReturnConvention.pointerOrErrno(() => create(context, attr), identity)
      assert.deepStrictEqual(echo.last(), {
        op: "exp_create_res_domain",
        context: String(context),
        comp_mask: "3",
        thread_model: "2",
        msg_model: "1"
      })
      const view = NativeMemory.view(domain, Experimental.ResDomain.size)
      assert.strictEqual(Experimental.ResDomain.get("context", view), context)

      yield* ReturnConvention.returnedErrno(() => destroy(context, domain, null), identity)
      assert.deepStrictEqual(echo.last(), {
        op: "exp_destroy_res_domain",
        context: String(context),
        domain: String(domain),
        attr: "0"
      })
      echo.close(context)
    }))

  it.live("has contexts without the operations", () =>
    Effect.gen(function*() {
      const echo = yield* Echo.make
      const old = echo.open("oldRdmaCore")
      assert.isBelow(Number(operation(old, "sz")), DeviceLayout.Context.size + DeviceLayout.contextOps.allocTd.below)
      assert.isAtLeast(Number(operation(old, "sz")), DeviceLayout.Context.size + DeviceLayout.contextOps.modifyCq.below)
      const legacy = echo.open("legacy")
      assert.strictEqual(
        DeviceLayout.Context.get("abiCompat", NativeMemory.view(legacy, DeviceLayout.Context.size)),
        0n
      )
      const empty = echo.open("emptyMlnx")
      const start = empty - operation(empty, "sz") + BigInt(DeviceLayout.Context.size)
      assert.strictEqual(word(start - BigInt(Experimental.experimentalOps.createResDomain.below)), 0n)
      for (const context of [old, legacy, empty]) echo.close(context)
    }))
})
