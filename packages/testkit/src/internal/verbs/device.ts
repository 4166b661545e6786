import * as Errno from "@effect-rdma/core/Errno"
import * as Gid from "@effect-rdma/core/Gid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as GidEntry from "@effect-rdma/verbs/GidEntry"
import type * as Device from "@effect-rdma/verbs/operations/Device"
import { VerbsError } from "@effect-rdma/verbs/VerbsError"
import * as Effect from "effect/Effect"
import { FabricMisuse } from "../../FabricMisuse.ts"
import type * as Heap from "../heap.ts"
import * as Host from "../host.ts"
import { fail, portOf, query, type VerbsState } from "./state.ts"

/** Devices and ports of one host. */
export const make = (state: VerbsState): Device.Operations => {
  const { host } = state
  const { contexts, heap } = host
  const lists = heap.store<
    "ibv_device *",
    Heap.Native & { readonly devices: ReadonlyArray<Pointer.Pointer<"ibv_device">> }
  >("ibv_device *")
  const listed = heap.store<"ibv_device", Heap.Native & { readonly state: Host.DeviceState }>("ibv_device")

  return {
    getDeviceList: Effect.suspend(() => {
      if (!host.rdma) return Effect.fail(unavailable("ibv_get_device_list", Errno.numberOf("ENOSYS")))
      const devices = host.devices.map((state) => ({
        pointer: listed.alloc({ kind: undefined, state }),
        name: state.name,
        nodeType: state.description.nodeType,
        transportType: state.description.transport,
        guid: state.description.guid,
        index: state.index
      }))
      const list = lists.alloc({ kind: "DeviceList", devices: devices.map((device) => device.pointer) })
      return Effect.succeed({ list, devices })
    }),
    freeDeviceList: (list) =>
      Effect.sync(() => {
        const call = "ibv_free_device_list"
        for (const device of lists.free(call, list).devices) listed.free(call, device)
      }),
    openDevice: (device) =>
      Effect.suspend(() => {
        const call = "ibv_open_device"
        const { state } = listed.get(call, device)
        return state.plugged
          ? Effect.succeed(contexts.alloc({ kind: "DeviceContext", device: state }))
          // The kernel has removed the node in /dev/infiniband.
          : fail(call, "ENOENT", { name: state.name })
      }),
    closeDevice: (context) =>
      Effect.sync(() => {
        const call = "ibv_close_device"
        if (contexts.get(call, context).kind === undefined) {
          throw new FabricMisuse({ call, problem: "the context belongs to librdmacm" })
        }
        for (const reclaim of state.onClose) reclaim(context)
        contexts.free(call, context)
      }),
    getDeviceName: (context) => Effect.sync(() => contexts.get("ibv_get_device_name", context).device.name),

    queryDevice: (context) =>
      query(state, "ibv_query_device", context, ({ description }) =>
        Effect.succeed({
          ...description.attributes,
          nodeGuid: description.guid,
          sysImageGuid: description.guid,
          physPortCnt: description.ports.filter((port) => port.number > 0).length
        })),
    queryPort: (context, portNum) =>
      query(state, "ibv_query_port", context, (device) => {
        const port = portOf(device, portNum)
        if (port === undefined) return fail("ibv_query_port", "EINVAL", { portNum })
        const { gids: _gids, number: _number, pkeys, rate: _rate, ...attributes } = port
        return Effect.succeed({
          ...attributes,
          pkeyTblLen: pkeys.length,
          badPkeyCntr: 0,
          qkeyViolCntr: 0,
          initTypeReply: 0,
          portCapFlags2: 0,
          activeSpeedEx: 0
        })
      }),
    queryGid: (context, portNum, index) =>
      query(state, "ibv_query_gid", context, (device) => {
        const port = portOf(device, portNum)
        if (port === undefined || index >= port.gidTblLen) return fail("ibv_query_gid", "EINVAL", { portNum, index })
        return Effect.succeed(Host.gidsOf(port).find((row) => row.index === index)?.gid ?? Gid.zero())
      }),
    queryGidTable: (context) =>
      query(
        state,
        "ibv_query_gid_table",
        context,
        (device) =>
          Effect.succeed(device.description.ports.flatMap((port) =>
            port.number === 0
              ? []
              : Host.gidsOf(port).map(({ gid, index, ndevIfindex, type }): GidEntry.GidEntry => ({
                gid,
                gidIndex: index,
                portNum: Identifier.PortNumber.make(port.number),
                gidType: type,
                ndevIfindex
              }))
          ))
      ),
    queryPkey: (context, portNum, index) =>
      query(state, "ibv_query_pkey", context, (device) => {
        const pkey = portOf(device, portNum)?.pkeys[index]
        // It reads a file of sysfs, and that file does not exist.
        return pkey === undefined ? fail("ibv_query_pkey", "ENOENT", { portNum, index }) : Effect.succeed(pkey)
      })
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const unavailable = (call: string, errno: number) =>
  new VerbsError({
    call,
    reason: new NativeReason.RdmaUnavailable({ errno }),
    input: {},
    hint: "The topology gives this host no RDMA"
  })
