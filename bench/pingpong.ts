/**
 * Messages to and fro between two processes over Soft-RoCE, by us and by `ibv_rc_pingpong` of C, which is told the same
 * size and as many iterations: one message to the peer and one back. Both poll without a pause.
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
const rounds = 5

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
  for (let round = 0; round < rounds; round++) {
    const text = yield* both(command, [...command, "127.0.0.1"], isListening)
    times.push(Number(/([\d.]+) usec\/iter/.exec(text)?.[1]))
  }
  return times
})

const byUs = Effect.gen(function*() {
  const command = [process.execPath, fileURLToPath(new URL("./pingpongSide.ts", import.meta.url))]
  const numbers = [size, iterations, rounds].map(String)
  const text = yield* both([...command, "server", ...numbers], [...command, "client", ...numbers], Effect.void)
  return text.trim().split("\n").map(Number)
})

const compare = Effect.gen(function*() {
  const before = yield* byC
  const ours = yield* byUs
  const c = [...before, ...yield* byC]
  yield* Console.log(`ibv_rc_pingpong: ${c.join(" ")} µs an iteration`)
  yield* Console.log(`ours: ${ours.join(" ")} µs an iteration`)
  yield* Console.log(
    `${(median(ours) / median(c)).toFixed(2)} times ibv_rc_pingpong, ${size} bytes, medians of ` +
      `${c.length} and ${ours.length} runs of ${iterations}: ${median(c)} and ${median(ours)} µs`
  )
})

await Effect.runPromise(compare)
