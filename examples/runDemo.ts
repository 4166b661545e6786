import { spawnSync } from "node:child_process"
import { join } from "node:path"

/** Runs the demo as a program of its own, as a newcomer does. */
export const runDemo = (
  ...args: ReadonlyArray<string>
): { readonly status: number | null; readonly output: string } => {
  const { error, signal, status, stderr, stdout } = spawnSync(process.execPath, [
    join(import.meta.dirname, "demo.ts"),
    ...args
  ], {
    encoding: "utf8"
  })
  // Of a crash the kernel tells where it was.
  const end = status === null
    ? `no exit: ${error?.message ?? signal}\n${spawnSync("dmesg").stdout?.slice(-1000)}\n`
    : ""
  return { status, output: stdout + stderr + end }
}
