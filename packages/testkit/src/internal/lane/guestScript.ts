/** Single quotes keep everything as it is, newlines included; a single quote itself has to step out of them. */
export const quote = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`

const passedOn = new Set(["PATH", "HOME", "CI", "NODE_OPTIONS", "FORCE_COLOR", "NO_COLOR"])

/** The part of the environment that means the same in the guest as on the host. */
export const guestEnvironment = (environment: NodeJS.ProcessEnv): ReadonlyArray<readonly [string, string]> =>
  Object.entries(environment).flatMap(([name, value]) =>
    value !== undefined && (passedOn.has(name) || /^EFFECT_RDMA_\w+$/.test(name)) ? [[name, value] as const] : []
  )

/** The shell script that the guest runs: the environment, the folder, then the command in place of the shell. */
export const guestScript = (
  command: ReadonlyArray<string>,
  folder: string,
  environment: ReadonlyArray<readonly [string, string]>
): string =>
  [
    ...environment.map(([name, value]) => `export ${name}=${quote(value)}`),
    `cd ${quote(folder)} || exit 125`,
    `exec ${command.map(quote).join(" ")}`,
    ""
  ].join("\n")
