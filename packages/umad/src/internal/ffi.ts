/**
 * The seam of libibumad on the real library.
 *
 * @since 0.1.0
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as Library from "@effect-rdma/core/Library"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import * as Pointer from "@effect-rdma/core/Pointer"
import * as ReturnConvention from "@effect-rdma/core/ReturnConvention"
import * as Effect from "effect/Effect"
import { existsSync } from "node:fs"
import type * as CaAttributes from "../CaAttributes.ts"
import * as CaName from "../CaName.ts"
import type * as PortAttributes from "../PortAttributes.ts"
import type { DeviceNodes, GotCa, Umad } from "../Umad.ts"
import { UmadError } from "../UmadError.ts"
import * as Codec from "./codec.ts"
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
  const getCasNames = library.bind("umad_get_cas_names", ["buffer", "int"], "int")
  const getCaDeviceList = library.bind("umad_get_ca_device_list", [], "pointer")
  const freeCaDeviceList = library.bind("umad_free_ca_device_list", ["pointer"], "void")
  const getCa = library.bind("umad_get_ca", ["string", "pointer"], "int")
  const releaseCa = library.bind("umad_release_ca", ["pointer"], "int")
  const getPort = library.bind("umad_get_port", ["string", "int", "pointer"], "int")
  const releasePort = library.bind("umad_release_port", ["pointer"], "int")
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
        ReturnConvention.negativeErrno(() => fill(struct), (errno) => errorOf(call, errno, input)).pipe(
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
    releasePort: (port) => release("umad_release_port", port, () => releasePort(port))
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

const inputOf = (caName: CaName.CaName | undefined) => caName === undefined ? {} : { caName }

const errorOf = (call: string, errno: number, input: UmadError["input"]): UmadError => {
  const name = Errno.nameOf(errno)
  const hint = name === undefined ? undefined : hints[name]
  return new UmadError({
    call,
    reason: NativeReason.fromErrno(errno),
    input,
    ...(hint === undefined ? undefined : { hint })
  })
}

const unavailable = ({ call, input, reason }: UmadError): UmadError =>
  new UmadError({
    call,
    reason: new NativeReason.RdmaUnavailable({ errno: reason.errno }),
    input,
    hint: "Load it with: modprobe ib_umad, and the driver of the adapter, such as mlx5_ib or rdma_rxe"
  })

const hints: { readonly [Name in Errno.ErrnoName]?: string } = {
  ENODEV: "No adapter fits the filter; ibstat -l lists them",
  ENOENT: "No adapter has that name; ibstat -l lists them",
  EIO: "No such adapter or port, or sysfs does not tell all of it; ibstat shows both"
}
