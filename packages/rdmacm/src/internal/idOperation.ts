/**
 * What the operations of an id have in common: what is looked at before the call, and the wait for its event.
 *
 * @since 0.1.0
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import type * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import type * as QueuePairAttributes from "@effect-rdma/verbs/QueuePairAttributes"
import * as Effect from "effect/Effect"
import type * as CmEvent from "../CmEvent.ts"
import type * as CmId from "../CmId.ts"
import * as ConnectionError from "../ConnectionError.ts"
import type * as RdmaCm from "../RdmaCm.ts"
import { RdmaCmError } from "../RdmaCmError.ts"
import * as RejectReason from "../RejectReason.ts"
import * as Events from "./channelEvents.ts"

type Id = Pointer.Pointer<"rdma_cm_id">

/** A call that is refused before it is made, since it would fail or end the process. */
export const refused = (
  call: string,
  errno: Errno.ErrnoName,
  hint: string,
  input: RdmaCmError["input"] = {}
): RdmaCmError => new RdmaCmError({ call, reason: NativeReason.fromErrno(Errno.numberOf(errno)), input, hint })

/** A handle on a device. */
export type Owned = Resource.Any & { readonly context: DeviceContext.DeviceContext }

/**
 * Makes a call on an id that is bound to a device, since librdmacm follows the pointer to it without a look. What is used with
 * the id must be of the very context that librdmacm opened, which it does not look at either.
 */
export const onDevice = <A>(
  self: CmId.CmId,
  call: string,
  run: (id: Id, state: RdmaCm.IdState) => Effect.Effect<A, RdmaCmError>,
  used: ReadonlyArray<Owned> = []
): Effect.Effect<A, RdmaCmError> =>
  Resource.use(self, (id) =>
    Effect.flatMap(self.channel.cm.readId(id), (state) => {
      const { verbs } = state
      if (verbs === undefined) {
        return Effect.fail(
          refused(call, "EINVAL", "The id is bound to no device: resolve an address, or bind it to one")
        )
      }
      const stranger = used.find(({ context }) => Resource.raw(context) !== verbs)
      return stranger === undefined
        ? run(id, state)
        : Effect.fail(
          refused(call, "EINVAL", "Make it on the context of the id: CmId.context", { handle: String(stranger) })
        )
    }))

/** A queue pair without one of its completion queues, which librdmacm makes for the room that there is, ends the process. */
export const lacksQueue = (
  call: string,
  { maxRecvWr, maxSendWr }: QueuePairAttributes.Capacities
): RdmaCmError | undefined =>
  maxRecvWr > 0 && maxSendWr > 0
    ? undefined
    : refused(call, "EINVAL", "Without completion queues, ask for room to send and to receive", {
      maxSendWr,
      maxRecvWr
    })

/**
 * Starts what ends with one of these events, and waits for it. One that is there before is of an earlier start, which nobody
 * waited for to the end: `again` forgets it. What can be started but `once` has ended already, and is not started.
 */
export const withEvent = (
  self: CmId.CmId,
  starts: "again" | "once",
  types: ReadonlyArray<CmEvent.CmEventType>,
  start: Effect.Effect<void, RdmaCmError>
): Effect.Effect<CmEvent.CmEvent, RdmaCmError> =>
  Effect.suspend(() => {
    const id = Resource.raw(self)
    return Effect.flatMap(Events.drain(self.channel), () => {
      const [event] = Events.takeAll(self.channel.events, (other) => other.id === id && types.includes(other.event))
      return event !== undefined && starts === "once"
        ? Effect.succeed(event)
        : Effect.andThen(
          start,
          Resource.whileLive(self, Events.next(() => self.channel, id, ({ event }) => types.includes(event)))
        )
    })
  })

/** What an event with an errno says about the call that led to it. */
export const eventError = (
  call: string,
  { event, status }: CmEvent.CmEvent,
  input: RdmaCmError["input"] = {}
): RdmaCmError => new RdmaCmError({ call, reason: NativeReason.fromErrno(-status), input: { ...input, event } })

/** The failure that an event stands for while a connection is set up, if it is one. */
export const connectionError = (
  call: string,
  { conn, event, status }: CmEvent.CmEvent
): ConnectionError.ConnectionError | undefined => {
  switch (event) {
    case "rejected":
      return new ConnectionError.ConnectionRejected({
        call,
        status,
        reason: RejectReason.fromNative(status),
        privateData: conn?.privateData ?? new Uint8Array()
      })
    case "unreachable":
      return new ConnectionError.PeerUnreachable({ call, status })
    case "connectError":
      return new ConnectionError.ConnectionFailed({ call, status })
    case "disconnected":
      return new ConnectionError.ConnectionClosed({ call, status })
    case "deviceRemoval":
      return new ConnectionError.DeviceRemoved({ call, status })
    default:
      return undefined
  }
}
