/**
 * Connections, sockets and groups, with calls that fail, in other orders, and interrupted anywhere. A run keeps the thread, so
 * nothing else is tested here.
 */
import * as Connection from "@effect-rdma/rdmacm/Connection"
import * as DatagramSocket from "@effect-rdma/rdmacm/DatagramSocket"
import * as Listener from "@effect-rdma/rdmacm/Listener"
import * as MulticastGroup from "@effect-rdma/rdmacm/MulticastGroup"
import * as Fabric from "@effect-rdma/testkit/Fabric"
import { describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Record from "effect/Record"
import * as Stream from "effect/Stream"
import { atTheEnd, bytes, type Explored, nothingIsFound } from "./explored/program.ts"

const nextIncoming = (listener: Listener.Listener) =>
  Effect.map(Stream.runHead(listener.connections), Option.getOrThrow)

const programs = {
  "a connection, with calls that fail, in other orders, and interrupted anywhere": Effect.gen(function*() {
    const listener = yield* Listener.make({ address: "10.0.0.1:7471" })
    const [server, client] = yield* Effect.all([
      Effect.flatMap(nextIncoming(listener), (incoming) => Listener.accept(incoming)),
      Connection.connect({ address: "10.0.0.1:7471", sendDepth: 2, receiveDepth: 2 })
    ], { concurrency: "unbounded" })
    yield* Connection.send(client, bytes("hello"))
    yield* Connection.receive(server)
  }),

  "a request that is rejected, and one that nobody answers, likewise": Effect.gen(function*() {
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
  }),

  "sockets, likewise": Effect.gen(function*() {
    const server = yield* DatagramSocket.listen({ address: "10.0.0.1:7471" })
    const client = yield* DatagramSocket.towards({ address: "10.0.0.1:7471" })
    const peer = yield* DatagramSocket.lookup(client, { address: "10.0.0.1:7471" })
    yield* DatagramSocket.send(client, peer, bytes("hello"))
    const datagram = yield* Effect.timeout(DatagramSocket.receive(server), "1 second")
    yield* DatagramSocket.senderOf(server, datagram)
  }),

  "groups, likewise": Effect.gen(function*() {
    const group = yield* MulticastGroup.join({ address: "239.1.2.3:0", source: "10.0.0.1:0" })
    yield* MulticastGroup.send(group, bytes("hello"))
  })
}

describe("whatever happens", () => {
  nothingIsFound(
    Record.map(programs, (program): Explored => ({ program, mayFail: atTheEnd })),
    Fabric.layer
  )
})
