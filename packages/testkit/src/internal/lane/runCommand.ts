import * as Effect from "effect/Effect"
import * as ChildProcess from "effect/process/ChildProcess"
import type * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import * as Stream from "effect/Stream"

export interface CommandResult {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a system command to its end and collects what it said. A command that cannot be started has status 127. */
export const runCommand = (
  command: string,
  args: ReadonlyArray<string>,
  options: { readonly cwd?: string; readonly env?: Record<string, string> } = {}
): Effect.Effect<CommandResult, never, ChildProcessSpawner.ChildProcessSpawner> =>
  Effect.gen(function*() {
    const child = yield* ChildProcess.make(command, args, {
      ...options,
      extendEnv: true,
      stdin: "ignore",
      killSignal: "SIGKILL"
    })
    const [stdout, stderr, status] = yield* Effect.all(
      [text(child.stdout), text(child.stderr), child.exitCode],
      { concurrency: "unbounded" }
    )
    return { status, stdout, stderr }
  }).pipe(
    Effect.scoped,
    Effect.catch((error) => Effect.succeed({ status: 127, stdout: "", stderr: error.message }))
  )

/** The last line that says something: what tools put there is usually the reason. */
export const lastLine = (text: string): string => text.trimEnd().split("\n").at(-1)?.trim() ?? ""

const text = <E>(bytes: Stream.Stream<Uint8Array, E>) => Stream.mkString(Stream.decodeText(bytes))
