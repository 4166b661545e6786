import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { nodeFlags } from "./nodeFlags.ts"

/** Runs the demo as a program of its own, as a newcomer does. */
export const runDemo = (
  ...args: ReadonlyArray<string>
): { readonly status: number | null; readonly output: string } => {
  const demo = join(import.meta.dirname, "demo.ts")
  const { error, signal, status, stderr, stdout } = spawnSync(process.execPath, [...nodeFlags, demo, ...args], {
    encoding: "utf8"
  })
  // Of a crash the kernel tells where it was.
  const end = status === null
    ? `no exit: ${error?.message ?? signal}\n${spawnSync("dmesg").stdout?.slice(-1000)}\n`
    : ""
  return { status, output: stdout + stderr + end }
}
