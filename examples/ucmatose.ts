/**
 * Some connections are set up, messages go both ways on each, and all are ended, as with `ucmatose`, which can be the other
 * side:
 *
 *     node examples/ucmatose.ts                the server
 *     node examples/ucmatose.ts -s 10.0.0.1    the client
 */
import { CmId, RdmaCm } from "@effect-rdma/rdmacm"
import { MemoryRegion, QueuePair, Verbs } from "@effect-rdma/verbs"
import { Array, Console, Effect, Layer } from "effect"
import { Command } from "effect/cli"
import { accept, connect, listen, open, patiently, received, resolve, whileConnected } from "./connections.ts"
import { handler, number, run, string } from "./program.ts"

const flags = {
  server: string("server", "s", "the server to connect to; without it, this is the server"),
  bind: string("bind", "b", "address of this side"),
  connections: number("connections", "c", 1, "connections"),
  count: number("count", "C", 10, "messages of each connection each way"),
  size: number("size", "S", 100, "bytes of a message"),
  port: number("port", "p", 7471, "port of the server")
}

export type Options = Command.Command.Config.Infer<typeof flags>

export const ucmatose = Effect.fnUntraced(function*(options: Options) {
  yield* options.server === undefined ? server(options) : client(options)
  yield* Console.log("test complete")
})

/** A queue pair for an id, and all its receives, which are for the same memory: nobody looks into it. */
const openNode = Effect.fnUntraced(function*(id: CmId.CmId, { count, size }: Options) {
  const { domain, queue, queuePair } = yield* open(id, "rc", count)
  const region = yield* MemoryRegion.alloc(domain, { length: size, access: ["localWrite"] })
  yield* QueuePair.postRecv(queuePair, Array.replicate({ sgList: [{ region }] }, count))
  return {
    id,
    queuePair,
    send: Effect.replicateEffect(patiently(QueuePair.send(queuePair, { sgList: [{ region }] })), count),
    receive: whileConnected(id, Effect.replicateEffect(patiently(received(queue, queuePair)), count))
  }
})

type Node = Effect.Success<ReturnType<typeof openNode>>

const onEach = <A, E, R>(nodes: ReadonlyArray<Node>, f: (node: Node) => Effect.Effect<A, E, R>) =>
  Effect.forEach(nodes, f, { concurrency: "unbounded", discard: true })

const server = Effect.fnUntraced(function*(options: Options) {
  yield* Console.log("cmatose: starting server")
  const listener = yield* listen({ host: options.bind, port: options.port, portSpace: "tcp" })
  const accepted = Effect.gen(function*() {
    const { id } = yield* CmId.nextRequest(listener)
    const node = yield* openNode(id, options)
    yield* accept(id, node.queuePair)
    return node
  })
  const nodes = yield* Effect.all(Array.replicate(accepted, options.connections), { concurrency: "unbounded" })

  yield* Console.log("initiating data transfers")
  yield* Console.log("completing sends")
  yield* onEach(nodes, ({ send }) => send)
  yield* Console.log("receiving data transfers")
  yield* onEach(nodes, ({ receive }) => receive)
  yield* Console.log("data transfers complete")

  yield* Console.log("cmatose: disconnecting")
  yield* onEach(nodes, ({ id }) => CmId.disconnect(id))
  yield* Console.log("disconnected")
})

const client = Effect.fnUntraced(function*(options: Options) {
  yield* Console.log("cmatose: starting client")
  yield* Console.log("cmatose: connecting")
  const connected = Effect.gen(function*() {
    const id = yield* resolve({ host: options.server, port: options.port, portSpace: "tcp" }, options.bind)
    yield* CmId.resolveRoute(id)
    const node = yield* openNode(id, options)
    yield* connect(id, node.queuePair)
    return node
  })
  const nodes = yield* Effect.all(Array.replicate(connected, options.connections), { concurrency: "unbounded" })

  yield* Console.log("receiving data transfers")
  yield* onEach(nodes, ({ receive }) => receive)
  yield* Console.log("sending replies")
  yield* onEach(nodes, ({ send }) => send)
  yield* Console.log("data transfers complete")

  yield* onEach(nodes, ({ id }) => Effect.andThen(patiently(CmId.awaitDisconnected(id)), CmId.disconnect(id)))
})

if (import.meta.main) {
  run(Command.make("ucmatose", flags, handler(ucmatose)), Layer.merge(RdmaCm.RdmaCm.layer, Verbs.Verbs.layer))
}
