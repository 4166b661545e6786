/**
 * Conformance of many connections, at once and one after the other.
 *
 * @since 0.1.0
 */
import * as Connection from "@effect-rdma/rdmacm/Connection"
import * as Listener from "@effect-rdma/rdmacm/Listener"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Faults from "../../Faults.ts"
import { ask, bytes, connectionSuite, echo, interruptedAt, text } from "../../internal/conformanceConnections.ts"
import * as LeakCheck from "../../LeakCheck.ts"
import type * as RdmaCmLane from "../RdmaCmLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: RdmaCmLane.RdmaCmLane<Others>): void => {
  const { it, listening } = connectionSuite(lane)
  const { manyConnections: count } = lane

  it(`${count} connections through one listener, each with 100 messages, at once`, () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening
      let [open, most] = [0, 0]
      const serving = yield* Effect.forkScoped(
        Listener.serve(listener, (incoming) =>
          Effect.gen(function*() {
            const connection = yield* Listener.accept(incoming, { sendDepth: 4, receiveDepth: 4 })
            most = Math.max(most, ++open)
            yield* echo(connection)
            open--
          })),
        { startImmediately: true }
      )
      const everybodyIsThere = yield* Effect.forkChild(
        Effect.repeat(Effect.sleep("10 millis"), { until: () => open === count })
      )
      const one = (client: number) =>
        Effect.scoped(Effect.gen(function*() {
          const connection = yield* Connection.connect({ address, sendDepth: 4, receiveDepth: 4 })
          yield* Fiber.join(everybodyIsThere)
          for (let index = 0; index < 100; index++) {
            const message = `${client}: ${index}`
            assert.strictEqual(text(yield* ask(connection, bytes(message))), message)
          }
        }))
      yield* Effect.all(Array.from({ length: count }, (_, client) => one(client)), { concurrency: "unbounded" })
      assert.strictEqual(most, count)
      assert.isUndefined(serving.pollUnsafe())
    }), { timeout: 300_000 })

  it(
    "a thousand connects that fail or are interrupted, each at another step, leave nothing",
    () =>
      Effect.gen(function*() {
        const { address, listener } = yield* listening
        let turn = 0
        yield* Effect.forkScoped(
          Listener.serve(
            listener,
            (incoming) => turn++ % 2 === 0 ? Listener.reject(incoming) : Effect.asVoid(Listener.accept(incoming))
          ),
          { startImmediately: true }
        )
        const outcomes = { connected: 0, failed: 0, refused: 0, interrupted: 0 }
        const atStep = (step: number) => {
          const nth = 1 + Math.floor(step / 4) % 50
          switch (step % 4) {
            case 0:
              // A release that is not called would leave its object for good.
              return Effect.exit(
                Faults.inject([{
                  nth,
                  where: ({ call }) => !Faults.isRelease(call),
                  errno: "ENOMEM"
                }])(
                  connect(address)
                )
              )
            case 1:
              return Effect.map(interruptedAt(nth, connect(address)), ({ exit }) => exit)
            case 2:
              // Nobody listens at the port of discard.
              return Effect.exit(connect(`${lane.ownAddress}:9`))
            default:
              return Effect.exit(connect(address))
          }
        }
        for (let step = 0; step < 1000; step++) {
          const exit = yield* LeakCheck.check(atStep(step))
          if (Exit.isSuccess(exit)) outcomes.connected++
          else if (Exit.hasInterrupts(exit)) outcomes.interrupted++
          else if (Option.getOrUndefined(Exit.findErrorOption(exit))?._tag === "ConnectionRejected") outcomes.refused++
          else outcomes.failed++
        }
        const { connected, failed, interrupted, refused } = outcomes
        assert.isAbove(Math.min(connected, failed, interrupted, refused), 20, JSON.stringify(outcomes))
      }),
    { timeout: 600_000 }
  )
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const connect = (address: string) => Effect.scoped(Connection.connect({ address }))
