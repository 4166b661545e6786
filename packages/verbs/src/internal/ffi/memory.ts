/**
 * Memory regions, windows, device memory and buffers on the real library.
 *
 * @since 0.1.0
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as Library from "@effect-rdma/core/Library"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as Pointer from "@effect-rdma/core/Pointer"
import * as ReturnConvention from "@effect-rdma/core/ReturnConvention"
import * as Effect from "effect/Effect"
import { closeSync } from "node:fs"
import * as AccessFlags from "../../AccessFlags.ts"
import type * as Memory from "../../operations/Memory.ts"
import type { VerbsError } from "../../VerbsError.ts"
import * as ContextOps from "../contextOps.ts"
import * as DeviceLayout from "../DeviceLayout.ts"
import * as LockedMemory from "../lockedMemory.ts"
import * as MemoryCodec from "../memoryCodec.ts"
import * as MemoryLayout from "../MemoryLayout.ts"
import { errorOf, unsupported } from "./error.ts"
import * as Importing from "./importing.ts"

export const make = (library: Library.Library): Memory.Operations => {
  const regMr = library.bind("ibv_reg_mr", ["pointer", "pointer", "size", "int"], "pointer")
  const regMrIova = library.bindOptional("ibv_reg_mr_iova", ["pointer", "pointer", "size", "u64", "int"], "pointer")
  const regMrIova2 = library.bindOptional("ibv_reg_mr_iova2", ["pointer", "pointer", "size", "u64", "uint"], "pointer")
  const regDmabufMr = library.bindOptional(
    "ibv_reg_dmabuf_mr",
    ["pointer", "u64", "u64", "u64", "int", "int"],
    "pointer"
  )
  const reregMr = library.bind("ibv_rereg_mr", ["pointer", "int", "pointer", "pointer", "size", "int"], "int")
  const deregMr = library.bind("ibv_dereg_mr", ["pointer"], "int")
  const regMrEx = library.bindOptional("ibv_reg_mr_ex", ["pointer", "buffer"], "pointer")
  const regBufMr = library.bindOptional("ibv_reg_buf_mr", ["pointer", "pointer", "pointer", "size", "int"], "pointer")
  const dmExport = library.bindOptional("ibv_dm_export_dmabuf_fd", ["pointer"], "int")
  const allocDmah = library.bindOptional("ibv_alloc_dmah", ["pointer", "buffer"], "pointer")
  const deallocDmah = library.bindOptional("ibv_dealloc_dmah", ["pointer"], "int")
  const allocBuf = library.bindOptional("ibv_alloc_buf", ["pointer", "size", "buffer"], "pointer")
  const freeBuf = library.bindOptional("ibv_free_buf", ["pointer"], "void")
  const bufExport = library.bindOptional("ibv_export_buf_dmabuf_fd", ["pointer"], "int")

  return {
    ...Importing.make(library),
    regMr: (pd, bytes, access) =>
      registering("ibv_reg_mr", bytes, access, (address) =>
        // The macro of C takes ibv_reg_mr_iova2 when it must; before version 32 the exported ibv_reg_mr passes optional
        // flags to kernels that do not know them.
        regMrIova2 === undefined
          ? regMr(pd, address, bytes.length, AccessFlags.toNative(access))
          : regMrIova2(pd, address, bytes.length, address, AccessFlags.toNative(access))),
    regMrIova: (pd, bytes, iova, access) => {
      const call = regMrIova2 ?? regMrIova
      return call === undefined
        ? Effect.fail(unsupported("ibv_reg_mr_iova", "EOPNOTSUPP"))
        : registering(
          "ibv_reg_mr_iova",
          bytes,
          access,
          (address) => call(pd, address, bytes.length, iova, AccessFlags.toNative(access)),
          { iova }
        )
    },
    regDmabufMr: (pd, { fd, iova, length, offset }, access) =>
      regDmabufMr === undefined
        ? Effect.fail(unsupported("ibv_reg_dmabuf_mr", "EOPNOTSUPP"))
        : region(
          "ibv_reg_dmabuf_mr",
          { fd, offset, length, access: access.join(" ") },
          () => regDmabufMr(pd, offset, length, iova, fd, AccessFlags.toNative(access)),
          length
        ),
    regDmMr: (pd, dm, { length, offset }, access) =>
      op(
        pd,
        DeviceLayout.contextOps.regDmMr,
        "ibv_reg_dm_mr",
        (address) =>
          region("ibv_reg_dm_mr", { offset, length, access: access.join(" ") }, () =>
            Library.fromAddress(address, ["pointer", "pointer", "u64", "u64", "uint"], "pointer")(
              pd,
              dm,
              offset,
              length,
              AccessFlags.toNative(access)
            ))
      ),
    allocNullMr: (pd) =>
      op(
        pd,
        DeviceLayout.contextOps.allocNullMr,
        "ibv_alloc_null_mr",
        (address) => region("ibv_alloc_null_mr", {}, () => Library.fromAddress(address, ["pointer"], "pointer")(pd))
      ),
    regMrEx: (pd, attributes) =>
      regMrEx === undefined
        ? Effect.fail(unsupported("ibv_reg_mr_ex", "EOPNOTSUPP"))
        : region(
          "ibv_reg_mr_ex",
          { length: attributes.length, access: attributes.access.join(" ") },
          () => regMrEx(pd, MemoryCodec.encodeRegionAttributes(attributes)),
          attributes.length
        ),
    regBufMr: (pd, buf, bytes, access) =>
      regBufMr === undefined
        ? Effect.fail(unsupported("ibv_reg_buf_mr", "EOPNOTSUPP"))
        : registering(
          "ibv_reg_buf_mr",
          bytes,
          access,
          (address) => regBufMr(pd, buf, address, bytes.length, AccessFlags.toNative(access))
        ),
    reregMr: (mr, { access, bytes, pd }) =>
      Effect.suspend(() =>
        Effect.map(
          ReturnConvention.negativeErrno(
            () =>
              reregMr(
                mr,
                MemoryCodec.reregFlags({ access, bytes, pd }),
                pd ?? null,
                bytes === undefined ? null : NativeMemory.addressOf(bytes),
                bytes?.length ?? 0,
                access === undefined ? 0 : AccessFlags.toNative(access)
              ),
            (code, errno) => errorOf("ibv_rereg_mr", errno, { code: MemoryCodec.reregCode(code) })
          ),
          () => MemoryCodec.readRegistration(mr)
        )
      ),
    deregMr: (mr) => ReturnConvention.returnedErrno(() => deregMr(mr), (errno) => errorOf("ibv_dereg_mr", errno)),
    adviseMr: (pd, advice, flush, pieces) =>
      op(pd, DeviceLayout.contextOps.adviseMr, "ibv_advise_mr", (address) =>
        ReturnConvention.returnedErrno(
          () =>
            Library.fromAddress(address, ["pointer", "int", "u32", "buffer", "u32"], "int")(
              pd,
              MemoryCodec.advices[advice],
              flush ? MemoryCodec.adviseFlush : 0,
              MemoryCodec.encodePieces(pieces),
              pieces.length
            ),
          (errno) => errorOf("ibv_advise_mr", errno, { advice })
        )),

    allocMw: (pd, type) =>
      slot(pd, "allocMw", "ibv_alloc_mw", (address) =>
        Effect.map(
          ReturnConvention.pointerOrErrno<"ibv_mw", VerbsError>(
            () => Library.fromAddress(address, ["pointer", "int"], "pointer")(pd, type),
            (errno) => errorOf("ibv_alloc_mw", errno, { type })
          ),
          (mw) => {
            const { handle, rkey } = MemoryLayout.Mw.read(NativeMemory.view(mw, MemoryLayout.Mw.size))
            return { mw, handle, rkey }
          }
        )),
    bindMw: (qp, mw, binding) =>
      slot(mw, "bindMw", "ibv_bind_mw", (address) => {
        const input = { addr: binding.addr, length: binding.length, access: binding.access.join(" ") }
        const { pd, type } = MemoryLayout.Mw.read(NativeMemory.view(mw, MemoryLayout.Mw.size))
        // The inline function of the header looks at these before it calls the provider.
        if (type !== 1) return Effect.fail(errorOf("ibv_bind_mw", Errno.numberOf("EINVAL"), { ...input, type }))
        if (MemoryLayout.Mr.get("pd", NativeMemory.view(binding.mr, MemoryLayout.Mr.size)) !== pd) {
          return Effect.fail(errorOf("ibv_bind_mw", Errno.numberOf("EPERM"), input))
        }
        return Effect.map(
          ReturnConvention.returnedErrno(
            () =>
              Library.fromAddress(address, ["pointer", "pointer", "buffer"], "int")(
                qp,
                mw,
                MemoryCodec.encodeBinding(binding)
              ),
            (errno) => errorOf("ibv_bind_mw", errno, input)
          ),
          () => MemoryLayout.Mw.get("rkey", NativeMemory.view(mw, MemoryLayout.Mw.size))
        )
      }),
    deallocMw: (mw) =>
      slot(mw, "deallocMw", "ibv_dealloc_mw", (address) =>
        ReturnConvention.returnedErrno(
          () => Library.fromAddress(address, ["pointer"], "int")(mw),
          (errno) => errorOf("ibv_dealloc_mw", errno)
        )),

    allocDm: (context, attributes) =>
      Effect.suspend(() => {
        const address = ContextOps.addressOf(context, DeviceLayout.contextOps.allocDm)
        if (address === 0n) return Effect.fail(unsupported("ibv_alloc_dm", "EOPNOTSUPP"))
        const view = MemoryLayout.AllocDmAttr.allocate()
        MemoryLayout.AllocDmAttr.write(view, attributes)
        return Effect.map(
          ReturnConvention.pointerOrErrno<"ibv_dm", VerbsError>(
            () => Library.fromAddress(address, ["pointer", "buffer"], "pointer")(context, view),
            (errno) => errorOf("ibv_alloc_dm", errno, attributes)
          ),
          (dm) => ({ dm, handle: readDm(dm).handle })
        )
      }),
    freeDm: (dm) =>
      op(dm, DeviceLayout.contextOps.freeDm, "ibv_free_dm", (address) =>
        ReturnConvention.returnedErrno(
          () => Library.fromAddress(address, ["pointer"], "int")(dm),
          (errno) => errorOf("ibv_free_dm", errno)
        )),
    memcpyToDm: (dm, offset, bytes) =>
      Effect.suspend(() => {
        const { memcpyToDm } = readDm(dm)
        return memcpyToDm === 0n
          ? Effect.fail(unsupported("ibv_memcpy_to_dm", "EOPNOTSUPP"))
          : ReturnConvention.returnedErrno(
            () =>
              Library.fromAddress(memcpyToDm, ["pointer", "u64", "buffer", "size"], "int")(
                dm,
                offset,
                bytes,
                bytes.length
              ),
            (errno) => errorOf("ibv_memcpy_to_dm", errno, { offset, length: bytes.length })
          )
      }),
    memcpyFromDm: (dm, offset, length) =>
      Effect.suspend(() => {
        const { memcpyFromDm } = readDm(dm)
        if (memcpyFromDm === 0n) return Effect.fail(unsupported("ibv_memcpy_from_dm", "EOPNOTSUPP"))
        const bytes = new Uint8Array(length)
        return Effect.as(
          ReturnConvention.returnedErrno(
            () =>
              Library.fromAddress(memcpyFromDm, ["buffer", "pointer", "u64", "size"], "int")(bytes, dm, offset, length),
            (errno) => errorOf("ibv_memcpy_from_dm", errno, { offset, length })
          ),
          bytes
        )
      }),
    dmExportDmabufFd: (dm) => exported("ibv_dm_export_dmabuf_fd", dmExport, dm),

    allocDmah: (context, hints) =>
      allocDmah === undefined
        ? Effect.fail(unsupported("ibv_alloc_dmah", "EOPNOTSUPP"))
        : ReturnConvention.pointerOrErrno(
          () => allocDmah(context, MemoryCodec.encodeDmaHandleHints(hints)),
          (errno) => errorOf("ibv_alloc_dmah", errno, { ...hints })
        ),
    deallocDmah: (dmah) =>
      deallocDmah === undefined
        ? Effect.fail(unsupported("ibv_dealloc_dmah", "EOPNOTSUPP"))
        : ReturnConvention.returnedErrno(() => deallocDmah(dmah), (errno) => errorOf("ibv_dealloc_dmah", errno)),

    allocBuf: (pd, size) =>
      Effect.suspend(() => {
        if (allocBuf === undefined) return Effect.fail(unsupported("ibv_alloc_buf", "EOPNOTSUPP"))
        const out = new DataView(new ArrayBuffer(8))
        return Effect.map(
          ReturnConvention.pointerOrErrno<"void", VerbsError>(
            () => allocBuf(pd, size, out),
            (errno) => errorOf("ibv_alloc_buf", errno, { size })
          ),
          (address) => {
            const buf = Pointer.make<"ibv_buf">(out.getBigUint64(0, true))
            try {
              return { buf, bytes: new Uint8Array(NativeMemory.view(address, size).buffer) }
            } catch (thrown) {
              freeBuf?.(buf)
              throw thrown
            }
          }
        )
      }),
    freeBuf: (buf) => Effect.sync(() => freeBuf?.(buf)),
    exportBufDmabufFd: (buf) => exported("ibv_export_buf_dmabuf_fd", bufExport, buf),
    closeFd: (fd) =>
      Effect.suspend(() => {
        try {
          closeSync(fd)
          return Effect.void
        } catch (cause) {
          const errno = cause instanceof Error && "errno" in cause && typeof cause.errno === "number" ? -cause.errno : 0
          return Effect.fail(errorOf("close", errno, { fd }))
        }
      })
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** A call that makes a region. With `pinned` bytes, `ENOMEM` and `EPERM` tell of the limit of locked memory. */
const region = (
  call: string,
  input: VerbsError["input"],
  make: () => bigint | null,
  pinned?: bigint
): Effect.Effect<Memory.Registration, VerbsError> =>
  Effect.map(
    ReturnConvention.pointerOrErrno<"ibv_mr", VerbsError>(make, (errno) => {
      const error = errorOf(call, errno, input)
      const hint = pinned === undefined ? undefined : LockedMemory.hint(error.reason._tag, pinned)
      return hint === undefined ? error : errorOf(call, errno, input, hint)
    }),
    MemoryCodec.readRegistration
  )

const registering = (
  call: string,
  bytes: Uint8Array<ArrayBuffer>,
  access: AccessFlags.AccessFlags,
  make: (address: bigint) => bigint | null,
  input: VerbsError["input"] = {}
): Effect.Effect<Memory.Registration, VerbsError> =>
  Effect.suspend(() =>
    region(
      call,
      { length: bytes.length, access: access.join(" "), ...input },
      () => make(NativeMemory.addressOf(bytes)),
      BigInt(bytes.length)
    )
  )

// A domain, a window and device memory all start with the context that they are of.
const contextOf = (object: bigint): bigint => NativeMemory.view(object, 8).getBigUint64(0, true)

/** Runs a call through an operation below the context of an object. */
const op = <A>(
  object: bigint,
  place: { readonly below: number },
  call: string,
  run: (address: bigint) => Effect.Effect<A, VerbsError>
): Effect.Effect<A, VerbsError> =>
  Effect.suspend(() => {
    const address = ContextOps.addressOf(contextOf(object), place)
    return address === 0n ? Effect.fail(unsupported(call, "EOPNOTSUPP")) : run(address)
  })

/** Runs a call through an operation inside the context of an object. */
const slot = <A>(
  object: bigint,
  name: "allocMw" | "bindMw" | "deallocMw",
  call: string,
  run: (address: bigint) => Effect.Effect<A, VerbsError>
): Effect.Effect<A, VerbsError> =>
  Effect.suspend(() => {
    const address = DeviceLayout.Context.get(name, NativeMemory.view(contextOf(object), DeviceLayout.Context.size))
    return address === 0n ? Effect.fail(unsupported(call, "EOPNOTSUPP")) : run(address)
  })

const readDm = (dm: bigint) => MemoryLayout.Dm.read(NativeMemory.view(dm, MemoryLayout.Dm.size))

const exported = (
  call: string,
  run: Library.NativeFunction<["pointer"], "int"> | undefined,
  object: bigint
): Effect.Effect<number, VerbsError> =>
  run === undefined
    ? Effect.fail(unsupported(call, "EOPNOTSUPP"))
    : ReturnConvention.minusOneErrno(() => run(object), (errno) => errorOf(call, errno))
