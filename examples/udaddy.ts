/**
 * The client learns from the connection manager where its datagrams go, and the server from those where its answers go, as
 * with `udaddy`, which can be the other side:
 *
 *     node examples/udaddy.ts                the server
 *     node examples/udaddy.ts -s 10.0.0.1    the client
 */
import { CmId, RdmaCm } from "@effect-rdma/rdmacm"
import { AddressHandle, MemoryRegion, Port, QueuePair, ReceivedDatagram, Verbs } from "@effect-rdma/verbs"
import type { WorkRequest } from "@effect-rdma/verbs"
import { Array, Console, Effect, Layer } from "effect"
import { Command } from "effect/cli"
import { listen, open, patiently, ready, received, resolve } from "./connections.ts"
import { handler, number, ProgramError, run, string } from "./program.ts"

const flags = {
  server: string("server", "s", "the server to connect to; without it, this is the server"),
  bind: string("bind", "b", "address of this side"),
  connections: number("connections", "c", 1, "connections"),
  count: number("count", "C", 10, "messages of each connection each way"),
  size: number("size", "S", 100, "bytes of a message"),
  port: number("port", "p", 7174, "port of the server; that of C has no other")
}

export type Options = Command.Command.Config.Infer<typeof flags>

export const udaddy = Effect.fnUntraced(function*(options: Options) {
  yield* options.server === undefined ? server(options) : client(options)
  yield* Console.log("test complete")
})

/** The datagrams of an id: a queue pair in RTS with all its receives, each behind room for its routing header. */
export const openDatagrams = Effect.fnUntraced(function*(
  id: CmId.CmId,
  { count, size }: Pick<Options, "count" | "size">
) {
  const { domain, queue, queuePair } = yield* open(id, "ud", count)
  const { portNum } = yield* CmId.state(id)
  const { activeMtu } = yield* Port.query(domain.context, portNum)
  if (activeMtu !== "unknown" && size > activeMtu) {
    return yield* new ProgramError({ problem: `a datagram has at most ${activeMtu} bytes, the MTU of the port` })
  }
  const offset = ReceivedDatagram.routingHeaderBytes
  const region = yield* MemoryRegion.alloc(domain, { length: offset + size, access: ["localWrite"] })
  yield* QueuePair.postRecv(queuePair, Array.replicate({ sgList: [{ region }] }, count))
  yield* ready(id, queuePair)
  return {
    domain,
    portNum,
    queuePair,
    region,
    receive: received(queue, queuePair),
    /** Whoever answers needs the number of the queue pair. */
    sendAll: (to: WorkRequest.Datagram) =>
      Effect.replicateEffect(
        patiently(QueuePair.send(queuePair, { to, immData: queuePair.qpNum, sgList: [{ region, offset }] })),
        count,
        { discard: true }
      )
  }
})

const inParallel = { concurrency: "unbounded" } as const

const server = Effect.fnUntraced(function*(options: Options) {
  yield* Console.log("udaddy: starting server")
  const listener = yield* listen({ host: options.bind, port: options.port, portSpace: "udp" })
  const accepted = Effect.gen(function*() {
    const { id } = yield* CmId.nextRequest(listener)
    const datagrams = yield* openDatagrams(id, options)
    yield* CmId.accept(id, { qpNum: datagrams.queuePair.qpNum })
    return datagrams
  })
  const nodes = yield* Effect.all(Array.replicate(accepted, options.connections), inParallel)

  yield* Console.log("receiving data transfers")
  const replies = yield* Effect.forEach(
    nodes,
    (node) => Effect.map(receiveAll(node, options.count), (to) => node.sendAll(to)),
    inParallel
  )
  yield* Console.log("sending replies")
  yield* Effect.all(replies, inParallel)
  yield* Console.log("data transfers complete")
})

/** Receives every datagram, and finds out where the first one came from. */
const receiveAll = Effect.fnUntraced(function*(
  { domain, portNum, queuePair, receive, region }: Effect.Success<ReturnType<typeof openDatagrams>>,
  count: number
) {
  const { dlidPathBits, hasGrh, immData, sl, slid } = yield* patiently(receive)
  if (immData === undefined) return yield* new ProgramError({ problem: "the client does not say where to answer" })
  const header = region.bytes.subarray(0, ReceivedDatagram.routingHeaderBytes)
  const ah = yield* AddressHandle.fromReceived(domain, portNum, {
    slid,
    sl,
    dlidPathBits,
    ...(hasGrh ? { grh: header } : {})
  })
  yield* Effect.replicateEffect(patiently(receive), count - 1)
  // Both have the key of the port space.
  const { attributes: { qkey } } = yield* QueuePair.query(queuePair)
  return { ah, remoteQpn: immData, remoteQkey: qkey }
})

const client = Effect.fnUntraced(function*(options: Options) {
  yield* Console.log("udaddy: starting client")
  yield* Console.log("udaddy: connecting")
  const connected = Effect.gen(function*() {
    const id = yield* resolve({ host: options.server, port: options.port, portSpace: "udp" }, options.bind)
    yield* CmId.resolveRoute(id)
    const datagrams = yield* openDatagrams(id, options)
    const { ud } = yield* CmId.connect(id)
    if (ud?.ahAttr === undefined) return yield* new ProgramError({ problem: "the server does not say where it is" })
    const ah = yield* AddressHandle.make(datagrams.domain, ud.ahAttr)
    return { ...datagrams, to: { ah, remoteQpn: ud.qpNum, remoteQkey: ud.qkey } }
  })
  const nodes = yield* Effect.all(Array.replicate(connected, options.connections), inParallel)

  yield* Console.log("initiating data transfers")
  yield* Effect.forEach(nodes, ({ sendAll, to }) => sendAll(to), inParallel)
  yield* Console.log("receiving data transfers")
  yield* Effect.forEach(nodes, ({ receive }) => Effect.replicateEffect(patiently(receive), options.count), inParallel)
  yield* Console.log("data transfers complete")
})

if (import.meta.main) {
  run(Command.make("udaddy", flags, handler(udaddy)), Layer.merge(RdmaCm.RdmaCm.layer, Verbs.Verbs.layer))
}
