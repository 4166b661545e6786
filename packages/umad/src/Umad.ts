/**
 * The seam of libibumad: one member per C function, on raw pointers and plain values.
 *
 * Raw means without scopes, children or ledger. Programs use the scoped modules (`UmadLibrary`, `UmadPort`, `UmadCa`,
 * `CaDeviceList`); this is what a mock replaces, what the in-memory fabric implements, and what `layer` binds to the real
 * library.
 *
 * @since 0.1.0
 */
import type * as Guid from "@effect-rdma/core/Guid"
import type * as Identifier from "@effect-rdma/core/Identifier"
import type * as Library from "@effect-rdma/core/Library"
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as Brand from "effect/Brand"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as CaAttributes from "./CaAttributes.ts"
import type * as CaName from "./CaName.ts"
import * as Ffi from "./internal/ffi.ts"
import type * as MadAddress from "./MadAddress.ts"
import type * as PortAttributes from "./PortAttributes.ts"
import type { UmadError } from "./UmadError.ts"

/**
 * The linked list of `umad_get_ca_device_list`. No devices is no list: then there is nothing to free.
 *
 * @category models
 * @since 0.1.0
 */
export interface DeviceNodes {
  readonly list: Pointer.Pointer<"umad_device_node"> | undefined
  readonly names: ReadonlyArray<string>
}

/**
 * A filled `umad_ca_t` and its copy.
 *
 * @category models
 * @since 0.1.0
 */
export interface GotCa {
  readonly ca: Pointer.Pointer<"umad_ca">
  readonly attributes: CaAttributes.CaAttributes
}

/**
 * A filled `umad_port_t` and its copy.
 *
 * @category models
 * @since 0.1.0
 */
export interface GotPort {
  readonly port: Pointer.Pointer<"umad_port">
  readonly attributes: PortAttributes.PortAttributes
}

/**
 * An open port: the file descriptor that `umad_open_port` returns.
 *
 * @category models
 * @since 0.1.0
 */
export type PortId = number & Brand.Brand<"PortId">

/**
 * An agent of an open port: a number that the kernel gave it, below 32.
 *
 * @category models
 * @since 0.1.0
 */
export type AgentId = number & Brand.Brand<"AgentId">

/**
 * What an agent is registered for. Bit n of the mask, of 128, asks for the unsolicited MADs of method n; mask 0 is an agent
 * that only sends requests and gets their responses.
 *
 * @category models
 * @since 0.1.0
 */
export interface Registration {
  readonly mgmtClass: number
  readonly rmppVersion: number
  readonly methodMask: bigint
}

/**
 * What `umad_register2` takes: `oui` has 24 bits and is used for vendor classes alone, `flags` are
 * `UMAD_USER_RMPP`.
 *
 * @category models
 * @since 0.1.0
 */
export interface RegistrationAttributes extends Registration {
  readonly mgmtClassVersion: number
  readonly flags: number
  readonly oui: number
}

/**
 * A MAD to send: at least the 36 bytes of its headers, and no more than the buffer takes.
 *
 * @category models
 * @since 0.1.0
 */
export interface MadToSend {
  readonly address: MadAddress.MadAddress
  readonly mad: Uint8Array
}

/**
 * A MAD as it was received, copied. `status` is 0, or ETIMEDOUT when `mad` is a request of this process to which no
 * response came, cut down to its header.
 *
 * @category models
 * @since 0.1.0
 */
export interface ReceivedMad {
  readonly agentId: AgentId
  readonly status: number
  readonly address: MadAddress.MadAddress
  readonly mad: Uint8Array<ArrayBuffer>
}

/**
 * A message of several packets is longer than the buffer. It is kept; the buffer has to take `needed` bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface BufferTooSmall {
  readonly needed: number
}

/**
 * The two devices of one adapter whose SMI and GSI are apart: `struct umad_ca_pair`.
 *
 * @category models
 * @since 0.1.0
 */
export interface CaPair {
  readonly smiName: string
  readonly smiPreferredPort: number
  readonly gsiName: string
  readonly gsiPreferredPort: number
}

/**
 * The operations of libibumad. What reads sysfs blocks the JS thread for it, in the order of 100 µs; nothing waits in native
 * code.
 *
 * @category services
 * @since 0.1.0
 */
export class Umad extends Context.Service<Umad, {
  readonly init: Effect.Effect<void, UmadError>
  readonly done: Effect.Effect<void, UmadError>
  /** The level from now on; the library then writes what it does to standard error. */
  readonly debug: (level: number) => Effect.Effect<number>

  /** The adapters that exist: never the `mthca0` that libibumad invents when there is none. */
  readonly getCasNames: Effect.Effect<ReadonlyArray<string>, UmadError>
  readonly getCaDeviceList: Effect.Effect<DeviceNodes, UmadError>
  /** By name. The list has another head from then on; after a failure it is as it was. */
  readonly sortCaDeviceList: (list: Pointer.Pointer<"umad_device_node">) => Effect.Effect<DeviceNodes, UmadError>
  readonly freeCaDeviceList: (list: Pointer.Pointer<"umad_device_node">) => Effect.Effect<void>
  /** No name: the first adapter with an active port, else the first with any port. */
  readonly getCa: (
    caName: CaName.CaName | undefined
  ) => Effect.Effect<GotCa, UmadError>
  readonly releaseCa: (ca: Pointer.Pointer<"umad_ca">) => Effect.Effect<void, UmadError>
  /** The index is the port number: that of port 0, which a switch alone has, and of a port that is not there are 0. */
  readonly getCaPortguids: (
    caName: CaName.CaName | undefined
  ) => Effect.Effect<ReadonlyArray<Guid.Guid>, UmadError>
  /**
   * The ports that an adapter has, whether they can be read or not. It is no function of libibumad, whose `umad_get_ca`
   * gives up on all ports when it cannot read one, or when there are more than it has room for.
   */
  readonly getPortNumbers: (
    caName: string
  ) => Effect.Effect<ReadonlyArray<Identifier.AnyPortNumber>, UmadError>
  /** No name is any adapter, port 0 any port, each a filter on the other: an active port first, else the first. */
  readonly getPort: (
    caName: CaName.CaName | undefined,
    portNum: Identifier.AnyPortNumber
  ) => Effect.Effect<GotPort, UmadError>
  readonly releasePort: (port: Pointer.Pointer<"umad_port">) => Effect.Effect<void, UmadError>
  /** The device node that makes the port one with a subnet manager for as long as it is open. */
  readonly getIssmPath: (
    caName: CaName.CaName | undefined,
    portNum: Identifier.AnyPortNumber
  ) => Effect.Effect<string, UmadError>
  /** EOPNOTSUPP before libibumad of rdma-core 56. */
  readonly getSmiGsiPairs: Effect.Effect<ReadonlyArray<CaPair>, UmadError>
  /** EOPNOTSUPP before libibumad of rdma-core 56. */
  readonly getSmiGsiPairByCaName: (
    caName: CaName.CaName,
    portNum: Identifier.AnyPortNumber,
    enforceSmi: boolean
  ) => Effect.Effect<CaPair, UmadError>

  /** Chooses as {@link getPort} does. The descriptor does not block, and has the ABI with P_Key indexes. */
  readonly openPort: (
    caName: CaName.CaName | undefined,
    portNum: Identifier.AnyPortNumber
  ) => Effect.Effect<PortId, UmadError>
  /** EOPNOTSUPP before libibumad of rdma-core 53. */
  readonly openSmiPort: (
    caName: CaName.CaName | undefined,
    portNum: Identifier.AnyPortNumber
  ) => Effect.Effect<PortId, UmadError>
  readonly closePort: (portId: PortId) => Effect.Effect<void, UmadError>
  readonly getFd: (portId: PortId) => Effect.Effect<number>

  /** On QP0 for subnet management, else on QP1. A vendor class gets the OUI of OpenIB. */
  readonly register: (
    portId: PortId,
    registration: Registration & { readonly mgmtVersion: number }
  ) => Effect.Effect<AgentId, UmadError>
  /** For the vendor classes 0x30 to 0x4f, on QP1, class version 1. */
  readonly registerOui: (
    portId: PortId,
    registration: Registration & { readonly oui: number }
  ) => Effect.Effect<AgentId, UmadError>
  readonly register2: (portId: PortId, attributes: RegistrationAttributes) => Effect.Effect<AgentId, UmadError>
  readonly unregister: (portId: PortId, agentId: AgentId) => Effect.Effect<void, UmadError>

  /** A zeroed buffer for a MAD of `length` bytes behind its header. */
  readonly alloc: (length: number) => Effect.Effect<Pointer.Pointer<"ib_user_mad">, UmadError>
  readonly free: (buffer: Pointer.Pointer<"ib_user_mad">) => Effect.Effect<void>
  /** To standard error. */
  readonly dump: (buffer: Pointer.Pointer<"ib_user_mad">) => Effect.Effect<void>
  /** To standard error. */
  readonly addrDump: (buffer: Pointer.Pointer<"ib_user_mad">) => Effect.Effect<void>

  /**
   * Fills in the buffer, which must take the MAD, and sends it. With a `timeoutMs` above 0 a response is awaited, and the
   * MAD is sent `retries` times more; without one, the kernel drops any response. The kernel writes a number of the agent
   * into the upper half of the transaction id of a request.
   */
  readonly send: (
    portId: PortId,
    agentId: AgentId,
    buffer: Pointer.Pointer<"ib_user_mad">,
    mad: MadToSend,
    timeoutMs: number,
    retries: number
  ) => Effect.Effect<void, UmadError>
  /** The next MAD of any agent, into the buffer, which takes `length` bytes, 256 at least. EAGAIN when there is none. */
  readonly recv: (
    portId: PortId,
    buffer: Pointer.Pointer<"ib_user_mad">,
    length: number
  ) => Effect.Effect<ReceivedMad | BufferTooSmall, UmadError>
  /** Whether a MAD is there: `umad_poll` without waiting. */
  readonly poll: (portId: PortId) => Effect.Effect<boolean, UmadError>
  /** Waits until a MAD is there, without a thread. */
  readonly awaitMad: (portId: PortId) => Effect.Effect<void, UmadError>
}>()("@effect-rdma/umad/Umad") {
  /** The host's libibumad. Building it loads the library; it fails when none can be found, or one that
   * lacks a function. */
  static readonly layer: Layer.Layer<Umad, Library.LibraryNotFound | Library.SymbolNotFound> = Layer.effect(
    Umad,
    Ffi.make({})
  )

  /** {@link layer} with the path of the library instead of `EFFECT_RDMA_LIBIBUMAD` or `libibumad.so.3`. */
  static readonly layerFromPath = (path: string): Layer.Layer<Umad, Library.LibraryNotFound | Library.SymbolNotFound> =>
    Layer.effect(Umad, Ffi.make({ path }))
}
