/**
 * Conformance of many connections at once.
 *
 * @since 0.1.0
 */
import * as Connection from "@effect-rdma/rdmacm/Connection"
import * as Listener from "@effect-rdma/rdmacm/Listener"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { ask, bytes, connectionSuite, echo, text } from "../../internal/conformanceConnections.ts"
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
}
