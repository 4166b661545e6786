/**
 * One of the two processes of `pingpong.ts`: `server` or `client`, in which way it posts and polls, the size of the
 * messages, how many iterations, and how often. The client prints the microseconds of an iteration, for each time.
 */
// What else is in the barrels takes long to load in the guest.
import * as Resource from "@effect-rdma/core/Resource"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as QueuePairEndpoint from "@effect-rdma/verbs/QueuePairEndpoint"
import * as Verbs from "@effect-rdma/verbs/Verbs"
import type * as VerbsError from "@effect-rdma/verbs/VerbsError"
import * as WaitStrategy from "@effect-rdma/verbs/WaitStrategy"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { createInterface } from "node:readline"
import * as HandWritten from "./handWritten.ts"

const device = "rxe0"
const gidIndex = 1
const port = 18_600
/** Of `ibv_rc_pingpong`. */
const depth = 500

const receiveId = 1n
const sendId = 2n

const [role, way, ...numbers] = process.argv.slice(2)
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
  const piece = { region, length: size }
  const receives = (count: number) =>
    QueuePair.postRecv(queuePair, Array.from({ length: count }, () => ({ wrId: receiveId, sgList: [piece] })))

  const local = yield* QueuePair.endpoint(queuePair, { gidIndex })
  const remote = yield* decodeEndpoint(yield* tell(yield* encodeEndpoint(local)))
  yield* QueuePair.connect(queuePair, local, remote, { receives: receives(depth) })

  const rally = yield* ways[yield* decodeWay(way)]({ queue, queuePair, region, receives })
  const game: Game = { posted: depth, sent: 0, received: 0, isSending: false, isReceiving: false }
  for (let round = 0; round < rounds; round++) {
    yield* tell("ready")
    const start = performance.now()
    game.sent = game.received = 0
    game.isSending = !isServer
    game.isReceiving = true
    yield* rally(game)
    if (!isServer) yield* Console.log(((performance.now() - start) * 1000 / iterations).toFixed(2))
  }
  yield* tell("done")
})

/** How far one side is: how many receives are posted, and what is under way. */
interface Game {
  posted: number
  sent: number
  received: number
  isSending: boolean
  isReceiving: boolean
}

const isOver = ({ received, sent }: Game): boolean => sent >= iterations && received >= iterations

/** Notes a completion, and tells whether it is this side's turn to send. */
const isTurn = (game: Game, { status, wrId }: { readonly status: string | number; readonly wrId: bigint }): boolean => {
  if (status !== "success" && status !== 0) throw new Error(`request ${wrId}: ${status}`)
  if (wrId === sendId) {
    game.sent++
    game.isSending = false
  } else {
    game.posted--
    game.received++
    game.isReceiving = false
  }
  if (game.isSending || game.isReceiving || game.sent >= iterations) return false
  game.isSending = game.isReceiving = true
  return true
}

interface Side {
  readonly queue: CompletionQueue.CompletionQueue
  readonly queuePair: QueuePair.QueuePair<"rc">
  readonly region: MemoryRegion.MemoryRegion
  readonly receives: (count: number) => ReturnType<typeof QueuePair.postRecv>
}

/** Plays a round. */
type Rally = (game: Game) => Effect.Effect<void, VerbsError.VerbsError>

/** The scoped objects. */
const byObjects = ({ queue, queuePair, receives, region }: Side): Rally => {
  // Effects are values: what is done for every message is made once.
  const send = QueuePair.postSend(queuePair, [
    { opcode: "send", wrId: sendId, flags: ["signaled"], sgList: [{ region, length: size }] }
  ])
  const next = CompletionQueue.next(queue, 2)
  return (game) =>
    Effect.gen(function*() {
      if (game.isSending) yield* send
      while (!isOver(game)) {
        for (const completion of yield* next) if (isTurn(game, completion)) yield* send
        if (game.posted <= 1) {
          yield* receives(depth - game.posted)
          game.posted = depth
        }
      }
    })
}

/** Plain functions, without an effect for each message. */
const byFunctions = ({ poll, receive, send }: {
  readonly send: () => void
  readonly receive: (count: number) => void
  readonly poll: () => ReadonlyArray<{ readonly status: string | number; readonly wrId: bigint }>
}): Rally =>
(game) =>
  Effect.sync(() => {
    if (game.isSending) send()
    while (!isOver(game)) {
      for (const completion of poll()) if (isTurn(game, completion)) send()
      if (game.posted <= 1) {
        receive(depth - game.posted)
        game.posted = depth
      }
    }
  })

/** The functions of the seam. */
const bySeam = ({ queue, queuePair, region }: Side): Effect.Effect<Rally> =>
  Effect.map(queue.context.verbs.dataPath, ({ pollCq, postRecv, postSend }) => {
    const [qp, cq] = [Resource.raw(queuePair), Resource.raw(queue)]
    const sgList = [{ addr: region.address, length: size, lkey: region.lkey }]
    const sends = [{ wrId: sendId, opcode: "send", flags: ["signaled"], sgList }] as const
    return byFunctions({
      send: () => done(postSend(qp, sends)),
      receive: (count) => done(postRecv(qp, Array.from({ length: count }, () => ({ wrId: receiveId, sgList })))),
      poll: () => {
        const polled = pollCq(cq, 2)
        done(polled)
        return polled.completions
      }
    })
  })

const done = ({ error }: { readonly error: VerbsError.VerbsError | undefined }): void => {
  if (error !== undefined) throw error
}

/** By hand, without this library. */
const byHand = ({ queue, queuePair, region }: Side): Rally => {
  const { poll, post, receive } = HandWritten.make(Resource.raw(queuePair), Resource.raw(queue))
  const message = { addr: region.address, length: size, lkey: region.lkey }
  const sends = [{ ...message, wrId: sendId, opcode: 2, flags: 2 }]
  return byFunctions({
    send: () => post(sends),
    receive: (count) => receive({ ...message, wrId: receiveId }, count),
    poll: () => poll(2)
  })
}

const ways = {
  hand: (side: Side) => Effect.succeed(byHand(side)),
  seam: bySeam,
  objects: (side: Side) => Effect.succeed(byObjects(side))
}

const decodeWay = Schema.decodeUnknownEffect(Schema.Literals(["hand", "seam", "objects"]))

const encodeEndpoint = Schema.encodeEffect(QueuePairEndpoint.FromJson)
const decodeEndpoint = Schema.decodeEffect(QueuePairEndpoint.FromJson)

await Effect.runPromise(play.pipe(
  Effect.scoped,
  Effect.provideService(WaitStrategy.WaitStrategy, { _tag: "spin", slice: "10 millis" }),
  Effect.provide(Verbs.Verbs.layer)
))
