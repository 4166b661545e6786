/**
 * What the ping-pong programs share: their options, the exchange of addresses, and what they print. All is as in the C
 * programs `ibv_rc_pingpong`, `ibv_ud_pingpong` and `ibv_srq_pingpong`, so that each can be the other side of its namesake.
 */
import { Gid, NativeMemory } from "@effect-rdma/core"
import {
  CompletionChannel,
  CompletionQueue,
  DeviceContext,
  DeviceList,
  MemoryRegion,
  ProtectionDomain,
  QueuePair,
  QueuePairEndpoint,
  WaitStrategy,
  WorkCompletion
} from "@effect-rdma/verbs"
import { Array, Console, Duration, Effect, Schema } from "effect"
import type { Scope } from "effect"
import { Argument, type Command, Flag } from "effect/cli"
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { handler, number, ProgramError, string, toggle } from "./program.ts"

// -----------------------------------------------------------------------------
// Options
// -----------------------------------------------------------------------------

/** The options of all three; `size` is how large messages are by default. */
export const flags = (size: number) => ({
  host: Argument.String("host").pipe(
    Argument.withDefault(undefined),
    Argument.withDescription("the server to connect to; without it, this is the server")
  ),
  port: number("port", "p", 18515, "TCP port of the exchange of addresses"),
  ibDev: string("ib-dev", "d", "device (default the first)"),
  ibPort: number("ib-port", "i", 1, "port of the device"),
  size: number("size", "s", size, "bytes of a message"),
  rxDepth: number("rx-depth", "r", 500, "receives to post at a time"),
  iters: number("iters", "n", 1000, "messages each way"),
  sl: Flag.Int("sl").pipe(Flag.withAlias("l"), Flag.withDefault(0), Flag.withDescription("service level (default 0)")),
  gidIdx: Flag.Int("gid-idx").pipe(
    Flag.withAlias("g"),
    Flag.withDefault(undefined),
    Flag.withDescription("index of the GID (default the best of the port)")
  ),
  events: toggle("events", "e", "sleep until a completion comes (default poll)"),
  chk: toggle("chk", "c", "the server checks the bytes of the last message")
})

export type Options = Command.Command.Config.Infer<ReturnType<typeof flags>>

/** The option of those that connect their queue pairs. */
export const mtu = Flag.ChoiceWithValue("mtu", ([256, 512, 1024, 2048, 4096] as const).map((mtu) => [`${mtu}`, mtu]))
  .pipe(Flag.withAlias("m"), Flag.withDefault(1024), Flag.withDescription("path MTU (default 1024)"))

/** A program as the handler of its command. */
export const overTcp = <O extends Options, E extends Error, R>(
  program: (options: O, peer: Peer) => Effect.Effect<void, E, R>
) => handler((options: O) => program(options, tcpPeer(options)))

// -----------------------------------------------------------------------------
// The parts that all three begin with
// -----------------------------------------------------------------------------

/** A protection domain on the device, a completion queue, and memory for one message behind `headroom` bytes. */
export const open = Effect.fnUntraced(function*(options: Options, { role }: Peer, cqe: number, headroom = 0) {
  const { devices } = yield* DeviceList.get()
  const device = devices.find(({ name }) => name === (options.ibDev ?? name))
  if (device === undefined) return yield* new ProgramError({ problem: `no device ${options.ibDev ?? ""}` })
  const context = yield* DeviceContext.open(device)
  const domain = yield* ProtectionDomain.alloc(context)
  const queue = yield* CompletionQueue.make(context, {
    cqe,
    ...(options.events ? { channel: yield* CompletionChannel.make(context) } : {})
  })
  const memory = yield* MemoryRegion.alloc(domain, { length: headroom + options.size, access: ["localWrite"] })
  const message = memory.bytes.subarray(headroom)
  // So the server can tell what it got.
  if (role === "server") message.fill(notSent)
  else message.set(payload(options.size))
  return { domain, queue, memory, message }
})

const notSent = 0xff

/** As in C: the first byte of each page is 0. */
const payload = (size: number): Uint8Array => {
  const bytes = new Uint8Array(size).fill(0x7b)
  for (let offset = 0; offset < size; offset += NativeMemory.pageSize()) bytes[offset] = 0
  return bytes
}

/** What the peer must know of a queue pair; without `-g` the library chooses the GID. */
export const endpoint = (queuePair: QueuePair.QueuePair, { gidIdx, ibPort }: Options) =>
  QueuePair.endpoint(queuePair, { portNum: ibPort, ...(gidIdx === undefined ? {} : { gidIndex: gidIdx }) })

// -----------------------------------------------------------------------------
// The exchange of addresses
// -----------------------------------------------------------------------------

/** The other program, until both know where to send to: over TCP, or whatever a test puts in its place. */
export interface Peer {
  readonly role: "server" | "client"
  readonly open: Effect.Effect<Connection, ProgramError, Scope.Scope>
}

export interface Connection {
  readonly send: (text: string) => Effect.Effect<void>
  readonly receive: (length: number) => Effect.Effect<string, ProgramError>
}

/**
 * Tells the peer the addresses of this side, and connects each queue pair with its counterpart. The server tells its own
 * when it has connected: so whoever knows where to send to finds a receiver. There are as many addresses as `slots`, of which
 * those that no queue pair has are zero.
 */
export const exchange = <End extends { readonly local: QueuePairEndpoint.QueuePairEndpoint }, A, E, R>(
  { open, role }: Peer,
  ends: Array.NonEmptyReadonlyArray<End>,
  connect: (end: End, remote: QueuePairEndpoint.QueuePairEndpoint) => Effect.Effect<A, E, R>,
  slots: number = ends.length
) =>
  Effect.gen(function*() {
    for (const { local } of ends) yield* printAddress("local address: ", local)
    const { receive, send } = yield* open
    const unused = slots - ends.length
    const tell = send(ends.map(({ local }) => toText(local)).join("") + noAddress.repeat(unused))
    if (role === "client") yield* tell
    const pairs = yield* Effect.forEach(
      ends,
      (end) => Effect.map(Effect.flatMap(receive(noAddress.length), fromText), (remote) => ({ end, remote }))
    )
    yield* receive(unused * noAddress.length)
    const connected = yield* Effect.forEach(pairs, ({ end, remote }) => connect(end, remote))
    if (role === "client") {
      yield* send(done)
    } else {
      yield* tell
      yield* receive(done.length)
    }
    for (const { remote } of pairs) yield* printAddress("remote address:", remote)
    return connected
  })

// Numbers and the GID in hexadecimal, and the NUL that ends a string in C.
const addressPattern = /^([0-9a-f]{4}):([0-9a-f]{6}):([0-9a-f]{6}):([0-9a-f]{32})\0$/
const noAddress = "0000:000000:000000:00000000000000000000000000000000\0"
const done = "done\0"

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, "0")

const toText = ({ gid = Gid.zero(), lid, psn, qpNum }: QueuePairEndpoint.QueuePairEndpoint): string =>
  `${hex(lid, 4)}:${hex(qpNum, 6)}:${hex(psn, 6)}:${Gid.format(gid).replaceAll(":", "")}\0`

const fromText = (
  text: string
): Effect.Effect<QueuePairEndpoint.QueuePairEndpoint, ProgramError | Schema.SchemaError> => {
  const [, lid = "", qpNum = "", psn = "", gid = ""] = addressPattern.exec(text) ?? []
  if (gid === "") {
    return Effect.fail(new ProgramError({ problem: `the peer sent no address but ${JSON.stringify(text)}` }))
  }
  return Schema.decodeEffect(QueuePairEndpoint.QueuePairEndpoint)({
    lid: parseInt(lid, 16),
    qpNum: parseInt(qpNum, 16),
    psn: parseInt(psn, 16),
    // Without a GID it is the LID that leads there.
    ...(/^0*$/.test(gid) ? {} : { gid: gid.replaceAll(/....(?=.)/g, "$&:") })
  })
}

const printAddress = (whose: string, { gid = Gid.zero(), lid, psn, qpNum }: QueuePairEndpoint.QueuePairEndpoint) =>
  Console.log(
    `  ${whose} LID 0x${hex(lid, 4)}, QPN 0x${hex(qpNum, 6)}, PSN 0x${hex(psn, 6)}, GID ${Gid.formatCompressed(gid)}`
  )

/** The server waits for one client. */
export const tcpPeer = ({ host, port }: Pick<Options, "host" | "port">): Peer => ({
  role: host === undefined ? "server" : "client",
  open: Effect.gen(function*() {
    const socket = yield* Effect.acquireRelease(
      host === undefined ? accept(port) : dial(host, port),
      (socket) => Effect.sync(() => socket.destroy()),
      { interruptible: true }
    )
    // Whoever reads is told.
    socket.on("error", () => {})
    const chunks = socket.setEncoding("latin1")[Symbol.asyncIterator]()
    let received = ""
    return {
      send: (text) => Effect.sync(() => void socket.write(text)),
      receive: Effect.fnUntraced(function*(length) {
        while (received.length < length) {
          const { done, value } = yield* attempt(() => chunks.next())
          if (done === true) return yield* new ProgramError({ problem: "the peer has closed the connection" })
          received += value
        }
        const text = received.slice(0, length)
        received = received.slice(length)
        return text
      })
    }
  })
})

const accept = (port: number) =>
  Effect.acquireUseRelease(
    Effect.sync(() => createServer().listen(port)),
    (server) => attempt(async (signal) => (await once(server, "connection", { signal }))[0] as Socket),
    (server) => Effect.sync(() => server.close())
  )

const dial = (host: string, port: number) =>
  Effect.suspend(() => {
    const socket = connect(port, host)
    return attempt((signal) => once(socket, "connect", { signal })).pipe(
      Effect.onError(() => Effect.sync(() => socket.destroy())),
      Effect.as(socket)
    )
  })

const attempt = <A>(promise: (signal: AbortSignal) => Promise<A>) =>
  Effect.tryPromise({
    try: promise,
    // A host with several addresses has an error of each, and no message above them.
    catch: (cause) =>
      new ProgramError({
        problem: cause instanceof AggregateError ? cause.errors.join(", ") : String(cause)
      })
  })

// -----------------------------------------------------------------------------
// What is measured
// -----------------------------------------------------------------------------

/**
 * Runs `messages`, which calls `heard` at each message of the peer, and prints what it took. Nobody tells a receiver that
 * its peer is gone, so it fails when nothing is heard for some seconds.
 */
export const measure = <E, R>(
  { events, iters, size }: Options,
  messages: (heard: () => void) => Effect.Effect<void, E, R>
) =>
  Effect.gen(function*() {
    let count = 0
    const silence = Effect.gen(function*() {
      for (let before = -1; before < count;) {
        before = count
        yield* Effect.sleep(patience)
      }
      return yield* new ProgramError({ problem: `nothing was heard of the peer for ${Duration.format(patience)}` })
    })
    const [duration] = yield* messages(() => count++).pipe(
      Effect.provideService(
        WaitStrategy.WaitStrategy,
        events ? { _tag: "channel" } : { _tag: "spin", slice: "100 micros" }
      ),
      Effect.raceFirst(silence),
      Effect.timed
    )
    const seconds = Duration.toSeconds(duration)
    const bytes = 2 * size * iters
    const [took, rate] = [seconds, (bytes * 8) / 1e6 / seconds].map((value) => value.toFixed(2))
    yield* Console.log(`${bytes} bytes in ${took} seconds = ${rate} Mbit/sec`)
    yield* Console.log(`${iters} iters in ${took} seconds = ${((seconds * 1e6) / iters).toFixed(2)} usec/iter`)
  })

const patience = Duration.seconds(10)

/** The receives of one queue pair are all for the same memory: there is one message under way. */
export const postReceives = (queuePair: QueuePair.QueuePair, memory: MemoryRegion.MemoryRegion, count: number) =>
  QueuePair.postRecv(queuePair, Array.replicate({ sgList: [{ region: memory }] }, count))

/** Measures the messages of one queue pair: the client sends, and each side answers what it has received. */
export const toAndFro = <A, E, R>(
  options: Options,
  { role }: Peer,
  { memory, queue, queuePair, send }: {
    readonly queuePair: QueuePair.QueuePair
    readonly queue: CompletionQueue.CompletionQueue
    readonly memory: MemoryRegion.MemoryRegion
    readonly send: Effect.Effect<A, E, R>
  }
) =>
  measure(
    options,
    Effect.fnUntraced(function*(heard) {
      let posted = options.rxDepth
      for (let round = 0; round < options.iters; round++) {
        if (role === "client") yield* send
        const [completion] = yield* CompletionQueue.next(queue, 1)
        yield* WorkCompletion.orFail(completion, "recv", queuePair)
        if (--posted <= 1) {
          yield* postReceives(queuePair, memory, options.rxDepth - posted)
          posted = options.rxDepth
        }
        heard()
        if (role === "server") yield* send
      }
    })
  )

/**
 * With `-c` the server fails unless the last message of the client is there: each page begins with 0, and has nothing of what
 * was in the memory before. What else is in it differs among the programs in C.
 */
export const check = ({ chk }: Options, { role }: Peer, message: Uint8Array) => {
  const page = NativeMemory.pageSize()
  const wrong = message.findIndex((byte, offset) => offset % page === 0 ? byte !== 0 : byte === notSent)
  return chk && role === "server" && wrong !== -1
    ? Effect.fail(new ProgramError({ problem: `invalid data at byte ${wrong}` }))
    : Effect.void
}
