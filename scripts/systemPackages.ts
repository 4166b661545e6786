/** The Debian packages that each lane needs; as a program, installs those that are missing. */
import { Console, Effect } from "effect"
import type { ChildProcessSpawner } from "effect/process"
import { ChildProcess } from "effect/process"
import { cannotRunHere, laneBroke, type LaneError, usage } from "./lanes/LaneError.ts"
import { runCommand } from "./lanes/runCommand.ts"
import { runLane } from "./lanes/runLane.ts"

/** First what builds the guest, then what runs inside it. */
const softroce = [
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
] as const

export const packagesByLane = {
  softroce,
  softroce2: softroce,
  ibsim: ["ibsim-utils", "libumad2sim0", "opensm", "infiniband-diags", "libibumad3"],
  abi: [
    "gcc",
    "libc6-dev",
    "libibverbs-dev",
    "librdmacm-dev",
    "libibumad-dev",
    "libibmad-dev",
    "libopensm-dev"
  ],
  host: ["libibverbs1", "librdmacm1", "libibumad3"]
} as const

export type Lane = keyof typeof packagesByLane

export const lanes = Object.keys(packagesByLane) as ReadonlyArray<Lane>

/** The packages of a lane that are not installed, in the order of the list. Asks dpkg only, never the network. */
export const missingPackages = (
  lane: Lane
): Effect.Effect<ReadonlyArray<string>, LaneError, ChildProcessSpawner.ChildProcessSpawner> =>
  Effect.gen(function*() {
    const wanted = packagesByLane[lane]
    const result = yield* runCommand("dpkg-query", ["-W", "-f", "${Package} ${db:Status-Status}\\n", ...wanted])
    if (result.status === 127) return yield* cannotRunHere("this lane needs a Debian system (dpkg-query is not here)")
    const installed = new Set(result.stdout.split("\n").filter((line) => line.endsWith(" installed")).map(firstWord))
    return wanted.filter((name) => !installed.has(name))
  })

/** Fails with the command that would help when a package of the lane is missing. */
export const requirePackages = (
  lane: Lane
): Effect.Effect<void, LaneError, ChildProcessSpawner.ChildProcessSpawner> =>
  Effect.gen(function*() {
    const missing = yield* missingPackages(lane)
    if (missing.length === 0) return
    return yield* cannotRunHere(
      `this lane cannot run here, packages are missing; run: apt-get install --no-install-recommends ${
        missing.join(" ")
      }`
    )
  })

/** Installs packages with apt-get, which needs root. Says what it runs. */
export const install = (
  packages: ReadonlyArray<string>
): Effect.Effect<void, LaneError, ChildProcessSpawner.ChildProcessSpawner> =>
  Effect.gen(function*() {
    if (process.getuid?.() !== 0) {
      return yield* cannotRunHere(
        `only root can install packages; run: sudo apt-get install --no-install-recommends ${packages.join(" ")}`
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

const main = Effect.gen(function*() {
  const [verb, ...names] = process.argv.slice(2)
  const chosen = lanes.filter((lane) => names.includes(lane))
  if ((verb !== "install" && verb !== "missing") || chosen.length === 0 || chosen.length !== new Set(names).size) {
    return yield* usage(`usage: systemPackages.ts install|missing LANE..., where LANE is one of ${lanes.join(", ")}`)
  }
  const missing = [...new Set((yield* Effect.forEach(chosen, missingPackages)).flat())]
  if (verb === "missing") {
    for (const name of missing) yield* Console.log(name)
  } else if (missing.length === 0) {
    yield* Console.log(`every package of ${chosen.join(", ")} is installed`)
  } else {
    yield* install(missing)
  }
  return 0
})

if (import.meta.main) runLane("systemPackages", main)
