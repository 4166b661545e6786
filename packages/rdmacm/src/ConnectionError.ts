/**
 * How a connection fails, as the events of its id tell.
 *
 * @since 0.1.0
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as Schema from "effect/Schema"
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
 * The connection ended before it was set up: `RDMA_CM_EVENT_DISCONNECTED`.
 *
 * @category errors
 * @since 0.1.0
 */
export class ConnectionClosed
  extends Schema.TaggedError<ConnectionClosed>("@effect-rdma/rdmacm/ConnectionClosed")("ConnectionClosed", fields)
{
  override get message() {
    return `${this.call}: the other side has disconnected${because(this.status)}`
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
