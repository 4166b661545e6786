import * as NativeReason from "@effect-rdma/core/NativeReason"
import * as Resource from "@effect-rdma/core/Resource"
import * as Fabric from "@effect-rdma/testkit/Fabric"
import * as Faults from "@effect-rdma/testkit/Faults"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as Counters from "@effect-rdma/verbs/Counters"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as Flow from "@effect-rdma/verbs/Flow"
import * as FlowAction from "@effect-rdma/verbs/FlowAction"
import * as ForkSupport from "@effect-rdma/verbs/ForkSupport"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as RwqIndTable from "@effect-rdma/verbs/RwqIndTable"
import { Verbs } from "@effect-rdma/verbs/Verbs"
import * as WorkQueue from "@effect-rdma/verbs/WorkQueue"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { assertMisuse, assertRefused } from "./observe.ts"

const aesKey = new Uint8Array(16)

const everything = Effect.gen(function*() {
  const context = yield* DeviceContext.openByName("mlx5_0")
  const domain = yield* ProtectionDomain.alloc(context)
  const queue = yield* CompletionQueue.make(context, { cqe: 8 })
  const work = yield* WorkQueue.make(domain, queue, { maxWr: 4 })
  const table = yield* RwqIndTable.make([work])
  const pair = yield* QueuePair.make(domain, { qpType: "ud", sendCq: queue, recvCq: queue })
  const action = yield* FlowAction.makeEsp(context, { keymat: { aesKey }, esn: 0 })
  const counters = yield* Counters.make(context)
  const flow = yield* Flow.make(pair, {
    port: 1,
    specs: [{ _tag: "ActionHandle", action }, { _tag: "ActionCount", counters }]
  })
  return { context, domain, queue, work, table, pair, action, counters, flow }
})

describe("steering of the fabric", () => {
  it.effect("the fabric knows each object by the name of its handle, and has none of them afterwards", () =>
    Effect.gen(function*() {
      const fabric = yield* Fabric.Fabric
      yield* Effect.scoped(Effect.gen(function*() {
        yield* everything
        const kinds = (yield* fabric.objects).map(({ kind }) => kind)
        for (const kind of ["WorkQueue", "RwqIndTable", "FlowAction", "Counters", "Flow"]) assert.include(kinds, kind)
      }))
      assert.deepStrictEqual(yield* fabric.objects, [])
    }).pipe(Effect.provide(Fabric.layer)))

  it.effect("after the device was unplugged every call but that of the clock is EIO, and everything counts as released", () =>
    Effect.gen(function*() {
      const fabric = yield* Fabric.Fabric
      yield* Effect.scoped(Effect.gen(function*() {
        const { action, context, counters, domain, pair, queue, work } = yield* everything
        yield* fabric.unplug("host-a", "mlx5_0")
        yield* assertIo(WorkQueue.make(domain, queue, { maxWr: 1 }), "ibv_create_wq")
        yield* assertIo(WorkQueue.modify(work, { wqState: "rdy" }), "ibv_modify_wq")
        yield* assertIo(RwqIndTable.make([work]), "ibv_create_rwq_ind_table")
        yield* assertIo(Flow.make(pair, { port: 1 }), "ibv_create_flow")
        yield* assertIo(FlowAction.makeEsp(context, { keymat: { aesKey } }), "ibv_create_flow_action_esp")
        yield* assertIo(FlowAction.modifyEsp(action, { esn: 1 }), "ibv_modify_flow_action_esp")
        yield* assertIo(Counters.make(context), "ibv_create_counters")
        yield* assertIo(Counters.read(counters, 1), "ibv_read_counters")
        yield* assertIo(DeviceContext.queryExtended(context), "ibv_query_device_ex")
        assert.isDefined((yield* DeviceContext.queryRtValues(context)).rawClock)
      }))
    }).pipe(Effect.provide(Fabric.layer)))

  it.effect("a second release of each is misuse", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs
      const raws = yield* Effect.scoped(Effect.map(everything, ({ action, counters, flow, table, work }) => ({
        action: Resource.raw(action),
        counters: Resource.raw(counters),
        flow: Resource.raw(flow),
        table: Resource.raw(table),
        work: Resource.raw(work)
      })))
      yield* assertMisuse(verbs.destroyFlow(raws.flow), "ibv_destroy_flow", /no live ibv_flow/)
      yield* assertMisuse(verbs.destroyWq(raws.work), "ibv_destroy_wq", /no live ibv_wq/)
      yield* assertMisuse(verbs.destroyRwqIndTable(raws.table), "ibv_destroy_rwq_ind_table", /no live/)
      yield* assertMisuse(verbs.destroyFlowAction(raws.action), "ibv_destroy_flow_action", /no live/)
      yield* assertMisuse(verbs.destroyCounters(raws.counters), "ibv_destroy_counters", /no live/)
    }).pipe(Effect.provide(Fabric.layer)))

  it.effect("parts of another context are misuse", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs
      const one = yield* everything
      const other = yield* everything
      const context = Resource.raw(one.context)
      const attributes = { pd: Resource.raw(one.domain), cq: Resource.raw(other.queue), maxWr: 1, maxSge: 1 }
      yield* assertMisuse(verbs.createWq(context, { ...attributes, createFlags: [] }), "ibv_create_wq", /context/)
      const table = verbs.createRwqIndTable(context, [Resource.raw(other.work)])
      yield* assertMisuse(table, "ibv_create_rwq_ind_table", /context/)
      const { attributes: flow } = one.flow
      yield* assertMisuse(
        verbs.createFlow(Resource.raw(one.pair), {
          ...flow,
          specs: [{ _tag: "ActionCount", counters: Resource.raw(other.counters) }]
        }),
        "ibv_create_flow",
        /context/
      )
    }).pipe(Effect.provide(Fabric.layer)))

  it.effect("a table holds its work queues once for each place", () =>
    Effect.gen(function*() {
      const { context, domain, queue } = yield* everything
      const { verbs } = context
      const work = yield* WorkQueue.make(domain, queue, { maxWr: 4 })
      const table = yield* verbs.createRwqIndTable(Resource.raw(context), [Resource.raw(work), Resource.raw(work)])
      yield* assertRefused(verbs.destroyWq(Resource.raw(work)), "ibv_destroy_wq", "EBUSY")
      yield* verbs.destroyRwqIndTable(table)
    }).pipe(Effect.provide(Fabric.layer)))

  it.effect("a queue pair holds the table that it was made with, and goes before it", () =>
    Effect.gen(function*() {
      const { context, domain, table } = yield* everything
      yield* QueuePair.makeExtended(domain, {
        qpType: "rawPacket",
        rwqIndTbl: table,
        rxHashConf: { rxHashKey: new Uint8Array(40), rxHashFields: ["srcIpv4"] }
      })
      const error = yield* Effect.flip(context.verbs.destroyRwqIndTable(Resource.raw(table)))
      assert.strictEqual(error.reason._tag, "EBUSY")
    }).pipe(Effect.provide(Fabric.layer)))

  it.effect("fork support is unneeded on a kernel that copies pinned pages, and a fault can make it too late", () =>
    Effect.gen(function*() {
      yield* ForkSupport.init
      assert.strictEqual(yield* ForkSupport.status, "unneeded")
      const late = yield* Effect.flip(
        ForkSupport.init.pipe(Faults.inject([{ call: "ibv_fork_init", nth: 1, errno: "EINVAL" }]))
      )
      assert.strictEqual(late.reason._tag, "EINVAL")
      const layer = Fabric.layer.pipe(
        Faults.layer([{ call: "ibv_fork_init", nth: 1, errno: "EINVAL" }]),
        ForkSupport.layer
      )
      const error = yield* Effect.flip(Effect.scoped(Layer.build(layer)))
      assert.strictEqual(error.call, "ibv_fork_init")
    }).pipe(Effect.provide(Fabric.layer)))
})

const assertIo = <A, E, R>(effect: Effect.Effect<A, E, R>, call: string) =>
  Effect.map(Effect.flip(effect), (error) => {
    assert.deepInclude<unknown>(error, { _tag: "VerbsError", call, reason: NativeReason.fromErrno(5) })
  })
