/**
 * A port of a channel adapter: what sysfs tells of it, `umad_get_port(3)` and `umad_release_port`, and the port open for
 * MADs, `umad_open_port(3)`, `umad_open_smi_port` and `umad_close_port`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import * as Identifier from "@effect-rdma/core/Identifier"
import type * as Ledger from "@effect-rdma/core/Ledger"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as CaName from "./CaName.ts"
import * as Ask from "./internal/ask.ts"
import * as Traffic from "./internal/portTraffic.ts"
import type { MadStatus } from "./MadStatus.ts"
import type { MadTimeout } from "./MadTimeout.ts"
import type * as PortAttributes from "./PortAttributes.ts"
import type * as Umad from "./Umad.ts"
import type * as UmadAgent from "./UmadAgent.ts"
import type { UmadError } from "./UmadError.ts"
import type * as UmadLibrary from "./UmadLibrary.ts"

/**
 * A port with the attributes that it had when it was got.
 *
 * @category models
 * @since 0.1.0
 */
export interface UmadPort extends Resource.Resource<"UmadPort", Umad.GotPort> {
  readonly attributes: PortAttributes.PortAttributes
}

/**
 * A port that is open for MADs. Its agents are unregistered before it is closed.
 *
 * @category models
 * @since 0.1.0
 */
export interface OpenPort extends Resource.Resource<"OpenPort", Umad.PortId> {
  readonly umad: Umad.Umad["Service"]
  readonly portId: Umad.PortId
  /** @internal */
  readonly traffic: Traffic.PortTraffic
  /** @internal */
  readonly askers: Ask.Askers
}

/**
 * Which port: either, both or none. What is left out is chosen: an active port first, else the first there is.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Filter = Schema.Struct({
  caName: Schema.optionalKey(CaName.CaName),
  portNum: Schema.optionalKey(Identifier.PortNumber)
})

/**
 * Gets a port, owned by the scope. Fails with `ENODEV` when no adapter fits the filter or none has the name, with `EIO`
 * when the adapter has no such port (or, with a port number, when there is no such adapter), and as a `SchemaError` for a
 * name over 19 bytes, before any call.
 *
 * ```ts
 * import { UmadLibrary, UmadPort } from "@effect-rdma/umad"
 * import { Effect } from "effect"
 *
 * const activePort = Effect.scoped(Effect.gen(function*() {
 *   const umad = yield* UmadLibrary.init()
 *   const port = yield* UmadPort.get(umad)
 *   return port.attributes
 * }))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const get = (
  library: UmadLibrary.UmadLibrary,
  filter: typeof Filter.Encoded = {}
): Effect.Effect<UmadPort, UmadError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(get)
  return Effect.flatMap(Effect.suspend(() => decodeFilter(filter)), ({ caName, portNum }) =>
    Resource.make({
      kind: "UmadPort",
      pair: ["umad_get_port", "umad_release_port"],
      site,
      parents: [library],
      acquire: library.umad.getPort(caName, portNum ?? anyPort),
      release: ({ port }) => library.umad.releasePort(port),
      fields: ({ attributes }) => ({ attributes })
    }))
}

/**
 * Opens a port for MADs, owned by the scope: `umad_open_port(3)`. Fails with `EACCES` or `EPERM` when the device node refuses
 * (the hint names it, its mode and a udev rule), with `ENODEV` when no adapter fits the filter, with `EINVAL` when the
 * adapter has no such port, with `EOPNOTSUPP` when the kernel has no ib_umad, and as a `SchemaError` for a bad filter. It
 * does not wait.
 *
 * ```ts
 * import { UmadLibrary, UmadPort } from "@effect-rdma/umad"
 * import { Effect } from "effect"
 *
 * // Get of NodeInfo (attribute 0x11), with a directed route of no hops: the own node.
 * const get = new Uint8Array(256)
 * get.set([1, 0x81, 1, 1])
 * get.set([0x00, 0x11], 16)
 * get.set([0xff, 0xff, 0xff, 0xff], 32)
 *
 * const ownNodeInfo = Effect.scoped(Effect.gen(function*() {
 *   const port = yield* UmadPort.open(yield* UmadLibrary.init())
 *   const { mad } = yield* UmadPort.request(port, { address: { lid: 0xffff }, mad: get })
 *   return mad.subarray(64, 104)
 * }))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const open = (
  library: UmadLibrary.UmadLibrary,
  filter: typeof Filter.Encoded = {}
): Effect.Effect<OpenPort, UmadError | Schema.SchemaError, Scope.Scope> =>
  openBy(
    library,
    filter,
    CreationSite.capture(open),
    ["umad_open_port", "umad_close_port"],
    library.umad.openPort
  )

/**
 * Opens the port of an adapter that has subnet management, where that is a device of its own, else as {@link open} does:
 * `umad_open_smi_port(3)`. Fails with `EOPNOTSUPP` before libibumad of rdma-core 53.
 *
 * @category constructors
 * @since 0.1.0
 */
export const openSmi = (
  library: UmadLibrary.UmadLibrary,
  filter: typeof Filter.Encoded = {}
): Effect.Effect<OpenPort, UmadError | Schema.SchemaError, Scope.Scope> =>
  openBy(
    library,
    filter,
    CreationSite.capture(openSmi),
    ["umad_open_smi_port", "umad_close_port"],
    library.umad.openSmiPort
  )

/**
 * Sends a request and waits for its response, as `UmadAgent.request` does. The agent is one of the port's own, which it
 * registers at the first request of a class and keeps until it is closed.
 *
 * @category operations
 * @since 0.1.0
 */
export const request = (
  self: OpenPort,
  outgoing: UmadAgent.OutgoingRequest
): Effect.Effect<Umad.ReceivedMad, UmadError | MadTimeout | MadStatus | Schema.SchemaError> =>
  Ask.request(self, outgoing)

/**
 * The file descriptor of the port: `umad_get_fd(3)`. It is the port's to read and to close.
 *
 * @category getters
 * @since 0.1.0
 */
export const fd = (self: OpenPort): Effect.Effect<number> => Resource.use(self, self.umad.getFd)

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const decodeFilter = Schema.decodeEffect(Filter)

const anyPort = Identifier.AnyPortNumber.make(0)

const openBy = (
  library: UmadLibrary.UmadLibrary,
  filter: typeof Filter.Encoded,
  site: CreationSite.CreationSite | undefined,
  pair: Ledger.Pair,
  native: Umad.Umad["Service"]["openPort"]
): Effect.Effect<OpenPort, UmadError | Schema.SchemaError, Scope.Scope> =>
  Effect.flatMap(Effect.suspend(() => decodeFilter(filter)), ({ caName, portNum }) =>
    Resource.make({
      kind: "OpenPort",
      pair,
      site,
      parents: [library],
      acquire: native(caName, portNum ?? anyPort),
      release: library.umad.closePort,
      fields: (portId) => ({ umad: library.umad, portId, traffic: Traffic.make(), askers: Ask.make() })
    }))
