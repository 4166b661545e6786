/**
 * Messages to and fro between two processes over Soft-RoCE, by `ibv_rc_pingpong` of C and in the ways of
 * `pingpongSide.ts`, with the same size and as many iterations: one message to the peer and one back. All poll without a
 * pause. C runs before and after each way, since the times drift with the machine.
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { median } from "./measure.ts"

const size = 4096
const iterations = 1000
const rounds = 15
/** The optimizing compiler of V8 needs that many in the guest: its code is emulated as well. */
const warmUps = 60

const outputOf = (child: ChildProcess) =>
  Effect.promise(async () => {
    let text = ""
    child.stdout!.setEncoding("utf8").on("data", (some: string) => text += some)
    const [status] = await once(child, "close")
    if (status !== 0) throw new Error(`${child.spawnargs.join(" ")} ended with ${status}`)
    return text
  })

const run = ([command, ...args]: ReadonlyArray<string>) =>
  Effect.suspend(() => outputOf(spawn(command!, args, { stdio: ["ignore", "pipe", "inherit"], timeout: 240_000 })))

/** What the client prints, which is started when the server can be called. */
const both = (server: ReadonlyArray<string>, client: ReadonlyArray<string>, isUp: Effect.Effect<void>) =>
  Effect.map(Effect.all([run(server), Effect.andThen(isUp, run(client))], { concurrency: 2 }), ([, text]) => text)

/** That of C lets the first who calls be the client, and ends. */
const isListening = Effect.gen(function*() {
  while (!["tcp", "tcp6"].some((of) => /:4853 [0:]+ 0A /.test(readFileSync(`/proc/net/${of}`, "utf8")))) {
    yield* Effect.sleep(50)
  }
})

const byC = Effect.gen(function*() {
  const command = ["ibv_rc_pingpong", "-d", "rxe0", "-g", "1", "-s", `${size}`, "-n", `${iterations}`]
  const times: Array<number> = []
  for (let round = 0; round < 5; round++) {
    const text = yield* both(command, [...command, "127.0.0.1"], isListening)
    times.push(Number(/([\d.]+) usec\/iter/.exec(text)?.[1]))
  }
  return times
})

const byUs = Effect.fnUntraced(function*(way: string) {
  const command = [process.execPath, fileURLToPath(new URL("./pingpongSide.ts", import.meta.url))]
  const numbers = [size, iterations, warmUps + rounds].map(String)
  const text = yield* both(
    [...command, "server", way, ...numbers],
    [...command, "client", way, ...numbers],
    Effect.void
  )
  return text.trim().split("\n").map(Number)
})

const compare = Effect.gen(function*() {
  let before = yield* byC
  yield* Console.log(
    `${size} bytes to and fro, medians: ${rounds} runs of ${iterations} after ${warmUps} to warm up, and before and after each ` +
      `way 5 of C`
  )
  for (
    const [way, name] of [
      ["hand", "by hand: koffi and a DataView"],
      ["seam", "the functions of the seam"],
      ["objects", "QueuePair.postSend and CompletionQueue.next"]
    ] as const
  ) {
    const ours = yield* byUs(way)
    const after = yield* byC
    const [warm, c] = [median(ours.slice(warmUps)), median([...before, ...after])]
    yield* Console.log(
      `  ${(warm / c).toFixed(2)} times, ${warm} µs to ${c}: ${name}; the first run ${ours[0]} µs\n` +
        `    ours: ${ours.slice(warmUps).join(" ")}\n    ibv_rc_pingpong: ${[...before, ...after].join(" ")}`
    )
    before = after
  }
})

await Effect.runPromise(compare)
