/**
 * Contexts, domains, regions and device memory that another context of the same device file made, on the real library.
 *
 * @since 0.1.0
 */
import * as Library from "@effect-rdma/core/Library"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as ReturnConvention from "@effect-rdma/core/ReturnConvention"
import * as Effect from "effect/Effect"
import { closeSync, fstatSync } from "node:fs"
import type * as Memory from "../../operations/Memory.ts"
import type { VerbsError } from "../../VerbsError.ts"
import * as DeviceLayout from "../DeviceLayout.ts"
import * as DomainLayout from "../DomainLayout.ts"
import * as MemoryCodec from "../memoryCodec.ts"
import * as MemoryLayout from "../MemoryLayout.ts"
import { errorOf, unsupported } from "./error.ts"

type Importing = Pick<
  Memory.Operations,
  | "importDevice"
  | "getCmdFd"
  | "importPd"
  | "unimportPd"
  | "getPdHandle"
  | "importMr"
  | "unimportMr"
  | "importDm"
  | "unimportDm"
>

export const make = (library: Library.Library): Importing => {
  const importDevice = library.bindOptional("ibv_import_device", ["int"], "pointer")
  const importPd = library.bindOptional("ibv_import_pd", ["pointer", "u32"], "pointer")
  const unimportPd = library.bindOptional("ibv_unimport_pd", ["pointer"], "void")
  const importMr = library.bindOptional("ibv_import_mr", ["pointer", "u32"], "pointer")
  const unimportMr = library.bindOptional("ibv_unimport_mr", ["pointer"], "void")
  const importDm = library.bindOptional("ibv_import_dm", ["pointer", "u32"], "pointer")
  const unimportDm = library.bindOptional("ibv_unimport_dm", ["pointer"], "void")

  return {
    importDevice: (cmdFd) =>
      importDevice === undefined
        ? Effect.fail(unsupported("ibv_import_device", "EOPNOTSUPP"))
        : Effect.flatMap(duplicate(cmdFd), (fd) => {
          const file = fileOf(fd)
          return Effect.tapError(
            ReturnConvention.pointerOrErrno<"ibv_context", VerbsError>(
              () => importDevice(fd),
              (errno) => errorOf("ibv_import_device", errno, { cmdFd })
            ),
            // A provider that fails may have closed it or not.
            () =>
              Effect.sync(() => {
                if (fileOf(fd) === file) closeSync(fd)
              })
          )
        }),
    getCmdFd: (context) =>
      Effect.sync(() => DeviceLayout.Context.get("cmdFd", NativeMemory.view(context, DeviceLayout.Context.size))),
    importPd: (context, handle) =>
      importPd === undefined
        ? Effect.fail(unsupported("ibv_import_pd", "EOPNOTSUPP"))
        : ReturnConvention.pointerOrErrno(
          () => importPd(context, handle),
          (errno) => errorOf("ibv_import_pd", errno, { handle })
        ),
    unimportPd: (pd) => Effect.sync(() => unimportPd?.(pd)),
    getPdHandle: (pd) => Effect.sync(() => DomainLayout.Pd.get("handle", NativeMemory.view(pd, DomainLayout.Pd.size))),
    importMr: (pd, handle) =>
      importMr === undefined
        ? Effect.fail(unsupported("ibv_import_mr", "EOPNOTSUPP"))
        : Effect.map(
          ReturnConvention.pointerOrErrno<"ibv_mr", VerbsError>(
            () => importMr(pd, handle),
            (errno) => errorOf("ibv_import_mr", errno, { handle })
          ),
          MemoryCodec.readRegistration
        ),
    unimportMr: (mr) => Effect.sync(() => unimportMr?.(mr)),
    importDm: (context, handle) =>
      importDm === undefined
        ? Effect.fail(unsupported("ibv_import_dm", "EOPNOTSUPP"))
        : Effect.map(
          ReturnConvention.pointerOrErrno<"ibv_dm", VerbsError>(
            () => importDm(context, handle),
            (errno) => errorOf("ibv_import_dm", errno, { handle })
          ),
          (dm) => ({ dm, handle: MemoryLayout.Dm.get("handle", NativeMemory.view(dm, MemoryLayout.Dm.size)) })
        ),
    unimportDm: (dm) => Effect.sync(() => unimportDm?.(dm))
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const F_DUPFD_CLOEXEC = 1030

const duplicate = (fd: number): Effect.Effect<number, VerbsError> =>
  Effect.suspend(() => {
    const fcntl = Library.fromProcess().bind("fcntl", ["int", "int", "int"], "int")
    return ReturnConvention.minusOneErrno(
      () => fcntl(fd, F_DUPFD_CLOEXEC, 0),
      (errno) => errorOf("ibv_import_device", errno, { cmdFd: fd }, "The descriptor cannot be duplicated")
    )
  })

/** Which file a descriptor is of; `undefined` when it is closed. */
const fileOf = (fd: number): string | undefined => {
  try {
    const { dev, ino, rdev } = fstatSync(fd, { bigint: true })
    return `${dev}:${ino}:${rdev}`
  } catch {
    return undefined
  }
}
