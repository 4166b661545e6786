/**
 * The seam of libibverbs on the real library.
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
import * as ReceivedDatagram from "../ReceivedDatagram.ts"
import type { ListedDevice, Verbs } from "../Verbs.ts"
import { VerbsError } from "../VerbsError.ts"
import * as Codec from "./codec.ts"
import * as ContextOps from "./contextOps.ts"
import * as ExperimentalLayout from "./ExperimentalLayout.ts"
import * as Layout from "./Layout.ts"

export const make = Effect.fnUntraced(function*(
  options: { readonly path?: string }
): Effect.fn.Return<Verbs["Service"], Library.LibraryNotFound> {
  const library = yield* Library.open({
    name: "libibverbs",
    soname: ["libibverbs.so.1"],
    environment: "EFFECT_RDMA_LIBIBVERBS",
    debianPackage: "libibverbs1",
    path: options.path
  })
  const getDeviceList = library.bind("ibv_get_device_list", ["buffer"], "pointer")
  const freeDeviceList = library.bind("ibv_free_device_list", ["pointer"], "void")
  const getDeviceGuid = library.bind("ibv_get_device_guid", ["pointer"], "u64")
  const getDeviceIndex = library.bindOptional("ibv_get_device_index", ["pointer"], "int")
  const openDevice = library.bind("ibv_open_device", ["pointer"], "pointer")
  const closeDevice = library.bind("ibv_close_device", ["pointer"], "int")
  const queryDevice = library.bind("ibv_query_device", ["pointer", "buffer"], "int")
  const queryPort = library.bind("ibv_query_port", ["pointer", "u8", "buffer"], "int")
  const queryGid = library.bind("ibv_query_gid", ["pointer", "u8", "int", "buffer"], "int")
  const queryGidTable = library.bindOptional(
    "_ibv_query_gid_table",
    ["pointer", "buffer", "size", "u32", "size"],
    "ssize"
  )
  const queryPkey = library.bind("ibv_query_pkey", ["pointer", "u8", "int", "buffer"], "int")
  const allocPd = library.bind("ibv_alloc_pd", ["pointer"], "pointer")
  const deallocPd = library.bind("ibv_dealloc_pd", ["pointer"], "int")
  const createAh = library.bind("ibv_create_ah", ["pointer", "buffer"], "pointer")
  const destroyAh = library.bind("ibv_destroy_ah", ["pointer"], "int")
  const initAhFromWc = library.bind("ibv_init_ah_from_wc", ["pointer", "u8", "buffer", "buffer", "buffer"], "int")
  const createAhFromWc = library.bind("ibv_create_ah_from_wc", ["pointer", "buffer", "buffer", "u8"], "pointer")

  const operations: Verbs["Service"] = {
    getDeviceList: Effect.suspend(() => {
      const count = new Int32Array(1)
      return Effect.map(
        ReturnConvention.pointerOrErrno<"ibv_device *", VerbsError>(
          () => getDeviceList(count),
          (errno) => fail("ibv_get_device_list", errno)
        ),
        (list) => {
          const length = count[0] ?? 0
          const pointers = NativeMemory.view(list, length * 8)
          return {
            list,
            devices: Array.from({ length }, (_, index): ListedDevice => {
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
        const failToOpen = (errno: number) => fail("ibv_open_device", errno, { name }, DeviceNode.hint(errno, node))
        // The library would wait 5 s for a node that refuses, in case udev is about to make it.
        const refusal = DeviceNode.refusal(node)
        return refusal === undefined
          ? ReturnConvention.pointerOrErrno(() => openDevice(device), failToOpen)
          : Effect.fail(failToOpen(refusal))
      }),
    closeDevice: (context) =>
      ReturnConvention.returnedErrno(() => closeDevice(context), (errno) => fail("ibv_close_device", errno)),
    getDeviceName: (context) => Effect.sync(() => readDevice(deviceOf(context)).name),

    queryDevice: (context) =>
      Effect.suspend(() => {
        const attributes = Layout.DeviceAttr.allocate()
        return Effect.map(
          ReturnConvention.returnedErrno(
            () => queryDevice(context, attributes),
            (errno) => fail("ibv_query_device", errno)
          ),
          () => Codec.decodeDeviceAttributes(attributes)
        )
      }),
    queryPort: (context, portNum) =>
      Effect.suspend(() => {
        const attributes = new DataView(new ArrayBuffer(Codec.portAttributesBytes))
        const op = ContextOps.addressOf(context, Layout.contextOps.queryPort)
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
          ReturnConvention.returnedErrno(call, (errno) => fail("ibv_query_port", errno, { portNum })),
          () => Codec.decodePortAttributes(attributes)
        )
      }),
    queryGid: (context, portNum, index) =>
      Effect.suspend(() => {
        const gid = new Uint8Array(16)
        return Effect.map(
          ReturnConvention.minusOneErrno(
            () => queryGid(context, portNum, index, gid),
            (errno) => fail("ibv_query_gid", errno, { portNum, index })
          ),
          () => Gid.fromBytes(gid)
        )
      }),
    queryGidTable: (context) =>
      queryGidTable === undefined
        ? Effect.fail(unsupported("ibv_query_gid_table", "EOPNOTSUPP"))
        : Effect.flatMap(gidTableLength(context), (length) => {
          const entries = new DataView(new ArrayBuffer(length * Layout.GidEntry.size))
          return Effect.map(
            ReturnConvention.negativeErrno(
              () => queryGidTable(context, entries, length, 0, Layout.GidEntry.size),
              (errno) => fail("ibv_query_gid_table", errno)
            ),
            (count) =>
              Array.from(
                { length: Math.min(count, length) },
                (_, index) => Codec.decodeGidEntry(entries, index * Layout.GidEntry.size)
              )
          )
        }),
    queryPkey: (context, portNum, index) =>
      Effect.suspend(() => {
        const pkey = new DataView(new ArrayBuffer(2))
        return Effect.map(
          ReturnConvention.minusOneErrno(
            () => queryPkey(context, portNum, index, pkey),
            (errno) => fail("ibv_query_pkey", errno, { portNum, index })
          ),
          () => PKey.PKey.make(pkey.getUint16(0))
        )
      }),

    allocPd: (context) =>
      ReturnConvention.pointerOrErrno(() => allocPd(context), (errno) => fail("ibv_alloc_pd", errno)),
    deallocPd: (pd) => ReturnConvention.returnedErrno(() => deallocPd(pd), (errno) => fail("ibv_dealloc_pd", errno)),
    allocTd: (context) =>
      Effect.suspend(() => {
        const op = ContextOps.addressOf(context, Layout.contextOps.allocTd)
        return op === 0n
          ? Effect.fail(unsupported("ibv_alloc_td", "EOPNOTSUPP"))
          : ReturnConvention.pointerOrErrno(
            () => Library.fromAddress(op, ["pointer", "buffer"], "pointer")(context, Layout.TdInitAttr.allocate()),
            (errno) => fail("ibv_alloc_td", errno)
          )
      }),
    deallocTd: (td) =>
      Effect.suspend(() => {
        // A thread domain starts with the context that it was allocated from, and has no other way back to it.
        const context = NativeMemory.view(td, 8).getBigUint64(0, true)
        const op = ContextOps.addressOf(context, Layout.contextOps.deallocTd)
        return op === 0n
          ? Effect.fail(unsupported("ibv_dealloc_td", "EOPNOTSUPP"))
          : ReturnConvention.returnedErrno(
            () => Library.fromAddress(op, ["pointer"], "int")(td),
            (errno) => fail("ibv_dealloc_td", errno)
          )
      }),
    allocParentDomain: (context, { pd, td }) =>
      Effect.suspend(() => {
        const op = ContextOps.addressOf(context, Layout.contextOps.allocParentDomain)
        if (op === 0n) return Effect.fail(unsupported("ibv_alloc_parent_domain", "EOPNOTSUPP"))
        const attributes = Layout.ParentDomainInitAttr.allocate()
        Layout.ParentDomainInitAttr.write(attributes, { pd, td: td ?? 0n })
        return ReturnConvention.pointerOrErrno(
          () => Library.fromAddress(op, ["pointer", "buffer"], "pointer")(context, attributes),
          (errno) => fail("ibv_alloc_parent_domain", errno)
        )
      }),

    createAh: (pd, attributes) =>
      ReturnConvention.pointerOrErrno(
        () => createAh(pd, Codec.encodeAddressHandleAttributes(attributes)),
        (errno) => failAddressHandle("ibv_create_ah", errno, attributes.portNum)
      ),
    destroyAh: (ah) => ReturnConvention.returnedErrno(() => destroyAh(ah), (errno) => fail("ibv_destroy_ah", errno)),
    initAhFromWc: (context, portNum, received) =>
      Effect.suspend(() => {
        const attributes = Layout.AhAttr.allocate()
        return Effect.map(
          ReturnConvention.minusOneErrno(
            () => initAhFromWc(context, portNum, Codec.encodeReceived(received), routingHeaderOf(received), attributes),
            (errno) => fail("ibv_init_ah_from_wc", errno, { portNum })
          ),
          () => Codec.decodeAddressHandleAttributes(attributes)
        )
      }),
    createAhFromWc: (pd, portNum, received) =>
      ReturnConvention.pointerOrErrno(
        () => createAhFromWc(pd, Codec.encodeReceived(received), routingHeaderOf(received), portNum),
        (errno) => failAddressHandle("ibv_create_ah_from_wc", errno, portNum)
      ),

    expCreateResDomain: (context, attributes) =>
      Effect.suspend(() => {
        const op = ContextOps.experimentalAddressOf(context, ExperimentalLayout.experimentalOps.createResDomain)
        return op === 0n
          ? Effect.fail(unsupported("ibv_exp_create_res_domain", "ENOSYS"))
          : ReturnConvention.pointerOrErrno(
            () =>
              Library.fromAddress(op, ["pointer", "buffer"], "pointer")(
                context,
                Codec.encodeResourceDomainAttributes(attributes)
              ),
            (errno) => fail("ibv_exp_create_res_domain", errno, attributes)
          )
      }),
    expDestroyResDomain: (context, domain) =>
      Effect.suspend(() => {
        const op = ContextOps.experimentalAddressOf(context, ExperimentalLayout.experimentalOps.destroyResDomain)
        return op === 0n
          ? Effect.fail(unsupported("ibv_exp_destroy_res_domain", "ENOSYS"))
          : ReturnConvention.returnedErrno(
            () =>
              Library.fromAddress(op, ["pointer", "pointer", "buffer"], "int")(
                context,
                domain,
                ExperimentalLayout.DestroyResDomainAttr.allocate()
              ),
            (errno) => fail("ibv_exp_destroy_res_domain", errno)
          )
      })
  }

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
})

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

// The library reads the header also of a completion that says it has none.
const routingHeaderOf = ({ grh }: ReceivedDatagram.ReceivedDatagram): Uint8Array =>
  grh ?? new Uint8Array(ReceivedDatagram.routingHeaderBytes)

const fail = (call: string, errno: number, input: VerbsError["input"] = {}, hint?: string): VerbsError =>
  call === "ibv_get_device_list" && errno === Errno.numberOf("ENOSYS")
    ? new VerbsError({
      call,
      reason: new NativeReason.RdmaUnavailable({ errno }),
      input,
      hint: "Load the modules ib_uverbs and the driver of the device, such as: modprobe -a ib_uverbs rdma_rxe"
    })
    : new VerbsError({
      call,
      reason: NativeReason.fromErrno(errno),
      input,
      ...(hint === undefined ? {} : { hint })
    })

const failAddressHandle = (call: string, errno: number, portNum: Identifier.PortNumber): VerbsError =>
  fail(
    call,
    errno,
    { portNum },
    errno === 0 ? "Some providers refuse a port that the device does not have so" : undefined
  )

const unsupported = (call: string, name: "EOPNOTSUPP" | "ENOSYS"): VerbsError =>
  fail(call, Errno.numberOf(name), {}, "The installed libibverbs or its provider has no such operation")

const readDevice = (device: bigint) => Layout.Device.read(NativeMemory.view(device, Layout.Device.size))

const deviceOf = (context: bigint): bigint =>
  Layout.Context.get("device", NativeMemory.view(context, Layout.Context.size))

// `__be64` comes back as a number of the host's byte order over bytes of network order.
const fromNetworkOrder = (word: bigint): Guid.Guid => {
  const view = new DataView(new ArrayBuffer(8))
  view.setBigUint64(0, word, true)
  return Guid.Guid.make(view.getBigUint64(0))
}
