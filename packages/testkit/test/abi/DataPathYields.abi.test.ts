/**
 * Effect yields to other fibers between any two operations, after a number of them. Wherever that falls, requests are
 * numbered in the order in which C is given them, and one that was refused takes nothing from those of other fibers.
 */
import * as Lane from "@effect-rdma/testkit/conformance/Lane"
import * as MemoryWindow from "@effect-rdma/verbs/MemoryWindow"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as SendBatch from "@effect-rdma/verbs/SendBatch"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Schema from "effect/Schema"
import * as Compiler from "./Compiler.ts"
import { open } from "./dataPathWorld.ts"
import * as Echo from "./Echo.ts"

/** So many operations before the ones that are tested. */
const steps = (count: number) => Effect.forEach(Array.from({ length: count }), () => Effect.void, { discard: true })

/** The requests of any kind among calls. */
const numbered = (calls: ReadonlyArray<Echo.Report>) => calls.filter((call) => call["wr_id"] !== undefined)

describe.skipIf(Compiler.missing !== undefined)("a yield anywhere around a post", () => {
  const lane = Echo.lane()
  const test = Lane.test(lane)
  const { echo } = lane

  const world = Effect.fnUntraced(function*() {
    const { domain, queue, region } = yield* open()
    const self = yield* QueuePair.makeExtended(domain, {
      qpType: "rc",
      sendCq: queue,
      recvCq: queue,
      cap: { maxSendWr: 3 },
      sendOpsFlags: ["localInv"]
    })
    yield* QueuePair.modify(self, { qpState: "rts" })
    const window = yield* MemoryWindow.alloc(domain, 1)
    const cases: ReadonlyArray<{
      readonly operation: string
      readonly post: Effect.Effect<void, VerbsError | Schema.SchemaError>
    }> = [
      { operation: "bind_mw", post: MemoryWindow.bind(window, self, { region, access: [], wrId: 1n }) },
      { operation: "wr_complete", post: SendBatch.post(self, (batch) => batch.localInv({ wrId: 1n }, 1)) }
    ]
    return { cases, queue, self }
  })

  for (const isRefused of [false, true]) {
    test(isRefused ? "that is refused" : "that is not refused", () =>
      Effect.gen(function*() {
        const { cases, queue, self } = yield* world()
        const others = [{ opcode: "send", wrId: 2n }, { opcode: "send", wrId: 3n }] as const
        for (const { operation, post } of cases) {
          for (let lead = 1960; lead < 2060; lead++) {
            if (isRefused) echo().script(operation, { result: 12 })
            echo().calls()
            const fiber = yield* Effect.forkChild(Effect.andThen(steps(lead), Effect.exit(post)))
            // Its first turn ends with the yield.
            yield* Effect.yieldNow
            yield* QueuePair.postSend(self, others)
            assert.strictEqual((yield* Fiber.join(fiber))._tag, isRefused ? "Failure" : "Success")
            // What was refused is among the calls too.
            const posted = numbered(echo().calls()).filter(({ op }) => !isRefused || op === "send_wr")
            const rest = Array.from({ length: self.cap.maxSendWr - posted.length }, () => ({
              opcode: "send" as const,
              wrId: 4n
            }))
            yield* QueuePair.postSend(self, rest)
            const completed = yield* Echo.completed(echo(), queue, [...posted, ...numbered(echo().calls())])
            let next = 2n
            const given = posted.map(({ op }) => op === "send_wr" ? next++ : 1n)
            assert.deepStrictEqual(
              completed.map(Echo.numberOf),
              [...given, ...rest.map(() => 4n)],
              `${operation} after ${lead}`
            )
            assert.strictEqual(self.work.sends.inFlight, 0)
          }
        }
      }))
  }
})
