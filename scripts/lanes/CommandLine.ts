import { Effect } from "effect"
import { type LaneError, usage } from "./LaneError.ts"

/** What a runner was asked: its own options, and the command that it runs with every argument as it was given. */
export interface CommandLine<Name extends string> {
  readonly options: { readonly [N in Name]?: string }
  readonly flags: ReadonlySet<string>
  readonly command: readonly [string, ...ReadonlyArray<string>]
}

/**
 * Reads `[--] [--option VALUE]... [--flag]... [--] CMD ARGS...`. The first word that is neither an option nor `--` is
 * the command; nothing after it is looked at. pnpm hands a leading `--` on, so `--` may come first too.
 */
export const parse = <Name extends string>(
  words: ReadonlyArray<string>,
  known: { readonly options: ReadonlyArray<Name>; readonly flags: ReadonlyArray<string>; readonly usage: string }
): Effect.Effect<CommandLine<Name>, LaneError> =>
  Effect.gen(function*() {
    const options: { [N in Name]?: string } = {}
    const flags = new Set<string>()
    let index = 0
    for (; index < words.length; index++) {
      const word = words[index]!
      if (word === "--") continue
      if (!word.startsWith("--")) break
      const [name, attached] = splitOption(word.slice(2))
      const option = known.options.find((candidate) => candidate === name)
      if (option !== undefined) {
        const value = attached ?? words[++index]
        if (value === undefined) return yield* usage(`--${name} needs a value; ${known.usage}`)
        options[option] = value
      } else if (attached === undefined && known.flags.includes(name)) {
        flags.add(name)
      } else {
        return yield* usage(`unknown option ${word}; ${known.usage}`)
      }
    }
    const [command, ...rest] = words.slice(index)
    if (command === undefined) return yield* usage(`no command given; ${known.usage}`)
    return { options, flags, command: [command, ...rest] }
  })

/** A number of seconds above zero, or the default when the option was not given. */
export const seconds = (
  name: string,
  text: string | undefined,
  fallback: number
): Effect.Effect<number, LaneError> => {
  const value = text === undefined ? fallback : Number(text)
  return Number.isFinite(value) && value > 0
    ? Effect.succeed(value)
    : Effect.fail(usage(`--${name} must be a number of seconds above zero, not ${JSON.stringify(text)}`))
}

const splitOption = (text: string): readonly [name: string, attached: string | undefined] => {
  const at = text.indexOf("=")
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)]
}
