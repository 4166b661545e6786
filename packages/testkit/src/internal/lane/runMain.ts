/**
 * Lanes as main programs.
 *
 * @since 0.1.0
 */
import * as NodeChildProcessSpawner from "@effect/platform-node-shared/NodeChildProcessSpawner"
import * as NodeFileSystem from "@effect/platform-node-shared/NodeFileSystem"
import * as NodePath from "@effect/platform-node-shared/NodePath"
import * as NodeRuntime from "@effect/platform-node-shared/NodeRuntime"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import type * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import type * as Scope from "effect/Scope"
import { LaneError } from "./laneError.ts"

/** What a lane works with. */
export type Services = ChildProcessSpawner.ChildProcessSpawner | FileSystem.FileSystem | Path.Path

const services: Layer.Layer<Services> = Layer.provideMerge(
  NodeChildProcessSpawner.layer,
  Layer.merge(NodeFileSystem.layer, NodePath.layer)
)

/**
 * Runs a lane as the main program and leaves with the command's exit status. Everything that the lane started is
 * scoped, so it is gone before the process is, whatever ended the run: the command, an error, a limit or a signal.
 */
export const runMain = <E>(lane: string, program: Effect.Effect<number, E, Services | Scope.Scope>): void => {
  // A closed terminal is one more way to stop a run. Output that nobody reads any more is dropped.
  process.on("SIGHUP", () => process.kill(process.pid, "SIGTERM"))
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {})
  program.pipe(
    Effect.scoped,
    Effect.onExit((exit) => Effect.sync(() => Exit.isFailure(exit) && report(lane, exit.cause))),
    Effect.provide(services),
    NodeRuntime.runMain({
      disableErrorReporting: true,
      teardown: (exit, onExit) => onExit(exitStatus(exit))
    })
  )
}

const report = (lane: string, cause: Cause.Cause<unknown>): void => {
  if (Cause.hasInterruptsOnly(cause)) {
    process.stderr.write(`${lane}: interrupted; everything that was started is stopped\n`)
    return
  }
  const error = Cause.squash(cause)
  process.stderr.write(`${lane}: ${error instanceof LaneError ? error.message : Cause.pretty(cause)}\n`)
}

const exitStatus = (exit: Exit.Exit<unknown, unknown>): number => {
  if (Exit.isSuccess(exit)) return typeof exit.value === "number" ? exit.value : 0
  if (Cause.hasInterruptsOnly(exit.cause)) return 130
  const error = Cause.squash(exit.cause)
  return error instanceof LaneError ? error.status : 1
}
