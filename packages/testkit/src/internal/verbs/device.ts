import * as Errno from "@effect-rdma/core/Errno"
import * as Gid from "@effect-rdma/core/Gid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import * as PKey from "@effect-rdma/core/PKey"
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as DeviceAttributes from "@effect-rdma/verbs/DeviceAttributes"
import type * as ExtendedDeviceAttributes from "@effect-rdma/verbs/ExtendedDeviceAttributes"
import type * as GidEntry from "@effect-rdma/verbs/GidEntry"
import type * as Device from "@effect-rdma/verbs/operations/Device"
import type * as PortAttributes from "@effect-rdma/verbs/PortAttributes"
import { VerbsError } from "@effect-rdma/verbs/VerbsError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { FabricMisuse } from "../../FabricMisuse.ts"
import type * as Topology from "../../Topology.ts"
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
      query(state, "ibv_query_device", context, (device) => Effect.succeed(attributesOf(device))),
    queryDeviceEx: (context) =>
      query(
        state,
        "ibv_query_device_ex",
        context,
        (device) => Effect.succeed({ ...extendedAttributes(device), origAttr: attributesOf(device) })
      ),
    queryRtValuesEx: (context) =>
      Effect.suspend(() => {
        const call = "ibv_query_rt_values_ex"
        const { device } = host.contexts.get(call, context)
        if (device.description.provider !== "mlx5") return fail(call, "EOPNOTSUPP")
        // A register that is mapped into the process: it counts, whatever became of the device.
        return Effect.map(Clock.currentTimeNanos, (tvNsec) => ({ rawClock: { tvSec: 0n, tvNsec } }))
      }),
    queryPort: (context, portNum) =>
      query(state, "ibv_query_port", context, (device) => {
        const port = portOf(device, portNum)
        if (port === undefined) return fail("ibv_query_port", "EINVAL", { portNum })
        return Effect.succeed({ ...reportOf(port) })
      }),
    queryPortSpeed: (context, portNum) =>
      query(state, "ibv_query_port_speed", context, (device) => {
        const call = "ibv_query_port_speed"
        if (device.description.provider !== "mlx5") return fail(call, "EOPNOTSUPP", { portNum })
        const port = portOf(device, portNum)
        return port === undefined ? fail(call, "EINVAL", { portNum }) : Effect.succeed(BigInt(port.rate) * 10n)
      }),
    queryGid: (context, portNum, index) =>
      query(state, "ibv_query_gid", context, (device) => {
        const port = portOf(device, portNum)
        if (port === undefined || index >= port.gidTblLen) return fail("ibv_query_gid", "EINVAL", { portNum, index })
        return Effect.succeed(Host.gidsOf(port).find((row) => row.index === index)?.gid ?? Gid.zero())
      }),
    queryGidEx: (context, portNum, index) =>
      query(state, "ibv_query_gid_ex", context, (device) => {
        const call = "ibv_query_gid_ex"
        const port = portOf(device, portNum)
        if (port === undefined || index >= port.gidTblLen) return fail(call, "EINVAL", { portNum, index })
        const row = Host.gidsOf(port).find((row) => row.index === index)
        return row === undefined ? fail(call, "ENODATA", { portNum, index }) : Effect.succeed(entryOf(portNum, row))
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
              : Host.gidsOf(port).map((row) => entryOf(Identifier.PortNumber.make(port.number), row))
          ))
      ),
    queryPkey: (context, portNum, index) =>
      query(state, "ibv_query_pkey", context, (device) => {
        const pkey = portOf(device, portNum)?.pkeys[index]
        // It reads a file of sysfs, and that file does not exist.
        return pkey === undefined ? fail("ibv_query_pkey", "ENOENT", { portNum, index }) : Effect.succeed(pkey)
      }),
    getPkeyIndex: (context, portNum, pkey) =>
      query(state, "ibv_get_pkey_index", context, (device) => {
        const index = portOf(device, portNum)?.pkeys.indexOf(pkey) ?? -1
        // It reads file after file, until there is no next one.
        return index === -1
          ? fail("ibv_get_pkey_index", "ENOENT", { portNum, pkey: PKey.format(pkey) })
          : Effect.succeed(Identifier.PKeyIndex.make(index))
      }),

    // rxe has no such operation, and the device of the other makes no promise.
    queryQpDataInOrder: (qp) =>
      Effect.sync(() => {
        state.queuePairs.get("ibv_query_qp_data_in_order", qp)
        return false
      }),

    // The kernel copies pinned pages for a child, as Linux does since 5.12.
    forkInit: Effect.void,
    isForkInitialized: Effect.succeed("unneeded")
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const reports = new WeakMap<Topology.Port, PortAttributes.PortAttributes>()

/** What a port reports, made once as long as it is the same: each queue pair asks for it. */
const reportOf = (port: Topology.Port): PortAttributes.PortAttributes => {
  let report = reports.get(port)
  if (report === undefined) {
    const { gids: _gids, ipoibAddresses: _, number: _number, pkeys, rate: _rate, ...attributes } = port
    report = {
      ...attributes,
      pkeyTblLen: pkeys.length,
      badPkeyCntr: 0,
      qkeyViolCntr: 0,
      initTypeReply: 0,
      portCapFlags2: 0,
      activeSpeedEx: 0
    }
    reports.set(port, report)
  }
  return report
}

const attributesOf = ({ description }: Host.DeviceState): DeviceAttributes.DeviceAttributes => ({
  ...description.attributes,
  nodeGuid: description.guid,
  sysImageGuid: description.guid,
  physPortCnt: description.ports.filter((port) => port.number > 0).length
})

const entryOf = (
  portNum: Identifier.PortNumber,
  { gid, index, ndevIfindex, type }: Host.PlacedGid
): GidEntry.GidEntry => ({ gid, gidIndex: index, portNum, gidType: type, ndevIfindex })

/** rxe has none of it but the number of ports; mlx5 as a ConnectX-6 with InfiniBand ports. */
const extendedAttributes = (
  device: Host.DeviceState
): Omit<ExtendedDeviceAttributes.ExtendedDeviceAttributes, "origAttr"> => {
  const isMlx5 = device.description.provider === "mlx5"
  const { deviceCapFlags } = device.description.attributes
  const ud = 1 << 4
  const rawPacket = 1 << 8
  return {
    odpCaps: isMlx5
      ? { generalCaps: 3n, rcOdpCaps: 0x3f, ucOdpCaps: 0, udOdpCaps: 1 }
      : { generalCaps: 0n, rcOdpCaps: 0, ucOdpCaps: 0, udOdpCaps: 0 },
    completionTimestampMask: isMlx5 ? 0x7fff_ffff_ffff_ffffn : 0n,
    hcaCoreClock: isMlx5 ? 156250n : 0n,
    deviceCapFlagsEx: BigInt(deviceCapFlags),
    tsoCaps: isMlx5 ? { maxTso: 0x4_0000, supportedQpts: ud } : { maxTso: 0, supportedQpts: 0 },
    rssCaps: isMlx5
      ? {
        supportedQpts: rawPacket,
        maxRwqIndirectionTables: 0x10_0000,
        maxRwqIndirectionTableSize: 2048,
        rxHashFieldsMask: 0x8000_01ffn,
        rxHashFunction: 1
      }
      : {
        supportedQpts: 0,
        maxRwqIndirectionTables: 0,
        maxRwqIndirectionTableSize: 0,
        rxHashFieldsMask: 0n,
        rxHashFunction: 0
      },
    maxWqTypeRq: isMlx5 ? 0x80_0000 : 0,
    packetPacingCaps: { qpRateLimitMin: 0, qpRateLimitMax: 0, supportedQpts: 0 },
    rawPacketCaps: isMlx5 ? 4 : 0,
    tmCaps: isMlx5
      ? { maxRndvHdrSize: 64, maxNumTags: 127, flags: 1, maxOps: 32768, maxSge: 1 }
      : { maxRndvHdrSize: 0, maxNumTags: 0, flags: 0, maxOps: 0, maxSge: 0 },
    cqModCaps: isMlx5 ? { maxCqCount: 65535, maxCqPeriod: 4095 } : { maxCqCount: 0, maxCqPeriod: 0 },
    maxDmSize: isMlx5 ? 131072n : 0n,
    pciAtomicCaps: { fetchAdd: 0, swap: 0, compareSwap: 0 },
    xrcOdpCaps: isMlx5 ? 0x3f : 0,
    physPortCntEx: attributesOf(device).physPortCnt
  }
}

const unavailable = (call: string, errno: number) =>
  new VerbsError({
    call,
    reason: new NativeReason.RdmaUnavailable({ errno }),
    input: {},
    hint: "The topology gives this host no RDMA"
  })
