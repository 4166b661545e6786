/**
 * How each operation of the seam of libibverbs fails, by the convention of its C function.
 */
import * as Identifier from "@effect-rdma/core/Identifier"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Lane from "@effect-rdma/testkit/conformance/Lane"
import * as AddressHandleAttributes from "@effect-rdma/verbs/AddressHandleAttributes"
import * as ReceivedDatagram from "@effect-rdma/verbs/ReceivedDatagram"
import * as Verbs from "@effect-rdma/verbs/Verbs"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as ContextOps from "../../../verbs/src/internal/contextOps.ts"
import * as DeviceLayout from "../../../verbs/src/internal/DeviceLayout.ts"
import * as Experimental from "../../../verbs/src/internal/ExperimentalLayout.ts"
import * as Compiler from "./Compiler.ts"
import * as Echo from "./Echo.ts"

type Service = Verbs.Verbs["Service"]

const port = Identifier.PortNumber.make(3)
const gidIndex = Identifier.GidIndex.make(4)
const pkeyIndex = Identifier.PKeyIndex.make(5)
const attributes = Schema.decodeSync(AddressHandleAttributes.AddressHandleAttributes)({ portNum: 3 })
const received = Schema.decodeSync(ReceivedDatagram.ReceivedDatagram)({ slid: 1, sl: 0, dlidPathBits: 0 })
const models = { threadModel: "single", msgModel: "lowLatency" } as const

interface Handles {
  readonly device: Pointer.Pointer<"ibv_device">
  readonly core: Pointer.Pointer<"ibv_context">
  readonly mlnx: Pointer.Pointer<"ibv_context">
  readonly legacy: Pointer.Pointer<"ibv_context">
  readonly pd: Pointer.Pointer<"ibv_pd">
  readonly td: Pointer.Pointer<"ibv_td">
  readonly ah: Pointer.Pointer<"ibv_ah">
  readonly domain: Pointer.Pointer<"ibv_exp_res_domain">
}

interface Operation {
  /** As the error names it. */
  readonly call: string
  /** As the echo provider names it. */
  readonly op: string
  readonly input: object
  readonly run: (verbs: Service, handles: Handles) => Effect.Effect<unknown, VerbsError>
}

// NULL, and errno says why.
const creates: ReadonlyArray<Operation> = [
  { call: "ibv_get_device_list", op: "get_device_list", input: {}, run: (verbs) => verbs.getDeviceList },
  {
    call: "ibv_open_device",
    op: "open_device",
    input: { name: "echo0" },
    run: (verbs, { device }) => verbs.openDevice(device)
  },
  { call: "ibv_alloc_pd", op: "alloc_pd", input: {}, run: (verbs, { core }) => verbs.allocPd(core) },
  { call: "ibv_alloc_td", op: "alloc_td", input: {}, run: (verbs, { core }) => verbs.allocTd(core) },
  {
    call: "ibv_alloc_parent_domain",
    op: "alloc_parent_domain",
    input: {},
    run: (verbs, { core, pd, td }) => verbs.allocParentDomain(core, { pd, td })
  },
  {
    call: "ibv_create_ah",
    op: "create_ah",
    input: { portNum: 3 },
    run: (verbs, { pd }) => verbs.createAh(pd, attributes)
  },
  {
    call: "ibv_create_ah_from_wc",
    op: "create_ah_from_wc",
    input: { portNum: 3 },
    run: (verbs, { pd }) => verbs.createAhFromWc(pd, port, received)
  },
  {
    call: "ibv_exp_create_res_domain",
    op: "exp_create_res_domain",
    input: models,
    run: (verbs, { mlnx }) => verbs.expCreateResDomain(mlnx, models)
  }
]

// The result is the errno.
const returns: ReadonlyArray<Operation> = [
  { call: "ibv_close_device", op: "close_device", input: {}, run: (verbs, { core }) => verbs.closeDevice(core) },
  { call: "ibv_query_device", op: "query_device", input: {}, run: (verbs, { core }) => verbs.queryDevice(core) },
  {
    call: "ibv_query_port",
    op: "query_port",
    input: { portNum: 3 },
    run: (verbs, { core }) => verbs.queryPort(core, port)
  },
  {
    call: "ibv_query_port",
    op: "exported_query_port",
    input: { portNum: 3 },
    run: (verbs, { legacy }) => verbs.queryPort(legacy, port)
  },
  { call: "ibv_dealloc_pd", op: "dealloc_pd", input: {}, run: (verbs, { pd }) => verbs.deallocPd(pd) },
  { call: "ibv_dealloc_td", op: "dealloc_td", input: {}, run: (verbs, { td }) => verbs.deallocTd(td) },
  { call: "ibv_destroy_ah", op: "destroy_ah", input: {}, run: (verbs, { ah }) => verbs.destroyAh(ah) },
  {
    call: "ibv_exp_destroy_res_domain",
    op: "exp_destroy_res_domain",
    input: {},
    run: (verbs, { domain, mlnx }) => verbs.expDestroyResDomain(mlnx, domain)
  }
]

// -1, and errno says why.
const minusOnes: ReadonlyArray<Operation> = [
  {
    call: "ibv_query_gid",
    op: "query_gid",
    input: { portNum: 3, index: 4 },
    run: (verbs, { core }) => verbs.queryGid(core, port, gidIndex)
  },
  {
    call: "ibv_query_pkey",
    op: "query_pkey",
    input: { portNum: 3, index: 5 },
    run: (verbs, { core }) => verbs.queryPkey(core, port, pkeyIndex)
  },
  {
    call: "ibv_init_ah_from_wc",
    op: "init_ah_from_wc",
    input: { portNum: 3 },
    run: (verbs, { core }) => verbs.initAhFromWc(core, port, received)
  }
]

// A count, or the negative errno.
const counts: ReadonlyArray<Operation> = [
  {
    call: "ibv_query_gid_table",
    op: "query_gid_table",
    input: {},
    run: (verbs, { core }) => verbs.queryGidTable(core)
  }
]

interface Case {
  readonly failure: Echo.Failure
  readonly reason: { readonly _tag: string; readonly errno: number }
}

const ofPointer: ReadonlyArray<Case> = [
  { failure: { errno: 12 }, reason: { _tag: "ENOMEM", errno: 12 } },
  { failure: { errno: 13 }, reason: { _tag: "EACCES", errno: 13 } },
  { failure: { errno: 95 }, reason: { _tag: "EOPNOTSUPP", errno: 95 } },
  { failure: { errno: 4711 }, reason: { _tag: "UnknownErrno", errno: 4711 } },
  { failure: {}, reason: { _tag: "UnknownErrno", errno: 0 } }
]

const ofResult: ReadonlyArray<Case> = [
  // The variable tells something else, or something else again from an earlier call.
  { failure: { result: 16, errno: 1 }, reason: { _tag: "EBUSY", errno: 16 } },
  { failure: { result: 16 }, reason: { _tag: "EBUSY", errno: 16 } },
  { failure: { result: 38, errno: 22 }, reason: { _tag: "EOPNOTSUPP", errno: 38 } },
  { failure: { result: 4711, errno: 22 }, reason: { _tag: "UnknownErrno", errno: 4711 } },
  // Some providers return -1 all the same, or the negative errno.
  { failure: { result: -1, errno: 22 }, reason: { _tag: "EINVAL", errno: 22 } },
  { failure: { result: -22 }, reason: { _tag: "EINVAL", errno: 22 } }
]

const ofMinusOne: ReadonlyArray<Case> = [
  { failure: { result: -1, errno: 22 }, reason: { _tag: "EINVAL", errno: 22 } },
  { failure: { result: -1, errno: 4711 }, reason: { _tag: "UnknownErrno", errno: 4711 } },
  { failure: { result: -1 }, reason: { _tag: "UnknownErrno", errno: 0 } }
]

const ofCount: ReadonlyArray<Case> = [
  { failure: { result: -22, errno: 5 }, reason: { _tag: "EINVAL", errno: 22 } },
  { failure: { result: -22 }, reason: { _tag: "EINVAL", errno: 22 } },
  { failure: { result: -4711, errno: 5 }, reason: { _tag: "UnknownErrno", errno: 4711 } }
]

const slot = (context: bigint, op: { readonly below: number }) => NativeMemory.view(context - BigInt(op.below), 8)

describe.skipIf(Compiler.missing !== undefined)("the seam of libibverbs fails", () => {
  const lane = Echo.lane()
  const test = Lane.test(lane)
  const { echo } = lane

  const open = (flavour: Echo.Flavour) =>
    Effect.acquireRelease(
      Effect.sync(() => echo().open(flavour)),
      (context) => Effect.sync(() => echo().close(context))
    )

  const handles = Effect.gen(function*() {
    const verbs = yield* Verbs.Verbs
    const { devices } = yield* Effect.acquireRelease(verbs.getDeviceList, ({ list }) => verbs.freeDeviceList(list))
    const device = devices[0]
    if (device === undefined) return yield* Effect.die("no device")
    const core = yield* open("rdmaCore")
    const mlnx = yield* open("mlnxOfed")
    const legacy = yield* open("legacy")
    const pd = yield* Effect.acquireRelease(verbs.allocPd(core), (pd) => Effect.orDie(verbs.deallocPd(pd)))
    const td = yield* Effect.acquireRelease(verbs.allocTd(core), (td) => Effect.orDie(verbs.deallocTd(td)))
    const ah = yield* Effect.acquireRelease(
      verbs.createAh(pd, attributes),
      (ah) => Effect.orDie(verbs.destroyAh(ah))
    )
    const domain = yield* Effect.acquireRelease(
      verbs.expCreateResDomain(mlnx, {}),
      (domain) => Effect.orDie(verbs.expDestroyResDomain(mlnx, domain))
    )
    const all: Handles = { device: device.pointer, core, mlnx, legacy, pd, td, ah, domain }
    return all
  })

  const conventions = [
    ["NULL with errno", creates, ofPointer],
    ["a positive errno as the result", returns, ofResult],
    ["-1 with errno", minusOnes, ofMinusOne],
    ["a negative errno as the count", counts, ofCount]
  ] as const

  for (const [convention, operations, cases] of conventions) {
    for (const { call, input, op, run } of operations) {
      test(`${op}: by ${convention}`, () =>
        Effect.gen(function*() {
          const verbs = yield* Verbs.Verbs
          const all = yield* handles
          for (const { failure, reason } of cases) {
            // A success leaves noise in errno, which must not become the reason of what fails next.
            yield* verbs.queryDevice(all.core)
            const before = echo().live()
            echo().script(op, failure)
            const error = yield* Effect.flip(run(verbs, all))
            assert.strictEqual(error.call, call)
            assert.deepStrictEqual<object>(error.input, input)
            assert.deepStrictEqual<Case["reason"]>({ _tag: error.reason._tag, errno: error.reason.errno }, reason)
            assert.include(error.message, call)
            assert.include(error.message, reason.errno === 0 ? "unknown cause" : String(reason.errno))
            assert.strictEqual(echo().live(), before)
            assert.strictEqual(echo().armed(), 0)
          }
        }))
    }
  }

  test("with RdmaUnavailable when the kernel has no RDMA, and only the device list does", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs.Verbs
      const all = yield* handles
      for (const { op, run } of creates) {
        echo().script(op, { errno: 38 })
        const error = yield* Effect.flip(run(verbs, all))
        const tag = op === "get_device_list" ? "RdmaUnavailable" : "EOPNOTSUPP"
        assert.deepInclude(error.reason, { _tag: tag, errno: 38 })
        if (op === "get_device_list") assert.include(error.hint, "modprobe")
      }
    }))

  test("with what the device node says when it refuses", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs.Verbs
      const all = yield* handles
      for (const errno of [1, 2, 13]) {
        echo().script("open_device", { errno })
        assert.include((yield* Effect.flip(verbs.openDevice(all.device))).hint, "/dev/infiniband/uverbs0")
      }
      echo().script("open_device", { errno: 19 })
      assert.isUndefined((yield* Effect.flip(verbs.openDevice(all.device))).hint)
    }))

  test("as of an unknown cause when an address handle is refused without one", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs.Verbs
      const all = yield* handles
      echo().script("create_ah", {})
      echo().script("create_ah_from_wc", {})
      const errors = [
        yield* Effect.flip(verbs.createAh(all.pd, attributes)),
        yield* Effect.flip(verbs.createAhFromWc(all.pd, port, received))
      ]
      assert.deepStrictEqual(errors.map(({ message }) => message), [
        "ibv_create_ah (portNum 3): unknown cause (errno 0)",
        "ibv_create_ah_from_wc (portNum 3): unknown cause (errno 0)"
      ])
      echo().script("create_ah", { errno: 22 })
      assert.isUndefined((yield* Effect.flip(verbs.createAh(all.pd, attributes))).hint)
    }))

  test("at the step of the GID table that failed", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs.Verbs
      const context = yield* open("rdmaCore")
      echo().script("query_device", { result: 5 })
      assert.deepInclude(yield* Effect.flip(verbs.queryGidTable(context)), { call: "ibv_query_device" })
      echo().script("query_port", { result: 5, after: 1 })
      assert.deepInclude(yield* Effect.flip(verbs.queryGidTable(context)), {
        call: "ibv_query_port",
        input: { portNum: 2 }
      })
      assert.deepStrictEqual(echo().calls().map(({ op }) => op), [
        "query_device",
        "query_device",
        "query_port",
        "query_port"
      ])
    }))

  const missing = {
    ibv_alloc_td: (verbs: Service, context: Pointer.Pointer<"ibv_context">) => verbs.allocTd(context),
    ibv_alloc_parent_domain: (verbs: Service, context: Pointer.Pointer<"ibv_context">, { pd, td }: Handles) =>
      verbs.allocParentDomain(context, { pd, td }),
    ibv_exp_create_res_domain: (verbs: Service, context: Pointer.Pointer<"ibv_context">) =>
      verbs.expCreateResDomain(context, {}),
    ibv_exp_destroy_res_domain: (verbs: Service, context: Pointer.Pointer<"ibv_context">, { domain }: Handles) =>
      verbs.expDestroyResDomain(context, domain)
  }

  const upstream = ["ibv_alloc_td", "ibv_alloc_parent_domain"] as const
  const experimental = ["ibv_exp_create_res_domain", "ibv_exp_destroy_res_domain"] as const

  for (
    const [flavour, calls] of [
      ["rdmaCore", experimental],
      ["mlnxOfed", upstream],
      ["oldRdmaCore", [...upstream, ...experimental]],
      ["legacy", [...upstream, ...experimental]],
      ["emptyMlnx", [...upstream, ...experimental]]
    ] as const
  ) {
    test(`without a call or a wild read for what a context of ${flavour} lacks`, () =>
      Effect.gen(function*() {
        const verbs = yield* Verbs.Verbs
        const all = yield* handles
        const context = yield* open(flavour)
        echo().calls()
        for (const call of calls) {
          const error = yield* Effect.flip(missing[call](verbs, context, all))
          assert.strictEqual(error.call, call)
          assert.deepInclude(error.reason, { _tag: "EOPNOTSUPP", errno: call.includes("exp") ? 38 : 95 })
          assert.include(error.hint, "no such operation")
        }
        assert.deepStrictEqual(echo().calls(), [])
      }))
  }

  test("without a call where the slot of an operation is NULL", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs.Verbs
      const all = yield* handles
      echo().calls()
      const operations = [
        ["ibv_alloc_td", DeviceLayout.contextOps.allocTd, verbs.allocTd(all.core)],
        ["ibv_alloc_parent_domain", DeviceLayout.contextOps.allocParentDomain, verbs.allocParentDomain(all.core, all)],
        ["ibv_dealloc_td", DeviceLayout.contextOps.deallocTd, verbs.deallocTd(all.td)]
      ] as const
      for (const [call, op, run] of operations) {
        const view = slot(all.core, op)
        const function_ = view.getBigUint64(0, true)
        view.setBigUint64(0, 0n, true)
        const error = yield* Effect.flip<unknown, VerbsError, never>(run)
        view.setBigUint64(0, function_, true)
        assert.strictEqual(error.call, call)
        assert.deepInclude(error.reason, { _tag: "EOPNOTSUPP", errno: 95 })
      }
      assert.deepStrictEqual(echo().calls(), [])
    }))

  test("by the size of a context: an operation is there from the size that holds it on", () =>
    Effect.gen(function*() {
      const context = yield* open("rdmaCore")
      const size = slot(context, DeviceLayout.contextOps.sz)
      for (const op of [DeviceLayout.contextOps.allocTd, DeviceLayout.contextOps.queryPort]) {
        size.setBigUint64(0, BigInt(DeviceLayout.Context.size + op.below), true)
        assert.isTrue(ContextOps.addressOf(context, op) > 0n)
        size.setBigUint64(0, BigInt(DeviceLayout.Context.size + op.below - 1), true)
        assert.strictEqual(ContextOps.addressOf(context, op), 0n)
      }
    }))

  test("by the size of an experimental context and the flag that it exists", () =>
    Effect.gen(function*() {
      const context = yield* open("mlnxOfed")
      const { createResDomain, destroyResDomain, sz } = Experimental.experimentalOps
      const size = NativeMemory.view(context - 104n - BigInt(sz.below), 8)
      size.setBigUint64(0, BigInt(createResDomain.below), true)
      assert.isTrue(ContextOps.experimentalAddressOf(context, createResDomain) > 0n)
      size.setBigUint64(0, BigInt(createResDomain.below - 1), true)
      assert.strictEqual(ContextOps.experimentalAddressOf(context, createResDomain), 0n)
      assert.isTrue(ContextOps.experimentalAddressOf(context, destroyResDomain) > 0n)
      const flags = slot(context, DeviceLayout.contextOps.hasCompMask)
      flags.setBigUint64(0, flags.getBigUint64(0, true) & ~Experimental.hasExperimental, true)
      assert.strictEqual(ContextOps.experimentalAddressOf(context, destroyResDomain), 0n)
    }))

  test("not by a word that is almost all ones", () =>
    Effect.gen(function*() {
      const context = yield* open("rdmaCore")
      assert.isTrue(ContextOps.addressOf(context, DeviceLayout.contextOps.allocTd) > 0n)
      DeviceLayout.Context.set("abiCompat", NativeMemory.view(context, DeviceLayout.Context.size), 2n ** 64n - 2n)
      assert.strictEqual(ContextOps.addressOf(context, DeviceLayout.contextOps.allocTd), 0n)
    }))
})
