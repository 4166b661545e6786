/**
 * Text goes to and fro through the memory of the client, which the server reads and writes, as with `rping`, which can be the
 * other side:
 *
 *     node examples/rping.ts -s                         the server
 *     node examples/rping.ts -c -a 10.0.0.1 -v -C 10    the client
 */
import { CmId, RdmaCm } from "@effect-rdma/rdmacm"
import { MemoryRegion, QueuePair, Verbs } from "@effect-rdma/verbs"
import { Console, Effect, Layer, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { accept, connect, listen, open, patiently, received, resolve, whileConnected } from "./connections.ts"
import { handler, number, ProgramError, run, string, toggle } from "./program.ts"

const int = (name: string, letter: string, minimum: number, maximum: number, fallback: number, description: string) =>
  Flag.Int(name).pipe(
    Flag.withAlias(letter),
    Flag.withSchema(Schema.Int.check(Schema.isBetween({ minimum, maximum }))),
    Flag.withDefault(fallback),
    Flag.withDescription(`${description} (default ${fallback})`)
  )

const flags = {
  server: toggle("server", "s", "be the server"),
  client: toggle("client", "c", "be the client"),
  address: string("address", "a", "where the server listens (default each address) or is"),
  source: string("source", "I", "address of the client"),
  port: number("port", "p", 7174, "port of the server"),
  persistent: toggle("persistent", "P", "the server serves one client after the other, and several at once"),
  size: int("size", "S", 26, 65_535, 64, "bytes of text"),
  count: int("count", "C", 0, 2 ** 31 - 1, 0, "how often, 0 for ever"),
  verbose: toggle("verbose", "v", "print the text"),
  validate: toggle("validate", "V", "the client compares what it gets back")
}

export type Options = Command.Command.Config.Infer<typeof flags>

export const rping = (options: Options) =>
  options.server === options.client
    ? Effect.fail(new ProgramError({ problem: "be either the server or the client: -s or -c" }))
    : options.server
    ? server(options)
    : client(options)

/** Memory of the other side: `struct rping_rdma_info`, big-endian. */
const info = {
  bytes: 16,
  write: (into: Uint8Array, { address, length, rkey }: MemoryRegion.MemoryRegion) => {
    const view = viewOf(into)
    view.setBigUint64(0, address)
    view.setUint32(8, rkey)
    view.setUint32(12, Number(length))
  },
  read: (from: Uint8Array) => {
    const view = viewOf(from)
    return { remoteAddr: view.getBigUint64(0), rkey: view.getUint32(8), length: view.getUint32(12) }
  }
}

const viewOf = ({ buffer, byteLength, byteOffset }: Uint8Array) => new DataView(buffer, byteOffset, byteLength)

/** A queue pair for an id, with messages of this size each way: one at a time, since both sides take turns. */
const openRping = Effect.fnUntraced(function*(id: CmId.CmId) {
  const { domain, queue, queuePair } = yield* open(id, "rc", 2)
  const out = yield* MemoryRegion.alloc(domain, { length: info.bytes })
  const into = yield* MemoryRegion.alloc(domain, { length: info.bytes, access: ["localWrite"] })
  const receive = QueuePair.postRecv(queuePair, [{ sgList: [{ region: into }] }])
  yield* receive
  return {
    domain,
    queuePair,
    /** Tells the other side which memory is its turn; to go ahead needs none. */
    tell: (region?: MemoryRegion.MemoryRegion) => {
      if (region !== undefined) info.write(out.bytes, region)
      return patiently(QueuePair.send(queuePair, { sgList: [{ region: out }] }))
    },
    told: Effect.gen(function*() {
      const { byteLen } = yield* patiently(received(queue, queuePair))
      if (byteLen !== info.bytes) return yield* new ProgramError({ problem: `a message of ${byteLen} bytes` })
      const message = info.read(into.bytes)
      yield* receive
      return message
    })
  }
})

const shared = (length: number) => ({ length, access: ["localWrite", "remoteRead", "remoteWrite"] as const })

// -----------------------------------------------------------------------------
// The client
// -----------------------------------------------------------------------------

const client = Effect.fnUntraced(function*({ address, count, port, size, source, validate, verbose }: Options) {
  const id = yield* resolve({ host: address, port, portSpace: "tcp" }, source)
  yield* CmId.resolveRoute(id)
  const { domain, queuePair, tell, told } = yield* openRping(id)
  const ping = yield* MemoryRegion.alloc(domain, shared(size))
  const pong = yield* MemoryRegion.alloc(domain, shared(size))
  yield* connect(id, queuePair)

  const pings = Effect.gen(function*() {
    for (let round = 0; round < (count || Infinity); round++) {
      ping.bytes.set(content(round, size))
      yield* tell(ping)
      yield* told
      yield* tell(pong)
      yield* told
      if (validate && Buffer.compare(ping.bytes, pong.bytes) !== 0) {
        return yield* new ProgramError({ problem: "data mismatch" })
      }
      if (verbose) yield* Console.log(`ping data: ${textOf(pong.bytes)}`)
    }
  })

  yield* whileConnected(id, pings)
  yield* CmId.disconnect(id)
})

/** As in C: the number of the round, then letters, each round from the next one on, and a NUL. */
const content = (round: number, size: number): Uint8Array => {
  const text = Buffer.alloc(size)
  const letters = 122 - 65 + 1
  for (let at = text.write(`rdma-ping-${round}: `), letter = round; at < size - 1; at++, letter++) {
    text[at] = 65 + letter % letters
  }
  return text
}

const textOf = (bytes: Uint8Array) => Buffer.from(bytes.subarray(0, bytes.indexOf(0))).toString("latin1")

// -----------------------------------------------------------------------------
// The server
// -----------------------------------------------------------------------------

const server = Effect.fnUntraced(function*(options: Options) {
  const { address, persistent, port } = options
  const listener = yield* listen({ host: address, port, portSpace: "tcp" })
  const one = Effect.scoped(serve(listener, options))
  if (!persistent) return yield* one
  const nextOne = Effect.forever(Effect.catch(one, (error) => Console.error(error.message)))
  yield* Effect.all(Array.from({ length: atOnce }, () => nextOne), { concurrency: "unbounded", discard: true })
})

/** The clients of a persistent server. Who comes later waits. */
const atOnce = 16

const serve = Effect.fnUntraced(function*(listener: CmId.CmId, { size, verbose }: Options) {
  const { id } = yield* CmId.nextRequest(listener)
  const { domain, queuePair, tell, told } = yield* openRping(id)
  const data = yield* MemoryRegion.alloc(domain, shared(size))
  yield* accept(id, queuePair)

  const pings = Effect.forever(Effect.gen(function*() {
    const { length, ...ping } = yield* told
    if (length > size) {
      return yield* new ProgramError({
        problem: `the client has ${length} bytes, and here is room for ${size}: see -S`
      })
    }
    yield* patiently(QueuePair.rdmaRead(queuePair, { remote: ping, sgList: [{ region: data, length }] }))
    if (verbose) yield* Console.log(`server ping data: ${textOf(data.bytes)}`)
    yield* tell()

    const { length: room, ...pong } = yield* told
    const text = data.bytes.indexOf(0) + 1
    if (text === 0 || text > room) return yield* new ProgramError({ problem: "the text has no end" })
    yield* patiently(QueuePair.rdmaWrite(queuePair, { remote: pong, sgList: [{ region: data, length: text }] }))
    yield* tell()
  }))

  yield* Effect.raceFirst(pings, CmId.awaitDisconnected(id))
  yield* CmId.disconnect(id)
})

if (import.meta.main) {
  run(Command.make("rping", flags, handler(rping)), Layer.merge(RdmaCm.RdmaCm.layer, Verbs.Verbs.layer))
}
