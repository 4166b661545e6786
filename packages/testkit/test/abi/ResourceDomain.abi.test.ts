/**
 * The resource domain in each of its origins, which no kernel of a test machine has.
 */
import * as Ledger from "@effect-rdma/core/Ledger"
import * as Pointer from "@effect-rdma/core/Pointer"
import { ReleaseError } from "@effect-rdma/core/ReleaseError"
import * as Resource from "@effect-rdma/core/Resource"
import * as Lane from "@effect-rdma/testkit/conformance/Lane"
import * as LeakCheck from "@effect-rdma/testkit/LeakCheck"
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as ResourceDomain from "@effect-rdma/verbs/ResourceDomain"
import type * as ResourceDomainAttributes from "@effect-rdma/verbs/ResourceDomainAttributes"
import * as Verbs from "@effect-rdma/verbs/Verbs"
import { VerbsError } from "@effect-rdma/verbs/VerbsError"
import { assert, describe } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Compiler from "./Compiler.ts"
import * as Echo from "./Echo.ts"

type Attributes = ResourceDomainAttributes.ResourceDomainAttributes

const names = (calls: ReadonlyArray<Echo.Report>) => calls.map(({ op }) => op)
const address = (handle: Resource.Resource<string, bigint>) => String(Resource.raw(handle))
const defects = (exit: Exit.Exit<unknown, unknown>): ReadonlyArray<unknown> =>
  Exit.isFailure(exit) ? exit.cause.reasons.filter(Cause.isDieReason).map(({ defect }) => defect) : []

const failuresOf = (exit: Exit.Exit<unknown, unknown>) =>
  defects(exit).filter((defect) => defect instanceof ReleaseError)

const title = (attributes: Attributes) => JSON.stringify(attributes)

const devices = {
  rdmaCore: "echo0",
  mlnxOfed: "echo1",
  oldRdmaCore: "echo2",
  legacy: "echo3",
  emptyMlnx: "echo4"
} as const satisfies { readonly [Flavour in Echo.Flavour]: string }

const openContext = (flavour: Echo.Flavour) => DeviceContext.openByName(devices[flavour])

const threadOrigin = (domain: ResourceDomain.ResourceDomain) =>
  domain.origin._tag === "ThreadDomain" ? Effect.succeed(domain.origin) : Effect.die(domain.origin)

const refusalOf = (domain: ResourceDomain.ResourceDomain) =>
  domain.origin._tag === "Shared" && domain.origin.refusal !== undefined
    ? Effect.succeed(domain.origin.refusal)
    : Effect.die(domain.origin)

const failsWithVerbsError = <A, R>(effect: Effect.Effect<A, unknown, R>) =>
  Effect.flatMap(
    Effect.flip(effect),
    (error) => error instanceof VerbsError ? Effect.succeed(error) : Effect.die(error)
  )

const locked: ReadonlyArray<Attributes> = [
  {},
  { threadModel: "safe" },
  { msgModel: "lowLatency" },
  { threadModel: "safe", msgModel: "highBandwidth" },
  { msgModel: "default" }
]

const hinted: ReadonlyArray<Attributes> = [
  { threadModel: "unsafe" },
  { threadModel: "single" },
  { threadModel: "unsafe", msgModel: "default" },
  { threadModel: "single", msgModel: "lowLatency" },
  { threadModel: "unsafe", msgModel: "highBandwidth" }
]

const lockedForce: ReadonlyArray<Attributes> = [
  { msgModel: "forceLowLatency" },
  { threadModel: "safe", msgModel: "forceLowLatency" }
]

const unlockedForce: ReadonlyArray<Attributes> = [
  { threadModel: "unsafe", msgModel: "forceLowLatency" },
  { threadModel: "single", msgModel: "forceLowLatency" }
]

describe.skipIf(Compiler.missing !== undefined)("a resource domain", () => {
  const lane = Echo.lane()
  const test = Lane.test(lane)
  const { echo } = lane

  describe("of a library with experimental verbs", () => {
    // comp_mask, thread_model, msg_model
    const cases: ReadonlyArray<readonly [Attributes, readonly [string, string, string]]> = [
      [{}, ["0", "0", "0"]],
      [{ threadModel: "safe" }, ["1", "0", "0"]],
      [{ threadModel: "single" }, ["1", "2", "0"]],
      [{ msgModel: "forceLowLatency" }, ["2", "0", "3"]],
      [{ threadModel: "unsafe", msgModel: "lowLatency" }, ["3", "1", "1"]],
      [{ threadModel: "safe", msgModel: "forceLowLatency" }, ["3", "0", "3"]]
    ]
    for (const [attributes, [comp_mask, thread_model, msg_model]] of cases) {
      test(`is the library's own, made and destroyed on one context: ${title(attributes)}`, () =>
        Effect.gen(function*() {
          const at = yield* Effect.scoped(Effect.gen(function*() {
            const context = yield* openContext("mlnxOfed")
            echo().calls()
            const domain = yield* ResourceDomain.make(context, attributes)
            assert.deepStrictEqual(domain.attributes, attributes)
            if (domain.origin._tag !== "Experimental") return yield* Effect.die(domain.origin)
            return { context: address(context), domain: String(domain.origin.pointer) }
          }))
          const [create, destroy, close, ...others] = echo().calls()
          assert.deepStrictEqual(create, {
            op: "exp_create_res_domain",
            context: at.context,
            comp_mask,
            thread_model,
            msg_model
          })
          assert.deepInclude(destroy, { op: "exp_destroy_res_domain", ...at, comp_mask: "0" })
          assert.deepStrictEqual(close, { op: "close_device", context: at.context })
          assert.deepStrictEqual(others, [])
        }))
    }

    test("is independent of a protection domain, which stands for both", () =>
      Effect.gen(function*() {
        const context = yield* openContext("mlnxOfed")
        const domain = yield* ResourceDomain.make(context, { threadModel: "single" })
        const pd = yield* ProtectionDomain.alloc(context)
        echo().calls()
        assert.strictEqual(yield* ResourceDomain.domainFor(domain, pd), pd)
        assert.deepStrictEqual(echo().calls(), [])
      }))

    for (const attributes of [{}, ...hinted, ...lockedForce, ...unlockedForce]) {
      test(`fails as the library does and makes nothing else: ${title(attributes)}`, () =>
        Effect.gen(function*() {
          const context = yield* openContext("mlnxOfed")
          const live = echo().live()
          for (const [failure, reason] of [[{ errno: 12 }, "ENOMEM"], [{}, "UnknownErrno"]] as const) {
            echo().calls()
            echo().script("exp_create_res_domain", failure)
            const error = yield* failsWithVerbsError(ResourceDomain.make(context, attributes))
            assert.strictEqual(error.call, "ibv_exp_create_res_domain")
            assert.strictEqual(error.reason._tag, reason)
            assert.deepStrictEqual<object>(error.input, attributes)
            assert.deepStrictEqual(names(echo().calls()), ["exp_create_res_domain"])
            assert.strictEqual(echo().live(), live)
          }
        }))
    }

    test("is a shared one when the device has no resource domains", () =>
      Effect.gen(function*() {
        const context = yield* openContext("mlnxOfed")
        for (const errno of [38, 95]) {
          echo().script("exp_create_res_domain", { errno })
          const domain = yield* ResourceDomain.make(context, { threadModel: "single" })
          assert.strictEqual((yield* refusalOf(domain)).call, "ibv_alloc_td")
        }
        echo().script("exp_create_res_domain", { errno: 38 })
        const error = yield* failsWithVerbsError(ResourceDomain.make(context, { msgModel: "forceLowLatency" }))
        assert.strictEqual(error.call, "ibv_exp_create_res_domain")
        assert.deepInclude(error.reason, { _tag: "EOPNOTSUPP", errno: 38 })
      }))
  })

  describe("of upstream libraries", () => {
    for (const attributes of [...hinted, ...unlockedForce]) {
      test(`is a thread domain and a parent domain, released in order: ${title(attributes)}`, () =>
        Effect.gen(function*() {
          const at = yield* Effect.scoped(Effect.gen(function*() {
            const context = yield* openContext("rdmaCore")
            echo().calls()
            const domain = yield* ResourceDomain.make(context, attributes)
            assert.deepStrictEqual(domain.attributes, attributes)
            const { parentDomain, threadDomain } = yield* threadOrigin(domain)
            assert.strictEqual(parentDomain.threadDomain, threadDomain)
            return {
              context: address(context),
              td: address(threadDomain),
              pd: address(parentDomain.protectionDomain),
              parent: address(parentDomain)
            }
          }))
          const { context, parent, pd, td } = at
          assert.strictEqual(new Set([pd, td, parent]).size, 3)
          assert.deepStrictEqual(echo().calls(), [
            { op: "alloc_td", context, comp_mask: "0" },
            { op: "alloc_pd", context },
            Echo.parentDomainReport({ context, pd, td }),
            { op: "dealloc_pd", pd: parent, context },
            { op: "dealloc_pd", pd, context },
            { op: "dealloc_td", td, context },
            { op: "close_device", context }
          ])
        }))
    }

    test("gives a parent domain for a protection domain of the program", () =>
      Effect.gen(function*() {
        const context = yield* openContext("rdmaCore")
        const pd = yield* ProtectionDomain.alloc(context)
        const at = yield* Effect.scoped(Effect.gen(function*() {
          const domain = yield* ResourceDomain.make(context, { threadModel: "single" })
          const { threadDomain } = yield* threadOrigin(domain)
          const both = yield* ResourceDomain.domainFor(domain, pd)
          assert.strictEqual(both.kind, "ParentDomain")
          assert.deepInclude(echo().last(), {
            op: "alloc_parent_domain",
            context: address(context),
            pd: address(pd),
            td: address(threadDomain)
          })
          yield* AddressHandle.make(both, { portNum: 1 })
          assert.deepInclude(echo().last(), { op: "create_ah", pd: address(both) })
          echo().calls()
          return { both: address(both), td: address(threadDomain) }
        }))
        const calls = echo().calls()
        assert.deepStrictEqual(names(calls), ["destroy_ah", "dealloc_pd", "dealloc_pd", "dealloc_pd", "dealloc_td"])
        assert.deepInclude(calls[1], { pd: at.both })
        assert.deepInclude(calls[4], { td: at.td })
        assert.isTrue(Resource.isLive(pd))
      }))

    test("takes the parent domains that it gave along, even those of a longer scope", () =>
      Effect.gen(function*() {
        const context = yield* openContext("rdmaCore")
        const pd = yield* ProtectionDomain.alloc(context)
        const scope = yield* Scope.fork(yield* Effect.scope)
        const domain = yield* ResourceDomain.make(context, { threadModel: "unsafe" }).pipe(Scope.provide(scope))
        const both = yield* ResourceDomain.domainFor(domain, pd)
        const bothAddress = address(both)
        echo().calls()
        yield* Scope.close(scope, Exit.void)
        const calls = echo().calls()
        assert.deepStrictEqual(names(calls), ["dealloc_pd", "dealloc_pd", "dealloc_pd", "dealloc_td"])
        assert.isTrue(calls.slice(0, 3).some((call) => call["pd"] === bothAddress))
        assert.isFalse(Resource.isLive(both))
        assert.isFalse(Resource.isLive(domain))
        assert.isTrue(Resource.isLive(pd))
      }))

    test("does not mix with a protection domain of another context", () =>
      Effect.gen(function*() {
        const domain = yield* ResourceDomain.make(yield* openContext("rdmaCore"), { threadModel: "single" })
        const pd = yield* ProtectionDomain.alloc(yield* openContext("rdmaCore"))
        echo().calls()
        const error = yield* Effect.flip(ResourceDomain.domainFor(domain, pd))
        assert.deepInclude(error.reason, { _tag: "EINVAL" })
        assert.deepStrictEqual(echo().calls(), [])
      }))

    for (const attributes of locked) {
      test(`is a shared one without any call where the locks stay on: ${title(attributes)}`, () =>
        Effect.gen(function*() {
          const context = yield* openContext("rdmaCore")
          const pd = yield* ProtectionDomain.alloc(context)
          echo().calls()
          const domain = yield* ResourceDomain.make(context, attributes)
          assert.deepStrictEqual<object>(domain.origin, { _tag: "Shared", refusal: undefined })
          assert.strictEqual(yield* ResourceDomain.domainFor(domain, pd), pd)
          assert.deepStrictEqual(echo().calls(), [])
        }))
    }

    for (const attributes of lockedForce) {
      test(`cannot be forced while the locks stay on: ${title(attributes)}`, () =>
        Effect.gen(function*() {
          const context = yield* openContext("rdmaCore")
          echo().calls()
          const error = yield* failsWithVerbsError(ResourceDomain.make(context, attributes))
          assert.strictEqual(error.reason._tag, "EOPNOTSUPP")
          assert.deepStrictEqual(echo().calls(), [])
        }))
    }

    const steps: ReadonlyArray<{ readonly op: string; readonly undone: Array<string> }> = [
      { op: "alloc_td", undone: [] },
      { op: "alloc_pd", undone: ["dealloc_td"] },
      { op: "alloc_parent_domain", undone: ["dealloc_pd", "dealloc_td"] }
    ]

    for (const { op, undone } of steps) {
      for (const attributes of hinted) {
        test(`falls back to a shared one when ${op} fails, and keeps the refusal: ${title(attributes)}`, () =>
          Effect.gen(function*() {
            const context = yield* openContext("rdmaCore")
            const pd = yield* ProtectionDomain.alloc(context)
            const live = echo().live()
            for (const [failure, tag] of [[{ errno: 12 }, "ENOMEM"], [{ errno: 95 }, "EOPNOTSUPP"]] as const) {
              echo().calls()
              echo().script(op, failure)
              const domain = yield* ResourceDomain.make(context, attributes)
              const refusal = yield* refusalOf(domain)
              assert.strictEqual(refusal.call, `ibv_${op}`)
              assert.strictEqual(refusal.reason._tag, tag)
              // What was made of it is gone although the scope is still open.
              assert.deepStrictEqual(names(echo().calls()).filter((name) => name.startsWith("dealloc")), undone)
              assert.strictEqual(echo().live(), live)
              assert.strictEqual(yield* ResourceDomain.domainFor(domain, pd), pd)
            }
          }))
      }

      for (const attributes of unlockedForce) {
        test(`fails with the errno of ${op} when it is forced, and leaves nothing: ${title(attributes)}`, () =>
          Effect.gen(function*() {
            const context = yield* openContext("rdmaCore")
            const live = echo().live()
            for (const errno of [12, 95, 4711]) {
              echo().calls()
              echo().script(op, { errno })
              const error = yield* failsWithVerbsError(ResourceDomain.make(context, attributes))
              assert.strictEqual(error.call, `ibv_${op}`)
              assert.strictEqual(error.reason.errno, errno)
              assert.deepStrictEqual(names(echo().calls()).filter((name) => name.startsWith("dealloc")), undone)
              assert.strictEqual(echo().live(), live)
            }
          }))
      }
    }
  })

  for (const flavour of ["oldRdmaCore", "legacy", "emptyMlnx"] as const) {
    describe(`of a context of ${flavour}`, () => {
      test("is a shared one with the refusal for every hint, without a call into memory that is something else", () =>
        Effect.gen(function*() {
          const context = yield* openContext(flavour)
          echo().calls()
          for (const attributes of hinted) {
            const domain = yield* ResourceDomain.make(context, attributes)
            const refusal = yield* refusalOf(domain)
            assert.strictEqual(refusal.call, "ibv_alloc_td")
            assert.strictEqual(refusal.reason._tag, "EOPNOTSUPP")
          }
          for (const attributes of locked) {
            const domain = yield* ResourceDomain.make(context, attributes)
            assert.deepStrictEqual<object>(domain.origin, { _tag: "Shared", refusal: undefined })
          }
          assert.deepStrictEqual(echo().calls(), [])
        }))

      test("cannot be forced", () =>
        Effect.gen(function*() {
          const context = yield* openContext(flavour)
          echo().calls()
          for (const attributes of [...lockedForce, ...unlockedForce]) {
            const error = yield* failsWithVerbsError(ResourceDomain.make(context, attributes))
            assert.strictEqual(error.reason._tag, "EOPNOTSUPP")
          }
          assert.deepStrictEqual(echo().calls(), [])
        }))
    })
  }

  describe("whose release fails", () => {
    interface Raw {
      readonly td: Pointer.Pointer<"ibv_td">
      readonly pd: Pointer.Pointer<"ibv_pd">
      readonly parent: Pointer.Pointer<"ibv_pd">
    }

    const releases: ReadonlyArray<{
      readonly part: string
      readonly op: string
      readonly after: number
      readonly again: (verbs: Verbs.Verbs["Service"], raw: Raw) => Effect.Effect<void, VerbsError>
    }> = [
      { part: "parent domain", op: "dealloc_pd", after: 0, again: (verbs, { parent }) => verbs.deallocPd(parent) },
      { part: "protection domain", op: "dealloc_pd", after: 1, again: (verbs, { pd }) => verbs.deallocPd(pd) },
      { part: "thread domain", op: "dealloc_td", after: 0, again: (verbs, { td }) => verbs.deallocTd(td) }
    ]

    for (const { after, again, op, part } of releases) {
      test(`in its ${part} tells it in the exit, and the other parts are released`, () =>
        Effect.gen(function*() {
          const verbs = yield* Verbs.Verbs
          const pointer = echo().open("rdmaCore")
          const ledger = Ledger.makeUnsafe()
          let raw: Raw | undefined
          const exit = yield* Effect.exit(LeakCheck.checkIn(
            ledger,
            Effect.gen(function*() {
              const context = yield* DeviceContext.borrow(pointer)
              const domain = yield* ResourceDomain.make(context, { threadModel: "single" })
              const { parentDomain, threadDomain } = yield* threadOrigin(domain)
              raw = {
                td: Resource.raw(threadDomain),
                pd: Resource.raw(parentDomain.protectionDomain),
                parent: Resource.raw(parentDomain)
              }
              echo().calls()
              echo().script(op, { result: 16, errno: 1, after })
            })
          ))
          const failures = failuresOf(exit)
          assert.strictEqual(failures.length, 1)
          assert.deepInclude(failures[0], { call: `ibv_${op}`, errno: 16 })
          assert.deepStrictEqual(names(echo().calls()), ["dealloc_pd", "dealloc_pd", "dealloc_td"])
          assert.strictEqual(echo().live(), 1)
          if (raw !== undefined) yield* again(verbs, raw)
          echo().close(pointer)
        }))
    }

    test("in all its parts tells each", () =>
      Effect.gen(function*() {
        const verbs = yield* Verbs.Verbs
        const pointer = echo().open("rdmaCore")
        let raw: Raw | undefined
        const exit = yield* Effect.exit(LeakCheck.check(
          Effect.gen(function*() {
            const context = yield* DeviceContext.borrow(pointer)
            const domain = yield* ResourceDomain.make(context, { threadModel: "single" })
            const { parentDomain, threadDomain } = yield* threadOrigin(domain)
            raw = {
              td: Resource.raw(threadDomain),
              pd: Resource.raw(parentDomain.protectionDomain),
              parent: Resource.raw(parentDomain)
            }
            for (const result of [16, 22]) echo().script("dealloc_pd", { result })
            echo().script("dealloc_td", { result: 11 })
          })
        ))
        assert.deepStrictEqual(
          failuresOf(exit).map(({ errno }) => errno),
          [16, 22, 11]
        )
        assert.strictEqual(echo().live(), 3)
        if (raw === undefined) return
        yield* verbs.deallocPd(raw.parent)
        yield* verbs.deallocPd(raw.pd)
        yield* verbs.deallocTd(raw.td)
        echo().close(pointer)
      }))

    test("in the experimental call tells it, and the context is closed all the same", () =>
      Effect.gen(function*() {
        const verbs = yield* Verbs.Verbs
        const pointer = echo().open("mlnxOfed")
        let leaked: Pointer.Pointer<"ibv_exp_res_domain"> | undefined
        const exit = yield* Effect.exit(LeakCheck.check(
          Effect.gen(function*() {
            const context = yield* DeviceContext.borrow(pointer)
            const domain = yield* ResourceDomain.make(context, { threadModel: "single" })
            if (domain.origin._tag === "Experimental") leaked = domain.origin.pointer
            yield* ProtectionDomain.alloc(context)
            echo().calls()
            echo().script("exp_destroy_res_domain", { result: 22, errno: 1 })
          })
        ))
        const failures = failuresOf(exit)
        assert.strictEqual(failures.length, 1)
        assert.deepInclude(failures[0], { call: "ibv_exp_destroy_res_domain", errno: 22 })
        assert.deepStrictEqual(names(echo().calls()), ["dealloc_pd", "exp_destroy_res_domain"])
        if (leaked !== undefined) yield* verbs.expDestroyResDomain(pointer, leaked)
        echo().close(pointer)
      }))

    for (
      const attributes of [{ threadModel: "single" }, { threadModel: "single", msgModel: "forceLowLatency" }] as const
    ) {
      test(`while a half made one is undone tells it too: ${title(attributes)}`, () =>
        Effect.gen(function*() {
          const verbs = yield* Verbs.Verbs
          const pointer = echo().open("rdmaCore")
          const exit = yield* Effect.exit(LeakCheck.check(
            Effect.gen(function*() {
              const context = yield* DeviceContext.borrow(pointer)
              echo().script("alloc_parent_domain", { errno: 12 })
              echo().script("dealloc_td", { result: 16 })
              echo().calls()
              yield* ResourceDomain.make(context, attributes)
            })
          ))
          const calls = echo().calls()
          assert.deepStrictEqual(names(calls).slice(3), ["dealloc_pd", "dealloc_td"])
          const failures = failuresOf(exit)
          const td = calls.at(-1)?.["td"]
          if (td !== undefined) yield* verbs.deallocTd(Pointer.make(BigInt(td)))
          echo().close(pointer)
          assert.strictEqual(failures.length, 1)
          assert.deepInclude(failures[0], { call: "ibv_dealloc_td", errno: 16 })
        }))
    }
  })
})
