/** What the connection manager does when links, devices and peers go, which no other lane can show in time. */
import * as Errno from "@effect-rdma/core/Errno"
import * as Fabric from "@effect-rdma/testkit/Fabric"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { TestClock } from "effect/testing"
import { connected, cut, objects, parametersOf, side, to } from "./connections.ts"
import { assertMisuse, assertRefused } from "./observe.ts"

const address = "10.0.0.2:7471"
const timedOut = -Errno.numberOf("ETIMEDOUT")

/** Sixteen requests, each with 6.144 s for its answer. */
const untilUnreachable = 16 * 6144

const test = (name: string, run: () => Effect.Effect<void, unknown, Fabric.Fabric>) =>
  it.effect(name, () => Effect.provide(run(), Fabric.layer))

describe("Fabric: connections", () => {
  describe("a link that is cut", () => {
    test("during connect: requests are sent again, and after sixteen the peer is unreachable: -ETIMEDOUT", () =>
      Effect.gen(function*() {
        const server = yield* side("host-b")
        const client = yield* side("host-a")
        yield* server.listening(address)
        const id = yield* client.routed(address)
        yield* cut("host-b")
        yield* client.cm.connect(id, parametersOf(1))
        yield* TestClock.adjust(untilUnreachable - 1)
        yield* client.nothing
        yield* TestClock.adjust(1)
        yield* client.expect("unreachable", timedOut)
        yield* server.nothing
        yield* assertRefused(client.cm.connect(id, parametersOf(1)), "rdma_connect", "EINVAL")
      }))

    test("during connect, and mended: the next request gets through, once", () =>
      Effect.gen(function*() {
        const server = yield* side("host-b")
        const client = yield* side("host-a")
        yield* server.listening(address)
        const id = yield* client.routed(address)
        yield* cut("host-a")
        yield* client.cm.connect(id, parametersOf(1))
        yield* TestClock.adjust(10_000)
        yield* cut("host-a", "up")
        yield* server.nothing
        yield* TestClock.adjust(2 * 6144 - 10_000)
        yield* server.expect("connectRequest")
        yield* TestClock.adjust(20_000)
        yield* server.nothing
        yield* client.nothing
      }))

    test("before the response: it is sent again when the link is back, and the client connects", () =>
      Effect.gen(function*() {
        const server = yield* side("host-b")
        const client = yield* side("host-a")
        yield* server.listening(address)
        const id = yield* client.routed(address)
        yield* client.cm.connect(id, parametersOf(1))
        const { id: request } = yield* server.expect("connectRequest")
        yield* cut("host-b")
        yield* server.cm.accept(request, parametersOf(2))
        yield* client.nothing
        yield* cut("host-b", "up")
        yield* TestClock.adjust(6144)
        yield* client.expect("connectResponse")
        yield* client.cm.establish(id)
        yield* server.expect("established")
      }))

    test("before the last message: the server asks again, and hears it then", () =>
      Effect.gen(function*() {
        const server = yield* side("host-b")
        const client = yield* side("host-a")
        yield* server.listening(address)
        const id = yield* client.routed(address)
        yield* client.cm.connect(id, parametersOf(1))
        const { id: request } = yield* server.expect("connectRequest")
        yield* server.cm.accept(request, parametersOf(2))
        yield* client.expect("connectResponse")
        yield* cut("host-a")
        yield* client.cm.establish(id)
        yield* server.nothing
        yield* cut("host-a", "up")
        yield* TestClock.adjust(6144)
        yield* server.expect("established")
        yield* client.nothing
      }))

    test("after the accept, for good: the server learns that the client is unreachable", () =>
      Effect.gen(function*() {
        const server = yield* side("host-b")
        const client = yield* side("host-a")
        yield* server.listening(address)
        yield* client.cm.connect(yield* client.routed(address), parametersOf(1))
        const { id: request } = yield* server.expect("connectRequest")
        yield* cut("host-b")
        yield* server.cm.accept(request, parametersOf(2))
        yield* TestClock.adjust(untilUnreachable)
        yield* server.expect("unreachable", timedOut)
      }))

    test("before a disconnection: it ends after sixteen tries with -ETIMEDOUT, and the other side knows nothing", () =>
      Effect.gen(function*() {
        const { client, id, request, server } = yield* connected()
        yield* cut("host-b")
        yield* client.cm.disconnect(id)
        yield* TestClock.adjust(untilUnreachable - 1)
        yield* client.nothing
        yield* TestClock.adjust(1)
        yield* client.expect("disconnected", timedOut)
        yield* server.nothing
        // The other side finds out by itself, and then there is nobody to ask.
        yield* cut("host-b", "up")
        yield* server.cm.disconnect(request)
        yield* server.expect("disconnected")
      }))

    test("before an address is resolved: nobody answers: -ETIMEDOUT", () =>
      Effect.gen(function*() {
        const client = yield* side("host-a")
        yield* cut("host-b")
        const id = yield* client.cm.createId(client.channel, "tcp")
        yield* client.cm.resolveAddr(id, undefined, to(address), 500)
        yield* TestClock.adjust(500)
        yield* client.expect("addrError", timedOut)
      }))

    test("over InfiniBand before a route is resolved: the subnet manager does not answer: -ETIMEDOUT, then again", () =>
      Effect.gen(function*() {
        const client = yield* side("host-a")
        const id = yield* client.resolved("10.0.1.2:1")
        yield* cut("host-a", "down", "mlx5_0")
        yield* client.cm.resolveRoute(id, 700)
        yield* TestClock.adjust(700)
        yield* client.expect("routeError", timedOut)
        yield* cut("host-a", "up", "mlx5_0")
        yield* client.cm.resolveRoute(id, 700)
        yield* TestClock.adjust(1)
        yield* client.expect("routeResolved")
      }))

    test("from a datagram id: its request is unreachable after sixteen tries of 4.096 s", () =>
      Effect.gen(function*() {
        const client = yield* side("host-a")
        const id = yield* client.routed(address, "udp")
        yield* cut("host-b")
        yield* client.cm.connect(id, parametersOf(1))
        yield* TestClock.adjust(16 * 4096 - 1)
        yield* client.nothing
        yield* TestClock.adjust(1)
        yield* client.expect("unreachable", timedOut)
      }))
  })

  describe("a server that takes its time", () => {
    test("is asked for patience: a request that was heard does not time out for a quarter of an hour", () =>
      Effect.gen(function*() {
        const server = yield* side("host-b")
        const client = yield* side("host-a")
        yield* server.listening(address)
        yield* client.cm.connect(yield* client.routed(address), parametersOf(1))
        yield* TestClock.adjust("15 minutes")
        yield* client.nothing
        const { id: request } = yield* server.expect("connectRequest")
        yield* server.cm.accept(request, parametersOf(2))
        yield* client.expect("connectResponse")
      }))

    test("with a full backlog hears nothing more, and gets the others when they ask again", () =>
      Effect.gen(function*() {
        const server = yield* side("host-b")
        const client = yield* side("host-a")
        yield* server.listening(address, "tcp", 2)
        for (let qpNum = 1; qpNum <= 3; qpNum++) {
          yield* client.cm.connect(yield* client.routed(address), parametersOf(qpNum))
        }
        const numbers = [yield* server.next(), yield* server.next()].map(({ conn }) => Number(conn?.qpNum))
        assert.deepStrictEqual(numbers, [1, 2])
        yield* server.nothing
        yield* TestClock.adjust(6144)
        assert.strictEqual(Number((yield* server.expect("connectRequest")).conn?.qpNum), 3)
        yield* client.nothing
      }))
  })

  describe("a disconnection", () => {
    test("is over on both sides when the other one has answered, and 2 s later so is the wait for stray packets", () =>
      Effect.gen(function*() {
        const { client, destroy, id, request, server } = yield* connected()
        yield* client.cm.disconnect(id)
        yield* client.nothing
        yield* server.expect("disconnected")
        yield* server.cm.disconnect(request)
        yield* client.expect("disconnected")
        yield* TestClock.adjust(2047)
        yield* Effect.all([client.nothing, server.nothing])
        yield* TestClock.adjust(1)
        yield* Effect.all([client.expect("timewaitExit"), server.expect("timewaitExit")])
        yield* destroy
        assert.deepStrictEqual(yield* objects, [])
      }))

    test("the ids may go while packets could still stray, and no event of them arrives", () =>
      Effect.gen(function*() {
        const { client, id, request, server } = yield* connected()
        yield* client.cm.disconnect(id)
        yield* server.cm.disconnect(request)
        yield* client.cm.destroyId(id)
        yield* server.cm.destroyId(request)
        yield* TestClock.adjust("1 minute")
        yield* Effect.all([client.nothing, server.nothing])
      }))
  })

  describe("a device that is unplugged", () => {
    test("takes its ids along: each hears of it, and every later call but its end is ENXIO", () =>
      Effect.gen(function*() {
        const fabric = yield* Fabric.Fabric
        const { client, destroy, id, request, server } = yield* connected()
        yield* fabric.unplug("host-b", "rxe0")
        // That of the connection and that of the listener.
        const told = [yield* server.expect("deviceRemoval"), yield* server.expect("deviceRemoval")]
        assert.include(told.map((event) => event.id), request)
        yield* server.nothing
        yield* assertRefused(server.cm.disconnect(request), "rdma_disconnect", "ENXIO")
        yield* assertRefused(server.cm.listen(request, 0), "rdma_listen", "ENXIO")
        yield* assertRefused(server.cm.initQpAttr(request, "rts"), "rdma_init_qp_attr", "ENXIO")
        // The other side is told nothing, and tries until it gives up.
        yield* client.nothing
        yield* client.cm.disconnect(id)
        yield* TestClock.adjust(untilUnreachable)
        yield* client.expect("disconnected", timedOut)
        yield* destroy
        assert.deepStrictEqual(yield* objects, [])
      }))

    test("during a resolution or a connect: no other event comes", () =>
      Effect.gen(function*() {
        const fabric = yield* Fabric.Fabric
        const client = yield* side("host-a")
        const connecting = yield* client.routed(address)
        const resolving = yield* client.resolved(address)
        yield* client.cm.resolveRoute(resolving, 2000)
        yield* cut("host-b")
        yield* client.cm.connect(connecting, parametersOf(1))
        yield* fabric.unplug("host-a", "rxe0")
        yield* client.expect("deviceRemoval")
        yield* client.expect("deviceRemoval")
        yield* TestClock.adjust("5 minutes")
        yield* client.nothing
      }))

    test("while a request waits to be got: it is gone", () =>
      Effect.gen(function*() {
        const fabric = yield* Fabric.Fabric
        const server = yield* side("host-b")
        const client = yield* side("host-a")
        const wildcard = yield* server.listening("0.0.0.0:7471")
        yield* client.cm.connect(yield* client.routed(address), parametersOf(1))
        yield* fabric.unplug("host-b", "rxe0")
        yield* server.nothing
        yield* server.cm.destroyId(wildcard)
        yield* server.cm.destroyEventChannel(server.channel)
        assert.deepStrictEqual((yield* fabric.objects).filter(({ host }) => host === "host-b"), [])
      }))
  })

  describe("the options of a vendor", () => {
    const init = {
      qpType: "rc",
      cap: { maxSendWr: 2, maxRecvWr: 2, maxSendSge: 1, maxRecvSge: 1, maxInlineData: 0 },
      sqSigAll: false,
      sendCq: undefined,
      recvCq: undefined,
      srq: undefined
    } as const
    const mellanox = { vendorId: 0x15b3, options: 0, compMask: 0 }

    test("are what its adapter proposes, when librdmacm makes the queue pair, and what the other side hears", () =>
      Effect.gen(function*() {
        const server = yield* side("host-b")
        const client = yield* side("host-a")
        yield* server.listening("10.0.1.2:7471")
        const id = yield* client.routed("10.0.1.2:7471")
        yield* client.cm.createQp(id, undefined, init)
        yield* client.cm.connect(id, parametersOf(0))
        const { id: request } = yield* server.expect("connectRequest")
        assert.deepStrictEqual(yield* server.cm.getRemoteEce(request), mellanox)
        yield* server.cm.accept(request, parametersOf(2))
        yield* client.expect("established")
      }))

    test("of another vendor in the response are a failure to connect", () =>
      Effect.gen(function*() {
        const server = yield* side("host-b")
        const client = yield* side("host-a")
        yield* server.listening(address)
        const id = yield* client.routed(address)
        yield* client.cm.setLocalEce(id, { ...mellanox, options: 5 })
        yield* client.cm.connect(id, parametersOf(1))
        const { id: request } = yield* server.expect("connectRequest")
        assert.deepStrictEqual(yield* server.cm.getRemoteEce(request), { ...mellanox, options: 5 })
        // Made in between, it is of Soft-RoCE, which has no vendor.
        yield* client.cm.createQp(id, undefined, init)
        yield* server.cm.accept(request, parametersOf(2))
        yield* client.expect("connectError", -1)
        yield* client.nothing
      }))
  })

  describe("dead handles", () => {
    test("no call on an id survives its destruction", () =>
      Effect.gen(function*() {
        const { cm, channel } = yield* side("host-a")
        const id = yield* cm.createId(channel, "tcp")
        yield* cm.destroyId(id)
        const was = /was a CmId until rdma_destroy_id/
        yield* assertMisuse(cm.bindAddr(id, to("10.0.0.1:0")), "rdma_bind_addr", was)
        yield* assertMisuse(cm.resolveRoute(id, 1), "rdma_resolve_route", was)
        yield* assertMisuse(cm.listen(id, 0), "rdma_listen", was)
        yield* assertMisuse(cm.connect(id, parametersOf(1)), "rdma_connect", was)
        yield* assertMisuse(cm.accept(id, parametersOf(1)), "rdma_accept", was)
        yield* assertMisuse(cm.establish(id), "rdma_establish", was)
        yield* assertMisuse(cm.reject(id, new Uint8Array()), "rdma_reject", was)
        yield* assertMisuse(cm.disconnect(id), "rdma_disconnect", was)
        yield* assertMisuse(cm.initQpAttr(id, "init"), "rdma_init_qp_attr", was)
        yield* assertMisuse(cm.migrateId(id, channel), "rdma_migrate_id", was)
        yield* assertMisuse(cm.getRemoteEce(id), "rdma_get_remote_ece", was)
        yield* assertMisuse(cm.joinMulticast(id, to("239.0.0.1:0"), 1n), "rdma_join_multicast", was)
        yield* assertMisuse(cm.leaveMulticast(id, to("239.0.0.1:0")), "rdma_leave_multicast", was)
        yield* assertMisuse(cm.destroyQp(id), "rdma_destroy_qp", was)
        yield* assertMisuse(cm.destroyEp(id), "rdma_destroy_ep", was)
        yield* assertMisuse(cm.getRequest(id), "rdma_get_request", was)
        yield* assertMisuse(cm.readId(id), "rdma_cm_id", was)
      }))

    test("what makes librdmacm follow NULL is no call", () =>
      Effect.gen(function*() {
        const { cm, channel } = yield* side("host-a")
        const id = yield* cm.createId(channel, "tcp")
        const nowhere = /bound to no device/
        yield* assertMisuse(cm.resolveRoute(id, 1), "rdma_resolve_route", nowhere)
        yield* assertMisuse(cm.connect(id, parametersOf(1)), "rdma_connect", nowhere)
        yield* assertMisuse(cm.accept(id, parametersOf(1)), "rdma_accept", nowhere)
        yield* assertMisuse(cm.disconnect(id), "rdma_disconnect", nowhere)
        yield* assertMisuse(cm.destroyQp(id), "rdma_destroy_qp", /no queue pair/)
        yield* assertMisuse(cm.destroySrq(id), "rdma_destroy_srq", /no shared receive queue/)
        yield* assertMisuse(cm.getRequest(id), "rdma_get_request", /not an endpoint's/)
      }))

    test("moving an id, or leaving a group, while an event is not acked would hang", () =>
      Effect.gen(function*() {
        const { channel, cm } = yield* side("host-a")
        const id = yield* cm.createId(channel, "udp")
        yield* cm.bindAddr(id, to("10.0.0.1:0"))
        yield* cm.joinMulticast(id, to("239.0.0.1:0"), 7n)
        yield* TestClock.adjust(1)
        const { event, pointer } = yield* cm.getCmEvent(channel)
        assert.deepInclude(event, { event: "multicastJoin", multicastContext: 7n })
        yield* assertMisuse(cm.leaveMulticast(id, to("239.0.0.1:0")), "rdma_leave_multicast", /would hang/)
        yield* assertMisuse(cm.migrateId(id, yield* cm.createEventChannel), "rdma_migrate_id", /would hang/)
        yield* assertMisuse(cm.destroyId(id), "rdma_destroy_id", /would hang/)
        yield* cm.ackCmEvent(pointer)
        yield* cm.leaveMulticast(id, to("239.0.0.1:0"))
      }))
  })

  test("the same program on two fabrics has the same calls, pointers and events", () =>
    Effect.gen(function*() {
      const run = Effect.gen(function*() {
        const { client, destroy, id, request, server } = yield* connected()
        yield* client.cm.disconnect(id)
        yield* server.cm.disconnect(request)
        yield* TestClock.adjust(5000)
        yield* destroy
        return yield* (yield* Fabric.Fabric).calls
      })
      const [first, second] = yield* Effect.all([run, run].map((one) => Effect.provide(one, Fabric.layer)))
      assert.deepStrictEqual(first, second)
    }))
})
