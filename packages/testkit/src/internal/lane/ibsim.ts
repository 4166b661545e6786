/**
 * Runs a command on a simulated InfiniBand fabric: the real libibumad over ibsim, with opensm as the subnet manager.
 * The command sees the fabric as one of its hosts; with another SIM_HOST in its environment, a child sees it as another.
 *
 * @since 0.1.0
 */
import * as SubnetTopology from "@effect-rdma/umad/SubnetTopology"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as ChildProcess from "effect/process/ChildProcess"
import { parse, seconds } from "./commandLine.ts"
import { twoHosts } from "./files.ts"
import { timeLimit, usage } from "./laneError.ts"
import { packagesOf, requirePackages } from "./packages.ts"
import * as SimulatedFabric from "./simulatedFabric.ts"

/** Gives the exit status of the command. */
export const ibsim = Effect.fnUntraced(function*(words: ReadonlyArray<string>) {
  const { command, positionals: [netFile = twoHosts, stray], values } = yield* parse(words, {
    host: { type: "string" },
    timeout: { type: "string" }
  })
  if (stray !== undefined) return yield* usage(`the command comes after --, and ${stray} before it`)
  const limit = yield* seconds("timeout", values.timeout, 600)
  return yield* runOnFabric(command, netFile, values.host).pipe(
    Effect.timeoutOrElse({
      duration: `${limit} seconds`,
      orElse: () => Effect.fail(timeLimit(`the time limit of ${limit} s is over; the command was stopped`))
    })
  )
})

const runOnFabric = (command: ReadonlyArray<string>, netFile: string, hostOption: string | undefined) =>
  Effect.gen(function*() {
    yield* requirePackages(packagesOf.ibsim)
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const file = path.resolve(netFile)
    const text = yield* fs.readFileString(file).pipe(
      Effect.mapError((error) => usage(`the topology file cannot be read: ${error.message}`))
    )
    const { nodes } = yield* SubnetTopology.parse(text).pipe(
      Effect.mapError((error) => usage(`the topology file ${file} is wrong: ${error.message}`))
    )
    const named = (kind: SubnetTopology.Node["kind"]) =>
      nodes.filter((node) => node.kind === kind).map(SubnetTopology.nameOf)
    const hosts = named("ca")
    const host = hostOption ?? hosts[0]
    if (host === undefined) {
      return yield* usage(`the topology file ${file} has no host (a line like: Hca 1 "name")`)
    }
    if (!hosts.includes(host)) {
      return yield* usage(`the topology file has no host ${host}; it has ${hosts.join(", ")}`)
    }
    const fabric = yield* SimulatedFabric.make(file, { hosts, switches: named("switch") }, 60)
    yield* removeLeftFolders(process.cwd())
    return yield* runHere(command, {
      ...fabric.environment(host),
      EFFECT_RDMA_LANE: "ibsim",
      EFFECT_RDMA_TOPOLOGY: file
    })
  }).pipe(Effect.scoped)

/**
 * The shell turns a signal's end and a missing command into a status; the descriptor limit keeps real descriptors
 * below 1024, from where on the simulator's library takes every close, read and write for its own.
 */
const shell = "ulimit -n 1024; setpriv --pdeathsig TERM -- \"$@\"; exit $?"

const runHere = (command: ReadonlyArray<string>, env: Record<string, string>) =>
  Effect.gen(function*() {
    const child = yield* ChildProcess.make("setpriv", [
      "--pdeathsig",
      "KILL",
      "--",
      "/bin/sh",
      "-c",
      shell,
      "sh",
      ...command
    ], {
      env,
      extendEnv: true,
      stdin: "ignore",
      stdout: "inherit",
      stderr: "inherit",
      killSignal: "SIGTERM",
      forceKillAfter: "5 seconds"
    })
    return yield* child.exitCode
  }).pipe(Effect.scoped)

/**
 * The simulator's library keeps a folder `sys-PID` in the working directory of each program and removes it when the
 * program exits. One that is killed leaves it behind.
 */
const removeLeftFolders = (folder: string) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const list = Effect.map(fs.readDirectory(folder), (names) => names.filter((name) => /^sys-\d+$/.test(name)))
    const before = new Set(yield* list)
    yield* Effect.addFinalizer(() =>
      Effect.gen(function*() {
        for (const name of yield* list) {
          const running = yield* fs.exists(`/proc/${name.slice("sys-".length)}`)
          if (!running && !before.has(name)) yield* fs.remove(path.join(folder, name), { recursive: true, force: true })
        }
      }).pipe(Effect.ignore)
    )
  })
