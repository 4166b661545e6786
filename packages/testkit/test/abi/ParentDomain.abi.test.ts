/**
 * Contexts, thread domains, parent domains and address handles on the echo provider: what no kernel of a test machine
 * has, and what a real provider does not do on demand.
 */
import * as Ledger from "@effect-rdma/core/Ledger"
import * as Pointer from "@effect-rdma/core/Pointer"
import { ReleaseError } from "@effect-rdma/core/ReleaseError"
import * as Resource from "@effect-rdma/core/Resource"
import * as Lane from "@effect-rdma/testkit/conformance/Lane"
import * as LeakCheck from "@effect-rdma/testkit/LeakCheck"
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as DeviceList from "@effect-rdma/verbs/DeviceList"
import * as ParentDomain from "@effect-rdma/verbs/ParentDomain"
import * as Port from "@effect-rdma/verbs/Port"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as ThreadDomain from "@effect-rdma/verbs/ThreadDomain"
import * as Verbs from "@effect-rdma/verbs/Verbs"
import { assert, describe } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Compiler from "./Compiler.ts"
import * as Echo from "./Echo.ts"

const names = (calls: ReadonlyArray<Echo.Report>) => calls.map(({ op }) => op)
const address = (handle: Resource.Resource<string, bigint>) => String(Resource.raw(handle))
const defects = (exit: Exit.Exit<unknown, unknown>): ReadonlyArray<unknown> =>
  Exit.isFailure(exit) ? exit.cause.reasons.filter(Cause.isDieReason).map(({ defect }) => defect) : []

const everything = (pointer: Pointer.Pointer<"ibv_context">) =>
  Effect.gen(function*() {
    const context = yield* DeviceContext.borrow(pointer)
    const td = yield* ThreadDomain.alloc(context)
    const pd = yield* ProtectionDomain.alloc(context)
    const parent = yield* ParentDomain.alloc(pd, td)
    const handle = yield* AddressHandle.make(parent, { portNum: 1 })
    return {
      td: Resource.raw(td),
      pd: Resource.raw(pd),
      parent: Resource.raw(parent),
      handle: Resource.raw(handle)
    }
  })

type Everything = Effect.Success<ReturnType<typeof everything>>

describe.skipIf(Compiler.missing !== undefined)("scoped objects of libibverbs", () => {
  const lane = Echo.lane()
  const test = Lane.test(lane)
  const { echo } = lane

  test("a context is opened from a list that is freed at once, and closed with the scope", () =>
    Effect.gen(function*() {
      yield* Effect.scoped(Effect.gen(function*() {
        const context = yield* DeviceContext.openByName("echo0")
        assert.strictEqual(context.name, "echo0")
        assert.deepStrictEqual(names(echo().calls()), ["get_device_list", "open_device", "free_device_list"])
        const owner = { context: address(context) }
        yield* DeviceContext.query(context)
        yield* Port.query(context, 7)
        yield* Port.gid(context, 8, 9)
        yield* Port.pkey(context, 10, 11)
        assert.deepStrictEqual(echo().calls(), [
          { op: "query_device", ...owner },
          { op: "query_port", ...owner, port_num: "7", length: "56" },
          { op: "query_gid", ...owner, port_num: "8", index: "9" },
          { op: "query_pkey", ...owner, port_num: "10", index: "11" }
        ])
        assert.strictEqual((yield* DeviceContext.gidTable(context)).length, 4)
        echo().calls()
      }))
      assert.deepStrictEqual(names(echo().calls()), ["close_device"])
    }))

  test("a device that cannot be opened, or is not there, leaves nothing", () =>
    Effect.gen(function*() {
      echo().script("open_device", { errno: 12 })
      const refused = yield* Effect.flip(DeviceContext.openByName("echo0"))
      assert.deepInclude(refused.reason, { _tag: "ENOMEM" })
      assert.deepStrictEqual(names(echo().calls()), ["get_device_list", "open_device", "free_device_list"])
      const absent = yield* Effect.flip(DeviceContext.openByName("echo9"))
      assert.deepInclude(absent.reason, { _tag: "ENODEV" })
      assert.include(absent.hint, "echo0, echo1")
      assert.deepStrictEqual(names(echo().calls()), ["get_device_list", "free_device_list"])
      assert.strictEqual(echo().live(), 0)
    }))

  test("a context of somebody else is not closed, but what was made on it is released", () =>
    Effect.gen(function*() {
      const pointer = echo().open("rdmaCore")
      yield* Effect.scoped(Effect.gen(function*() {
        const context = yield* DeviceContext.borrow(pointer)
        assert.strictEqual(context.name, "echo0")
        yield* ProtectionDomain.alloc(context)
      }))
      assert.deepStrictEqual(names(echo().calls()), ["alloc_pd", "dealloc_pd"])
      echo().close(pointer)
    }))

  test("a thread domain is made on its context and goes before it", () =>
    Effect.gen(function*() {
      const [context, td] = yield* Effect.scoped(Effect.gen(function*() {
        const context = yield* DeviceContext.openByName("echo0")
        const threadDomain = yield* ThreadDomain.alloc(context)
        return [address(context), address(threadDomain)] as const
      }))
      assert.deepStrictEqual(echo().calls().slice(3), [
        { op: "alloc_td", context, comp_mask: "0" },
        { op: "dealloc_td", td, context },
        { op: "close_device", context }
      ])
    }))

  test("a parent domain ties a protection domain to a thread domain and goes before both", () =>
    Effect.gen(function*() {
      const at = yield* Effect.scoped(Effect.gen(function*() {
        const context = yield* DeviceContext.openByName("echo0")
        const pd = yield* ProtectionDomain.alloc(context)
        const td = yield* ThreadDomain.alloc(context)
        const parent = yield* ParentDomain.alloc(pd, td)
        return { context: address(context), pd: address(pd), td: address(td), parent: address(parent) }
      }))
      const { context, parent, pd, td } = at
      assert.deepStrictEqual(echo().calls().slice(3), [
        { op: "alloc_pd", context },
        { op: "alloc_td", context, comp_mask: "0" },
        Echo.parentDomainReport({ context, pd, td }),
        { op: "dealloc_pd", pd: parent, context },
        { op: "dealloc_td", td, context },
        { op: "dealloc_pd", pd, context },
        { op: "close_device", context }
      ])
    }))

  test("a parent domain needs no thread domain", () =>
    Effect.gen(function*() {
      const context = yield* DeviceContext.openByName("echo0")
      const pd = yield* ProtectionDomain.alloc(context)
      const parent = yield* ParentDomain.alloc(pd)
      assert.isUndefined(parent.threadDomain)
      assert.strictEqual(parent.protectionDomain, pd)
      assert.deepInclude(echo().last(), { op: "alloc_parent_domain", pd: address(pd), td: "0" })
    }))

  for (const first of ["pd", "td"] as const) {
    test(`a parent domain goes before its parts also when the scope of its ${first} closes first`, () =>
      Effect.gen(function*() {
        const context = yield* DeviceContext.openByName("echo0")
        const pdScope = yield* Scope.fork(yield* Effect.scope)
        const tdScope = yield* Scope.fork(yield* Effect.scope)
        const pd = yield* ProtectionDomain.alloc(context).pipe(Scope.provide(pdScope))
        const td = yield* ThreadDomain.alloc(context).pipe(Scope.provide(tdScope))
        const parent = yield* ParentDomain.alloc(pd, td)
        const parentAddress = address(parent)
        echo().calls()
        yield* Scope.close(first === "pd" ? pdScope : tdScope, Exit.void)
        const calls = echo().calls()
        assert.deepStrictEqual(names(calls), ["dealloc_pd", first === "pd" ? "dealloc_pd" : "dealloc_td"])
        assert.deepInclude(calls[0], { pd: parentAddress })
        assert.isFalse(Resource.isLive(parent))
        // The other part lives on, and a new parent domain of a dead part does not reach C.
        assert.isTrue(Resource.isLive(first === "pd" ? td : pd))
        const exit = yield* Effect.exit(ParentDomain.alloc(pd, td))
        assert.instanceOf(defects(exit)[0], Resource.UseAfterRelease)
        assert.deepStrictEqual(echo().calls(), [])
      }))
  }

  test("domains of two contexts do not mix: EINVAL before any call", () =>
    Effect.gen(function*() {
      const one = yield* DeviceContext.openByName("echo0")
      const other = yield* DeviceContext.openByName("echo0")
      const pd = yield* ProtectionDomain.alloc(one)
      const td = yield* ThreadDomain.alloc(other)
      const live = echo().live()
      echo().calls()
      const error = yield* Effect.flip(ParentDomain.alloc(pd, td))
      assert.strictEqual(error.call, "ibv_alloc_parent_domain")
      assert.deepInclude(error.reason, { _tag: "EINVAL", errno: 22 })
      assert.include(error.hint, "one device context")
      assert.deepStrictEqual(echo().calls(), [])
      assert.strictEqual(echo().live(), live)
    }))

  for (const [kind, op] of [["thread", "alloc_td"], ["parent", "alloc_parent_domain"]] as const) {
    test(`a ${kind} domain that is refused leaves nothing`, () =>
      Effect.gen(function*() {
        const context = yield* DeviceContext.openByName("echo0")
        const pd = yield* ProtectionDomain.alloc(context)
        const live = echo().live()
        for (const errno of [12, 95]) {
          echo().script(op, { errno })
          const make: Effect.Effect<unknown, Effect.Error<ReturnType<typeof ParentDomain.alloc>>, Scope.Scope> =
            kind === "thread" ? ThreadDomain.alloc(context) : ParentDomain.alloc(pd)
          const error = yield* Effect.flip(make)
          assert.strictEqual(error.call, `ibv_${op}`)
          assert.strictEqual(error.reason.errno, errno)
        }
        assert.strictEqual(echo().live(), live)
      }))
  }

  test("an address handle is made in the domain that it was given, a parent domain too, and goes before it", () =>
    Effect.gen(function*() {
      const at = yield* Effect.scoped(Effect.gen(function*() {
        const context = yield* DeviceContext.openByName("echo0")
        const parent = yield* ParentDomain.alloc(yield* ProtectionDomain.alloc(context))
        const handle = yield* AddressHandle.make(parent, { portNum: 1, grh: { dgid: "fe80::1", sgidIndex: 2 } })
        assert.deepInclude(echo().last(), {
          op: "create_ah",
          pd: address(parent),
          dgid: "fe800000000000000000000000000001",
          "grh.sgid_index": "2",
          "grh.hop_limit": "64",
          is_global: "1"
        })
        echo().calls()
        return { parent: address(parent), handle: address(handle) }
      }))
      const calls = echo().calls()
      assert.deepStrictEqual(names(calls), ["destroy_ah", "dealloc_pd", "dealloc_pd", "close_device"])
      assert.deepInclude(calls[0], { ah: at.handle })
      assert.deepInclude(calls[1], { pd: at.parent })
    }))

  test("address handles go with their domain also when its scope closes first", () =>
    Effect.gen(function*() {
      const context = yield* DeviceContext.openByName("echo0")
      const scope = yield* Scope.fork(yield* Effect.scope)
      const pd = yield* ProtectionDomain.alloc(context).pipe(Scope.provide(scope))
      const made = yield* AddressHandle.make(pd, { portNum: 1 })
      const answer = yield* AddressHandle.fromReceived(pd, 1, { slid: 1, sl: 0, dlidPathBits: 0 })
      const handles = [address(answer), address(made)]
      echo().calls()
      yield* Scope.close(scope, Exit.void)
      const calls = echo().calls()
      assert.deepStrictEqual(names(calls), ["destroy_ah", "destroy_ah", "dealloc_pd"])
      assert.deepStrictEqual(calls.slice(0, 2).map((call) => call["ah"]), handles)
      assert.isFalse(Resource.isLive(made) || Resource.isLive(answer))
    }))

  test("attributes out of range never reach C", () =>
    Effect.gen(function*() {
      const context = yield* DeviceContext.openByName("echo0")
      const pd = yield* ProtectionDomain.alloc(context)
      echo().calls()
      const grh = { dgid: "fe80::1", sgidIndex: 0 }
      const inputs = [
        { portNum: 0 },
        { portNum: 256 },
        { portNum: 1, dlid: 0x1_0000 },
        { portNum: 1, sl: 16 },
        { portNum: 1, srcPathBits: 128 },
        { portNum: 1, grh: { ...grh, sgidIndex: 256 } },
        { portNum: 1, grh: { ...grh, flowLabel: 0x10_0000 } },
        { portNum: 1, grh: { ...grh, hopLimit: 256 } },
        { portNum: 1, grh: { ...grh, trafficClass: -1 } },
        { portNum: 1, grh: { ...grh, dgid: new Uint8Array(15) } }
      ]
      for (const input of inputs) {
        assert.strictEqual((yield* Effect.flip(AddressHandle.make(pd, input)))._tag, "SchemaError")
      }
      const received = { slid: 1, sl: 0, dlidPathBits: 0, grh: new Uint8Array(39) }
      assert.strictEqual((yield* Effect.flip(AddressHandle.fromReceived(pd, 1, received)))._tag, "SchemaError")
      assert.deepStrictEqual(echo().calls(), [])
    }))

  test("an address handle that answers a datagram carries the attributes that the library found", () =>
    Effect.gen(function*() {
      const context = yield* DeviceContext.openByName("echo0")
      const pd = yield* ProtectionDomain.alloc(context)
      echo().calls()
      const received = { slid: 9, sl: 3, dlidPathBits: 4, grh: new Uint8Array(40).fill(0x5a) }
      const handle = yield* AddressHandle.fromReceived(pd, 2, received)
      assert.deepInclude<object>(handle.attributes, { portNum: 2, dlid: 0x1234, staticRate: "100Gbps" })
      assert.strictEqual(handle.attributes.grh?.sgidIndex, 253)
      const [init, create] = echo().calls()
      assert.deepInclude(init, { op: "init_ah_from_wc", context: address(context), port_num: "2", slid: "9" })
      assert.deepInclude(create, { op: "create_ah_from_wc", pd: address(pd), port_num: "2", slid: "9" })
      assert.deepStrictEqual(yield* AddressHandle.attributesOfSender(context, 2, received), handle.attributes)
      assert.deepStrictEqual(names(echo().calls()), ["init_ah_from_wc"])

      const live = echo().live()
      echo().script("init_ah_from_wc", { result: -1, errno: 22 })
      assert.deepInclude(yield* Effect.flip(AddressHandle.fromReceived(pd, 2, received)), {
        call: "ibv_init_ah_from_wc"
      })
      echo().script("create_ah_from_wc", { errno: 12 })
      assert.deepInclude(yield* Effect.flip(AddressHandle.fromReceived(pd, 2, received)), {
        call: "ibv_create_ah_from_wc"
      })
      assert.strictEqual(echo().live(), live)
    }))

  const releases: ReadonlyArray<{
    readonly kind: string
    readonly op: string
    readonly after: number
    readonly again: (verbs: Verbs.Verbs["Service"], raw: Everything) => Effect.Effect<void, unknown>
  }> = [
    { kind: "AddressHandle", op: "destroy_ah", after: 0, again: (verbs, { handle }) => verbs.destroyAh(handle) },
    { kind: "ParentDomain", op: "dealloc_pd", after: 0, again: (verbs, { parent }) => verbs.deallocPd(parent) },
    { kind: "ProtectionDomain", op: "dealloc_pd", after: 1, again: (verbs, { pd }) => verbs.deallocPd(pd) },
    { kind: "ThreadDomain", op: "dealloc_td", after: 0, again: (verbs, { td }) => verbs.deallocTd(td) }
  ]

  for (const { after, again, kind, op } of releases) {
    test(`when the release of a ${kind} fails, the exit tells it and every other release still runs`, () =>
      Effect.gen(function*() {
        const verbs = yield* Verbs.Verbs
        const pointer = echo().open("rdmaCore")
        const ledger = Ledger.makeUnsafe()
        let raw: Everything | undefined
        const exit = yield* Effect.exit(LeakCheck.checkIn(
          ledger,
          Effect.map(everything(pointer), (all) => {
            raw = all
            echo().calls()
            // errno tells something else.
            echo().script(op, { result: 16, errno: 1, after })
          })
        ))
        const [release, leak, ...others] = defects(exit)
        assert.deepStrictEqual(others, [])
        assert.instanceOf(release, ReleaseError)
        assert.deepInclude(release, { call: `ibv_${op}`, errno: 16 })
        assert.include(release instanceof ReleaseError ? release.resource : "", kind)
        assert.instanceOf(leak, LeakCheck.LeakError)
        assert.strictEqual(leak instanceof LeakCheck.LeakError ? leak.leaks.length : 0, 1)
        assert.deepStrictEqual(names(echo().calls()), ["destroy_ah", "dealloc_pd", "dealloc_pd", "dealloc_td"])
        assert.strictEqual(echo().live(), 1)
        assert.strictEqual(ledger.totals().reduce((sum, { failed }) => sum + failed, 0), 1)
        if (raw !== undefined) yield* again(verbs, raw)
        echo().close(pointer)
      }))
  }

  test("when a context cannot be closed, the exit tells it", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs.Verbs
      const exit = yield* Effect.exit(LeakCheck.check(
        Effect.map(DeviceContext.openByName("echo0"), () => echo().script("close_device", { result: 16 }))
      ))
      const [release] = defects(exit)
      assert.instanceOf(release, ReleaseError)
      assert.deepInclude(release, { call: "ibv_close_device", errno: 16 })
      const pointer = echo().last()["context"]
      if (pointer !== undefined) yield* verbs.closeDevice(Pointer.make(BigInt(pointer)))
    }))

  test("the devices of a list open until it is freed, and not after", () =>
    Effect.gen(function*() {
      const devices = yield* Effect.scoped(Effect.gen(function*() {
        const { devices } = yield* DeviceList.get()
        for (const device of devices) {
          assert.strictEqual((yield* DeviceContext.open(device)).name, device.name)
        }
        return devices
      }))
      echo().calls()
      for (const device of devices) {
        assert.instanceOf(defects(yield* Effect.exit(DeviceContext.open(device)))[0], Resource.UseAfterRelease)
      }
      assert.deepStrictEqual(echo().calls(), [])
    }))
})
