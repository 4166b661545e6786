/**
 * What two sides of a connection tell each other: `struct rdma_conn_param` of `rdma_connect(3)` and `rdma_accept(3)`, and
 * `struct rdma_ud_param` of the events of datagram ids.
 *
 * @since 0.1.0
 */
import * as Identifier from "@effect-rdma/core/Identifier"
import type * as AddressHandleAttributes from "@effect-rdma/verbs/AddressHandleAttributes"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const u8 = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xff }))
const count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 7 }))

const or = <S extends Schema.Constraint>(schema: S, value: S["Encoded"]) =>
  Schema.withDecodingDefault<S>(Effect.succeed(value))(schema)

/**
 * What a side offers when it connects or accepts. The default of `responderResources` and `initiatorDepth`, 255, stands for
 * as many reads and atomics at once as both sides can. `rnrRetryCount` 7 is for ever.
 *
 * How much private data fits depends on the port space and the message: 56 bytes to connect and 196 to accept for `tcp`, 180
 * and 136 for `udp`; more is `EINVAL`. The other side gets it padded with zeroes.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ConnectionParameters = Schema.Struct({
  privateData: or(Schema.Uint8Array.check(Schema.isMaxLength(0xff)), new Uint8Array()),
  responderResources: or(u8, 0xff),
  initiatorDepth: or(u8, 0xff),
  flowControl: or(Schema.Boolean, true),
  retryCount: or(count, 7),
  rnrRetryCount: or(count, 7),
  /** Whether the queue pair receives through a shared queue. */
  srq: or(Schema.Boolean, false),
  /** The number of the queue pair, which librdmacm knows by itself when it made it. */
  qpNum: or(Identifier.Qpn, 0)
})

/**
 * The type of {@link ConnectionParameters}; in an event, what the other side offers.
 *
 * @category models
 * @since 0.1.0
 */
export type ConnectionParameters = typeof ConnectionParameters.Type

/**
 * What a caller may give for {@link ConnectionParameters}.
 *
 * @category models
 * @since 0.1.0
 */
export type Input = typeof ConnectionParameters.Encoded

/**
 * What the event of a datagram id says: where datagrams for the other side go. `ahAttr` is `undefined` in a request.
 *
 * @category models
 * @since 0.1.0
 */
export interface DatagramParameters {
  readonly privateData: Uint8Array
  readonly ahAttr: AddressHandleAttributes.AddressHandleAttributes | undefined
  readonly qpNum: Identifier.Qpn
  readonly qkey: Identifier.QKey
}
