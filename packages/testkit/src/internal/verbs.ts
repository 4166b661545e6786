import type { Operations } from "@effect-rdma/verbs/Verbs"
import type * as Host from "./host.ts"
import * as Address from "./verbs/address.ts"
import * as Completion from "./verbs/completion.ts"
import * as CompletionCounter from "./verbs/completionCounter.ts"
import * as DataPath from "./verbs/dataPath.ts"
import * as Device from "./verbs/device.ts"
import * as Domain from "./verbs/domain.ts"
import * as Events from "./verbs/events.ts"
import * as Memory from "./verbs/memory.ts"
import * as Queue from "./verbs/queue.ts"
import * as State from "./verbs/state.ts"
import * as Steering from "./verbs/steering.ts"

/** libibverbs of one host, on its heap. */
export const make = (fabric: Host.FabricState, host: Host.HostState): Operations => {
  const state = State.make(fabric, host)
  return {
    ...Device.make(state),
    ...Domain.make(state),
    ...Address.make(state),
    ...Memory.make(state),
    ...Completion.make(state),
    ...CompletionCounter.make(state),
    ...Events.make(state),
    ...Steering.make(state),
    ...Queue.make(state),
    ...DataPath.make(state)
  }
}
