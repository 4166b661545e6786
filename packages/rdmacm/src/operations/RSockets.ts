/**
 * The part of the seam for rsockets: `rsocket(7)`, one member per C function.
 *
 * @since 0.1.0
 */
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as Effect from "effect/Effect"
import type * as NetAddress from "effect/net/NetAddress"
import type { RdmaCmError } from "../RdmaCmError.ts"
import type * as RSocketOption from "../RSocketOption.ts"

/**
 * The number of an rsocket, which stands for the struct behind it. It is no descriptor: C looks some numbers up without a
 * check, and one that is none of a live rsocket ends the process.
 *
 * @category models
 * @since 0.1.0
 */
export type RSocketNumber = Pointer.Pointer<"rsocket">

/**
 * The number of a set of rsockets that are watched together.
 *
 * @category models
 * @since 0.1.0
 */
export type PollNumber = Pointer.Pointer<"repoll">

/**
 * What can be done with an rsocket without waiting. `isHungUp` once the connection has ended, `isBroken` when it failed.
 *
 * @category models
 * @since 0.1.0
 */
export interface Readiness {
  readonly isReadable: boolean
  readonly isWritable: boolean
  readonly isHungUp: boolean
  readonly isBroken: boolean
}

/**
 * What somebody waits for.
 *
 * @category models
 * @since 0.1.0
 */
export type Wanted = "readable" | "writable"

/**
 * The operations. None waits but `awaitRSocket`, which uses no thread and can be interrupted, and those that are on a worker
 * thread and cannot: `rconnect`, `rlisten` and `raccept` for as long as other threads of librdmacm are busy, `rshutdown` and
 * `rclose` until the other host has what was sent, or its silence is taken for its end.
 *
 * `rconnect`, `raccept` and `rlisten` fail with `ENOSPC` on a library before rdma-core 53 whose threads have no room for more.
 *
 * `rsend`, `rrecv`, `riomap` and `riowrite` end the process on an rsocket that was never connected.
 *
 * @category models
 * @since 0.1.0
 */
export interface Operations {
  /** One for a stream, set to non-blocking. */
  readonly rsocket: (family: "ipv4" | "ipv6") => Effect.Effect<RSocketNumber, RdmaCmError>
  /** What is mapped on an rsocket must be unmapped before: else it never returns. */
  readonly rclose: (socket: RSocketNumber | PollNumber) => Effect.Effect<void, RdmaCmError>
  readonly rbind: (socket: RSocketNumber, address: NetAddress.InetAddress) => Effect.Effect<void, RdmaCmError>
  readonly rlisten: (socket: RSocketNumber, backlog: number) => Effect.Effect<void, RdmaCmError>
  /** Fails with `EAGAIN` when nobody has connected. What it gives is set to non-blocking. */
  readonly raccept: (listener: RSocketNumber) => Effect.Effect<RSocketNumber, RdmaCmError>
  /** Starts it. At its end the rsocket is writable, and its option `Error` tells what came of it. */
  readonly rconnect: (socket: RSocketNumber, address: NetAddress.InetAddress) => Effect.Effect<void, RdmaCmError>
  /** Cannot fail, since it does not wait. */
  readonly rpoll: (socket: RSocketNumber) => Effect.Effect<Readiness>
  /** Waits until the rsocket is as wanted, hung up or broken. */
  readonly awaitRSocket: (socket: RSocketNumber, wanted: Wanted) => Effect.Effect<void>
  /** Takes as many bytes as there is room for; `EAGAIN` when there is none. No bytes announce mappings alone. */
  readonly rsend: (socket: RSocketNumber, bytes: Uint8Array) => Effect.Effect<number, RdmaCmError>
  /** 0 at the end; `EAGAIN` when there is nothing yet. */
  readonly rrecv: (socket: RSocketNumber, into: Uint8Array) => Effect.Effect<number, RdmaCmError>
  readonly rshutdown: (socket: RSocketNumber, how: "receive" | "send" | "both") => Effect.Effect<void, RdmaCmError>
  readonly rgetsockname: (socket: RSocketNumber) => Effect.Effect<NetAddress.InetAddress | undefined, RdmaCmError>
  readonly rgetpeername: (socket: RSocketNumber) => Effect.Effect<NetAddress.InetAddress | undefined, RdmaCmError>
  readonly rgetsockopt: (socket: RSocketNumber, name: RSocketOption.Name) => Effect.Effect<number, RdmaCmError>
  readonly rsetsockopt: (
    socket: RSocketNumber,
    name: RSocketOption.RSocketOption["_tag"],
    value: number
  ) => Effect.Effect<void, RdmaCmError>

  /** Lets the other side write to memory, which must stay; gives the offset that it writes to. */
  readonly riomap: (
    socket: RSocketNumber,
    bytes: Uint8Array<ArrayBuffer>,
    offset: bigint | undefined
  ) => Effect.Effect<bigint, RdmaCmError>
  readonly riounmap: (socket: RSocketNumber, bytes: Uint8Array<ArrayBuffer>) => Effect.Effect<void, RdmaCmError>
  /**
   * Takes as many bytes as there is room for; 0 when the other side has mapped nothing there, `EAGAIN` when there is no room.
   * Bytes that go over the end of a mapping keep it busy for as long as the device is fast: the caller knows the length.
   */
  readonly riowrite: (socket: RSocketNumber, bytes: Uint8Array, offset: bigint) => Effect.Effect<number, RdmaCmError>

  readonly repollCreate: Effect.Effect<PollNumber, RdmaCmError>
  readonly repollCtl: (
    poll: PollNumber,
    change: "add" | "delete",
    socket: RSocketNumber,
    wanted: ReadonlyArray<Wanted>
  ) => Effect.Effect<void, RdmaCmError>
  /** Those of the set that are as wanted, hung up or broken; it does not wait. */
  readonly repollWait: (
    poll: PollNumber
  ) => Effect.Effect<ReadonlyArray<Readiness & { readonly socket: RSocketNumber }>, RdmaCmError>
}
