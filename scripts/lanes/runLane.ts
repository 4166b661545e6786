import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import type { Scope } from "effect"
import { Cause, Effect, Exit } from "effect"
import { LaneError } from "./LaneError.ts"

/**
 * Runs a lane as the main program and leaves with the command's exit status. Everything that the lane started is
 * scoped, so it is gone before the process is, whatever ended the run: the command, an error, a limit or a signal.
 */
export const runLane = <E>(
  lane: string,
  program: Effect.Effect<number, E, NodeServices.NodeServices | Scope.Scope>
): void => {
  // A closed terminal is one more way to stop a run. Output that nobody reads any more is dropped.
  process.on("SIGHUP", () => process.kill(process.pid, "SIGTERM"))
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {})
  program.pipe(
    Effect.scoped,
    Effect.onExit((exit) => Effect.sync(() => Exit.isFailure(exit) && report(lane, exit.cause))),
    Effect.provide(NodeServices.layer),
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
