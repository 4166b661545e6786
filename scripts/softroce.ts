/**
 * Runs a command on a real Linux kernel with Soft-RoCE, on any amd64 Debian machine: in QEMU, on the machine's own
 * files. Writes of the command stay in the guest, except those to the folder of `--out`. With `--hosts 2` it runs two
 * commands, each on a kernel of its own, on one network.
 */
import { Effect, FileSystem, Path } from "effect"
import { parse, seconds } from "./lanes/CommandLine.ts"
import * as Guest from "./lanes/Guest.ts"
import * as GuestKernel from "./lanes/GuestKernel.ts"
import { guestEnvironment, guestScript } from "./lanes/guestScript.ts"
import { cannotRunHere, timeLimit, usage as wrongUsage } from "./lanes/LaneError.ts"
import { runLane } from "./lanes/runLane.ts"
import { requirePackages } from "./systemPackages.ts"

const usage = "usage: softroce [--timeout SECONDS] [--boot-timeout SECONDS] [--out DIR] [--console] -- CMD ARGS..., " +
  "or with --hosts 2 -- CMD ARGS... --- CMD ARGS..."

const main = Effect.gen(function*() {
  const { command, flags, options } = yield* parse(process.argv.slice(2), {
    options: ["timeout", "boot-timeout", "out", "hosts"],
    flags: ["console"],
    usage
  })
  const limit = yield* seconds("timeout", options.timeout, 600)
  const asked = {
    out: options.out,
    bootSeconds: yield* seconds("boot-timeout", options["boot-timeout"], 120),
    showConsole: flags.has("console")
  }
  const run = options.hosts === undefined
    ? Effect.flatMap(prepare(asked), (guest) => guest(command, undefined))
    : Effect.flatMap(twoCommands(options.hosts, command), (commands) => onTwoHosts(commands, asked))
  return yield* run.pipe(
    Effect.timeoutOrElse({
      duration: `${limit} seconds`,
      orElse: () => Effect.fail(timeLimit(`the time limit of ${limit} s is over; what ran was stopped`))
    })
  )
})

interface Asked {
  readonly out: string | undefined
  readonly bootSeconds: number
  readonly showConsole: boolean
}

/** What runs a command in a guest, once all is there that a guest needs. */
const prepare = (asked: Asked) =>
  Effect.gen(function*() {
    if (process.platform !== "linux" || process.arch !== "x64") {
      return yield* cannotRunHere(`this lane needs Linux on amd64, not ${process.platform} on ${process.arch}`)
    }
    yield* requirePackages("softroce")
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const out = asked.out === undefined ? undefined : path.resolve(asked.out)
    if (out !== undefined) yield* fs.makeDirectory(out, { recursive: true })
    const kernel = yield* GuestKernel.get
    return (command: ReadonlyArray<string>, host: Guest.Host | undefined) =>
      Guest.run({
        ...asked,
        kernel,
        script: guestScript(command, process.cwd(), [
          ...guestEnvironment(process.env),
          // The guest has no network, so pnpm must not try to install there.
          ["pnpm_config_verify_deps_before_run", "false"],
          ["EFFECT_RDMA_LANE", "softroce"]
        ]),
        out,
        host
      })
  })

const twoCommands = (hosts: string, words: ReadonlyArray<string>) => {
  const at = words.indexOf("---")
  const commands = [words.slice(0, at), words.slice(at + 1)] as const
  return hosts === "2" && at > 0 && commands[1].length > 0
    ? Effect.succeed(commands)
    : Effect.fail(wrongUsage(`--hosts needs the number 2 and two commands with --- in between; ${usage}`))
}

/** Both run to their end, whatever becomes of the other one. The first status that is not 0 is that of the run. */
const onTwoHosts = ([first, second]: readonly [ReadonlyArray<string>, ReadonlyArray<string>], asked: Asked) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const guest = yield* prepare(asked)
    const network = yield* fs.makeTempDirectoryScoped({ prefix: "effect-rdma-network-" })
    const run = (number: Guest.Host["number"], command: ReadonlyArray<string>) =>
      guest(command, { number, network }).pipe(
        Effect.map((status) => ({ status, end: `the command ended with status ${status}` })),
        Effect.catchTag("LaneError", ({ message, status }) => Effect.succeed({ status, end: message })),
        Effect.map(({ end, status }) => {
          process.stderr.write(`softroce: host-${number}: ${end}\n`)
          return status
        })
      )
    const statuses = yield* Effect.all([run(1, first), run(2, second)], { concurrency: "unbounded" })
    return statuses.find((status) => status !== 0) ?? 0
  })

runLane("softroce", main)
