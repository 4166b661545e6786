/**
 * The Debian packages that each lane needs, and how they are installed.
 *
 * @since 0.1.0
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as ChildProcess from "effect/process/ChildProcess"
import type * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import { cannotRunHere, laneBroke, type LaneError, usage } from "./laneError.ts"
import { runCommand } from "./runCommand.ts"

/** Of softroce, first what builds the guest, then what runs inside it. */
export const packagesOf = {
  softroce: [
    "qemu-system-x86",
    "busybox-static",
    "cpio",
    "kmod",
    "xz-utils",
    "iproute2",
    "ibverbs-providers",
    "ibverbs-utils",
    "libibumad3",
    "librdmacm1",
    "rdmacm-utils"
  ],
  ibsim: ["ibsim-utils", "libumad2sim0", "opensm", "infiniband-diags", "libibumad3"]
} as const

/** Those that are not installed, in the order of the list. Asks dpkg only, never the network. */
export const missing = (
  packages: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<string>, LaneError, ChildProcessSpawner.ChildProcessSpawner> =>
  Effect.gen(function*() {
    const result = yield* runCommand("dpkg-query", ["-W", "-f", "${Package} ${db:Status-Status}\n", ...packages])
    if (result.status === 127) return yield* cannotRunHere("this lane needs a Debian system (dpkg-query is not here)")
    const installed = new Set(result.stdout.split("\n").filter((line) => line.endsWith(" installed")).map(firstWord))
    return packages.filter((name) => !installed.has(name))
  })

/** What installs packages, for people. */
export const aptCommand = (packages: ReadonlyArray<string>): string =>
  `apt-get install --no-install-recommends ${packages.join(" ")}`

/** Fails with the command that would help when a package is missing. */
export const requirePackages = (
  packages: ReadonlyArray<string>
): Effect.Effect<void, LaneError, ChildProcessSpawner.ChildProcessSpawner> =>
  Effect.gen(function*() {
    const lacking = yield* missing(packages)
    if (lacking.length === 0) return
    return yield* cannotRunHere(`this lane cannot run here, packages are missing; run: ${aptCommand(lacking)}`)
  })

/** Installs packages with apt-get, which needs root. Says what it runs. */
export const install = (
  packages: ReadonlyArray<string>
): Effect.Effect<void, LaneError, ChildProcessSpawner.ChildProcessSpawner> =>
  Effect.gen(function*() {
    if (process.getuid?.() !== 0) {
      return yield* cannotRunHere(
        `only root can install packages; run: sudo ${aptCommand(packages)}`
      )
    }
    yield* aptGet(["update"])
    yield* aptGet(["install", "--yes", "--no-install-recommends", ...packages])
  })

const aptGet = (args: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    yield* Console.log(`+ apt-get ${args.join(" ")}`)
    const child = yield* ChildProcess.make("apt-get", ["-qq", ...aptOptions, ...args], {
      env: { DEBIAN_FRONTEND: "noninteractive" },
      extendEnv: true,
      stdin: "ignore",
      stdout: "inherit",
      stderr: "inherit"
    })
    const status = yield* child.exitCode
    if (status !== 0) return yield* laneBroke(`apt-get ${args[0]} ended with status ${status}`)
  }).pipe(
    Effect.scoped,
    Effect.catchTag("PlatformError", () => Effect.fail(cannotRunHere("apt-get cannot be run here")))
  )

/** Another apt-get may be at work: wait for it instead of failing. */
const aptOptions = ["-o", "DPkg::Lock::Timeout=300", "-o", "Dpkg::Use-Pty=0"]

const firstWord = (line: string): string => line.split(" ", 1)[0]!

/** Installs what the named lanes lack, and gives the exit status. */
export const installLanes = Effect.fnUntraced(function*(lanes: ReadonlyArray<string>) {
  const known = lanes.filter((lane) => lane === "softroce" || lane === "ibsim")
  if (known.length === 0 || known.length < lanes.length) {
    return yield* usage("install needs the name of a lane, softroce or ibsim")
  }
  const lacking = yield* missing([...new Set(known.flatMap((lane) => packagesOf[lane]))])
  if (lacking.length === 0) yield* Console.log(`every package of ${lanes.join(" and ")} is installed`)
  else yield* install(lacking)
  return 0
})
