import type * as Pointer from "@effect-rdma/core/Pointer"
import type { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import type { Operations } from "@effect-rdma/verbs/Verbs"
import type * as Host from "./host.ts"
import * as Binding from "./rdmacm/binding.ts"
import * as Channel from "./rdmacm/channel.ts"
import * as Connecting from "./rdmacm/connecting.ts"
import * as Endpoint from "./rdmacm/endpoint.ts"
import * as Identifier from "./rdmacm/identifier.ts"
import * as Multicast from "./rdmacm/multicast.ts"
import * as Names from "./rdmacm/names.ts"
import * as Queues from "./rdmacm/queues.ts"
import * as Removal from "./rdmacm/removal.ts"
import * as RSocketPolls from "./rdmacm/rsocketPolls.ts"
import * as RSockets from "./rdmacm/rsockets.ts"
import * as State from "./rdmacm/state.ts"

/** librdmacm of one host, on its heap and its verbs. */
export const make = (fabric: Host.FabricState, host: Host.HostState, verbs: Operations): RdmaCm["Service"] => {
  const { contexts, heap } = host

  // The library opens a device once and keeps it open for as long as the process runs.
  const kept = new Map<Host.DeviceState, Pointer.Pointer<"ibv_context">>()
  const contextOf = (device: Host.DeviceState): Pointer.Pointer<"ibv_context"> => {
    let context = kept.get(device)
    if (context === undefined) kept.set(device, context = contexts.alloc({ kind: undefined, device }))
    return context
  }
  const state: State.CmState = {
    fabric,
    host,
    verbs,
    channels: heap.store<"rdma_event_channel", State.ChannelState>("rdma_event_channel"),
    ids: heap.store<"rdma_cm_id", State.IdState>("rdma_cm_id"),
    events: heap.store<"rdma_cm_event", State.EventState>("rdma_cm_event"),
    memberships: heap.store<"cma_multicast", State.MembershipState>("cma_multicast"),
    contextOf,
    domains: new Map(),
    ports: new Map(),
    nextPort: 32768,
    onDevice: new Set(),
    remoteQueuePairs: new Map(),
    requests: new WeakMap(),
    nextPsn: 0
  }
  State.register(state)
  host.onUnplug.push((device) => Removal.remove(state, device))
  const rsockets = RSockets.make(state)
  return {
    ...Channel.make(state),
    ...Identifier.make(state),
    ...Binding.make(state),
    ...Connecting.make(state),
    ...Multicast.make(state),
    ...Names.make(state),
    ...Queues.make(state),
    ...Endpoint.make(state),
    ...rsockets,
    ...RSocketPolls.make(host, rsockets)
  }
}
