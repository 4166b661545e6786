import type * as Host from "../host.ts"
import * as Connection from "./connection.ts"
import { type CmState, notify } from "./state.ts"

/** What the connection manager does when a device is taken away: its ids hear of it, and of nothing after that. */
export const remove = (state: CmState, device: Host.DeviceState): void => {
  for (const id of Array.from(state.onDevice)) {
    if (id.place?.device !== device) continue
    state.onDevice.delete(id)
    id.stop()
    for (const membership of id.memberships) membership.stop()
    if (id.connection !== undefined) Connection.destroy(id.connection)
    notify(id, { event: "deviceRemoval", status: 0 })
    id.step = "removed"
  }
}
