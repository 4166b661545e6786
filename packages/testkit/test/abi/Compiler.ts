/**
 * The C compiler as a judge: expressions in, the numbers that C sees out.
 */
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** What must be installed for these tests. */
export const install = "apt-get install gcc libibverbs-dev librdmacm-dev libibumad-dev"

const headers = [
  "errno.h",
  "dlfcn.h",
  "fcntl.h",
  "stddef.h",
  "stdio.h",
  "poll.h",
  "unistd.h",
  "netinet/in.h",
  "netinet/tcp.h",
  "sys/epoll.h",
  "sys/mman.h",
  "infiniband/verbs.h",
  "infiniband/umad.h",
  "infiniband/ib.h",
  "rdma/rdma_cma.h",
  "rdma/rsocket.h"
]

const preamble = ["#define _GNU_SOURCE", ...headers.map((header) => `#include <${header}>`), ""].join("\n")

/** Runs `use` on a directory that is gone afterwards. */
export const withDirectory = <A>(use: (directory: string) => A): A => {
  const directory = mkdtempSync(join(tmpdir(), "effect-rdma-abi-"))
  try {
    return use(directory)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** Compiles C; throws with the compiler's own words. */
export const compile = (source: string, output: string, flags: ReadonlyArray<string>): void => {
  execFileSync("gcc", ["-Wall", "-Werror", ...flags, "-o", output, source], { stdio: ["ignore", "pipe", "pipe"] })
}

/** The values of integer expressions, each as a signed 64-bit number. */
export const evaluate = (expressions: ReadonlyArray<string>): ReadonlyArray<bigint> =>
  withDirectory((directory) => {
    const source = join(directory, "values.c")
    const program = join(directory, "values")
    const prints = expressions.map((expression) => `printf("%lld\\n", (long long)(${expression}));`)
    writeFileSync(source, `${preamble}\nint main(void) {\n${prints.join("\n")}\nreturn 0;\n}\n`)
    compile(source, program, [])
    return execFileSync(program, { encoding: "utf8" }).trim().split("\n").map(BigInt)
  })

/** Why the compiler or a header cannot be used here; `undefined` when all is there. */
export const missing = ((): string | undefined => {
  try {
    evaluate(["1"])
    return undefined
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    const line = text.split("\n").find((line) => line.includes("error")) ?? text.split("\n")[0]
    return `${line?.trim()} (${install})`
  }
})()
