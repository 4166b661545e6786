/**
 * A program for a process of its own: 64 hosts, and 10,000 queue pairs that are made, connected, send a message each, and go.
 * It prints what that took: milliseconds, those of the processor, and megabytes.
 */
import { Fabric, Topology } from "@effect-rdma/testkit"
import { CompletionQueue, DeviceContext, ProtectionDomain, QueuePair } from "@effect-rdma/verbs"
import { Effect } from "effect"

const hosts = 64
const count = 10_000

const names = Array.from({ length: hosts }, (_, index) => `host-${index}`)
const layer = Fabric.layerFrom(Topology.build({ hosts: Object.fromEntries(names.map((name) => [name, ["rxe0"]])) }))

const host = Effect.gen(function*() {
  const context = yield* DeviceContext.openByName("rxe0")
  const domain = yield* ProtectionDomain.alloc(context)
  const queue = yield* CompletionQueue.make(context, { cqe: 1024 })
  return { domain, queue }
})

const end = ({ domain, queue }: Effect.Success<typeof host>) =>
  QueuePair.make(domain, { qpType: "rc", sendCq: queue, recvCq: queue })

const connect = Effect.fnUntraced(function*(a: QueuePair.QueuePair<"rc">, b: QueuePair.QueuePair<"rc">) {
  const here = yield* QueuePair.endpoint(a)
  const there = yield* QueuePair.endpoint(b)
  yield* QueuePair.connect(a, here, there)
  yield* QueuePair.connect(b, there, here)
})

const times: { [phase: string]: number } = {}
let before = process.cpuUsage()

/** Notes the time of the processor since the phase before. */
const note = (phase: string) =>
  Effect.sync(() => {
    const { system, user } = process.cpuUsage(before)
    times[phase] = Math.round((system + user) / 1000)
    before = process.cpuUsage()
  })

const program = Effect.gen(function*() {
  yield* note("start")
  const fabric = yield* Fabric.Fabric
  const made = yield* Effect.forEach(
    names,
    (name) => Effect.flatMap(fabric.seams(name), (seams) => Effect.provideContext(host, seams))
  )
  const pairs = yield* Effect.forEach(
    Array.from({ length: count / 2 }, (_, index) => index),
    (index) => Effect.all([end(made[index % hosts]!), end(made[(7 * index + 1) % hosts]!)])
  )
  yield* note("made")
  const live = (yield* fabric.objects).filter(({ kind }) => kind === "QueuePair").length
  for (const [a, b] of pairs) yield* connect(a, b)
  yield* note("connected")
  for (const [a, b] of pairs) {
    yield* QueuePair.postRecv(a, [{ sgList: [] }])
    yield* QueuePair.postRecv(b, [{ sgList: [] }])
    yield* QueuePair.send(a, {})
    yield* QueuePair.send(b, {})
  }
  let received = 0
  for (const { queue } of made) {
    const poll = Effect.map(CompletionQueue.poll(queue, 1024), ({ length }) => received += length)
    // First what those who await have taken, then what they have not.
    yield* Effect.andThen(poll, poll)
  }
  yield* note("sent")
  return { live, received }
})

const counts = await Effect.runPromise(
  Effect.scoped(program).pipe(Effect.ensuring(note("closed")), Effect.provide(layer))
)
const megabytes = Math.round(process.resourceUsage().maxRSS / 1024)
process.stdout.write(`${JSON.stringify({ ...counts, processorMillis: times, megabytes })}\n`)
