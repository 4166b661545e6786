/**
 * Completion channels, queues and counters and asynchronous events on the echo provider: every field as the C compiler reads
 * it, and what no kernel of a test machine has.
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as Ledger from "@effect-rdma/core/Ledger"
import * as Library from "@effect-rdma/core/Library"
import * as Pointer from "@effect-rdma/core/Pointer"
import { ReleaseError } from "@effect-rdma/core/ReleaseError"
import * as Resource from "@effect-rdma/core/Resource"
import * as Lane from "@effect-rdma/testkit/conformance/Lane"
import * as AsyncEvent from "@effect-rdma/verbs/AsyncEvent"
import * as AsyncEvents from "@effect-rdma/verbs/AsyncEvents"
import * as CompletionChannel from "@effect-rdma/verbs/CompletionChannel"
import * as CompletionCounter from "@effect-rdma/verbs/CompletionCounter"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as CompletionQueueAttributes from "@effect-rdma/verbs/CompletionQueueAttributes"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import type * as ExtendedCompletion from "@effect-rdma/verbs/ExtendedCompletion"
import * as ParentDomain from "@effect-rdma/verbs/ParentDomain"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as ResourceDomain from "@effect-rdma/verbs/ResourceDomain"
import * as WorkCompletionOpcode from "@effect-rdma/verbs/WorkCompletionOpcode"
import * as WorkCompletionStatus from "@effect-rdma/verbs/WorkCompletionStatus"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Compiler from "./Compiler.ts"
import * as Echo from "./Echo.ts"
import * as Expectation from "./Expectation.ts"

const names = (calls: ReadonlyArray<Echo.Report>) => calls.map(({ op }) => op)
const address = (handle: Resource.Resource<string, bigint>) => String(Resource.raw(handle))
const defects = (exit: Exit.Exit<unknown, unknown>): ReadonlyArray<unknown> =>
  Exit.isFailure(exit) ? exit.cause.reasons.filter(Cause.isDieReason).map(({ defect }) => defect) : []
const upper = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()
const maximum64 = 0xffff_ffff_ffff_ffffn

describe.skipIf(Compiler.missing !== undefined)("the C compiler agrees", () => {
  it("with the events, statuses, opcodes and flags of completions", () => {
    const range = Array.from({ length: 138 }, (_, native) => native)
    // Newer than some headers.
    const newer = new Set(["IBV_WC_FLUSH", "IBV_WC_ATOMIC_WRITE"])
    const opcodes = range.flatMap((native) => {
      const opcode = WorkCompletionOpcode.fromNative(native)
      const name = WorkCompletionOpcode.format(opcode)
      return opcode === "unknown" || newer.has(name) ? [] : [[name, native] as const]
    })
    assert.deepStrictEqual(
      Expectation.refuted(Expectation.constants({
        ...Object.fromEntries(opcodes),
        ...Object.fromEntries(
          range.slice(0, 24).flatMap((native) => {
            const status = WorkCompletionStatus.fromNative(native)
            return [[`IBV_WC_${upper(status)}`, native]]
          })
        ),
        ...Object.fromEntries(
          Array.from(AsyncEvent.eventTypes).filter(([name]) => name !== "deviceSpeedChange").map((
            [name, native]
          ) => [`IBV_EVENT_${upper(name)}`, native])
        ),
        ...Object.fromEntries(
          Object.entries(CompletionQueueAttributes.wcFlagBits).map((
            [name, bit]
          ) => [`IBV_WC_EX_WITH_${upper(name)}`, bit])
        ),
        IBV_CQ_ATTR_MODERATE: 1,
        IBV_CQ_INIT_ATTR_MASK_FLAGS: 1,
        IBV_CQ_INIT_ATTR_MASK_PD: 2,
        IBV_CREATE_CQ_ATTR_SINGLE_THREADED: 1,
        IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN: 2,
        IBV_WC_WITH_IMM: 2,
        IBV_WC_WITH_INV: 8
      })),
      []
    )
  })
})

describe.skipIf(Compiler.missing !== undefined)("completions of libibverbs", () => {
  const lane = Echo.lane()
  const test = Lane.test(lane)
  const { echo } = lane
  const open = DeviceContext.openByName("echo0")
  const hooks = Effect.map(
    Effect.suspend(() =>
      Library.open({ name: "echo", soname: [echo().path], environment: "UNUSED", debianPackage: "gcc" })
    ),
    (library) => ({
      cqEvent: library.bind("echo_cq_event", ["pointer"], "void"),
      openAsync: library.bind("echo_open_async", ["pointer"], "void"),
      asyncEvent: library.bind("echo_async_event", ["pointer", "int", "u64"], "void"),
      completions: library.bind("echo_completions", ["int"], "void")
    })
  )

  test("a context tells its interrupts", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* DeviceContext.numCompVectors(yield* open), 4)
    }))

  test("a channel does not block, and every field of a queue arrives", () =>
    Effect.gen(function*() {
      const context = yield* open
      yield* Effect.scoped(Effect.gen(function*() {
        const channel = yield* CompletionChannel.make(context)
        assert.deepInclude(echo().last(), { op: "create_comp_channel", context: address(context) })
        const queue = yield* CompletionQueue.make(context, { cqe: 0x7fff_fff0, compVector: 0x7fff_ffff, channel })
        assert.deepInclude(echo().last(), {
          op: "create_cq",
          context: address(context),
          cqe: String(0x7fff_fff0),
          channel: address(channel),
          comp_vector: String(0x7fff_ffff)
        })
        assert.notStrictEqual(echo().last()["cq_context"], "0")
        assert.strictEqual(queue.cqe, 0x7fff_fff0)
        const alone = yield* CompletionQueue.make(context, { cqe: 17 })
        assert.deepInclude(echo().last(), {
          op: "create_cq",
          cqe: "17",
          channel: "0",
          comp_vector: "0",
          cq_context: "0"
        })
        assert.strictEqual(alone.cqe, 32)
        echo().calls()
      }))
      const calls = echo().calls()
      assert.deepStrictEqual(names(calls), ["destroy_cq", "destroy_cq", "destroy_comp_channel"])
      assert.deepInclude(calls[2], { non_blocking: "1", refcnt: "0" })
    }))

  test("resize, moderation and notification pass what they are given", () =>
    Effect.gen(function*() {
      const queue = yield* CompletionQueue.make(yield* open, { cqe: 1 })
      assert.strictEqual(yield* CompletionQueue.resize(queue, 33), 48)
      assert.deepInclude(echo().last(), { op: "resize_cq", cq: address(queue), cqe: "33" })
      yield* CompletionQueue.modify(queue, { cqCount: 0xfffe, cqPeriod: 0x8001 })
      assert.deepInclude(echo().last(), {
        op: "modify_cq",
        cq: address(queue),
        attr_mask: "1",
        "moderate.cq_count": "65534",
        "moderate.cq_period": "32769"
      })
      yield* CompletionQueue.requestNotification(queue)
      assert.deepInclude(echo().last(), { op: "req_notify_cq", cq: address(queue), solicited_only: "0" })
      yield* CompletionQueue.requestNotification(queue, { solicitedOnly: true })
      assert.deepInclude(echo().last(), { op: "req_notify_cq", solicited_only: "1" })
    }))

  test("every call fails by its own convention", () =>
    Effect.gen(function*() {
      const context = yield* open
      const channel = yield* CompletionChannel.make(context)
      const queue = yield* CompletionQueue.make(context, { cqe: 1, channel })
      const counter = yield* CompletionCounter.make(context)
      const cases = [
        ["create_comp_channel", { errno: 24 }, 24, CompletionChannel.make(context)],
        ["create_cq", { errno: 12 }, 12, CompletionQueue.make(context, { cqe: 1, channel })],
        ["create_cq_ex", { errno: 95 }, 95, CompletionQueue.makeExtended(context, { cqe: 1, channel })],
        ["resize_cq", { result: 22, errno: 1 }, 22, CompletionQueue.resize(queue, 5)],
        ["modify_cq", { result: 95, errno: 1 }, 95, CompletionQueue.modify(queue, { cqCount: 1, cqPeriod: 1 })],
        ["req_notify_cq", { result: 5, errno: 1 }, 5, CompletionQueue.requestNotification(queue)],
        ["get_cq_event", { result: -1, errno: 5 }, 5, CompletionChannel.next(channel)],
        ["query_comp_cntr_caps", { result: 95, errno: 1 }, 95, CompletionCounter.capabilities(context)],
        ["create_comp_cntr", { errno: 12 }, 12, CompletionCounter.make(context)],
        ["set_comp_cntr", { result: 22, errno: 1 }, 22, CompletionCounter.set(counter, 1n)],
        ["set_err_comp_cntr", { result: 22, errno: 1 }, 22, CompletionCounter.setErr(counter, 1n)],
        ["inc_comp_cntr", { result: 22, errno: 1 }, 22, CompletionCounter.inc(counter, 1n)],
        ["inc_err_comp_cntr", { result: 22, errno: 1 }, 22, CompletionCounter.incErr(counter, 1n)],
        ["read_comp_cntr", { result: 5, errno: 1 }, 5, CompletionCounter.read(counter)],
        ["read_err_comp_cntr", { result: 5, errno: 1 }, 5, CompletionCounter.readErr(counter)]
      ] as const
      for (const [op, failure, errno, run] of cases) {
        echo().script(op, failure)
        const error = yield* Effect.flip<unknown, { readonly _tag: string }, Scope.Scope>(run)
        assert.deepInclude<object>(error, { _tag: "VerbsError", call: `ibv_${op}` }, op)
        assert.strictEqual("reason" in error ? Reflect.get(Object(error.reason), "errno") : undefined, errno, op)
      }
    }))

  test("an extended queue passes every field, and a mask bit for each part that was given", () =>
    Effect.gen(function*() {
      const context = yield* open
      const channel = yield* CompletionChannel.make(context)
      const domain = yield* ParentDomain.alloc(yield* ProtectionDomain.alloc(context))
      const all = Object.keys(CompletionQueueAttributes.wcFlagBits)
      const queue = yield* CompletionQueue.makeExtended(context, {
        cqe: 16,
        compVector: 3,
        channel,
        domain,
        singleThreaded: true,
        ignoreOverrun: true,
        wcFlags: CompletionQueueAttributes.WcFlag.literals
      })
      assert.deepInclude(echo().last(), {
        op: "create_cq_ex",
        context: address(context),
        cqe: "16",
        channel: address(channel),
        comp_vector: "3",
        wc_flags: "4095",
        comp_mask: "3",
        flags: "3",
        parent_domain: address(domain)
      })
      assert.deepStrictEqual([...queue.wcFlags], all)
      yield* CompletionQueue.makeExtended(context, { cqe: 16 })
      assert.deepInclude(echo().last(), {
        wc_flags: "127",
        comp_mask: "0",
        flags: "0",
        parent_domain: "0",
        channel: "0"
      })
      yield* CompletionQueue.makeExtended(context, { cqe: 16, ignoreOverrun: true, wcFlags: [] })
      assert.deepInclude(echo().last(), { wc_flags: "0", comp_mask: "1", flags: "2", parent_domain: "0" })
      for (const [flag, bit] of Object.entries(CompletionQueueAttributes.wcFlagBits)) {
        const wcFlags = CompletionQueueAttributes.WcFlag.literals.filter((name) => name === flag)
        yield* CompletionQueue.makeExtended(context, { cqe: 16, wcFlags })
        assert.strictEqual(echo().last()["wc_flags"], String(bit))
      }
    }))

  test("an extended queue takes the parent domain of a resource domain, and no lock for one thread", () =>
    Effect.gen(function*() {
      const context = yield* open
      for (const [threadModel, flags] of [["single", "1"], ["unsafe", "0"]] as const) {
        const domain = yield* ResourceDomain.make(context, { threadModel })
        if (domain.origin._tag !== "ThreadDomain") return assert.fail(domain.origin._tag)
        yield* CompletionQueue.makeExtended(context, { cqe: 16, domain })
        assert.deepInclude(echo().last(), {
          op: "create_cq_ex",
          comp_mask: flags === "1" ? "3" : "2",
          flags,
          parent_domain: address(domain.origin.parentDomain)
        })
      }
    }))

  test("a context without the operations says EOPNOTSUPP", () =>
    Effect.gen(function*() {
      const context = yield* DeviceContext.openByName("echo3")
      const queue = yield* CompletionQueue.make(context, { cqe: 1 })
      for (
        const [call, run] of [
          ["ibv_create_cq_ex", CompletionQueue.makeExtended(context, { cqe: 1 })],
          ["ibv_modify_cq", CompletionQueue.modify(queue, { cqCount: 1, cqPeriod: 1 })]
        ] as const
      ) {
        const error = yield* Effect.flip<unknown, { readonly _tag: string }, Scope.Scope>(run)
        assert.deepInclude<object>(error, { _tag: "VerbsError", call })
      }
    }))

  const whole: ExtendedCompletion.ExtendedCompletion = {
    wrId: 0xfedc_ba98_7654_3210n,
    status: "success",
    vendorErr: 0x8bad_f00d,
    qpNum: 0xab_cdef,
    opcode: "recvRdmaWithImm",
    wcFlags: 3,
    immData: 0x9122_3344,
    byteLen: 0x8000_0001,
    srcQp: 0x12_3456,
    slid: 0x8_0001,
    sl: 15,
    dlidPathBits: 0xfe,
    completionTs: 0x8123_4567_89ab_cdefn,
    cvlan: 0xfedc,
    flowTag: 0xdead_beef,
    tmInfo: { tag: 0xf123_4567_89ab_cdefn, priv: 0x8765_4321 },
    completionWallclockNs: 1_700_000_000_123_456_789n
  }

  test("a poll reads every part of a completion, of a failed one only what counts, and ends", () =>
    Effect.gen(function*() {
      const context = yield* open
      const { completions } = yield* hooks
      const queue = yield* CompletionQueue.makeExtended(context, {
        cqe: 16,
        wcFlags: CompletionQueueAttributes.WcFlag.literals
      })
      completions(3)
      echo().calls()
      const seen: Array<ExtendedCompletion.ExtendedCompletion> = []
      assert.strictEqual(yield* CompletionQueue.pollExtended(queue, (completion) => seen.push(completion) > 0), 3)
      const calls = echo().calls()
      assert.deepStrictEqual(names(calls), [
        "start_poll",
        "end_poll",
        "start_poll",
        "end_poll",
        "start_poll",
        "end_poll",
        "start_poll"
      ])
      for (const call of calls) assert.strictEqual(call["cq"], address(queue))
      assert.strictEqual(calls[0]?.["comp_mask"], "0")
      assert.deepStrictEqual(seen[0], whole)
      assert.deepStrictEqual(seen[1], {
        wrId: whole.wrId + 1n,
        status: "remAccessErr",
        vendorErr: whole.vendorErr,
        qpNum: 0xab_cdef
      })
      const { immData: _immData, ...others } = whole
      assert.deepStrictEqual(seen[2], {
        ...others,
        wrId: whole.wrId + 2n,
        opcode: "recv",
        wcFlags: 8,
        invalidatedRkey: 0xcafe_0001,
        completionTs: 7n
      })
    }))

  test("a poll reads nothing that the queue was not made to report", () =>
    Effect.gen(function*() {
      const context = yield* open
      const { completions } = yield* hooks
      const queue = yield* CompletionQueue.makeExtended(context, { cqe: 16, wcFlags: ["sl"] })
      completions(2)
      const seen: Array<ExtendedCompletion.ExtendedCompletion> = []
      yield* CompletionQueue.pollExtended(queue, (completion) => seen.push(completion) > 0)
      const { status, vendorErr, wrId } = whole
      assert.deepStrictEqual(seen, [
        { wrId, status, vendorErr, opcode: "recvRdmaWithImm", wcFlags: 3, sl: 15 },
        { wrId: wrId + 1n, status: "remAccessErr", vendorErr }
      ])
    }))

  test("a poll ends before what it read is used; an empty one never began", () =>
    Effect.gen(function*() {
      const context = yield* open
      const { completions } = yield* hooks
      const queue = yield* CompletionQueue.makeExtended(context, { cqe: 16 })
      completions(5)
      echo().calls()
      assert.strictEqual(yield* CompletionQueue.pollExtended(queue, () => false), 1)
      assert.deepStrictEqual(names(echo().calls()), ["start_poll", "end_poll"])

      const broken = new Error("broken")
      const exit = yield* Effect.exit(CompletionQueue.pollExtended(queue, () => {
        throw broken
      }))
      assert.deepStrictEqual(defects(exit), [broken])
      assert.deepStrictEqual(names(echo().calls()), ["start_poll", "end_poll"])

      const runSync = Effect.runSyncWith(yield* Effect.context<never>())
      const inner = CompletionQueue.pollExtended(queue, () => true)
      assert.strictEqual(yield* CompletionQueue.pollExtended(queue, () => runSync(inner) > 0), 1)
      echo().calls()

      completions(2)
      echo().script("start_poll", { result: 22, errno: 1, after: 1 })
      const error = yield* Effect.flip(CompletionQueue.pollExtended(queue, () => true))
      assert.deepInclude(error, { call: "ibv_start_poll", input: { count: 1 } })
      assert.strictEqual(error.reason.errno, Errno.numberOf("EINVAL"))
      assert.deepStrictEqual(names(echo().calls()), ["start_poll", "end_poll", "start_poll"])
      completions(0)
      assert.strictEqual(yield* CompletionQueue.pollExtended(queue, () => true), 0)
      assert.deepStrictEqual(names(echo().calls()), ["start_poll"])
    }))

  test("an event of a queue wakes who waits, names the queue and is acked at once", () =>
    Effect.gen(function*() {
      const context = yield* open
      const { cqEvent } = yield* hooks
      const channel = yield* CompletionChannel.make(context)
      const queues = yield* Effect.forEach([1, 2], (cqe) => CompletionQueue.make(context, { cqe, channel }))
      for (const queue of queues.toReversed()) {
        const fiber = yield* Effect.forkChild(CompletionChannel.next(channel), { startImmediately: true })
        yield* Effect.sleep("5 millis")
        echo().calls()
        cqEvent(Resource.raw(queue))
        assert.strictEqual(yield* Fiber.join(fiber), queue)
        const calls = echo().calls()
        assert.deepStrictEqual(names(calls), ["get_cq_event", "ack_cq_events"])
        assert.deepInclude(calls[1], { cq: address(queue), nevents: "1" })
      }
      for (const queue of queues) cqEvent(Resource.raw(queue))
      const both = yield* Effect.all([CompletionChannel.next(channel), CompletionChannel.next(channel)])
      assert.deepStrictEqual(new Set(both), new Set(queues))
    }))

  test("asynchronous events come by name, with their object or port, and are acked at once", () =>
    Effect.gen(function*() {
      const context = yield* open
      const { asyncEvent, openAsync } = yield* hooks
      const raw = Resource.raw(context)
      openAsync(raw)
      const pointer = 0x7f12_3456_789an
      const fiber = yield* Effect.forkChild(AsyncEvents.next(context), { startImmediately: true })
      yield* Effect.sleep("5 millis")
      asyncEvent(raw, 10, 0xdead_beef_0000_0002n)
      assert.deepStrictEqual(yield* Fiber.join(fiber), { _tag: "Port", event: "portErr", portNum: 2 })
      for (const [event, native] of AsyncEvent.eventTypes) {
        asyncEvent(raw, native, pointer)
        echo().calls()
        const got = yield* AsyncEvents.next(context)
        const calls = echo().calls()
        assert.deepStrictEqual(names(calls), ["get_async_event", "ack_async_event"])
        assert.deepInclude(calls[1], { event_type: String(native), element: String(pointer) })
        assert.strictEqual(got.event, event)
        if ("pointer" in got) assert.strictEqual(BigInt(got.pointer), pointer)
        else if (got._tag === "Port") assert.strictEqual(got.portNum, 0x3456_789a)
        else assert.strictEqual(got._tag, "Device")
      }
      asyncEvent(raw, 77, pointer)
      assert.deepStrictEqual(yield* AsyncEvents.next(context), { _tag: "Unknown", event: "unknown", eventType: 77 })
      echo().script("get_async_event", { result: -1, errno: 5 })
      assert.strictEqual((yield* Effect.flip(AsyncEvents.next(context))).reason._tag, "EIO")
    }))

  test("an event concerns the handle of its object, as long as that lives", () =>
    Effect.gen(function*() {
      const context = yield* open
      const { asyncEvent, openAsync } = yield* hooks
      openAsync(Resource.raw(context))
      const queue = yield* Effect.scoped(Effect.gen(function*() {
        const queue = yield* CompletionQueue.make(context, { cqe: 1 })
        asyncEvent(Resource.raw(context), 0, Resource.raw(queue))
        const event = yield* AsyncEvents.next(context)
        assert.isTrue(AsyncEvent.concerns(event, queue))
        assert.isFalse(AsyncEvent.concerns(event, context))
        return { event, queue }
      }))
      assert.isFalse(AsyncEvent.concerns(queue.event, queue.queue))
    }))

  test("a queue that cannot be destroyed keeps the channel: both are told", () =>
    Effect.gen(function*() {
      const context = yield* open
      const ledger = Ledger.makeUnsafe()
      const made: Array<[Pointer.Pointer<"ibv_comp_channel">, Pointer.Pointer<"ibv_cq">]> = []
      const exit = yield* Effect.gen(function*() {
        const channel = yield* CompletionChannel.make(context)
        const queue = yield* CompletionQueue.make(context, { cqe: 1, channel })
        echo().script("destroy_cq", { result: 16, errno: 1 })
        made.push([Resource.raw(channel), Resource.raw(queue)])
      }).pipe(Effect.scoped, Effect.provideService(Ledger.Ledger, ledger), Effect.exit)
      assert.deepStrictEqual(
        defects(exit).map((defect) => defect instanceof ReleaseError ? [defect.call, defect.errno] : defect),
        [["ibv_destroy_cq", 16], ["ibv_destroy_comp_channel", 16]]
      )
      for (const [channel, queue] of made) {
        yield* context.verbs.destroyCq(queue)
        yield* context.verbs.destroyCompChannel(channel)
      }
    }))

  test("a queue that went with its device lets the channel go", () =>
    Effect.gen(function*() {
      const context = yield* open
      yield* Effect.scoped(Effect.gen(function*() {
        const channel = yield* CompletionChannel.make(context)
        yield* CompletionQueue.make(context, { cqe: 1, channel })
        echo().script("destroy_cq", { result: 5 })
        echo().calls()
      }))
      const calls = echo().calls()
      assert.deepStrictEqual(names(calls), ["destroy_cq", "destroy_comp_channel"])
      assert.deepInclude(calls[1], { refcnt: "0" })
    }))

  test("a counter passes and gives 64 bits, and goes with the scope", () =>
    Effect.gen(function*() {
      const context = yield* open
      yield* Effect.scoped(Effect.gen(function*() {
        for (const [type, native] of [["wrs", "0"], ["bytes", "1"]] as const) {
          const counter = yield* CompletionCounter.make(context, { type })
          assert.deepInclude(echo().last(), {
            op: "create_comp_cntr",
            context: address(context),
            comp_mask: "0",
            type: native,
            flags: "0"
          })
          yield* CompletionCounter.set(counter, maximum64 - 1n)
          assert.deepInclude(echo().last(), {
            op: "set_comp_cntr",
            counter: address(counter),
            amount: String(maximum64 - 1n)
          })
          yield* CompletionCounter.inc(counter, 1n)
          yield* CompletionCounter.setErr(counter, 5n)
          yield* CompletionCounter.incErr(counter, 0x8000_0000_0000_0000n)
          assert.strictEqual(yield* CompletionCounter.read(counter), maximum64)
          assert.strictEqual(yield* CompletionCounter.readErr(counter), 0x8000_0000_0000_0005n)
          for (const amount of [-1n, maximum64 + 1n]) {
            assert.strictEqual((yield* Effect.flip(CompletionCounter.set(counter, amount)))._tag, "SchemaError")
          }
        }
        echo().calls()
      }))
      assert.deepStrictEqual(names(echo().calls()), ["destroy_comp_cntr", "destroy_comp_cntr"])
    }))

  test("a queue pair goes before the counter that is attached to it, and stays when that failed", () =>
    Effect.gen(function*() {
      const context = yield* open
      const domain = yield* ProtectionDomain.alloc(context)
      const queue = yield* CompletionQueue.make(context, { cqe: 4 })
      const queuePair = yield* QueuePair.make(domain, { qpType: "rc", sendCq: queue, recvCq: queue })
      yield* Effect.scoped(Effect.gen(function*() {
        const counter = yield* CompletionCounter.make(context)
        echo().script("qp_attach_comp_cntr", { result: 22, errno: 1 })
        const error = yield* Effect.flip(CompletionCounter.attach(counter, queuePair, ["send"]))
        assert.deepInclude(error, { call: "ibv_qp_attach_comp_cntr" })
        assert.include(error.message, "EINVAL")
      }))
      assert.isTrue(Resource.isLive(queuePair))
      yield* Effect.scoped(Effect.gen(function*() {
        const counter = yield* CompletionCounter.make(context)
        yield* CompletionCounter.attach(counter, queuePair, ["send", "remoteRdmaWrite"])
        assert.deepInclude(echo().last(), {
          op: "qp_attach_comp_cntr",
          qp: address(queuePair),
          counter: address(counter),
          op_mask: "33"
        })
        echo().calls()
      }))
      assert.deepStrictEqual(names(echo().calls()), ["destroy_qp", "destroy_comp_cntr"])
    }))

  test("the capabilities of counters are read, and a counter is attached for what it is told", () =>
    Effect.gen(function*() {
      const context = yield* open
      assert.deepStrictEqual(yield* CompletionCounter.capabilities(context), {
        maxValue: maximum64 - 1n,
        maxCounters: 0x8000_0003,
        supportedQpAttachOps: ["send", "recv", "rdmaRead", "remoteRdmaRead", "rdmaWrite", "remoteRdmaWrite"]
      })
      assert.deepInclude(echo().last(), { op: "query_comp_cntr_caps", size: "16" })
      const counter = yield* CompletionCounter.make(context)
      const qp = Pointer.make<"ibv_qp">(0x7f00_1234_0000n)
      for (
        const [name, bit] of [
          ["send", 1],
          ["recv", 2],
          ["rdmaRead", 4],
          ["remoteRdmaRead", 8],
          ["rdmaWrite", 16],
          ["remoteRdmaWrite", 32]
        ] as const
      ) {
        yield* context.verbs.qpAttachCompCntr(qp, Resource.raw(counter), [name])
        assert.deepInclude(echo().last(), {
          op: "qp_attach_comp_cntr",
          qp: String(qp),
          counter: address(counter),
          comp_mask: "0",
          op_mask: String(bit)
        })
      }
    }))
})
