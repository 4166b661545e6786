/**
 * The initialised library: `umad_init(3)` and `umad_done`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Guid from "@effect-rdma/core/Guid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Ledger from "@effect-rdma/core/Ledger"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as CaName from "./CaName.ts"
import type * as PortAttributes from "./PortAttributes.ts"
import { PortProblem } from "./PortProblem.ts"
import * as Umad from "./Umad.ts"
import type { UmadError } from "./UmadError.ts"

/**
 * What every port and adapter is got from.
 *
 * @category models
 * @since 0.1.0
 */
export interface UmadLibrary extends Resource.Resource<"UmadLibrary", void> {
  readonly umad: Umad.Umad["Service"]
}

/**
 * Initialises libibumad for the scope; ports and adapters got from it are released before `umad_done`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const init = (): Effect.Effect<UmadLibrary, UmadError, Umad.Umad | Scope.Scope> => {
  const site = CreationSite.capture(init)
  return Effect.flatMap(Umad.Umad, (umad) =>
    Resource.make({
      kind: "UmadLibrary",
      pair: ["umad_init", "umad_done"],
      site,
      parents: [],
      acquire: umad.init,
      release: () => umad.done,
      fields: () => ({ umad })
    }))
}

/**
 * The names of the channel adapters: `umad_get_cas_names(3)`. None is an empty array. Names of 20 bytes and more are
 * missing, since the library leaves them out.
 *
 * @category queries
 * @since 0.1.0
 */
export const caNames = (self: UmadLibrary): Effect.Effect<ReadonlyArray<string>, UmadError> =>
  Resource.use(self, () => self.umad.getCasNames)

/**
 * Every port of every adapter, in the order of the names and numbers, whatever sysfs makes of it: a port that cannot be read
 * is a `PortProblem` among the others. Names that {@link caNames} leaves out are here, and ports that `UmadCa.get` has no
 * room for. It fails when the adapters themselves cannot be listed.
 *
 * ```ts
 * import { UmadLibrary } from "@effect-rdma/umad"
 * import { Effect, Result } from "effect"
 *
 * const summary = Effect.scoped(Effect.gen(function*() {
 *   const ports = yield* UmadLibrary.ports(yield* UmadLibrary.init())
 *   return ports.map(Result.match({
 *     onSuccess: ({ caName, portNum, state }) => `${caName} ${portNum} is ${state}`,
 *     onFailure: (problem) => problem.message
 *   }))
 * }))
 * ```
 *
 * @category queries
 * @since 0.1.0
 */
export const ports = (
  self: UmadLibrary
): Effect.Effect<ReadonlyArray<Result.Result<PortAttributes.PortAttributes, PortProblem>>, UmadError> =>
  Resource.use(self, () =>
    Effect.gen(function*() {
      const names = yield* listedNames(self.umad)
      const perAdapter = yield* Effect.forEach(names.toSorted(), (name) => portsOf(self.umad, name))
      return perAdapter.flat()
    }))

/**
 * The GUIDs of an adapter's ports by port number, 0 for one that is not there: `umad_get_ca_portguids(3)`. Without a name it
 * is the adapter that libibumad prefers. Fails with `ENODEV` or `ENOENT` when there is none.
 *
 * @category queries
 * @since 0.1.0
 */
export const portGuids = (
  self: UmadLibrary,
  caName?: string
): Effect.Effect<ReadonlyArray<Guid.Guid>, UmadError | Schema.SchemaError> =>
  Effect.flatMap(
    Effect.suspend(() => decodeName(caName)),
    (caName) => Resource.use(self, () => self.umad.getCaPortguids(caName))
  )

/**
 * The device node that makes a port one with a subnet manager for as long as somebody has it open:
 * `umad_get_issm_path(3)`. Left out, adapter and port are chosen as in `UmadPort.get`. Fails with `ENODEV` when no adapter fits,
 * with `EINVAL` when there is no such port.
 *
 * @category queries
 * @since 0.1.0
 */
export const issmPath = (
  self: UmadLibrary,
  filter: { readonly caName?: string; readonly portNum?: number } = {}
): Effect.Effect<string, UmadError | Schema.SchemaError> =>
  Effect.flatMap(
    Effect.suspend(() => decodeFilter(filter)),
    ({ caName, portNum }) => Resource.use(self, () => self.umad.getIssmPath(caName, portNum ?? anyPort))
  )

/**
 * The pairs of devices of the adapters whose subnet management is a device of its own: `umad_get_smi_gsi_pairs`. Fails with
 * `EOPNOTSUPP` before libibumad of rdma-core 56.
 *
 * @category queries
 * @since 0.1.0
 */
export const smiGsiPairs = (self: UmadLibrary): Effect.Effect<ReadonlyArray<Umad.CaPair>, UmadError> =>
  Resource.use(self, () => self.umad.getSmiGsiPairs)

/**
 * The pair of devices that an adapter belongs to: `umad_get_smi_gsi_pair_by_ca_name`. With `enforceSmi`, one without a device
 * for subnet management is not taken. Fails with `EOPNOTSUPP` before libibumad of rdma-core 56.
 *
 * @category queries
 * @since 0.1.0
 */
export const smiGsiPairByCaName = (
  self: UmadLibrary,
  caName: string,
  options: { readonly portNum?: number; readonly enforceSmi?: boolean } = {}
): Effect.Effect<Umad.CaPair, UmadError | Schema.SchemaError> =>
  Effect.flatMap(
    Effect.suspend(() => decodePair({ caName, portNum: options.portNum ?? 0 })),
    ({ caName, portNum }) =>
      Resource.use(self, () => self.umad.getSmiGsiPairByCaName(caName, portNum, options.enforceSmi ?? false))
  )

/**
 * How much libibumad writes to standard error about what it does, from now on and for the whole process: `umad_debug(3)`. 0 is
 * nothing but warnings. Gives the level back.
 *
 * @category operations
 * @since 0.1.0
 */
export const debug = (self: UmadLibrary, level: 0 | 1 | 2): Effect.Effect<number> =>
  Resource.use(self, () => self.umad.debug(level))

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const anyPort = Identifier.AnyPortNumber.make(0)

const decodeName = Schema.decodeEffect(Schema.UndefinedOr(CaName.CaName))

const decodeFilter = Schema.decodeEffect(Schema.Struct({
  caName: Schema.optionalKey(CaName.CaName),
  portNum: Schema.optionalKey(Identifier.PortNumber)
}))

const decodePair = Schema.decodeEffect(Schema.Struct({ caName: CaName.CaName, portNum: Identifier.AnyPortNumber }))

const isCaName = Schema.is(CaName.CaName)

/** Got and released in one step. */
const bracketed = <A, E>(
  pair: Ledger.Pair,
  use: Effect.Effect<A, E>
): Effect.Effect<A, E> =>
  Effect.uninterruptible(
    Effect.tap(use, () => Effect.map(Ledger.Ledger, (ledger) => ledger.bracketed(pair)))
  )

const listedNames = (umad: Umad.Umad["Service"]): Effect.Effect<ReadonlyArray<string>, UmadError> =>
  bracketed(
    ["umad_get_ca_device_list", "umad_free_ca_device_list"],
    Effect.flatMap(umad.getCaDeviceList, ({ list, names }) =>
      Effect.as(list === undefined ? Effect.void : umad.freeCaDeviceList(list), names))
  )

const attributesOf = (
  umad: Umad.Umad["Service"],
  caName: CaName.CaName,
  portNum: Identifier.AnyPortNumber
): Effect.Effect<PortAttributes.PortAttributes, UmadError> =>
  bracketed(
    ["umad_get_port", "umad_release_port"],
    Effect.flatMap(
      umad.getPort(caName, portNum),
      ({ attributes, port }) => Effect.as(umad.releasePort(port), attributes)
    )
  )

/** From sysfs, and where a simulator shows libibumad another one, from the adapter. */
const portNumbersOf = (
  umad: Umad.Umad["Service"],
  caName: string
): Effect.Effect<ReadonlyArray<Identifier.AnyPortNumber>, UmadError> =>
  Effect.catch(umad.getPortNumbers(caName), (error) =>
    isCaName(caName)
      ? bracketed(
        ["umad_get_ca", "umad_release_ca"],
        Effect.flatMap(umad.getCa(caName), ({ attributes, ca }) =>
          Effect.as(umad.releaseCa(ca), attributes.ports.map(({ portNum }) => portNum)))
      )
      : Effect.fail(error))

const portsOf = (
  umad: Umad.Umad["Service"],
  caName: string
): Effect.Effect<ReadonlyArray<Result.Result<PortAttributes.PortAttributes, PortProblem>>, UmadError> =>
  Effect.flatMap(portNumbersOf(umad, caName), (numbers) =>
    Effect.forEach(numbers, (portNum) =>
      isCaName(caName)
        ? Effect.result(Effect.mapError(
          attributesOf(umad, caName, portNum),
          ({ reason }) => new PortProblem({ caName, portNum, problem: "unreadable", reason })
        ))
        : Effect.succeed(Result.fail(new PortProblem({ caName, portNum, problem: "nameTooLong" })))))
