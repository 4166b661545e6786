/** What the programs share that are named after those of C: their options, their errors, and how they are run. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Schema } from "effect"
import type { Layer } from "effect"
import { CliError, Command, Flag } from "effect/cli"

/** What ends a program beside the errors of the library. */
export class ProgramError extends Schema.TaggedError<ProgramError>()("ProgramError", { problem: Schema.String }) {
  override get message() {
    return this.problem
  }
}

const positive = Schema.Int.check(Schema.isGreaterThan(0))

export const number = (name: string, letter: string, fallback: number, description: string) =>
  Flag.Int(name).pipe(
    Flag.withAlias(letter),
    Flag.withSchema(positive),
    Flag.withDefault(fallback),
    Flag.withDescription(`${description} (default ${fallback})`)
  )

export const toggle = (name: string, letter: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withAlias(letter), Flag.withDefault(false), Flag.withDescription(description))

export const string = (name: string, letter: string, description: string) =>
  Flag.String(name).pipe(Flag.withAlias(letter), Flag.withDefault(undefined), Flag.withDescription(description))

/** A program as the handler of its command. */
export const handler =
  <Options, E extends Error, R>(program: (options: Options) => Effect.Effect<void, E, R>) => (options: Options) =>
    program(options).pipe(
      Effect.scoped,
      // Whose message alone is shown.
      Effect.mapError((cause) => new CliError.UserError({ cause }))
    )

/** Runs a command on the libraries of this host. */
export const run = <Name extends string, Input, Input2, E, Library, LE>(
  command: Command.Command<Name, Input, Input2, E, Library>,
  libraries: Layer.Layer<Library, LE>
): void =>
  command.pipe(
    Command.run({ version: "0.1.0" }),
    Effect.provide([libraries, NodeServices.layer]),
    NodeRuntime.runMain
  )
