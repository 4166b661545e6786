/**
 * The agents that a port has of its own, one for each class and version that it was asked to send a request of.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type { MadStatus } from "../MadStatus.ts"
import type { MadTimeout } from "../MadTimeout.ts"
import type * as Umad from "../Umad.ts"
import * as UmadAgent from "../UmadAgent.ts"
import type { UmadError } from "../UmadError.ts"
import type * as UmadPort from "../UmadPort.ts"
import * as MadHeader from "./madHeader.ts"

export interface Askers {
  readonly agents: Map<number, UmadAgent.UmadAgent>
  /** Taken by the one who registers. */
  readonly registering: Semaphore.Semaphore
}

export const make = (): Askers => ({ agents: new Map(), registering: Semaphore.makeUnsafe(1) })

export const request = (
  port: UmadPort.OpenPort,
  outgoing: UmadAgent.OutgoingRequest
): Effect.Effect<Umad.ReceivedMad, UmadError | MadTimeout | MadStatus | Schema.SchemaError> =>
  Effect.flatMap(
    Effect.suspend(() => decodeHeader(outgoing.mad)),
    (mad) =>
      Effect.flatMap(agentOf(port, MadHeader.mgmtClass(mad), MadHeader.classVersion(mad)), (agent) =>
        UmadAgent.request(agent, outgoing))
  )

/** The port's own agent for a class, registered at its first use. */
export const agentOf = (
  port: UmadPort.OpenPort,
  mgmtClass: number,
  mgmtVersion: number
): Effect.Effect<UmadAgent.UmadAgent, UmadError | Schema.SchemaError> =>
  Effect.suspend(() => {
    const { agents, registering } = port.askers
    const key = mgmtClass << 8 | mgmtVersion
    const known = agents.get(key)
    if (known !== undefined) return Effect.succeed(known)
    return registering.withPermit(Effect.suspend(() => {
      const known = agents.get(key)
      if (known !== undefined) return Effect.succeed(known)
      // A scope that nobody closes: the agent goes with the port.
      return Effect.uninterruptible(Effect.tap(
        Scope.provide(
          UmadAgent.register(port, { mgmtClass, mgmtVersion, rmppVersion: classesWithRmpp.has(mgmtClass) ? 1 : 0 }),
          Scope.makeUnsafe()
        ),
        (agent) => Effect.sync(() => agents.set(key, agent))
      ))
    }))
  })

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const decodeHeader = Schema.decodeEffect(
  Schema.Uint8Array.check(
    Schema.makeFilter((mad: Uint8Array) => mad.length >= MadHeader.size || `a MAD has at least ${MadHeader.size} bytes`)
  )
)

/** The classes of the architecture whose messages may have several packets. */
const classesWithRmpp = new Set([0x03, 0x06, 0x10, 0x12])
