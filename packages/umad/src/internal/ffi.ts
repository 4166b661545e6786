/**
 * The seam of libibumad on the real library.
 *
 * @since 0.1.0
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as Guid from "@effect-rdma/core/Guid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Library from "@effect-rdma/core/Library"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import * as Pointer from "@effect-rdma/core/Pointer"
import * as ReturnConvention from "@effect-rdma/core/ReturnConvention"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { existsSync, readdirSync } from "node:fs"
import type * as CaAttributes from "../CaAttributes.ts"
import * as CaName from "../CaName.ts"
import type * as PortAttributes from "../PortAttributes.ts"
import type * as Seam from "../Umad.ts"
import type { DeviceNodes, GotCa, Umad } from "../Umad.ts"
import { UmadError } from "../UmadError.ts"
import { CaPair } from "./CaPairLayout.ts"
import * as Codec from "./codec.ts"
import { errorOf, inputOf, lookupErrorOf } from "./ffi/error.ts"
import * as OpenPort from "./ffi/port.ts"
import * as Traffic from "./ffi/traffic.ts"
import * as Layout from "./Layout.ts"

export const make = Effect.fnUntraced(function*(
  options: { readonly path?: string }
): Effect.fn.Return<Umad["Service"], Library.LibraryNotFound | Library.SymbolNotFound> {
  const library = yield* Library.open({
    name: "libibumad",
    soname: ["libibumad.so.3"],
    environment: "EFFECT_RDMA_LIBIBUMAD",
    debianPackage: "libibumad3",
    path: options.path
  })
  return yield* Library.bindAll(() => operationsOf(library))
})

const operationsOf = (library: Library.Library): Umad["Service"] => {
  const init = library.bind("umad_init", [], "int")
  const done = library.bind("umad_done", [], "int")
  const debug = library.bind("umad_debug", ["int"], "int")
  const getCasNames = library.bind("umad_get_cas_names", ["buffer", "int"], "int")
  const getCaDeviceList = library.bind("umad_get_ca_device_list", [], "pointer")
  const sortCaDeviceList = library.bind("umad_sort_ca_device_list", ["buffer", "size"], "int")
  const freeCaDeviceList = library.bind("umad_free_ca_device_list", ["pointer"], "void")
  const getCa = library.bind("umad_get_ca", ["string", "pointer"], "int")
  const releaseCa = library.bind("umad_release_ca", ["pointer"], "int")
  const getPort = library.bind("umad_get_port", ["string", "int", "pointer"], "int")
  const releasePort = library.bind("umad_release_port", ["pointer"], "int")
  const getCaPortguids = library.bind("umad_get_ca_portguids", ["string", "buffer", "int"], "int")
  const getSmiGsiPairs = library.bindOptional("umad_get_smi_gsi_pairs", ["buffer", "size"], "int")
  const getSmiGsiPairByCaName = library.bindOptional(
    "umad_get_smi_gsi_pair_by_ca_name",
    ["string", "u8", "buffer", "uint"],
    "int"
  )
  const calloc = Library.fromProcess().bind("calloc", ["size", "size"], "pointer")
  const free = Library.fromProcess().bind("free", ["pointer"], "void")

  const listedNames = Effect.suspend(() => {
    const buffer = new DataView(new ArrayBuffer(maximumDevices * nameField.size))
    return Effect.map(
      ReturnConvention.negativeErrno(
        () => getCasNames(buffer, maximumDevices),
        (errno) => errorOf("umad_get_cas_names", errno, {})
      ),
      (count) => Array.from({ length: count }, (_, index) => nameField.get(buffer, index * nameField.size))
    )
  })

  // The library has the same errnos for a kernel without RDMA. A simulator has adapters without the folder.
  const orUnavailable = (error: UmadError): Effect.Effect<never, UmadError> =>
    existsSync(adaptersFolder) ?
      Effect.fail(error) :
      Effect.flatMap(listedNames, (names) =>
        Effect.fail(names.length > 0 && !isInvented(names) ? error : unavailable(error)))

  // The struct is ours. After a failure the library has cleaned up by itself: a release would free its parts twice.
  const get = <S extends string>(
    call: string,
    size: number,
    input: UmadError["input"],
    fill: (struct: Pointer.Pointer<S>) => number
  ): Effect.Effect<Pointer.Pointer<S>, UmadError> =>
    Effect.uninterruptible(Effect.flatMap(
      ReturnConvention.pointerOrErrno<S, UmadError>(() => calloc(1, size), (errno) => errorOf("calloc", errno, input)),
      (struct) =>
        ReturnConvention.negativeErrno(() => fill(struct), (errno) => lookupErrorOf(call, errno, input)).pipe(
          Effect.tapError(() => Effect.sync(() => free(struct))),
          Effect.catch(orUnavailable),
          Effect.as(struct)
        )
    ))

  const release = (call: string, struct: bigint, native: () => number) =>
    Effect.uninterruptible(Effect.andThen(integer(call, native), Effect.sync(() => free(struct))))

  const operations: Umad["Service"] = {
    init: integer("umad_init", init),
    done: integer("umad_done", done),
    debug: (level) => Effect.sync(() => debug(level)),

    getCasNames: Effect.flatMap(
      listedNames,
      (names) =>
        isInvented(names)
          ? Effect.map(exists(inventedName), (real) => real ? names : [])
          : Effect.succeed(names)
    ),

    getCaDeviceList: Effect.matchEffect(
      ReturnConvention.pointerOrErrno<"umad_device_node", number>(getCaDeviceList, (errno) => errno),
      {
        onFailure: (errno): Effect.Effect<DeviceNodes, UmadError> =>
          errno === 0
            ? Effect.succeed({ list: undefined, names: [] })
            : Effect.fail(errorOf("umad_get_ca_device_list", errno, {})),
        onSuccess: (list) => Effect.succeed({ list, names: readDeviceNodes(list) })
      }
    ),
    sortCaDeviceList: (list) =>
      Effect.suspend(() => {
        const head = BigUint64Array.of(list)
        return Effect.map(
          ReturnConvention.returnedErrno(
            () => sortCaDeviceList(head, 0),
            (errno) => errorOf("umad_sort_ca_device_list", errno, {})
          ),
          () => {
            const sorted = Pointer.make<"umad_device_node">(head[0] ?? list)
            return { list: sorted, names: readDeviceNodes(sorted) }
          }
        )
      }),
    freeCaDeviceList: (list) => Effect.sync(() => freeCaDeviceList(list)),

    getCa: (caName) =>
      Effect.map(
        get<"umad_ca">("umad_get_ca", Layout.Ca.size, inputOf(caName), (ca) => getCa(caName ?? null, ca)),
        (ca): GotCa => ({ ca, attributes: readCa(ca) })
      ),
    releaseCa: (ca) => release("umad_release_ca", ca, () => releaseCa(ca)),

    getPort: (caName, portNum) =>
      Effect.map(
        get<"umad_port">(
          "umad_get_port",
          Layout.Port.size,
          { ...inputOf(caName), portNum },
          (port) => getPort(caName ?? null, portNum, port)
        ),
        (port) => ({ port, attributes: readPort(port) })
      ),
    releasePort: (port) => release("umad_release_port", port, () => releasePort(port)),

    getCaPortguids: (caName) =>
      Effect.suspend(() => {
        const guids = new DataView(new ArrayBuffer(maximumPorts * 8))
        return Effect.map(
          ReturnConvention.negativeErrno(
            () => getCaPortguids(caName ?? null, guids, maximumPorts),
            // -1 stands for any failure of umad_get_ca, which leaves its cause in the variable.
            (errno, variable) =>
              lookupErrorOf("umad_get_ca_portguids", errno === 1 ? variable || EIO : errno, inputOf(caName))
          ),
          (count) => Array.from({ length: count }, (_, index) => Guid.Guid.make(guids.getBigUint64(index * 8)))
        )
      }),
    getPortNumbers: (caName) =>
      Effect.suspend(() => {
        const entries = readFolder(`${adaptersFolder}/${caName}/ports`)
        return typeof entries === "number"
          ? Effect.fail(lookupErrorOf("scandir", entries, { caName }))
          : Effect.succeed(
            entries.map(Number).filter(isPortNumber).toSorted((self, that) => self - that)
          )
      }),

    getSmiGsiPairs: Effect.suspend(() => {
      const call = "umad_get_smi_gsi_pairs"
      if (getSmiGsiPairs === undefined) return Effect.fail(errorOf(call, EOPNOTSUPP, {}, withoutPairs))
      const pairs = new DataView(new ArrayBuffer(maximumDevices * CaPair.size))
      return Effect.map(
        ReturnConvention.minusOneErrno(
          () => getSmiGsiPairs(pairs, maximumDevices),
          (errno) => lookupErrorOf(call, errno, {})
        ),
        (count) => Array.from({ length: count }, (_, index) => readCaPair(pairs, index * CaPair.size))
      )
    }),
    getSmiGsiPairByCaName: (caName, portNum, enforceSmi) =>
      Effect.suspend(() => {
        const call = "umad_get_smi_gsi_pair_by_ca_name"
        const input = { caName, portNum }
        if (getSmiGsiPairByCaName === undefined) return Effect.fail(errorOf(call, EOPNOTSUPP, input, withoutPairs))
        const pair = CaPair.allocate()
        return Effect.map(
          ReturnConvention.negativeErrno(
            () => getSmiGsiPairByCaName(caName, portNum, pair, enforceSmi ? 1 : 0),
            (errno) => lookupErrorOf(call, errno, input)
          ),
          () => readCaPair(pair, 0)
        )
      }),

    ...OpenPort.make(library),
    ...Traffic.make(library)
  }

  const exists = (caName: CaName.CaName): Effect.Effect<boolean, UmadError> =>
    Effect.uninterruptible(Effect.matchEffect(operations.getCa(caName), {
      onFailure: () => Effect.succeed(false),
      onSuccess: ({ ca }) => Effect.as(operations.releaseCa(ca), true)
    }))

  return operations
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

// More than any kernel has; it bounds the buffer of names and the walk along the list.
const maximumDevices = 4096

/** The name of the only adapter on a machine without any, and of the first InfiniHost on a machine with one. */
const inventedName = CaName.CaName.make("mthca0")

const isInvented = (names: ReadonlyArray<string>): boolean => names.length === 1 && names[0] === inventedName

/** More than any adapter has, port 0 included. */
const maximumPorts = 256

const withoutPairs = "libibumad of rdma-core 56 has it"

const EOPNOTSUPP = Errno.numberOf("EOPNOTSUPP")
const EIO = Errno.numberOf("EIO")

const isPortNumber = Schema.is(Identifier.AnyPortNumber)

const readCaPair = (view: DataView, base: number): Seam.CaPair => CaPair.read(view, base)

/** The names in a folder, or the errno. */
const readFolder = (path: string): ReadonlyArray<string> | number => {
  try {
    return readdirSync(path)
  } catch (error) {
    return error instanceof Error && "errno" in error && typeof error.errno === "number" ? -error.errno : EIO
  }
}

/** The kernel makes this folder when its RDMA core is loaded. */
const adaptersFolder = "/sys/class/infiniband"

const nameField = Layout.Ca.fields.caName

/** NAME_MAX and the NUL: the list has names of any length that sysfs has. */
const longestName = 256

const readPort = (port: bigint): PortAttributes.PortAttributes => {
  const struct = Layout.Port.read(NativeMemory.view(port, Layout.Port.size))
  const pkeys = struct.pkeysSize === 0
    ? []
    : Array.from(new Uint16Array(NativeMemory.view(struct.pkeys, struct.pkeysSize * 2).buffer))
  return Codec.portAttributes(struct, pkeys)
}

const readCa = (ca: bigint): CaAttributes.CaAttributes => {
  const struct = Layout.Ca.read(NativeMemory.view(ca, Layout.Ca.size))
  return Codec.caAttributes(struct, struct.ports.filter((port) => !Pointer.isNull(port)).map(readPort))
}

const readDeviceNodes = (list: bigint): ReadonlyArray<string> => {
  const names: Array<string> = []
  for (let node = list; !Pointer.isNull(node) && names.length < maximumDevices;) {
    const { caName, next } = Layout.DeviceNode.read(NativeMemory.view(node, Layout.DeviceNode.size))
    names.push(NativeMemory.readCString(caName, longestName))
    node = next
  }
  return names
}

const integer = (call: string, native: () => number): Effect.Effect<void, UmadError> =>
  Effect.asVoid(ReturnConvention.negativeErrno(native, (errno, variable) => errorOf(call, variable || errno, {})))

const unavailable = ({ call, input, reason }: UmadError): UmadError =>
  new UmadError({
    call,
    reason: new NativeReason.RdmaUnavailable({ errno: reason.errno }),
    input,
    hint: "Load it with: modprobe ib_umad, and the driver of the adapter, such as mlx5_ib or rdma_rxe"
  })
