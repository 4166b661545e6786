import type * as Errno from "@effect-rdma/core/Errno"
import * as Gid from "@effect-rdma/core/Gid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as Resource from "@effect-rdma/core/Resource"
import * as Fabric from "@effect-rdma/testkit/Fabric"
import * as Faults from "@effect-rdma/testkit/Faults"
import * as LeakCheck from "@effect-rdma/testkit/LeakCheck"
import * as Topology from "@effect-rdma/testkit/Topology"
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as MulticastAttachment from "@effect-rdma/verbs/MulticastAttachment"
import * as ParentDomain from "@effect-rdma/verbs/ParentDomain"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import type * as QueuePairAttributes from "@effect-rdma/verbs/QueuePairAttributes"
import * as ResourceDomain from "@effect-rdma/verbs/ResourceDomain"
import * as SendBatch from "@effect-rdma/verbs/SendBatch"
import * as SharedReceiveQueue from "@effect-rdma/verbs/SharedReceiveQueue"
import { Verbs } from "@effect-rdma/verbs/Verbs"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import * as XrcDomain from "@effect-rdma/verbs/XrcDomain"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Calls from "../src/internal/calls.ts"
import { assertMisuse, assertRefused as assertVerbsRefused } from "./observe.ts"

/** The call must fail with this errno, and not with bad input. */
const assertRefused = <A, R>(
  run: Effect.Effect<A, VerbsError | Schema.SchemaError, R>,
  call: string,
  errno: Errno.ErrnoName
) => assertVerbsRefused(Effect.catchTag(run, "SchemaError", Effect.die), call, errno)

const gid = Schema.decodeSync(Gid.GidFromString)
const raw = Resource.raw

const opened = Effect.fnUntraced(function*(name: string) {
  const context = yield* DeviceContext.openByName(name)
  const domain = yield* ProtectionDomain.alloc(context)
  const queue = yield* CompletionQueue.make(context, { cqe: 16 })
  return { context, domain, queue, queues: { sendCq: queue, recvCq: queue }, verbs: yield* Verbs }
})

const tight = (attributes: (typeof Topology.Attributes)["Encoded"]): Topology.Input => ({
  hosts: [{ name: "only", devices: [{ ...Topology.softRoce("rxe0", 1), attributes }] }]
})

const loop = { portNum: 1, grh: { dgid: "::ffff:10.0.0.1", sgidIndex: 1 } }

describe("Fabric: queues", () => {
  describe("use counts", () => {
    it.effect("a domain, a completion queue and a shared receive queue under a queue pair are EBUSY", () =>
      Effect.gen(function*() {
        const { domain, queue, queues, verbs } = yield* opened("rxe0")
        const srq = yield* SharedReceiveQueue.make(domain, { maxWr: 4 })
        yield* Effect.scoped(Effect.gen(function*() {
          yield* QueuePair.make(domain, { qpType: "rc", ...queues, srq })
          yield* assertRefused(verbs.deallocPd(raw(domain)), "ibv_dealloc_pd", "EBUSY")
          yield* assertRefused(verbs.destroyCq(raw(queue)), "ibv_destroy_cq", "EBUSY")
          yield* assertRefused(verbs.destroySrq(raw(srq)), "ibv_destroy_srq", "EBUSY")
        }))
        yield* assertRefused(verbs.deallocPd(raw(domain)), "ibv_dealloc_pd", "EBUSY")
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("an XRC domain under a queue or a queue pair is EBUSY, until the last handle of the pair is gone", () =>
      Effect.gen(function*() {
        const { domain, queue, verbs } = yield* opened("mlx5_0")
        const xrcDomain = yield* XrcDomain.open(domain.context)
        const busy = assertRefused(verbs.closeXrcd(raw(xrcDomain)), "ibv_close_xrcd", "EBUSY")
        yield* Effect.scoped(Effect.andThen(
          SharedReceiveQueue.makeExtended(domain, { srqType: "xrc", maxWr: 1, xrcDomain, completionQueue: queue }),
          busy
        ))
        const self = yield* verbs.createQpEx(raw(domain.context), {
          qpType: "xrcRecv",
          cap: { maxSendWr: 0, maxRecvWr: 0, maxSendSge: 0, maxRecvSge: 0, maxInlineData: 0 },
          sqSigAll: false,
          sendCq: undefined,
          recvCq: undefined,
          srq: undefined,
          pd: undefined,
          rwqIndTbl: undefined,
          xrcd: raw(xrcDomain)
        })
        yield* Effect.scoped(Effect.gen(function*() {
          // @ts-expect-error code without types can pass the wrong kind of domain
          const foreign = QueuePair.makeExtended(domain, { qpType: "xrcRecv", cap: {} })
          yield* assertRefused(foreign, "ibv_create_qp_ex", "EINVAL")
          const other = yield* QueuePair.open(xrcDomain, self.qpNum)
          yield* verbs.destroyQp(self.qp)
          assert.strictEqual(yield* QueuePair.state(other), "reset")
          yield* busy
        }))
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("a queue pair in a group is EBUSY, and what was not attached cannot be detached", () =>
      Effect.gen(function*() {
        const { domain, queues, verbs } = yield* opened("rxe0")
        const self = yield* QueuePair.make(domain, { qpType: "ud", ...queues })
        yield* Effect.scoped(Effect.andThen(
          MulticastAttachment.attach(self, { gid: "ff12::1" }),
          assertRefused(verbs.destroyQp(raw(self)), "ibv_destroy_qp", "EBUSY")
        ))
        const detach = verbs.detachMcast(raw(self), gid("ff12::1"), Lid.Lid.make(0))
        yield* assertRefused(detach, "ibv_detach_mcast", "EINVAL")
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("a queue pair that is released while it is being attached is detached first", () =>
      Effect.gen(function*() {
        const fabric = yield* Fabric.Fabric
        const slow = Calls.interceptVerbs(Context.get(yield* fabric.seams("host-a"), Verbs), {
          fallible: (_call, _args, run) => Effect.andThen(Effect.yieldNow, Effect.ensuring(run, Effect.yieldNow)),
          infallible: (_call, _args, run) => run,
          synchronous: (_call, _args, run) => run()
        })
        for (let turns = 0; turns < 12; turns++) {
          yield* LeakCheck.check(Effect.gen(function*() {
            const { domain, queues } = yield* opened("rxe0")
            const scope = yield* Scope.make()
            const self = yield* QueuePair.make(domain, { qpType: "ud", ...queues }).pipe(Scope.provide(scope))
            const attaching = yield* Effect.forkChild(
              Effect.exit(Effect.scoped(MulticastAttachment.attach(self, { gid: "ff12::1" }))),
              { startImmediately: true }
            )
            for (let turn = 0; turn < turns; turn++) yield* Effect.yieldNow
            yield* Scope.close(scope, Exit.void)
            yield* Fiber.await(attaching)
          })).pipe(Effect.provideService(Verbs, slow))
        }
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("a queue pair in a parent domain keeps it, and through it both of its parts", () =>
      Effect.gen(function*() {
        const { domain, queues, verbs } = yield* opened("mlx5_0")
        const parent = yield* ParentDomain.alloc(domain)
        yield* QueuePair.make(parent, { qpType: "rc", ...queues })
        yield* assertRefused(verbs.deallocPd(raw(parent)), "ibv_dealloc_pd", "EBUSY")
        yield* assertRefused(verbs.deallocPd(raw(domain)), "ibv_dealloc_pd", "EBUSY")
      }).pipe(Effect.provide(Fabric.layer)))

    for (const device of ["rxe0", "mlx5_0"] as const) {
      it.effect(`a queue pair belongs to a resource domain of ${device} by its domain`, () =>
        Effect.gen(function*() {
          const { context, domain, queues } = yield* opened(device)
          const resources = yield* ResourceDomain.make(context, { threadModel: "single", msgModel: "lowLatency" })
          const on = yield* ResourceDomain.domainFor(resources, domain)
          assert.strictEqual(on.kind, device === "rxe0" ? "ProtectionDomain" : "ParentDomain")
          const self = yield* QueuePair.make(on, { qpType: "rc", ...queues })
          assert.strictEqual(self.domain, on)
        }).pipe(LeakCheck.check, Effect.provide(Fabric.layer)))
    }
  })

  describe("room", () => {
    it.effect("rxe gives what it says and more: rings of a power of two, pieces and inline data in one space", () =>
      Effect.gen(function*() {
        const { domain, queues } = yield* opened("rxe0")
        const roomOf = Effect.fnUntraced(function*(cap: typeof QueuePairAttributes.Capacities.Encoded) {
          const self = yield* QueuePair.make(domain, { qpType: "rc", ...queues, cap })
          const found = yield* QueuePair.query(self)
          assert.deepStrictEqual(found.attributes.cap, found.cap)
          return [Object.values(self.cap), Object.values(found.cap)]
        })
        const asked = { maxSendWr: 100, maxRecvWr: 50, maxSendSge: 2, maxRecvSge: 3, maxInlineData: 60 }
        assert.deepStrictEqual(yield* roomOf(asked), [[100, 50, 3, 3, 60], [127, 63, 3, 3, 60]])
        assert.deepStrictEqual(yield* roomOf({ maxSendWr: 8, maxRecvWr: 1 }), [[8, 1, 1, 1, 16], [15, 1, 1, 1, 16]])
        const none = { maxSendWr: 0, maxRecvWr: 0, maxSendSge: 0, maxRecvSge: 0 }
        assert.deepStrictEqual(yield* roomOf(none), [[0, 0, 0, 0, 0], [0, 0, 0, 0, 0]])
        const srq = yield* SharedReceiveQueue.make(domain, { maxWr: 100, maxSge: 0 })
        assert.deepInclude<object>(srq, { maxWr: 100, maxSge: 1 })
        assert.deepStrictEqual(yield* SharedReceiveQueue.query(srq), { maxWr: 127, maxSge: 1, srqLimit: 0 })
        yield* SharedReceiveQueue.modify(srq, { srqLimit: 127 })
        yield* SharedReceiveQueue.modify(srq, { maxWr: 300 })
        assert.deepStrictEqual(yield* SharedReceiveQueue.query(srq), { maxWr: 511, maxSge: 1, srqLimit: 127 })
        yield* assertRefused(SharedReceiveQueue.modify(srq, { maxWr: 10 }), "ibv_modify_srq", "EINVAL")
        yield* assertRefused(
          SharedReceiveQueue.modify(srq, { maxWr: 1000, srqLimit: 900 }),
          "ibv_modify_srq",
          "EINVAL"
        )
      }).pipe(Effect.provide(Fabric.layer)))
  })

  describe("limits", () => {
    it.effect("maxQp queue pairs, then ENOMEM, and again when one is gone", () =>
      Effect.gen(function*() {
        const { domain, queues } = yield* opened("rxe0")
        const one = QueuePair.make(domain, { qpType: "rc", ...queues })
        yield* one
        yield* Effect.scoped(Effect.andThen(one, assertRefused(one, "ibv_create_qp", "ENOMEM")))
        yield* one
      }).pipe(Effect.provide(Fabric.layerFrom(tight({ maxQp: 2 })))))

    it.effect("maxSrq shared receive queues, then ENOMEM", () =>
      Effect.gen(function*() {
        const { domain } = yield* opened("rxe0")
        const one = SharedReceiveQueue.make(domain, { maxWr: 4 })
        yield* one
        yield* assertRefused(one, "ibv_create_srq", "ENOMEM")
      }).pipe(Effect.provide(Fabric.layerFrom(tight({ maxSrq: 1 })))))

    it.effect("maxMcastGrp groups, then ENOMEM; the same one again is none more", () =>
      Effect.gen(function*() {
        const { domain, queues } = yield* opened("rxe0")
        const self = yield* QueuePair.make(domain, { qpType: "ud", ...queues })
        yield* MulticastAttachment.attach(self, { gid: "ff12::1" })
        yield* MulticastAttachment.attach(self, { gid: "ff12::1" })
        yield* assertRefused(MulticastAttachment.attach(self, { gid: "ff12::2" }), "ibv_attach_mcast", "ENOMEM")
      }).pipe(Effect.provide(Fabric.layerFrom(tight({ maxMcastGrp: 1 })))))

    it.effect("a depth of reads that the device does not have is EINVAL", () =>
      Effect.gen(function*() {
        const { domain, queues } = yield* opened("rxe0")
        const self = yield* QueuePair.make(domain, { qpType: "rc", ...queues })
        yield* QueuePair.toInit(self, { portNum: 1 })
        yield* QueuePair.toRtr(self, { ahAttr: loop, destQpNum: 1, rqPsn: 0 })
        const error = yield* Effect.flip(QueuePair.toRts(self, { sqPsn: 0, maxRdAtomic: 129 }))
        assert.include(error.message, "a depth")
      }).pipe(Effect.provide(Fabric.layer)))
  })

  describe("paths", () => {
    const inInit = Effect.fnUntraced(function*(device: string) {
      const { domain, queues } = yield* opened(device)
      const self = yield* QueuePair.make(domain, { qpType: "uc", ...queues })
      yield* QueuePair.toInit(self, { portNum: 1 })
      return self
    })
    const rtr = { destQpNum: 1, rqPsn: 0 }

    it.effect("an empty place and one beyond the table", () =>
      Effect.gen(function*() {
        const self = yield* inInit("rxe0")
        const to = (sgidIndex: number) =>
          QueuePair.toRtr(self, { ...rtr, ahAttr: { ...loop, grh: { ...loop.grh, sgidIndex } } })
        yield* assertRefused(to(2), "ibv_modify_qp", "ENODATA")
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("on InfiniBand the kernel checks the place of a grh, and the port of INIT", () =>
      Effect.gen(function*() {
        const self = yield* inInit("mlx5_0")
        const grh = { dgid: "fe80::1", sgidIndex: 1 }
        yield* assertRefused(
          QueuePair.toRtr(self, { ...rtr, ahAttr: { portNum: 1, dlid: 1, grh } }),
          "ibv_modify_qp",
          "ENODATA"
        )
        yield* assertRefused(
          QueuePair.toRtr(self, { ...rtr, ahAttr: { portNum: 1, dlid: 1, grh: { ...grh, sgidIndex: 8 } } }),
          "ibv_modify_qp",
          "EINVAL"
        )
        yield* assertRefused(
          QueuePair.toRtr(self, { ...rtr, ahAttr: { portNum: 2, dlid: 1 } }),
          "ibv_modify_qp",
          "EINVAL"
        )
        yield* QueuePair.toRtr(self, { ...rtr, ahAttr: { portNum: 1, dlid: 1, grh: { ...grh, sgidIndex: 0 } } })
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("an alternate path is there on InfiniBand and not on RoCE", () =>
      Effect.gen(function*() {
        const altPath = { portNum: 1, ahAttr: { portNum: 1, dlid: 1 } }
        const one = yield* inInit("mlx5_0")
        yield* QueuePair.toRtr(one, { ...rtr, ahAttr: { portNum: 1, dlid: 1 }, altPath })
        assert.strictEqual((yield* QueuePair.query(one)).attributes.altPath?.timeout, 14)
        const other = yield* inInit("rxe0")
        yield* assertRefused(QueuePair.toRtr(other, { ...rtr, ahAttr: loop, altPath }), "ibv_modify_qp", "EINVAL")
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("a port without a GID that will do has no endpoint on RoCE: ENODATA", () =>
      Effect.gen(function*() {
        const { domain, queues } = yield* opened("rxe0")
        const self = yield* QueuePair.make(domain, { qpType: "rc", ...queues })
        const endpoint = yield* QueuePair.endpoint(self, { psn: 3 })
        assert.deepStrictEqual<object>(endpoint, {
          qpNum: self.qpNum,
          psn: 3,
          portNum: 1,
          lid: 0,
          gid: gid("::ffff:10.0.0.1"),
          gidIndex: 1,
          mtu: 1024
        })
        const error = yield* Effect.flip(QueuePair.endpoint(self, { address: "::ffff:10.9.9.9" }))
        assert.strictEqual(error._tag === "VerbsError" && error.reason._tag, "ENODATA")
        assert.include(error.message, "10.9.9.9")
      }).pipe(Effect.provide(Fabric.layer)))
  })

  describe("what C does not survive", () => {
    it.effect("a freed queue pair, and queues of two contexts", () =>
      Effect.gen(function*() {
        const { domain, queue, queues, verbs } = yield* opened("rxe0")
        const other = yield* opened("rxe0")
        const self = yield* Effect.scoped(Effect.map(QueuePair.make(domain, { qpType: "rc", ...queues }), raw))
        yield* assertMisuse(verbs.queryQp(self), "ibv_query_qp", /was a QueuePair until ibv_destroy_qp/)
        const plain = {
          qpType: "rc",
          cap: { maxSendWr: 1, maxRecvWr: 1, maxSendSge: 1, maxRecvSge: 1, maxInlineData: 0 },
          sqSigAll: false,
          srq: undefined
        } as const
        yield* assertMisuse(
          verbs.createQp(raw(other.domain), { ...plain, sendCq: raw(queue), recvCq: raw(queue) }),
          "ibv_create_qp",
          /different contexts/
        )
        yield* assertMisuse(
          verbs.createQp(raw(domain), { ...plain, sendCq: raw(queue), recvCq: undefined }),
          "ibv_create_qp",
          /without a completion queue/
        )
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("data in front of a batch's first request", () =>
      Effect.gen(function*() {
        const { domain, queues, verbs } = yield* opened("rxe0")
        const self = yield* QueuePair.makeExtended(domain, { qpType: "ud", ...queues, sendOpsFlags: ["send"] })
        yield* assertMisuse(
          verbs.wrComplete(raw(self), (batch) => batch.setInlineData(new Uint8Array(1))),
          "ibv_wr_set_inline_data",
          /no request/
        )
        yield* assertMisuse(
          verbs.wrComplete(raw(self), (batch) => batch.setInlineDataList([])),
          "ibv_wr_set_inline_data_list",
          /no request/
        )
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("pieces of inline data that fit only one by one", () =>
      Effect.gen(function*() {
        const sending = Effect.fnUntraced(function*(device: "rxe0" | "mlx5_0") {
          const { domain, queues, verbs } = yield* opened(device)
          const cap = { maxSendWr: 4, maxInlineData: 64 }
          const self = yield* QueuePair.makeExtended(domain, { qpType: "ud", ...queues, cap, sendOpsFlags: ["send"] })
          const room = self.cap.maxInlineData
          return (...lengths: ReadonlyArray<number>) =>
            verbs.wrComplete(raw(self), (batch) => {
              batch.send({ wrId: 1n })
              batch.setInlineDataList(lengths.map((length) => new Uint8Array(room + length)))
            })
        })
        const onRxe = yield* sending("rxe0")
        yield* assertMisuse(onRxe(0, 0), "ibv_wr_set_inline_data_list", /behind the request/)
        yield* assertRefused(onRxe(1), "ibv_wr_complete", "ENOSPC")
        const onMlx5 = yield* sending("mlx5_0")
        yield* assertRefused(onMlx5(0, 0), "ibv_wr_complete", "ENOMEM")
      }).pipe(Effect.provide(Fabric.layer)))
  })

  describe("devices that go", () => {
    it.effect("every call is EIO, and everything counts as released", () =>
      LeakCheck.check(Effect.gen(function*() {
        const { domain, queues, verbs } = yield* opened("rxe0")
        const srq = yield* SharedReceiveQueue.make(domain, { maxWr: 4 })
        const self = yield* QueuePair.make(domain, { qpType: "ud", ...queues, srq })
        yield* MulticastAttachment.attach(self, { gid: "ff12::1" })
        yield* (yield* Fabric.Fabric).unplug("host-a", "rxe0")
        yield* assertRefused(QueuePair.query(self), "ibv_query_qp", "EIO")
        yield* assertRefused(QueuePair.toReset(self), "ibv_modify_qp", "EIO")
        yield* assertRefused(SharedReceiveQueue.query(srq), "ibv_query_srq", "EIO")
        yield* assertRefused(SharedReceiveQueue.make(domain, { maxWr: 4 }), "ibv_create_srq", "EIO")
        yield* assertRefused(QueuePair.make(domain, { qpType: "ud", ...queues }), "ibv_create_qp", "EIO")
        yield* assertRefused(verbs.destroyQp(raw(self)), "ibv_destroy_qp", "EIO")
      })).pipe(Effect.provide(Fabric.layer)))

    it.effect("a closed context gives its queue pairs back", () =>
      Effect.gen(function*() {
        const verbs = yield* Verbs
        for (let round = 0; round < 3; round++) {
          yield* Effect.scoped(Effect.gen(function*() {
            const { context, domain, queues } = yield* opened("rxe0")
            yield* QueuePair.make(domain, { qpType: "rc", ...queues })
            yield* verbs.closeDevice(raw(context))
            // What is left of the scope talks of objects that are gone.
          })).pipe(Effect.exit)
        }
        const { domain, queues } = yield* opened("rxe0")
        yield* QueuePair.make(domain, { qpType: "rc", ...queues })
      }).pipe(Effect.provide(Fabric.layerFrom(tight({ maxQp: 1 })))))
  })

  describe("failures", () => {
    const calls = [
      "ibv_create_srq",
      "ibv_create_qp",
      "ibv_create_qp_ex",
      "ibv_attach_mcast",
      "ibv_modify_qp",
      "ibv_query_port",
      "ibv_wr_complete"
    ] as const
    const program = Effect.gen(function*() {
      const { domain, queues } = yield* opened("rxe0")
      const srq = yield* SharedReceiveQueue.make(domain, { maxWr: 4 })
      const plain = yield* QueuePair.make(domain, { qpType: "rc", ...queues, srq })
      const local = yield* QueuePair.endpoint(plain)
      yield* QueuePair.connect(plain, local, local)
      const self = yield* QueuePair.makeExtended(domain, { qpType: "ud", ...queues, sendOpsFlags: ["send"] })
      yield* MulticastAttachment.attach(self, { gid: "ff12::1" })
      yield* QueuePair.toInit(self, { portNum: 1, qkey: 1 })
      yield* QueuePair.toRtr(self, {})
      yield* QueuePair.toRts(self, { sqPsn: 1 })
      const to = yield* AddressHandle.make(domain, loop)
      yield* SendBatch.post(self, (batch) => {
        batch.send({ wrId: 1n })
        batch.setUdAddr(to, 1, 1)
        batch.setSgeList([])
      })
    })

    it.effect("the program itself succeeds and leaves nothing", () =>
      Effect.provide(LeakCheck.check(program), Fabric.layer))

    for (const call of calls) {
      it.effect(`a failed ${call} is told as it is, and leaves nothing`, () =>
        Effect.gen(function*() {
          const exit = yield* Effect.exit(
            LeakCheck.check(Faults.inject([{ call, nth: 1, errno: "ENOMEM" }])(program))
          )
          assert(Exit.isFailure(exit))
          const reasons = exit.cause.reasons.map((reason) => reason._tag)
          assert.deepStrictEqual(reasons, ["Fail"], String(exit.cause))
          assert.include(String(exit.cause), call)
        }).pipe(Effect.provide(Fabric.layer)))
    }

    it.effect("a number of a queue pair that does not fit is a SchemaError", () =>
      Effect.gen(function*() {
        const { context } = yield* opened("mlx5_0")
        const xrcDomain = yield* XrcDomain.open(context)
        const error = yield* Effect.flip(QueuePair.open(xrcDomain, 0x1_000000))
        assert.strictEqual(error._tag, "SchemaError")
        assert.isTrue(Schema.is(Identifier.Qpn)(0xffffff))
      }).pipe(Effect.provide(Fabric.layer)))
  })
})
