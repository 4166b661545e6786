/** What `rdma-lane` says to words that it cannot take: wrong usage has status 2, and nothing is started. */
import { assert, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { join } from "node:path"

const program = join(import.meta.dirname, "../src/internal/lane/rdmaLane.ts")

const run = (...words: ReadonlyArray<string>) =>
  new Promise<string>((resolve) => {
    const child = execFile(process.execPath, [program, ...words], (_, __, stderr) => {
      resolve(`${child.exitCode} ${stderr.trim()}`)
    })
  })

describe("rdma-lane", () => {
  it.each<readonly [words: string, said: string]>([
    ["host -- true", "rdma-lane: the first word is softroce, ibsim or install, not \"host\""],
    ["softroce", "softroce: no command given: it comes after --"],
    ["softroce true -- true", "softroce: the command comes after --, and true before it"],
    ["softroce --cpus 0 -- true", "softroce: --cpus must be a whole number above zero, not \"0\""],
    ["softroce --cpus 1.5 -- true", "softroce: --cpus must be a whole number above zero, not \"1.5\""],
    ["softroce --timeout soon -- true", "softroce: --timeout must be a number of seconds above zero, not \"soon\""],
    [
      "softroce --hosts 3 -- true --- true",
      "softroce: --hosts needs the number 2 and two commands with --- in between"
    ],
    ["ibsim --timeout 0 -- true", "ibsim: --timeout must be a number of seconds above zero, not \"0\""]
  ])("%s", async (words, said) => {
    assert.strictEqual(await run(...words.split(" ")), `2 ${said}`)
  })
})
