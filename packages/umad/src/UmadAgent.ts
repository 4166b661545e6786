/**
 * An agent of an open port, which sends and receives the MADs of a management class: `umad_register(3)`,
 * `umad_register_oui(3)`, `umad_register2(3)` and `umad_unregister`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Ledger from "@effect-rdma/core/Ledger"
import * as Resource from "@effect-rdma/core/Resource"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as MadHeader from "./internal/madHeader.ts"
import * as Traffic from "./internal/portTraffic.ts"
import * as Request from "./internal/request.ts"
import * as MadAddress from "./MadAddress.ts"
import * as MadBuffer from "./MadBuffer.ts"
import type { MadStatus } from "./MadStatus.ts"
import type { MadTimeout } from "./MadTimeout.ts"
import type * as Umad from "./Umad.ts"
import type { UmadError } from "./UmadError.ts"
import type * as UmadPort from "./UmadPort.ts"

const unsigned = (bits: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** bits - 1 }))
const or = <S extends Schema.Constraint>(schema: S, value: S["Encoded"]) =>
  Schema.withDecodingDefault<S>(Effect.succeed(value))(schema)

const fields = {
  rmppVersion: or(Schema.Literals([0, 1]), 0),
  methods: or(Schema.Array(unsigned(7)), []),
  capacity: or(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 0x10_0000 })), 256)
}

/**
 * What an agent is registered for. `methods` are those whose unsolicited MADs it gets, none by default; of these it keeps
 * `capacity` until they are taken, and loses the oldest. With `rmppVersion` 1, of the classes that have it, the kernel takes
 * messages of several packets apart and puts them together.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Registration = Schema.Struct({
  ...fields,
  mgmtClass: unsigned(8),
  mgmtVersion: or(unsigned(8), 1)
})

/**
 * {@link Registration} for one of the vendor classes whose MADs carry an OUI.
 *
 * @category schemas
 * @since 0.1.0
 */
export const VendorRegistration = Schema.Struct({
  ...fields,
  mgmtClass: Schema.Int.check(Schema.isBetween({ minimum: 0x30, maximum: 0x4f })),
  oui: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 0xff_ffff }))
})

/**
 * {@link Registration} with flags: with `userRmpp`, the program does RMPP itself, packet by packet.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ExtendedRegistration = Schema.Struct({
  ...Registration.fields,
  oui: or(unsigned(24), 0),
  userRmpp: or(Schema.Boolean, false)
})

/**
 * An agent, owned by the scope and unregistered before its port is closed.
 *
 * @category models
 * @since 0.1.0
 */
export interface UmadAgent extends Resource.Resource<"UmadAgent", Umad.AgentId> {
  readonly port: UmadPort.OpenPort
  readonly mgmtClass: number
  readonly rmppVersion: 0 | 1
  /** @internal */
  readonly inbox: Traffic.Inbox
}

/**
 * A MAD to send, at least its header of 24 bytes; one packet is filled up to its 256 bytes. A longer one is a message of
 * several, for an agent with RMPP.
 *
 * @category models
 * @since 0.1.0
 */
export interface Outgoing {
  readonly address: typeof MadAddress.Destination.Encoded
  readonly mad: Uint8Array
}

/**
 * A request: a MAD whose transaction id is filled in, so that no two under way have the same. It is sent once, and `retries`
 * times more (3), each time with `timeout` (1 s) for the response.
 *
 * @category models
 * @since 0.1.0
 */
export interface OutgoingRequest extends Outgoing {
  readonly timeout?: Duration.Input
  readonly retries?: number
}

/**
 * Registers an agent for a class: on QP0 for subnet management, else on QP1. A port takes 32 at a time (`ENOMEM`). Fails with
 * `EINVAL` when no agent can have the class, or another one of the port has a method, with `EPROTONOSUPPORT` for subnet
 * management where there is none, as on Ethernet, and as a `SchemaError` for what is out of range. It does not wait.
 *
 * ```ts
 * import { UmadAgent } from "@effect-rdma/umad"
 * import type { UmadPort } from "@effect-rdma/umad"
 * import { Effect } from "effect"
 *
 * // Class 4 is performance management, method 1 is Get.
 * const firstRequest = (port: UmadPort.OpenPort) =>
 *   Effect.flatMap(UmadAgent.register(port, { mgmtClass: 0x04, methods: [0x01] }), UmadAgent.next)
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const register = (
  port: UmadPort.OpenPort,
  registration: typeof Registration.Encoded
): Effect.Effect<UmadAgent, UmadError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(register)
  return Effect.flatMap(Effect.suspend(() => decodeRegistration(registration)), (wanted) =>
    make(
      port,
      site,
      ["umad_register", "umad_unregister"],
      wanted,
      (portId) => port.umad.register(portId, { ...wanted, methodMask: maskOf(wanted.methods) })
    ))
}

/**
 * Registers an agent for a vendor class with an OUI, on QP1, else as {@link register} does: `umad_register_oui(3)`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const registerOui = (
  port: UmadPort.OpenPort,
  registration: typeof VendorRegistration.Encoded
): Effect.Effect<UmadAgent, UmadError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(registerOui)
  return Effect.flatMap(Effect.suspend(() => decodeVendorRegistration(registration)), (wanted) =>
    make(
      port,
      site,
      ["umad_register_oui", "umad_unregister"],
      wanted,
      (portId) => port.umad.registerOui(portId, { ...wanted, methodMask: maskOf(wanted.methods) })
    ))
}

/**
 * Registers an agent with flags, else as {@link register} does: `umad_register2(3)`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const register2 = (
  port: UmadPort.OpenPort,
  registration: typeof ExtendedRegistration.Encoded
): Effect.Effect<UmadAgent, UmadError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(register2)
  return Effect.flatMap(Effect.suspend(() => decodeExtendedRegistration(registration)), (wanted) =>
    make(
      port,
      site,
      ["umad_register2", "umad_unregister"],
      wanted,
      (portId) =>
        port.umad.register2(portId, {
          mgmtClass: wanted.mgmtClass,
          mgmtClassVersion: wanted.mgmtVersion,
          rmppVersion: wanted.rmppVersion,
          methodMask: maskOf(wanted.methods),
          oui: wanted.oui,
          flags: wanted.userRmpp ? userRmpp : 0
        })
    ))
}

/**
 * Sends a request and waits for its response, without a thread; it can be interrupted at any time, and a late response is
 * then dropped. The response is whole, however many packets it had. Fails with `MadTimeout` when none came, with `MadStatus`
 * when it says no, and with a `UmadError` when the kernel refuses to send.
 *
 * @category operations
 * @since 0.1.0
 */
export const request = (
  self: UmadAgent,
  outgoing: OutgoingRequest
): Effect.Effect<Umad.ReceivedMad, UmadError | MadTimeout | MadStatus | Schema.SchemaError> =>
  Effect.flatMap(
    Effect.all([decode(self, outgoing), Request.patienceOf(outgoing.timeout, outgoing.retries)]),
    ([mad, patience]) => Resource.whileLive(self, Request.run(self, mad, patience))
  )

/**
 * Sends a MAD that needs no response: a trap, a notice, or the response to a request, with its transaction id and to
 * `MadAddress.replyTo`. It does not wait until the MAD is on the wire.
 *
 * @category operations
 * @since 0.1.0
 */
export const send = (self: UmadAgent, outgoing: Outgoing): Effect.Effect<void, UmadError | Schema.SchemaError> =>
  Effect.flatMap(
    decode(self, outgoing),
    (mad) => Resource.use(self, (agentId) => Traffic.send(self.port, agentId, mad, 0, 0))
  )

/**
 * The next unsolicited MAD of the methods that the agent is registered for. It waits without a thread and can be interrupted
 * at any time. Who waits when the agent is released dies with `UseAfterRelease`.
 *
 * @category operations
 * @since 0.1.0
 */
export const next = (self: UmadAgent): Effect.Effect<Umad.ReceivedMad, UmadError> =>
  Resource.whileLive(self, Queue.take(self.inbox.queue))

/**
 * The unsolicited MADs of the agent, one after the other, as {@link next} gives them.
 *
 * @category operations
 * @since 0.1.0
 */
export const stream = (self: UmadAgent): Stream.Stream<Umad.ReceivedMad, UmadError> =>
  Stream.fromEffectRepeat(next(self))

/**
 * How many unsolicited MADs were lost, because `capacity` of them waited to be taken.
 *
 * @category getters
 * @since 0.1.0
 */
export const lost = (self: UmadAgent): number => self.inbox.lost

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const decodeRegistration = Schema.decodeEffect(Registration)
const decodeVendorRegistration = Schema.decodeEffect(VendorRegistration)
const decodeExtendedRegistration = Schema.decodeEffect(ExtendedRegistration)

// UMAD_USER_RMPP
const userRmpp = 1

const maskOf = (methods: ReadonlyArray<number>): bigint =>
  methods.reduce((mask, method) => mask | 1n << BigInt(method), 0n)

interface Wanted {
  readonly mgmtClass: number
  readonly rmppVersion: 0 | 1
  readonly capacity: number
}

const make = (
  port: UmadPort.OpenPort,
  site: CreationSite.CreationSite | undefined,
  pair: Ledger.Pair,
  { capacity, mgmtClass, rmppVersion }: Wanted,
  acquire: (portId: Umad.PortId) => Effect.Effect<Umad.AgentId, UmadError>
): Effect.Effect<UmadAgent, UmadError, Scope.Scope> =>
  Effect.flatMap(Traffic.makeInbox(mgmtClass, capacity), (inbox) =>
    Resource.make({
      kind: "UmadAgent",
      pair,
      site,
      parents: [port],
      acquire: Effect.tap(
        Effect.suspend(() => acquire(Resource.raw(port))),
        (agentId) => Traffic.open(port, agentId, inbox)
      ),
      release: (agentId) =>
        Effect.andThen(
          Traffic.close(port.traffic, agentId),
          // EINVAL says that there is no such agent: it went with its adapter.
          Effect.catchReason(port.umad.unregister(port.portId, agentId), "UmadError", "EINVAL", () => Effect.void)
        ),
      fields: () => ({ port, mgmtClass, rmppVersion, inbox })
    }))

const madOf = (maximum: number) =>
  Schema.decodeEffect(Schema.Struct({
    address: MadAddress.Destination,
    mad: Schema.Uint8Array.check(
      Schema.makeFilter((mad: Uint8Array) =>
        mad.length >= MadHeader.size && mad.length <= maximum || `a MAD has ${MadHeader.size} to ${maximum} bytes`
      )
    )
  }))

const decodePacket = madOf(MadHeader.packetSize)
const decodeMessage = madOf(MadBuffer.maximumLength)

/** Copied, and a packet filled up. */
const decode = (self: UmadAgent, { address, mad }: Outgoing): Effect.Effect<Umad.MadToSend, Schema.SchemaError> =>
  Effect.map(
    Effect.suspend(() => (self.rmppVersion === 0 ? decodePacket : decodeMessage)({ address, mad })),
    (outgoing) => {
      const bytes = new Uint8Array(Math.max(mad.length, MadHeader.packetSize))
      bytes.set(outgoing.mad)
      return { address: MadAddress.complete(outgoing.address, MadHeader.mgmtClass(bytes)), mad: bytes }
    }
  )
