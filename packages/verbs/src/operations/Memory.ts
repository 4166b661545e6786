/**
 * The part of the seam of libibverbs for memory: regions, windows, device memory, buffers, and what is imported from
 * another context of the same device file.
 *
 * @since 0.1.0
 */
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as Effect from "effect/Effect"
import type * as AccessFlags from "../AccessFlags.ts"
import type { VerbsError } from "../VerbsError.ts"

/**
 * What `struct ibv_mr` says of a region: its number in the kernel, its keys, where it begins and its length.
 *
 * @category models
 * @since 0.1.0
 */
export interface Registration {
  readonly mr: Pointer.Pointer<"ibv_mr">
  readonly handle: number
  readonly lkey: number
  readonly rkey: number
  readonly addr: bigint
  readonly length: bigint
}

/**
 * `struct ibv_mr_init_attr`: a field that is there has its bit in the mask.
 *
 * @category models
 * @since 0.1.0
 */
export interface RegionAttributes {
  readonly length: bigint
  readonly access: AccessFlags.AccessFlags
  readonly iova?: bigint
  readonly bytes?: Uint8Array<ArrayBuffer>
  readonly fd?: number
  readonly fdOffset?: bigint
  readonly dmah?: Pointer.Pointer<"ibv_dmah">
  readonly buf?: Pointer.Pointer<"ibv_buf">
}

/**
 * A piece of a region, as `struct ibv_sge`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Piece {
  readonly addr: bigint
  readonly length: number
  readonly lkey: number
}

/**
 * How a processor wants the device to place what it writes: `struct ibv_dmah_init_attr`, each with its bit in the mask.
 *
 * @category models
 * @since 0.1.0
 */
export interface DmaHandleHints {
  readonly cpuId?: number
  readonly ph?: number
  readonly tphMemType?: "volatile" | "persistent"
}

/**
 * `struct ibv_mw_bind`: what a window of type 1 is bound to, and how that is posted. The region is there for length 0 too,
 * which unbinds: not every provider looks before it follows a NULL.
 *
 * @category models
 * @since 0.1.0
 */
export interface Binding {
  readonly wrId: bigint
  readonly flags: ReadonlyArray<"fence" | "signaled">
  readonly mr: Pointer.Pointer<"ibv_mr">
  readonly addr: bigint
  readonly length: bigint
  readonly access: AccessFlags.AccessFlags
}

/**
 * Memory that devices work on. `bytes` are lent until the region is deregistered: they must stay in place and alive.
 *
 * @category services
 * @since 0.1.0
 */
export interface Operations {
  readonly regMr: (
    pd: Pointer.Pointer<"ibv_pd">,
    bytes: Uint8Array<ArrayBuffer>,
    access: AccessFlags.AccessFlags
  ) => Effect.Effect<Registration, VerbsError>
  readonly regMrIova: (
    pd: Pointer.Pointer<"ibv_pd">,
    bytes: Uint8Array<ArrayBuffer>,
    iova: bigint,
    access: AccessFlags.AccessFlags
  ) => Effect.Effect<Registration, VerbsError>
  readonly regDmabufMr: (
    pd: Pointer.Pointer<"ibv_pd">,
    dmabuf: { readonly offset: bigint; readonly length: bigint; readonly iova: bigint; readonly fd: number },
    access: AccessFlags.AccessFlags
  ) => Effect.Effect<Registration, VerbsError>
  readonly regDmMr: (
    pd: Pointer.Pointer<"ibv_pd">,
    dm: Pointer.Pointer<"ibv_dm">,
    part: { readonly offset: bigint; readonly length: bigint },
    access: AccessFlags.AccessFlags
  ) => Effect.Effect<Registration, VerbsError>
  readonly allocNullMr: (pd: Pointer.Pointer<"ibv_pd">) => Effect.Effect<Registration, VerbsError>
  readonly regMrEx: (
    pd: Pointer.Pointer<"ibv_pd">,
    attributes: RegionAttributes
  ) => Effect.Effect<Registration, VerbsError>
  readonly regBufMr: (
    pd: Pointer.Pointer<"ibv_pd">,
    buf: Pointer.Pointer<"ibv_buf">,
    bytes: Uint8Array<ArrayBuffer>,
    access: AccessFlags.AccessFlags
  ) => Effect.Effect<Registration, VerbsError>
  /**
   * Changes what is given. The input of an error has the name of the negative result as `code`: the C function tells by
   * it whether the region is still what it was.
   */
  readonly reregMr: (
    mr: Pointer.Pointer<"ibv_mr">,
    changes: {
      readonly pd?: Pointer.Pointer<"ibv_pd">
      readonly bytes?: Uint8Array<ArrayBuffer>
      readonly access?: AccessFlags.AccessFlags
    }
  ) => Effect.Effect<Registration, VerbsError>
  readonly deregMr: (mr: Pointer.Pointer<"ibv_mr">) => Effect.Effect<void, VerbsError>
  readonly adviseMr: (
    pd: Pointer.Pointer<"ibv_pd">,
    advice: "prefetch" | "prefetchWrite" | "prefetchNoFault",
    flush: boolean,
    pieces: ReadonlyArray<Piece>
  ) => Effect.Effect<void, VerbsError>

  readonly allocMw: (
    pd: Pointer.Pointer<"ibv_pd">,
    type: 1 | 2
  ) => Effect.Effect<
    { readonly mw: Pointer.Pointer<"ibv_mw">; readonly handle: number; readonly rkey: number },
    VerbsError
  >
  /** Gives the `rkey` that the window has once the request has completed. */
  readonly bindMw: (
    qp: Pointer.Pointer<"ibv_qp">,
    mw: Pointer.Pointer<"ibv_mw">,
    binding: Binding
  ) => Effect.Effect<number, VerbsError>
  readonly deallocMw: (mw: Pointer.Pointer<"ibv_mw">) => Effect.Effect<void, VerbsError>

  readonly allocDm: (
    context: Pointer.Pointer<"ibv_context">,
    attributes: { readonly length: bigint; readonly logAlignReq: number }
  ) => Effect.Effect<{ readonly dm: Pointer.Pointer<"ibv_dm">; readonly handle: number }, VerbsError>
  readonly freeDm: (dm: Pointer.Pointer<"ibv_dm">) => Effect.Effect<void, VerbsError>
  readonly memcpyToDm: (
    dm: Pointer.Pointer<"ibv_dm">,
    offset: bigint,
    bytes: Uint8Array
  ) => Effect.Effect<void, VerbsError>
  readonly memcpyFromDm: (
    dm: Pointer.Pointer<"ibv_dm">,
    offset: bigint,
    length: number
  ) => Effect.Effect<Uint8Array<ArrayBuffer>, VerbsError>
  readonly dmExportDmabufFd: (dm: Pointer.Pointer<"ibv_dm">) => Effect.Effect<number, VerbsError>

  readonly allocDmah: (
    context: Pointer.Pointer<"ibv_context">,
    hints: DmaHandleHints
  ) => Effect.Effect<Pointer.Pointer<"ibv_dmah">, VerbsError>
  readonly deallocDmah: (dmah: Pointer.Pointer<"ibv_dmah">) => Effect.Effect<void, VerbsError>

  /** The `bytes` are the library's own mapping, valid until `freeBuf`. */
  readonly allocBuf: (
    pd: Pointer.Pointer<"ibv_pd">,
    size: number
  ) => Effect.Effect<
    { readonly buf: Pointer.Pointer<"ibv_buf">; readonly bytes: Uint8Array<ArrayBuffer> },
    VerbsError
  >
  readonly freeBuf: (buf: Pointer.Pointer<"ibv_buf">) => Effect.Effect<void>
  readonly exportBufDmabufFd: (buf: Pointer.Pointer<"ibv_buf">) => Effect.Effect<number, VerbsError>
  /** The platform's `close(2)`, for the descriptors of the exports. */
  readonly closeFd: (fd: number) => Effect.Effect<void, VerbsError>

  /** The library gets a duplicate of the descriptor; the given one stays the caller's. */
  readonly importDevice: (cmdFd: number) => Effect.Effect<Pointer.Pointer<"ibv_context">, VerbsError>
  /** `cmd_fd` of the context: what `importDevice` takes. It belongs to the library. */
  readonly getCmdFd: (context: Pointer.Pointer<"ibv_context">) => Effect.Effect<number>
  readonly importPd: (
    context: Pointer.Pointer<"ibv_context">,
    handle: number
  ) => Effect.Effect<Pointer.Pointer<"ibv_pd">, VerbsError>
  readonly unimportPd: (pd: Pointer.Pointer<"ibv_pd">) => Effect.Effect<void>
  /** `handle` of the domain: what `importPd` takes. */
  readonly getPdHandle: (pd: Pointer.Pointer<"ibv_pd">) => Effect.Effect<number>
  readonly importMr: (pd: Pointer.Pointer<"ibv_pd">, handle: number) => Effect.Effect<Registration, VerbsError>
  readonly unimportMr: (mr: Pointer.Pointer<"ibv_mr">) => Effect.Effect<void>
  readonly importDm: (
    context: Pointer.Pointer<"ibv_context">,
    handle: number
  ) => Effect.Effect<{ readonly dm: Pointer.Pointer<"ibv_dm">; readonly handle: number }, VerbsError>
  readonly unimportDm: (dm: Pointer.Pointer<"ibv_dm">) => Effect.Effect<void>
}
