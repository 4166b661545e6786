/**
 * How long the end of a connection waits for the other side.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"

/**
 * How long the release of a connection waits until the other side has answered that it knows. It is time of
 * `WaitStrategy.DeviceTimer`, the system's, whatever `Clock` the program has. One second unless the fiber says otherwise; a side that has learned of the end
 * already waits for nothing.
 *
 * ```ts
 * import { ShutdownGrace } from "@effect-rdma/rdmacm"
 * import { Effect } from "effect"
 *
 * const atOnce = Effect.provideService(ShutdownGrace.ShutdownGrace, "0 millis")
 * ```
 *
 * @category references
 * @since 0.1.0
 */
export const ShutdownGrace = Context.Reference<Duration.Input>("@effect-rdma/rdmacm/ShutdownGrace", {
  defaultValue: () => "1 second"
})
