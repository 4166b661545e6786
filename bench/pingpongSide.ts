/**
 * One of the two processes of `pingpong.ts`: `server` or `client`, the size of the messages, how many iterations, and how
 * often. The client prints the microseconds of an iteration, for each time.
 */
// What else is in the barrels takes long to load in the guest.
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as QueuePairEndpoint from "@effect-rdma/verbs/QueuePairEndpoint"
import * as Verbs from "@effect-rdma/verbs/Verbs"
import * as WaitStrategy from "@effect-rdma/verbs/WaitStrategy"
import type * as WorkRequest from "@effect-rdma/verbs/WorkRequest"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { createInterface } from "node:readline"

const device = "rxe0"
const gidIndex = 1
const port = 18_600
/** Of `ibv_rc_pingpong`. */
const depth = 500

const receiveId = 1n
const sendId = 2n

const [role, ...numbers] = process.argv.slice(2)
const isServer = role === "server"
const [size = 4096, iterations = 1000, rounds = 1] = numbers.map(Number)

/** A line to the peer, and one from it. */
const exchange = (socket: Socket) => {
  const lines = createInterface(socket)[Symbol.asyncIterator]()
  return (line: string) =>
    Effect.promise(async () => {
      socket.write(`${line}\n`)
      return String((await lines.next()).value)
    })
}

const listening = Effect.promise(async () => {
  const server = createServer()
  server.listen(port)
  const [socket]: Array<Socket> = await once(server, "connection")
  server.close()
  return socket!
})

const calling = Effect.tryPromise(async () => {
  const socket = connect(port)
  await once(socket, "connect")
  return socket
}).pipe(Effect.retry(Schedule.spaced("100 millis")), Effect.orDie)

const play = Effect.gen(function*() {
  const socket = yield* Effect.acquireRelease(
    isServer ? listening : calling,
    (socket) => Effect.sync(() => socket.destroy())
  )
  const tell = exchange(socket)
  const context = yield* DeviceContext.openByName(device)
  const domain = yield* ProtectionDomain.alloc(context)
  const region = yield* MemoryRegion.alloc(domain, { length: size, access: ["localWrite"] })
  const queue = yield* CompletionQueue.make(context, { cqe: depth + 1 })
  const queuePair = yield* QueuePair.make(domain, {
    qpType: "rc",
    sendCq: queue,
    recvCq: queue,
    cap: { maxSendWr: 1, maxRecvWr: depth }
  })
  const sgList = [{ region, length: size }]
  const receive: WorkRequest.ReceiveRequest = { wrId: receiveId, sgList }
  const send = QueuePair.postSend(queuePair, [{ opcode: "send", wrId: sendId, flags: ["signaled"], sgList }])
  const receives = (count: number) => QueuePair.postRecv(queuePair, Array.from({ length: count }, () => receive))

  const local = yield* QueuePair.endpoint(queuePair, { gidIndex })
  const remote = yield* decodeEndpoint(yield* tell(yield* encodeEndpoint(local)))
  yield* QueuePair.connect(queuePair, local, remote, { receives: receives(depth) })

  let posted = depth
  for (let round = 0; round < rounds; round++) {
    yield* tell("ready")
    const start = performance.now()
    let sent = 0
    let received = 0
    let isReceiving = true
    let isSending = !isServer
    if (isSending) yield* send
    while (sent < iterations || received < iterations) {
      for (const { status, wrId } of yield* CompletionQueue.next(queue, 2)) {
        if (status !== "success") throw new Error(`request ${wrId}: ${status}`)
        if (wrId === sendId) {
          sent++
          isSending = false
        } else {
          if (--posted <= 1) {
            yield* receives(depth - posted)
            posted = depth
          }
          received++
          isReceiving = false
        }
        if (!isSending && !isReceiving && sent < iterations) {
          yield* send
          isSending = isReceiving = true
        }
      }
    }
    if (!isServer) yield* Console.log(((performance.now() - start) * 1000 / iterations).toFixed(2))
  }
  yield* tell("done")
})

const encodeEndpoint = Schema.encodeEffect(QueuePairEndpoint.FromJson)
const decodeEndpoint = Schema.decodeEffect(QueuePairEndpoint.FromJson)

await Effect.runPromise(play.pipe(
  Effect.scoped,
  Effect.provideService(WaitStrategy.WaitStrategy, { _tag: "spin", slice: "10 millis" }),
  Effect.provide(Verbs.Verbs.layer)
))
