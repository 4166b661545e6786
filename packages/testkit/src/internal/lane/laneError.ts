import * as Data from "effect/Data"

/** Exit statuses of the runners that are not the command's own. They follow timeout(1) and env(1) where those have one. */
export const ExitStatus = {
  usage: 2,
  cannotRunHere: 3,
  timeLimit: 124,
  laneBroke: 125
} as const

/** Why a lane did not run its command to the end: one line for people, one status for scripts. */
export class LaneError extends Data.TaggedError("LaneError")<{
  readonly status: (typeof ExitStatus)[keyof typeof ExitStatus]
  readonly message: string
}> {}

export const usage = (message: string): LaneError => new LaneError({ status: ExitStatus.usage, message })

export const cannotRunHere = (message: string): LaneError =>
  new LaneError({ status: ExitStatus.cannotRunHere, message })

export const timeLimit = (message: string): LaneError => new LaneError({ status: ExitStatus.timeLimit, message })

export const laneBroke = (message: string): LaneError => new LaneError({ status: ExitStatus.laneBroke, message })
