/** What is recorded on a real kernel can be played back where there is none. */
import { LeakCheck, Trace } from "@effect-rdma/testkit"
import { Verbs } from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { writeFileSync } from "node:fs"
import { messages } from "../cassettes/messages.ts"

describe("Trace", () => {
  it.live("softroce: a recording plays back", () =>
    Effect.gen(function*() {
      const { exit, trace } = yield* Trace.record(messages).pipe(Effect.provide(Verbs.Verbs.layer))
      assert.deepStrictEqual(exit, Exit.succeed("from a real kernel"))
      const text = Trace.print(trace)
      // To record `test/cassettes/messages.json` anew.
      const file = process.env["EFFECT_RDMA_CASSETTE"]
      if (file !== undefined) writeFileSync(file, text)
      const played = LeakCheck.check(messages).pipe(Effect.provide(Trace.replay(yield* Trace.parse(text))))
      assert.strictEqual(yield* played, "from a real kernel")
    }))
})
