/**
 * Runs a command on a real Linux kernel with Soft-RoCE, on any amd64 Debian machine: in QEMU, on the machine's own
 * files. Writes of the command stay in the guest, except those to the folder of `--out`.
 */
import { Effect, FileSystem, Path } from "effect"
import { parse, seconds } from "./lanes/CommandLine.ts"
import * as Guest from "./lanes/Guest.ts"
import * as GuestKernel from "./lanes/GuestKernel.ts"
import { guestEnvironment, guestScript } from "./lanes/guestScript.ts"
import { cannotRunHere, timeLimit } from "./lanes/LaneError.ts"
import { runLane } from "./lanes/runLane.ts"
import { requirePackages } from "./systemPackages.ts"

const usage = "usage: softroce [--timeout SECONDS] [--boot-timeout SECONDS] [--out DIR] [--console] -- CMD ARGS..."

const main = Effect.gen(function*() {
  const { command, flags, options } = yield* parse(process.argv.slice(2), {
    options: ["timeout", "boot-timeout", "out"],
    flags: ["console"],
    usage
  })
  const limit = yield* seconds("timeout", options.timeout, 600)
  const bootSeconds = yield* seconds("boot-timeout", options["boot-timeout"], 120)
  return yield* runInGuest(command, options.out, bootSeconds, flags.has("console")).pipe(
    Effect.timeoutOrElse({
      duration: `${limit} seconds`,
      orElse: () => Effect.fail(timeLimit(`the time limit of ${limit} s is over; the guest was stopped`))
    })
  )
})

const runInGuest = (
  command: ReadonlyArray<string>,
  outOption: string | undefined,
  bootSeconds: number,
  showConsole: boolean
) =>
  Effect.gen(function*() {
    if (process.platform !== "linux" || process.arch !== "x64") {
      return yield* cannotRunHere(`this lane needs Linux on amd64, not ${process.platform} on ${process.arch}`)
    }
    yield* requirePackages("softroce")
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const out = outOption === undefined ? undefined : path.resolve(outOption)
    if (out !== undefined) yield* fs.makeDirectory(out, { recursive: true })
    return yield* Guest.run({
      kernel: yield* GuestKernel.get,
      script: guestScript(command, process.cwd(), [
        ...guestEnvironment(process.env),
        // The guest has no network, so pnpm must not try to install there.
        ["pnpm_config_verify_deps_before_run", "false"],
        ["EFFECT_RDMA_LANE", "softroce"]
      ]),
      out,
      bootSeconds,
      showConsole
    })
  })

runLane("softroce", main)
