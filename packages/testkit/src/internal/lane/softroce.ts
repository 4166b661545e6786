/**
 * Runs a command on a real Linux kernel with Soft-RoCE, on any amd64 Debian machine: in QEMU, on the machine's own
 * files. Writes of the command stay in the guest, except those to the folder of `--out`. With `--hosts 2` it runs two
 * commands, each on a kernel of its own, on one network.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import { count, parse, seconds } from "./commandLine.ts"
import * as Guest from "./guest.ts"
import * as GuestKernel from "./guestKernel.ts"
import { guestEnvironment, guestScript } from "./guestScript.ts"
import { cannotRunHere, timeLimit, usage } from "./laneError.ts"
import { packagesOf, requirePackages } from "./packages.ts"

/** Gives the exit status of the command. */
export const softroce = Effect.fnUntraced(function*(words: ReadonlyArray<string>) {
  const { command, positionals: [stray], values } = yield* parse(words, {
    timeout: { type: "string" },
    "boot-timeout": { type: "string" },
    out: { type: "string" },
    hosts: { type: "string" },
    cpus: { type: "string" },
    console: { type: "boolean", default: false }
  })
  if (stray !== undefined) return yield* usage(`the command comes after --, and ${stray} before it`)
  const limit = yield* seconds("timeout", values.timeout, 600)
  const asked = {
    out: values.out,
    bootSeconds: yield* seconds("boot-timeout", values["boot-timeout"], 120),
    cpus: yield* count("cpus", values.cpus, 2),
    showConsole: values.console
  }
  const run = values.hosts === undefined
    ? Effect.flatMap(prepare(asked), (guest) => guest(command, undefined))
    : Effect.flatMap(twoCommands(values.hosts, command), (commands) => onTwoHosts(commands, asked))
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
  readonly cpus: number
  readonly showConsole: boolean
}

/** What runs a command in a guest, once all is there that a guest needs. */
const prepare = (asked: Asked) =>
  Effect.gen(function*() {
    if (process.platform !== "linux" || process.arch !== "x64") {
      return yield* cannotRunHere(`this lane needs Linux on amd64, not ${process.platform} on ${process.arch}`)
    }
    yield* requirePackages(packagesOf.softroce)
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
          // Where Node is a link below /run, which is another folder in the guest, this one is found.
          ["PATH", `${process.env["PATH"]}:${path.dirname(process.execPath)}`],
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
    : Effect.fail(usage("--hosts needs the number 2 and two commands with --- in between"))
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
