/**
 * Devices and ports on the real library.
 *
 * @since 0.1.0
 */
import * as DeviceNode from "@effect-rdma/core/DeviceNode"
import * as Errno from "@effect-rdma/core/Errno"
import * as Gid from "@effect-rdma/core/Gid"
import * as Guid from "@effect-rdma/core/Guid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Library from "@effect-rdma/core/Library"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import * as NodeType from "@effect-rdma/core/NodeType"
import * as PKey from "@effect-rdma/core/PKey"
import * as Pointer from "@effect-rdma/core/Pointer"
import * as ReturnConvention from "@effect-rdma/core/ReturnConvention"
import * as TransportType from "@effect-rdma/core/TransportType"
import * as Effect from "effect/Effect"
import type * as Device from "../../operations/Device.ts"
import { VerbsError } from "../../VerbsError.ts"
import * as WorkRequestOpcode from "../../WorkRequestOpcode.ts"
import * as Codec from "../codec.ts"
import * as ContextOps from "../contextOps.ts"
import * as DeviceCodec from "../deviceCodec.ts"
import * as DeviceLayout from "../DeviceLayout.ts"
import * as ExtendedDeviceLayout from "../ExtendedDeviceLayout.ts"
import { errorOf, unsupported } from "./error.ts"

export const make = (library: Library.Library): Device.Operations => {
  const getDeviceList = library.bind("ibv_get_device_list", ["buffer"], "pointer")
  const freeDeviceList = library.bind("ibv_free_device_list", ["pointer"], "void")
  const getDeviceGuid = library.bind("ibv_get_device_guid", ["pointer"], "u64")
  const getDeviceIndex = library.bindOptional("ibv_get_device_index", ["pointer"], "int")
  const openDevice = library.bind("ibv_open_device", ["pointer"], "pointer")
  const closeDevice = library.bind("ibv_close_device", ["pointer"], "int")
  const queryDevice = library.bind("ibv_query_device", ["pointer", "buffer"], "int")
  const queryPort = library.bind("ibv_query_port", ["pointer", "u8", "buffer"], "int")
  const queryPortSpeed = library.bindOptional("ibv_query_port_speed", ["pointer", "u32", "buffer"], "int")
  const queryGid = library.bind("ibv_query_gid", ["pointer", "u8", "int", "buffer"], "int")
  const queryGidTable = library.bindOptional(
    "_ibv_query_gid_table",
    ["pointer", "buffer", "size", "u32", "size"],
    "ssize"
  )
  const queryGidEx = library.bindOptional(
    "_ibv_query_gid_ex",
    ["pointer", "u32", "u32", "buffer", "u32", "size"],
    "int"
  )
  const queryPkey = library.bind("ibv_query_pkey", ["pointer", "u8", "int", "buffer"], "int")
  const getPkeyIndex = library.bind("ibv_get_pkey_index", ["pointer", "u8", "u16"], "int")
  const queryQpDataInOrder = library.bindOptional("ibv_query_qp_data_in_order", ["pointer", "int", "u32"], "int")
  const forkInit = library.bind("ibv_fork_init", [], "int")
  const isForkInitialized = library.bindOptional("ibv_is_fork_initialized", [], "int")
  const operations: Device.Operations = {
    getDeviceList: Effect.suspend(() => {
      const count = new Int32Array(1)
      return Effect.map(
        ReturnConvention.pointerOrErrno<"ibv_device *", VerbsError>(
          () => getDeviceList(count),
          listErrorOf
        ),
        (list) => {
          const length = count[0] ?? 0
          const pointers = NativeMemory.view(list, length * 8)
          return {
            list,
            devices: Array.from({ length }, (_, index): Device.ListedDevice => {
              const pointer = Pointer.make<"ibv_device">(pointers.getBigUint64(index * 8, true))
              const device = readDevice(pointer)
              return {
                pointer,
                name: device.name,
                nodeType: NodeType.fromNative(device.nodeType),
                transportType: TransportType.fromNative(device.transportType),
                guid: fromNetworkOrder(getDeviceGuid(pointer)),
                index: getDeviceIndex?.(pointer) ?? -1
              }
            })
          }
        }
      )
    }),
    freeDeviceList: (list) => Effect.sync(() => freeDeviceList(list)),
    openDevice: (device) =>
      Effect.suspend(() => {
        const { devName, name } = readDevice(device)
        const node = `/dev/infiniband/${devName}`
        const openErrorOf = (errno: number) => errorOf("ibv_open_device", errno, { name }, DeviceNode.hint(errno, node))
        // The library would wait 5 s for a node that refuses, in case udev is about to make it.
        const refusal = DeviceNode.refusal(node)
        return refusal === undefined
          ? ReturnConvention.pointerOrErrno(() => openDevice(device), openErrorOf)
          : Effect.fail(openErrorOf(refusal))
      }),
    closeDevice: (context) =>
      ReturnConvention.returnedErrno(() => closeDevice(context), (errno) => errorOf("ibv_close_device", errno)),
    getDeviceName: (context) => Effect.sync(() => readDevice(deviceOf(context)).name),

    queryDevice: (context) =>
      Effect.suspend(() => {
        const attributes = DeviceLayout.DeviceAttr.allocate()
        return Effect.map(
          ReturnConvention.returnedErrno(
            () => queryDevice(context, attributes),
            (errno) => errorOf("ibv_query_device", errno)
          ),
          () => Codec.decodeDeviceAttributes(attributes)
        )
      }),
    queryDeviceEx: (context) =>
      Effect.suspend(() => {
        const attributes = ExtendedDeviceLayout.DeviceAttrEx.allocate()
        const op = ContextOps.addressOf(context, DeviceLayout.contextOps.queryDeviceEx)
        return op === 0n
          ? plainAttributes(context)
          : ReturnConvention.returnedErrno(
            () =>
              Library.fromAddress(op, ["pointer", "buffer", "buffer", "size"], "int")(
                context,
                null,
                attributes,
                attributes.byteLength
              ),
            (errno) => errorOf("ibv_query_device_ex", errno)
          ).pipe(
            Effect.map(() => DeviceCodec.decodeExtendedAttributes(attributes)),
            Effect.catchReason("VerbsError", "EOPNOTSUPP", () => plainAttributes(context))
          )
      }),
    queryRtValuesEx: (context) =>
      Effect.suspend(() => {
        const op = ContextOps.addressOf(context, DeviceLayout.contextOps.queryRtValues)
        if (op === 0n) return Effect.fail(unsupported("ibv_query_rt_values_ex", "EOPNOTSUPP"))
        const values = ExtendedDeviceLayout.ValuesEx.allocate()
        ExtendedDeviceLayout.ValuesEx.set("compMask", values, DeviceCodec.rawClock)
        return Effect.map(
          ReturnConvention.returnedErrno(
            () => Library.fromAddress(op, ["pointer", "buffer"], "int")(context, values),
            (errno) => errorOf("ibv_query_rt_values_ex", errno)
          ),
          () => DeviceCodec.decodeRealTimeValues(values)
        )
      }),
    queryPort: (context, portNum) =>
      Effect.suspend(() => {
        const attributes = new DataView(new ArrayBuffer(Codec.portAttributesBytes))
        const op = ContextOps.addressOf(context, DeviceLayout.contextOps.queryPort)
        const call = op === 0n
          ? () => queryPort(context, portNum, attributes)
          : () =>
            Library.fromAddress(op, ["pointer", "u8", "buffer", "size"], "int")(
              context,
              portNum,
              attributes,
              attributes.byteLength
            )
        return Effect.map(
          ReturnConvention.returnedErrno(call, (errno) => errorOf("ibv_query_port", errno, { portNum })),
          () => Codec.decodePortAttributes(attributes)
        )
      }),
    queryPortSpeed: (context, portNum) =>
      Effect.suspend(() => {
        const call = "ibv_query_port_speed"
        if (queryPortSpeed === undefined) return Effect.fail(unsupported(call, "EOPNOTSUPP"))
        const speed = new BigUint64Array(1)
        return Effect.map(
          ReturnConvention.returnedErrno(
            () => queryPortSpeed(context, portNum, speed),
            (errno) => errorOf(call, errno, { portNum })
          ),
          () => speed[0] ?? 0n
        )
      }),
    queryGid: (context, portNum, index) =>
      Effect.suspend(() => {
        const gid = new Uint8Array(16)
        return Effect.map(
          ReturnConvention.minusOneErrno(
            () => queryGid(context, portNum, index, gid),
            (errno) => errorOf("ibv_query_gid", errno, { portNum, index })
          ),
          () => Gid.fromBytes(gid)
        )
      }),
    queryGidEx: (context, portNum, index) =>
      queryGidEx === undefined
        ? Effect.fail(unsupported("ibv_query_gid_ex", "EOPNOTSUPP"))
        : Effect.suspend(() => {
          const entry = DeviceLayout.GidEntry.allocate()
          return Effect.map(
            ReturnConvention.returnedErrno(
              () => queryGidEx(context, portNum, index, entry, 0, DeviceLayout.GidEntry.size),
              (errno) => errorOf("ibv_query_gid_ex", errno, { portNum, index })
            ),
            () => Codec.decodeGidEntry(entry, 0)
          )
        }),
    queryGidTable: (context) =>
      queryGidTable === undefined
        ? Effect.fail(unsupported("ibv_query_gid_table", "EOPNOTSUPP"))
        : Effect.flatMap(gidTableLength(context), (length) => {
          const entries = new DataView(new ArrayBuffer(length * DeviceLayout.GidEntry.size))
          return Effect.map(
            ReturnConvention.negativeErrno(
              () => queryGidTable(context, entries, length, 0, DeviceLayout.GidEntry.size),
              (errno) => errorOf("ibv_query_gid_table", errno)
            ),
            (count) =>
              Array.from(
                { length: Math.min(count, length) },
                (_, index) => Codec.decodeGidEntry(entries, index * DeviceLayout.GidEntry.size)
              )
          )
        }),
    queryPkey: (context, portNum, index) =>
      Effect.suspend(() => {
        const pkey = new DataView(new ArrayBuffer(2))
        return Effect.map(
          ReturnConvention.minusOneErrno(
            () => queryPkey(context, portNum, index, pkey),
            (errno) => errorOf("ibv_query_pkey", errno, { portNum, index })
          ),
          () => PKey.PKey.make(pkey.getUint16(0))
        )
      }),
    getPkeyIndex: (context, portNum, pkey) =>
      Effect.map(
        ReturnConvention.minusOneErrno(
          () => getPkeyIndex(context, portNum, toNetworkOrder16(pkey)),
          (errno) => errorOf("ibv_get_pkey_index", errno, { portNum, pkey: PKey.format(pkey) })
        ),
        (index) => Identifier.PKeyIndex.make(index)
      ),

    queryQpDataInOrder: (qp, opcode) =>
      queryQpDataInOrder === undefined
        ? Effect.fail(unsupported("ibv_query_qp_data_in_order", "EOPNOTSUPP"))
        : Effect.sync(() => queryQpDataInOrder(qp, WorkRequestOpcode.toNative(opcode), 0) === 1),
    forkInit: ReturnConvention.returnedErrno(
      () => forkInit(),
      (errno) => errorOf("ibv_fork_init", errno, {}, errno === Errno.numberOf("EINVAL") ? tooLate : undefined)
    ),
    isForkInitialized: isForkInitialized === undefined
      ? Effect.fail(unsupported("ibv_is_fork_initialized", "EOPNOTSUPP"))
      : Effect.sync(() => DeviceCodec.forkStatuses[isForkInitialized()] ?? "unknown")
  }

  const plainAttributes = (context: Pointer.Pointer<"ibv_context">) =>
    Effect.suspend(() => {
      const attributes = ExtendedDeviceLayout.DeviceAttrEx.allocate()
      return Effect.map(
        ReturnConvention.returnedErrno(
          () => queryDevice(context, attributes),
          (errno) => errorOf("ibv_query_device_ex", errno)
        ),
        () => DeviceCodec.decodeExtendedAttributes(attributes)
      )
    })

  const gidTableLength = (context: Pointer.Pointer<"ibv_context">): Effect.Effect<number, VerbsError> =>
    Effect.flatMap(operations.queryDevice(context), ({ physPortCnt }) =>
      Effect.map(
        Effect.forEach(
          Array.from({ length: physPortCnt }, (_, index) => Identifier.PortNumber.make(index + 1)),
          (port) => operations.queryPort(context, port)
        ),
        (ports) => ports.reduce((sum, port) => sum + port.gidTblLen, 0)
      ))
  return operations
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

// The library says ENOSYS when the kernel has no ib_uverbs loaded.
const listErrorOf = (errno: number): VerbsError =>
  errno === Errno.numberOf("ENOSYS")
    ? new VerbsError({
      call: "ibv_get_device_list",
      reason: new NativeReason.RdmaUnavailable({ errno }),
      input: {},
      hint: "Load the modules ib_uverbs and the driver of the device, such as: modprobe -a ib_uverbs rdma_rxe"
    })
    : errorOf("ibv_get_device_list", errno)

const readDevice = (device: bigint) => DeviceLayout.Device.read(NativeMemory.view(device, DeviceLayout.Device.size))

const deviceOf = (context: bigint): bigint =>
  DeviceLayout.Context.get("device", NativeMemory.view(context, DeviceLayout.Context.size))

const tooLate = "It must come before the first memory is registered in this process"

/** A `__be16` argument: bytes of network order as a number of the host's. */
const toNetworkOrder16 = (value: number): number => ((value & 0xff) << 8) | (value >> 8)

// `__be64` comes back as a number of the host's byte order over bytes of network order.
const fromNetworkOrder = (word: bigint): Guid.Guid => {
  const view = new DataView(new ArrayBuffer(8))
  view.setBigUint64(0, word, true)
  return Guid.Guid.make(view.getBigUint64(0))
}
