/**
 * How a connection fails, as the events of its id tell.
 *
 * @since 0.1.0
 */
import * as Errno from "@effect-rdma/core/Errno"
import { VerbsError } from "@effect-rdma/verbs/VerbsError"
import * as Schema from "effect/Schema"
import { RdmaCmError } from "./RdmaCmError.ts"
import * as RejectReason from "./RejectReason.ts"

const fields = { call: Schema.String, status: Schema.Int }

const because = (status: number): string => status === 0 ? "" : `: ${Errno.format(Math.abs(status))}`

/**
 * The other side said no: `RDMA_CM_EVENT_REJECTED`. `reason` is its `status` in words; the private data is padded with
 * zeroes.
 *
 * @category errors
 * @since 0.1.0
 */
export class ConnectionRejected
  extends Schema.TaggedError<ConnectionRejected>("@effect-rdma/rdmacm/ConnectionRejected")("ConnectionRejected", {
    ...fields,
    reason: RejectReason.RejectReason,
    privateData: Schema.Uint8Array
  })
{
  override get message() {
    return `${this.call}: rejected by the other side: ${RejectReason.format(this.reason)} (${this.status})`
  }
}

/**
 * The other side did not answer in time, or could not be reached: `RDMA_CM_EVENT_UNREACHABLE`. For datagrams the status is
 * what the other side answered: 1 stands for a port that nobody listens on, 2 for a rejection.
 *
 * @category errors
 * @since 0.1.0
 */
export class PeerUnreachable
  extends Schema.TaggedError<PeerUnreachable>("@effect-rdma/rdmacm/PeerUnreachable")("PeerUnreachable", fields)
{
  override get message() {
    const { status } = this
    return `${this.call}: the other side cannot be reached${status > 0 ? ` (status ${status})` : because(status)}`
  }
}

/**
 * The connection could not be set up: `RDMA_CM_EVENT_CONNECT_ERROR`.
 *
 * @category errors
 * @since 0.1.0
 */
export class ConnectionFailed
  extends Schema.TaggedError<ConnectionFailed>("@effect-rdma/rdmacm/ConnectionFailed")("ConnectionFailed", fields)
{
  override get message() {
    return `${this.call}: the connection could not be set up${because(this.status)}`
  }
}

/**
 * The connection has ended, before it was set up or later: `RDMA_CM_EVENT_DISCONNECTED`.
 *
 * @category errors
 * @since 0.1.0
 */
export class ConnectionClosed
  extends Schema.TaggedError<ConnectionClosed>("@effect-rdma/rdmacm/ConnectionClosed")("ConnectionClosed", fields)
{
  override get message() {
    return `${this.call}: the connection has ended${because(this.status)}`
  }
}

/**
 * The device of the id is gone: `RDMA_CM_EVENT_DEVICE_REMOVAL`. The id is good for nothing but its release.
 *
 * @category errors
 * @since 0.1.0
 */
export class DeviceRemoved
  extends Schema.TaggedError<DeviceRemoved>("@effect-rdma/rdmacm/DeviceRemoved")("DeviceRemoved", fields)
{
  override get message() {
    return `${this.call}: the device was removed`
  }
}

/**
 * How setting up a connection fails.
 *
 * @category errors
 * @since 0.1.0
 */
export type ConnectionError =
  | ConnectionRejected
  | PeerUnreachable
  | ConnectionFailed
  | ConnectionClosed
  | DeviceRemoved

/**
 * An attempt took longer than the `timeout` that it was given, in milliseconds.
 *
 * @category errors
 * @since 0.1.0
 */
export class ConnectionTimedOut
  extends Schema.TaggedError<ConnectionTimedOut>("@effect-rdma/rdmacm/ConnectionTimedOut")("ConnectionTimedOut", {
    address: Schema.String,
    millis: Schema.Finite
  })
{
  override get message() {
    return `${this.address}: not done within ${this.millis} ms`
  }
}

/**
 * How one attempt at an address fails.
 *
 * @category schemas
 * @since 0.1.0
 */
export const AttemptError = Schema.Union([
  RdmaCmError,
  VerbsError,
  ConnectionRejected,
  PeerUnreachable,
  ConnectionFailed,
  ConnectionClosed,
  DeviceRemoved,
  ConnectionTimedOut
])

/**
 * The type of {@link AttemptError}.
 *
 * @category models
 * @since 0.1.0
 */
export type AttemptError = typeof AttemptError.Type

/**
 * A name stands for several addresses, and none of them would do: how each of them failed, in the order of the attempts. A
 * single address fails with its own error instead.
 *
 * @category errors
 * @since 0.1.0
 */
export class CandidatesFailed
  extends Schema.TaggedError<CandidatesFailed>("@effect-rdma/rdmacm/CandidatesFailed")("CandidatesFailed", {
    failures: Schema.Array(Schema.Struct({ address: Schema.String, error: AttemptError }))
  })
{
  override get message() {
    return this.failures.map(({ address, error }) => `${address}: ${error.message}`).join("; ")
  }
}

/**
 * How connecting and listening by address or name fails.
 *
 * @category models
 * @since 0.1.0
 */
export type ConnectError = AttemptError | CandidatesFailed | Schema.SchemaError
