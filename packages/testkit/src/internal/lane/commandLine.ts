/**
 * Reads the words of a lane's command line.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { parseArgs, type ParseArgsConfig } from "node:util"
import { type LaneError, usage } from "./laneError.ts"

/** What is the lane's own, before the first `--`, and the command after it, with every word as it was given. */
export const split = (words: ReadonlyArray<string>): {
  readonly own: ReadonlyArray<string>
  readonly command: ReadonlyArray<string>
} => {
  const at = words.indexOf("--")
  return at < 0 ? { own: words, command: [] } : { own: words.slice(0, at), command: words.slice(at + 1) }
}

/** The options and arguments of a lane, and the command that it has to run. */
export const parse = <const Options extends NonNullable<ParseArgsConfig["options"]>>(
  words: ReadonlyArray<string>,
  options: Options
) =>
  Effect.gen(function*() {
    const { command, own } = split(words)
    const { positionals, values } = yield* Effect.try({
      try: () => parseArgs({ args: [...own], options, allowPositionals: true }),
      // Its first sentence says what is wrong.
      catch: (error) => usage(String(error instanceof Error ? error.message : error).split(". ")[0]!)
    })
    if (command.length === 0) return yield* usage("no command given: it comes after --")
    return { command, positionals, values }
  })

/** What reads the number of an option, which is the default when the option was not given. */
const number =
  (what: string, isOne: (value: number) => boolean) =>
  (name: string, text: string | undefined, fallback: number): Effect.Effect<number, LaneError> => {
    const value = text === undefined ? fallback : Number(text)
    return isOne(value)
      ? Effect.succeed(value)
      : Effect.fail(usage(`--${name} must be ${what} above zero, not ${JSON.stringify(text)}`))
  }

/** A number of seconds above zero. */
export const seconds = number("a number of seconds", (value) => Number.isFinite(value) && value > 0)

/** A whole number above zero. */
export const count = number("a whole number", (value) => Number.isSafeInteger(value) && value > 0)
