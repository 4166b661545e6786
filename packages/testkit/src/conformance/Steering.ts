/**
 * What libibverbs does with work queues, flows, flow actions and counters, as tests of the scoped modules: the same on the
 * in-memory fabric, on Soft-RoCE and on hardware.
 *
 * @since 0.1.0
 */
import * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as Counters from "@effect-rdma/verbs/Counters"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as Flow from "@effect-rdma/verbs/Flow"
import * as FlowAction from "@effect-rdma/verbs/FlowAction"
import type * as FlowSpecification from "@effect-rdma/verbs/FlowSpecification"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as RwqIndTable from "@effect-rdma/verbs/RwqIndTable"
import type * as Verbs from "@effect-rdma/verbs/Verbs"
import * as WorkQueue from "@effect-rdma/verbs/WorkQueue"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import {
  assertPath,
  assertReason,
  namesOf,
  recorded,
  testWhere,
  timesCalled,
  usesDeadHandle
} from "../internal/conformance.ts"
import * as Lane from "./Lane.ts"

/**
 * What the suite has to know of the device that it runs on.
 *
 * @category models
 * @since 0.1.0
 */
export interface SteeringLane<Others = never> extends Lane.Lane<Verbs.Verbs | Others> {
  readonly device: string
  /** An active port of the device. */
  readonly port: number
  /** Whether the provider has work queues, flows and counters; otherwise it refuses each of them. */
  readonly steering: boolean
  /** Whether provider and kernel have flow actions. */
  readonly flowActions: boolean
}

const aesKey = Uint8Array.from({ length: 16 }, (_, index) => index)

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: SteeringLane<Others>): void => {
  const it = Lane.test<Verbs.Verbs | Others>(lane)
  const itWhere = testWhere<Verbs.Verbs | Others>(lane)
  const itSteers = itWhere(lane.steering, "the provider has no steering")
  const itRefuses = itWhere(!lane.steering, "the provider has steering")
  const itActs = itWhere(lane.flowActions, "the provider has no flow actions")
  const open = DeviceContext.openByName(lane.device)
  const parts = Effect.gen(function*() {
    const context = yield* open
    const domain = yield* ProtectionDomain.alloc(context)
    const queue = yield* CompletionQueue.make(context, { cqe: 16 })
    return { context, domain, queue }
  })
  const workQueue = Effect.flatMap(parts, ({ domain, queue }) => WorkQueue.make(domain, queue, { maxWr: 4 }))
  const pairOfType = (qpType: "ud" | "rc") =>
    Effect.gen(function*() {
      const { domain, queue } = yield* parts
      return yield* QueuePair.make(domain, {
        qpType,
        sendCq: queue,
        recvCq: queue,
        cap: { maxSendWr: 1, maxRecvWr: 1, maxSendSge: 1, maxRecvSge: 1 }
      })
    })
  const pair = pairOfType("ud")

  // ---------------------------------------------------------------------------
  // Refusals
  // ---------------------------------------------------------------------------

  itRefuses("a work queue is EOPNOTSUPP of ibv_create_wq, and its domain can go", () =>
    Effect.gen(function*() {
      const { domain, queue } = yield* parts
      const error = yield* Effect.flip(WorkQueue.make(domain, queue, { maxWr: 4 }))
      assertReason(error, "ibv_create_wq", "EOPNOTSUPP")
    }))

  itRefuses("an indirection table is EOPNOTSUPP of ibv_create_rwq_ind_table", () =>
    Effect.gen(function*() {
      const context = yield* open
      // No work queue can be made either; the provider has no such operation and looks at none.
      const queue = Pointer.make<"ibv_wq">(0x1000n)
      const error = yield* Effect.flip(context.verbs.createRwqIndTable(Resource.raw(context), [queue]))
      assertReason(error, "ibv_create_rwq_ind_table", "EOPNOTSUPP")
    }))

  itRefuses("a flow is EOPNOTSUPP of ibv_create_flow, and its queue pair can go", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Flow.make(yield* pair, { port: lane.port }))
      assertReason(error, "ibv_create_flow", "EOPNOTSUPP")
    }))

  itRefuses("counters are EOPNOTSUPP of ibv_create_counters", () =>
    Effect.gen(function*() {
      const context = yield* open
      assertReason(yield* Effect.flip(Counters.make(context)), "ibv_create_counters", "EOPNOTSUPP")
    }))

  itWhere(!lane.flowActions, "the provider has flow actions")(
    "a flow action is EOPNOTSUPP of ibv_create_flow_action_esp",
    () =>
      Effect.gen(function*() {
        const context = yield* open
        const error = yield* Effect.flip(FlowAction.makeEsp(context, { keymat: { aesKey } }))
        assertReason(error, "ibv_create_flow_action_esp", "EOPNOTSUPP")
      })
  )

  // ---------------------------------------------------------------------------
  // Input
  // ---------------------------------------------------------------------------

  it("on a closed context nothing is made, and the library is not called", () =>
    recorded(function*(calls) {
      const context = yield* Effect.scoped(open)
      const before = (yield* calls).length
      yield* usesDeadHandle(Effect.scoped(Counters.make(context)))
      yield* usesDeadHandle(Effect.scoped(FlowAction.makeEsp(context, { keymat: { aesKey } })))
      assert.strictEqual((yield* calls).length, before)
    }))

  it("attributes of a work queue out of range are a SchemaError with the path, and the library is not called", () =>
    recorded(function*(calls) {
      const { domain, queue } = yield* parts
      const before = (yield* calls).length
      assertPath(yield* Effect.flip(WorkQueue.make(domain, queue, { maxWr: -1 })), ["maxWr"])
      assertPath(yield* Effect.flip(WorkQueue.make(domain, queue, { maxWr: 1, maxSge: 2 ** 32 })), ["maxSge"])
      assert.strictEqual((yield* calls).length, before)
    }))

  const badSpecs: ReadonlyArray<readonly [FlowSpecification.Input, string]> = [
    [{ _tag: "Eth", val: { dstMac: "02:00:00:00:00" } }, "dstMac"],
    [{ _tag: "Eth", val: { etherType: 0x1_0000 } }, "etherType"],
    [{ _tag: "Ipv4", val: { srcIp: "10.0.0.256" } }, "srcIp"],
    [{ _tag: "Ipv4Ext", val: { ttl: 256 } }, "ttl"],
    [{ _tag: "Ipv6", val: { dstIp: "fe80::1::2" } }, "dstIp"],
    [{ _tag: "Ipv6", val: { flowLabel: 0x10_0000 } }, "flowLabel"],
    [{ _tag: "Tcp", val: { dstPort: -1 } }, "dstPort"],
    [{ _tag: "VxlanTunnel", val: { tunnelId: 0x100_0000 } }, "tunnelId"],
    [{ _tag: "Mpls", val: { label: 1.5 } }, "label"]
  ]

  it("what no packet can have is a SchemaError with the path, and the library is not called", () =>
    recorded(function*(calls) {
      const queuePair = yield* pair
      const before = (yield* calls).length
      for (const [spec, field] of badSpecs) {
        const error = yield* Effect.flip(Flow.make(queuePair, { port: lane.port, specs: [spec] }))
        assertPath(error, [])
        assert.include(error.message, `["${field}"]`)
      }
      assertPath(yield* Effect.flip(Flow.make(queuePair, { port: 0 })), ["port"])
      assertPath(yield* Effect.flip(Flow.make(queuePair, { port: 1, priority: 0x1_0000 })), ["priority"])
      assert.strictEqual((yield* calls).length, before)
    }))

  it("a key that AES does not have is a SchemaError, and the library is not called", () =>
    recorded(function*(calls) {
      const context = yield* open
      const before = (yield* calls).length
      const error = yield* Effect.flip(FlowAction.makeEsp(context, { keymat: { aesKey: new Uint8Array(17) } }))
      assertPath(error, ["keymat", "aesKey"])
      assert.strictEqual((yield* calls).length, before)
    }))

  // ---------------------------------------------------------------------------
  // Work queues
  // ---------------------------------------------------------------------------

  itSteers(
    "work queues have numbers of their own and at least the room that was asked for",
    () =>
      Effect.gen(function*() {
        const { domain, queue } = yield* parts
        const one = yield* WorkQueue.make(domain, queue, { maxWr: 5, maxSge: 3 })
        const other = yield* WorkQueue.make(domain, queue, { maxWr: 5 })
        assert.notStrictEqual(one.wqNum, other.wqNum)
        assert.isAtLeast(one.maxWr, 5)
        assert.isAtLeast(one.maxSge, 3)
        assert.strictEqual(one.completionQueue, queue)
      })
  )

  itSteers(
    "a work queue for nothing, or larger than the device's, is EINVAL of ibv_create_wq",
    () =>
      Effect.gen(function*() {
        const { context, domain, queue } = yield* parts
        const { maxSge } = yield* DeviceContext.query(context)
        for (const bad of [{ maxWr: 0 }, { maxWr: 0xffff_ffff }, { maxWr: 1, maxSge: maxSge * 1000 }]) {
          assertReason(yield* Effect.flip(WorkQueue.make(domain, queue, bad)), "ibv_create_wq", "EINVAL")
        }
      })
  )

  itSteers(
    "a work queue goes from reset to ready, to an error, and only by a reset back",
    () =>
      Effect.gen(function*() {
        const queue = yield* workQueue
        yield* WorkQueue.modify(queue, { wqState: "rdy", currWqState: "reset" })
        yield* WorkQueue.modify(queue, { wqState: "err" })
        assertReason(yield* Effect.flip(WorkQueue.modify(queue, { wqState: "rdy" })), "ibv_modify_wq", "EINVAL")
        yield* WorkQueue.modify(queue, { wqState: "reset" })
        yield* WorkQueue.modify(queue, { wqState: "rdy" })
      })
  )

  itSteers(
    "a work queue in another state than it is said to be is EINVAL of ibv_modify_wq",
    () =>
      Effect.gen(function*() {
        const queue = yield* workQueue
        const error = yield* Effect.flip(WorkQueue.modify(queue, { wqState: "rdy", currWqState: "err" }))
        assertReason(error, "ibv_modify_wq", "EINVAL")
      })
  )

  itSteers("a flag that the device cannot change is EOPNOTSUPP of ibv_modify_wq", () =>
    Effect.gen(function*() {
      const queue = yield* workQueue
      const error = yield* Effect.flip(WorkQueue.modify(queue, { flags: { pciWriteEndPadding: true } }))
      assertReason(error, "ibv_modify_wq", "EOPNOTSUPP")
    }))

  itSteers(
    "a completion queue of another device is EINVAL, and the library is not called",
    () =>
      recorded(function*(calls) {
        const one = yield* parts
        const other = yield* parts
        const error = yield* Effect.flip(WorkQueue.make(one.domain, other.queue, { maxWr: 1 }))
        assertReason(error, "ibv_create_wq", "EINVAL")
        assert.strictEqual(timesCalled(yield* calls, "ibv_create_wq"), 0)
      })
  )

  itSteers("a work queue holds its completion queue: EBUSY of ibv_destroy_cq", () =>
    Effect.gen(function*() {
      const queue = yield* workQueue
      const { verbs } = queue.context
      const error = yield* Effect.flip(verbs.destroyCq(Resource.raw(queue.completionQueue)))
      assertReason(error, "ibv_destroy_cq", "EBUSY")
      assertReason(yield* Effect.flip(verbs.deallocPd(Resource.raw(queue.domain))), "ibv_dealloc_pd", "EBUSY")
    }))

  // ---------------------------------------------------------------------------
  // Indirection tables
  // ---------------------------------------------------------------------------

  itSteers("a table holds its work queues: EBUSY of ibv_destroy_wq until it is gone", () =>
    Effect.gen(function*() {
      const queue = yield* workQueue
      const scope = yield* Scope.fork(yield* Effect.scope)
      yield* RwqIndTable.make([queue, queue]).pipe(Scope.provide(scope))
      const error = yield* Effect.flip(queue.context.verbs.destroyWq(Resource.raw(queue)))
      assertReason(error, "ibv_destroy_wq", "EBUSY")
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(Resource.isLive(queue))
    }))

  itSteers("a number of work queues that is no power of two is a SchemaError", () =>
    recorded(function*(calls) {
      const queue = yield* workQueue
      assertPath(yield* Effect.flip(RwqIndTable.make([queue, queue, queue])), [])
      assert.strictEqual(timesCalled(yield* calls, "ibv_create_rwq_ind_table"), 0)
    }))

  itSteers("a table larger than the device's is EINVAL of ibv_create_rwq_ind_table", () =>
    Effect.gen(function*() {
      const queue = yield* workQueue
      const { rssCaps } = yield* DeviceContext.queryExtended(queue.context)
      const many = Array.from({ length: 2 * rssCaps.maxRwqIndirectionTableSize - 1 }, () => queue)
      const error = yield* Effect.flip(RwqIndTable.make([queue, ...many]))
      assertReason(error, "ibv_create_rwq_ind_table", "EINVAL")
    }))

  itSteers("a table goes before its work queues, in whichever scope they are", () =>
    recorded(function*(calls) {
      const scope = yield* Scope.fork(yield* Effect.scope)
      const queue = yield* workQueue.pipe(Scope.provide(scope))
      const table = yield* RwqIndTable.make([queue])
      yield* Scope.close(scope, Exit.void)
      assert.isFalse(Resource.isLive(table))
      const releases = namesOf(yield* calls).filter((name) => /destroy_(wq|rwq)/.test(name))
      assert.deepStrictEqual(releases, ["ibv_destroy_rwq_ind_table", "ibv_destroy_wq"])
    }))

  // ---------------------------------------------------------------------------
  // Flows
  // ---------------------------------------------------------------------------

  itSteers("a flow of every kind of match is made and goes with the scope", () =>
    Effect.gen(function*() {
      const queuePair = yield* pair
      const matches: ReadonlyArray<FlowSpecification.Input> = [
        { _tag: "Eth", val: { dstMac: "02:00:00:00:00:01" } },
        { _tag: "Ipv4", val: { dstIp: "10.0.0.1" } },
        { _tag: "Ipv6", val: { dstIp: "fe80::1" } },
        { _tag: "Udp", val: { dstPort: 4791 } },
        { _tag: "Tcp", inner: true, val: { dstPort: 443 } },
        { _tag: "VxlanTunnel", val: { tunnelId: 1 } },
        { _tag: "ActionTag", tagId: 7 }
      ]
      for (const spec of matches) {
        const flow = yield* Effect.scoped(Flow.make(queuePair, { port: lane.port, specs: [spec] }))
        assert.isFalse(Resource.isLive(flow))
      }
      yield* Flow.make(queuePair, { type: "sniffer", port: lane.port })
      yield* Flow.make(queuePair, { type: "allDefault", port: lane.port })
      yield* Flow.make(queuePair, { type: "mcDefault", port: lane.port })
    }))

  itSteers(
    "a connected queue pair, a port or a rule that the device does not have are EINVAL of ibv_create_flow",
    () =>
      Effect.gen(function*() {
        const queuePair = yield* pair
        const drop: FlowSpecification.Input = { _tag: "ActionDrop" }
        const tag: FlowSpecification.Input = { _tag: "ActionTag", tagId: 1 }
        const refused = [
          Flow.make(yield* pairOfType("rc"), { port: lane.port }),
          Flow.make(queuePair, { port: 200 }),
          Flow.make(queuePair, { port: lane.port, specs: Array.from({ length: 11 }, () => drop) }),
          Flow.make(queuePair, { type: "allDefault", port: lane.port, specs: [tag] }),
          Flow.make(queuePair, { type: "mcDefault", port: lane.port, flags: ["dontTrap"] })
        ]
        for (const flow of refused) assertReason(yield* Effect.flip(flow), "ibv_create_flow", "EINVAL")
      })
  )

  itSteers("a flow holds its queue pair: EBUSY of ibv_destroy_qp", () =>
    Effect.gen(function*() {
      const queuePair = yield* pair
      yield* Flow.make(queuePair, { port: lane.port })
      const error = yield* Effect.flip(queuePair.context.verbs.destroyQp(Resource.raw(queuePair)))
      assertReason(error, "ibv_destroy_qp", "EBUSY")
    }))

  itSteers("a flow goes before its queue pair, in whichever scope it is", () =>
    recorded(function*(calls) {
      const scope = yield* Scope.fork(yield* Effect.scope)
      const queuePair = yield* pair.pipe(Scope.provide(scope))
      const flow = yield* Flow.make(queuePair, { port: lane.port })
      yield* Scope.close(scope, Exit.void)
      assert.isFalse(Resource.isLive(flow))
      const releases = namesOf(yield* calls).filter((name) => /destroy_(qp|flow)/.test(name))
      assert.deepStrictEqual(releases, ["ibv_destroy_flow", "ibv_destroy_qp"])
    }))

  // ---------------------------------------------------------------------------
  // Counters
  // ---------------------------------------------------------------------------

  itSteers("counters cannot be read before a flow names them, and start at zero then", () =>
    Effect.gen(function*() {
      const queuePair = yield* pair
      const counters = yield* Counters.make(queuePair.context)
      yield* Counters.attachPointFlow(counters, { counterDesc: "packets", index: 0 })
      yield* Counters.attachPointFlow(counters, { counterDesc: "bytes", index: 1 })
      assertReason(yield* Effect.flip(Counters.read(counters, 2)), "ibv_read_counters", "EINVAL")
      yield* Flow.make(queuePair, { port: lane.port, specs: [{ _tag: "ActionCount", counters }] })
      assert.deepStrictEqual(yield* Counters.read(counters, 2), [0n, 0n])
      assert.deepStrictEqual(yield* Counters.read(counters, 2, { preferCached: true }), [0n, 0n])
    }))

  itSteers("fewer values than indexes are EINVAL of ibv_read_counters", () =>
    Effect.gen(function*() {
      const queuePair = yield* pair
      const counters = yield* Counters.make(queuePair.context)
      yield* Counters.attachPointFlow(counters, { counterDesc: "packets", index: 3 })
      yield* Flow.make(queuePair, { port: lane.port, specs: [{ _tag: "ActionCount", counters }] })
      assertReason(yield* Effect.flip(Counters.read(counters, 3)), "ibv_read_counters", "EINVAL")
      assert.strictEqual((yield* Counters.read(counters, 4)).length, 4)
    }))

  itSteers(
    "a flow holds its counters: EBUSY of ibv_destroy_counters and of a further attach",
    () =>
      Effect.gen(function*() {
        const queuePair = yield* pair
        const { verbs } = queuePair.context
        const counters = yield* Counters.make(queuePair.context)
        yield* Effect.scoped(Effect.gen(function*() {
          yield* Flow.make(queuePair, { port: lane.port, specs: [{ _tag: "ActionCount", counters }] })
          assertReason(
            yield* Effect.flip(verbs.destroyCounters(Resource.raw(counters))),
            "ibv_destroy_counters",
            "EBUSY"
          )
          const attach = yield* Effect.flip(Counters.attachPointFlow(counters, { counterDesc: "bytes", index: 0 }))
          assertReason(attach, "ibv_attach_counters_point_flow", "EBUSY")
        }))
        yield* Counters.attachPointFlow(counters, { counterDesc: "bytes", index: 0 })
      })
  )

  itSteers("counters cannot be attached to a flow that is there already: EOPNOTSUPP", () =>
    Effect.gen(function*() {
      const queuePair = yield* pair
      const counters = yield* Counters.make(queuePair.context)
      const flow = yield* Flow.make(queuePair, { port: lane.port })
      const error = yield* Effect.flip(Counters.attachPointFlow(counters, { counterDesc: "packets", index: 0 }, flow))
      assertReason(error, "ibv_attach_counters_point_flow", "EOPNOTSUPP")
    }))

  itSteers("two sets of counters in one rule are EINVAL of ibv_create_flow", () =>
    Effect.gen(function*() {
      const queuePair = yield* pair
      const counters = yield* Counters.make(queuePair.context)
      const spec = { _tag: "ActionCount", counters } as const
      const error = yield* Effect.flip(Flow.make(queuePair, { port: lane.port, specs: [spec, spec] }))
      assertReason(error, "ibv_create_flow", "EINVAL")
    }))

  // ---------------------------------------------------------------------------
  // Flow actions
  // ---------------------------------------------------------------------------

  itActs("a flow holds its action: EBUSY of ibv_destroy_flow_action until it is gone", () =>
    Effect.gen(function*() {
      const queuePair = yield* pair
      const { verbs } = queuePair.context
      const action = yield* FlowAction.makeEsp(queuePair.context, { keymat: { aesKey } })
      const scope = yield* Scope.fork(yield* Effect.scope)
      yield* Flow.make(queuePair, { port: lane.port, specs: [{ _tag: "ActionHandle", action }] }).pipe(
        Scope.provide(scope)
      )
      const error = yield* Effect.flip(verbs.destroyFlowAction(Resource.raw(action)))
      assertReason(error, "ibv_destroy_flow_action", "EBUSY")
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(Resource.isLive(action))
    }))

  itActs(
    "an action outside of what the provider offloads is EOPNOTSUPP, a length that AES-GCM lacks EINVAL",
    () =>
      Effect.gen(function*() {
        const context = yield* open
        const make = FlowAction.makeEsp
        const unsupported = [
          make(context, { keymat: { aesKey, icvLen: 12 } }),
          make(context, { keymat: { aesKey }, replay: { size: 32 } }),
          make(context, { keymat: { aesKey }, espAttr: { offload: "fullOffload" } }),
          make(context, { keymat: { aesKey }, espAttr: { spi: 1 } })
        ]
        for (const action of unsupported) {
          assertReason(yield* Effect.flip(action), "ibv_create_flow_action_esp", "EOPNOTSUPP")
        }
        const short = yield* Effect.flip(make(context, { keymat: { aesKey, icvLen: 5 } }))
        assertReason(short, "ibv_create_flow_action_esp", "EINVAL")
      })
  )

  itActs(
    "only the extended sequence number of an action can change, and only when it has one",
    () =>
      Effect.gen(function*() {
        const context = yield* open
        const extended = yield* FlowAction.makeEsp(context, { keymat: { aesKey }, esn: 1 })
        yield* FlowAction.modifyEsp(extended, { esn: 2, espAttr: { esnNewWindow: true } })
        const key = yield* Effect.flip(FlowAction.modifyEsp(extended, { keymat: { aesKey } }))
        assertReason(key, "ibv_modify_flow_action_esp", "EOPNOTSUPP")
        const plain = yield* FlowAction.makeEsp(context, { keymat: { aesKey } })
        const without = yield* Effect.flip(FlowAction.modifyEsp(plain, { esn: 1 }))
        assertReason(without, "ibv_modify_flow_action_esp", "EINVAL")
      })
  )
}
