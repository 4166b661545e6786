import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import type * as Path from "effect/Path"
import type * as PlatformError from "effect/PlatformError"
import * as ChildProcess from "effect/process/ChildProcess"
import type * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { randomUUID } from "node:crypto"
import { laneBroke, type LaneError } from "./laneError.ts"
import { lastLine, runCommand } from "./runCommand.ts"

/** What programs may join the fabric as. */
export interface NodeNames {
  readonly hosts: ReadonlyArray<string>
  readonly switches: ReadonlyArray<string>
}

/** A running InfiniBand fabric with a subnet manager on it. */
export interface SimulatedFabric {
  /** The environment that makes a program's libibumad see the fabric as the given host does. */
  readonly environment: (host: string) => Record<string, string>
}

/**
 * Starts ibsim and opensm for the life of the scope and waits until every linked port is active. Fabrics of several
 * runs do not meet: each has its own socket name and its own folder.
 */
export const make = (
  file: string,
  names: NodeNames,
  startSeconds: number
): Effect.Effect<
  SimulatedFabric,
  LaneError | PlatformError.PlatformError,
  ChildProcessSpawner.ChildProcessSpawner | FileSystem.FileSystem | Path.Path | Scope.Scope
> =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const folder = yield* fs.makeTempDirectoryScoped({ prefix: "effect-rdma-ibsim-" })
    const preload = yield* clientLibrary
    const socketName = `effect-rdma-${randomUUID()}`
    const fabric: SimulatedFabric = {
      environment: (host) => ({
        LD_PRELOAD: [process.env["LD_PRELOAD"], preload].filter(Boolean).join(":"),
        SIM_HOST: host,
        IBSIM_SOCKNAME: socketName
      })
    }

    // -n: without a console ibsim does not read its standard input, at whose end it would spin.
    const simulator = yield* daemon("ibsim", ["-s", "-n", file], folder, { IBSIM_SOCKNAME: socketName })
    // A switch is the best place for the subnet manager: no MAD of a program on a host can be taken for one of its own.
    const manager = yield* daemon("opensm", ["-f", "opensm.log"], folder, {
      ...fabric.environment(names.switches[0] ?? names.hosts[0]!),
      OSM_CACHE_DIR: folder,
      OSM_TMP_DIR: folder
    })
    let lastSeen = "none was seen"
    const active = activePorts(fabric, names, folder).pipe(
      Effect.tapError((error) => Effect.sync(() => lastSeen = error.message)),
      Effect.retry(Schedule.spaced("50 millis"))
    )
    yield* active.pipe(
      Effect.raceFirst(simulator.ended),
      Effect.raceFirst(manager.ended),
      Effect.timeoutOrElse({
        duration: `${startSeconds} seconds`,
        orElse: () => Effect.fail(laneBroke(`the fabric was not ready in ${startSeconds} s: ${lastSeen}`))
      })
    )
    return fabric
  })

/** The library that stands between libibumad and the simulator; its folder depends on the architecture. */
const clientLibrary = Effect.gen(function*() {
  const { stdout } = yield* runCommand("dpkg-query", ["-L", "libumad2sim0"])
  const file = stdout.split("\n").find((line) => line.endsWith("/libumad2sim.so"))
  return file ?? (yield* laneBroke("the package libumad2sim0 holds no libumad2sim.so"))
})

/** Starts a process that lives as long as the scope; `ended` fails when it ends before. */
const daemon = (name: string, args: ReadonlyArray<string>, folder: string, env: Record<string, string>) =>
  Effect.gen(function*() {
    const child = yield* ChildProcess.make("setpriv", ["--pdeathsig", "KILL", "--", name, ...args], {
      cwd: folder,
      env,
      extendEnv: true,
      stdin: "ignore",
      killSignal: "SIGKILL"
    })
    let last = ""
    yield* child.all.pipe(
      Stream.decodeText,
      Stream.splitLines,
      Stream.runForEach((line) => Effect.sync(() => last = line.trim() || last)),
      Effect.forkScoped
    )
    const ended = child.exitCode.pipe(
      Effect.ignore,
      Effect.andThen(Effect.suspend(() => Effect.fail(laneBroke(`${name} ended early: ${last}`))))
    )
    return { ended }
  })

/** A port that is linked goes from Initializing over Armed to Active; one that is not linked stays Down. */
const activePorts = (fabric: SimulatedFabric, names: NodeNames, folder: string) =>
  Effect.gen(function*() {
    // The manager makes all of them active in one go: of many, a few tell enough.
    const step = Math.ceil(names.hosts.length / 8)
    const hosts = names.hosts.filter((_, index) => index % step === 0 || index === names.hosts.length - 1)
    const reports = yield* Effect.forEach(hosts, (host) =>
      // The library writes a folder of its own into the working directory.
      runCommand("ibstat", [], { cwd: folder, env: fabric.environment(host) }))
    const states = reports.flatMap(({ stdout }) => [...stdout.matchAll(/^\s*State: (\S+)/gm)].map(([, state]) => state))
    const settled = states.length >= hosts.length && states.every((s) => s === "Active" || s === "Down")
    if (settled && states.includes("Active")) return
    const complaint = lastLine(reports.map(({ stderr }) => stderr).join(""))
    return yield* laneBroke(`ports are ${states.join(", ") || "unknown"}${complaint && `; ibstat says: ${complaint}`}`)
  })
