/**
 * Connections, sockets and groups, with calls that fail, in other orders, and interrupted anywhere. A run keeps the thread, so
 * nothing else is tested here.
 */
import * as Connection from "@effect-rdma/rdmacm/Connection"
import * as DatagramSocket from "@effect-rdma/rdmacm/DatagramSocket"
import * as Listener from "@effect-rdma/rdmacm/Listener"
import * as MulticastGroup from "@effect-rdma/rdmacm/MulticastGroup"
import { ShutdownGrace } from "@effect-rdma/rdmacm/ShutdownGrace"
import * as Explorer from "@effect-rdma/testkit/Explorer"
import * as Fabric from "@effect-rdma/testkit/Fabric"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

const bytes = (text: string) => new TextEncoder().encode(text)

const nextIncoming = (listener: Listener.Listener) =>
  Effect.map(Stream.runHead(listener.connections), Option.getOrThrow)

// What fails while the fiber that takes arrivals works, or the release, is not told to a program that is done with it.
const mayFail = [
  "rdma_disconnect",
  "rdma_get_cm_event",
  "ibv_modify_qp",
  "ibv_post_recv",
  "ibv_poll_cq",
  "ibv_req_notify_cq",
  "ibv_get_cq_event",
  "poll"
] as const

/** Nothing that is done to a program makes it leak, hang or die. */
const explored = (name: string, program: Effect.Effect<void, unknown, Fabric.Seams | Scope.Scope>) =>
  it.live(name, () =>
    Effect.gen(function*() {
      const report = yield* Explorer.check(Effect.provideService(program, ShutdownGrace, "0 millis"), {
        layer: Fabric.layer,
        runs: 300,
        mayFail
      })
      assert.isAbove(report.calls, 30)
      assert.isAbove(report.runs, 200)
    }), 300_000)

describe("whatever happens", () => {
  explored(
    "a connection, with calls that fail, in other orders, and interrupted anywhere",
    Effect.gen(function*() {
      const listener = yield* Listener.make({ address: "10.0.0.1:7471" })
      const [server, client] = yield* Effect.all([
        Effect.flatMap(nextIncoming(listener), (incoming) => Listener.accept(incoming)),
        Connection.connect({ address: "10.0.0.1:7471", sendDepth: 2, receiveDepth: 2 })
      ], { concurrency: "unbounded" })
      yield* Connection.send(client, bytes("hello"))
      yield* Connection.receive(server)
    })
  )

  explored(
    "a request that is rejected, and one that nobody answers, likewise",
    Effect.gen(function*() {
      const listener = yield* Listener.make({ address: "10.0.0.1:7471" })
      yield* Effect.all([
        Effect.flatMap(nextIncoming(listener), Listener.reject),
        Effect.catchTag(Connection.connect({ address: "10.0.0.1:7471" }), "ConnectionRejected", () => Effect.void)
      ], { concurrency: "unbounded" })
      yield* Effect.catchTag(
        Connection.connect({ address: "10.0.0.1:7471", timeout: "1 second" }),
        "ConnectionTimedOut",
        () => Effect.void
      )
    })
  )

  explored(
    "sockets, likewise",
    Effect.gen(function*() {
      const server = yield* DatagramSocket.listen({ address: "10.0.0.1:7471" })
      const client = yield* DatagramSocket.towards({ address: "10.0.0.1:7471" })
      const peer = yield* DatagramSocket.lookup(client, { address: "10.0.0.1:7471" })
      yield* DatagramSocket.send(client, peer, bytes("hello"))
      const datagram = yield* Effect.timeout(DatagramSocket.receive(server), "1 second")
      yield* DatagramSocket.senderOf(server, datagram)
    })
  )

  explored(
    "groups, likewise",
    Effect.gen(function*() {
      const group = yield* MulticastGroup.join({ address: "239.1.2.3:0", source: "10.0.0.1:0" })
      yield* MulticastGroup.send(group, bytes("hello"))
    })
  )
})
