/**
 * What one side of a connection must know of the other, as a value that two programs can send each other.
 *
 * @since 0.1.0
 */
import * as Gid from "@effect-rdma/core/Gid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as Mtu from "@effect-rdma/core/Mtu"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/**
 * One end of a connection: the queue pair, its first sequence number, and the port that it is on. `gid` and `gidIndex` go
 * together; RoCE needs them. `mtu` is the largest path MTU of the port. `portNum` and `gidIndex` mean something on
 * their own host only.
 *
 * It encodes to plain JSON, with the GID as text.
 *
 * ```ts
 * import { QueuePairEndpoint } from "@effect-rdma/verbs"
 * import { Schema } from "effect"
 *
 * const text = JSON.stringify({ qpNum: 17, psn: 1, gid: "::ffff:10.0.0.1", gidIndex: 1 })
 * const endpoint = Schema.decodeUnknownSync(QueuePairEndpoint.QueuePairEndpoint)(JSON.parse(text))
 * endpoint.portNum // => 1
 * ```
 *
 * @category schemas
 * @since 0.1.0
 */
export const QueuePairEndpoint = Schema.Struct({
  qpNum: Identifier.Qpn,
  psn: Identifier.Psn,
  portNum: Identifier.PortNumber.pipe(Schema.withDecodingDefault(Effect.succeed(1))),
  lid: Lid.Lid.pipe(Schema.withDecodingDefault(Effect.succeed(0))),
  gid: Schema.optionalKey(Gid.GidFromString),
  gidIndex: Schema.optionalKey(Identifier.GidIndex),
  mtu: Schema.optionalKey(Mtu.Mtu)
})

/**
 * @category models
 * @since 0.1.0
 */
export type QueuePairEndpoint = typeof QueuePairEndpoint.Type

/**
 * The JSON form.
 *
 * @category models
 * @since 0.1.0
 */
export type Encoded = typeof QueuePairEndpoint.Encoded

/**
 * Schema for an endpoint as JSON text.
 *
 * @category schemas
 * @since 0.1.0
 */
export const FromJson = Schema.fromJsonString(QueuePairEndpoint)
