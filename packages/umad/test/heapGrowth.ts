import { execFileSync } from "node:child_process"

const source = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)

/**
 * By how many bytes 1000 runs of a generator's body, which has `umad` and `Effect`, make the heap of C grow, in a process
 * of its own: that of a test runner is not still.
 */
export const heapGrowth = (body: string): number => {
  const program = `
    import * as Effect from ${JSON.stringify(import.meta.resolve("effect/Effect"))}
    const { Umad } = await import(${source("../src/Umad.ts")})
    const { heapInUse } = await import(${source("./heapInUse.ts")})
    const umad = await Effect.runPromise(Effect.scoped(Effect.provide(Umad, Umad.layer)))
    const cycle = Effect.gen(function*() {${body}
    })
    const settle = async (turns) => {
      for (let i = 0; i < turns; i++) {
        gc()
        // Views of native memory are let go of when the event loop turns.
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
    }
    const after = async (cycles) => {
      for (let i = 1; i <= cycles; i++) {
        Effect.runSync(cycle)
        if (i % 200 === 0) await settle(1)
      }
      await settle(5)
      return heapInUse()
    }
    const before = await after(1000)
    process.stdout.write(String(await after(1000) - before))`
  const options = { encoding: "utf8" } as const
  return Number(execFileSync(process.execPath, ["--expose-gc", "--input-type=module", "--eval", program], options))
}
