/**
 * Records of subnet administration: what the subnet manager knows of the subnet, asked of it over QP1, which needs no
 * privilege beyond that of opening the port.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type * as MadAttribute from "./MadAttribute.ts"
import type * as MadLayout from "./MadLayout.ts"
import type { MadStatus } from "./MadStatus.ts"
import type { MadTimeout } from "./MadTimeout.ts"
import { NoSubnetManager } from "./NoSubnetManager.ts"
import type * as PortAttributes from "./PortAttributes.ts"
import * as SaMad from "./SaMad.ts"
import * as SaRecord from "./SaRecord.ts"
import type { UmadError } from "./UmadError.ts"
import * as UmadPort from "./UmadPort.ts"

/**
 * The subnet manager that a port knows.
 *
 * @category models
 * @since 0.1.0
 */
export interface SubnetAdministration {
  readonly port: UmadPort.OpenPort
  readonly lid: number
  readonly sl: number
}

/**
 * How to ask. A request is sent once, and `retries` (3) times more, each time with `timeout` (1 s) for the answer. `smKey` (0)
 * is the key of trusted requests, which get P_Keys and service keys too.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly smKey?: bigint
  readonly timeout?: Duration.Input
  readonly retries?: number
}

/**
 * What a request can fail with: `MadTimeout` when no answer came, `MadStatus` when it says no, a `UmadError` when the MAD cannot
 * be sent, and a `SchemaError` for what does not fit.
 *
 * @category errors
 * @since 0.1.0
 */
export type RequestError = UmadError | MadTimeout | MadStatus | Schema.SchemaError

/**
 * The subnet manager whose LID and service level the port's attributes tell. Fails with `NoSubnetManager` when the port has
 * none yet: its `smLid` is 0.
 *
 * ```ts
 * import { PathRecord, SubnetAdministration, UmadLibrary, UmadPort } from "@effect-rdma/umad"
 * import { Effect } from "effect"
 *
 * // The paths from the own port, as `saquery PR --src-lid LID` tells them.
 * const paths = Effect.scoped(Effect.gen(function*() {
 *   const library = yield* UmadLibrary.init()
 *   const { attributes } = yield* UmadPort.get(library)
 *   const administration = yield* SubnetAdministration.of(yield* UmadPort.open(library), attributes)
 *   return yield* SubnetAdministration.getTable(administration, PathRecord.PathRecord, { numbPath: 1 })
 * }))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const of = (
  port: UmadPort.OpenPort,
  { smLid, smSl }: Pick<PortAttributes.PortAttributes, "smLid" | "smSl">
): Effect.Effect<SubnetAdministration, NoSubnetManager> =>
  smLid === 0 ? Effect.fail(new NoSubnetManager()) : Effect.succeed({ port, lid: smLid, sl: smSl })

/**
 * The one record that the query names: those of its components that are there. None is a `MadStatus` with the class specific
 * code 3, more than one with code 4.
 *
 * @category operations
 * @since 0.1.0
 */
export const get = <F extends MadLayout.Fields>(
  self: SubnetAdministration,
  record: SaRecord.SaRecord<F>,
  query: Partial<MadLayout.Record<F>>,
  options: Options = {}
): Effect.Effect<MadLayout.Record<F>, RequestError> => single(self, "get", record, query, options)

/**
 * Every record that the query names, which may be none; an empty query is all. However long it is, the answer is one message
 * of RMPP, put together by the kernel.
 *
 * @category operations
 * @since 0.1.0
 */
export const getTable = <F extends MadLayout.Fields>(
  self: SubnetAdministration,
  record: SaRecord.SaRecord<F>,
  query: Partial<MadLayout.Record<F>> = {},
  options: Options = {}
): Effect.Effect<ReadonlyArray<MadLayout.Record<F>>, RequestError> =>
  request(self, "getTable", record, query, SaRecord.componentMask(record, query), options).pipe(
    Effect.flatMap((mad) =>
      Effect.gen(function*() {
        const { attributeOffset } = yield* Effect.fromResult(SaMad.SaHeader.decode(mad))
        // A message ends with its last record, and may be shorter than a packet. An empty table has no offset.
        const stride = 8 * attributeOffset
        const count = stride < record.size ? 0 : Math.floor((mad.length - SaMad.dataOffset) / stride)
        return yield* Effect.forEach(
          Array.from({ length: count }, (_, index) => SaMad.dataOffset + index * stride),
          (offset) => Effect.fromResult(record.decode(mad, offset))
        )
      })
    ),
    Effect.catchIf(isNoRecords, () => Effect.succeed([]))
  )

/**
 * Makes or joins what the record is about: a multicast group with an `McMemberRecord`, a service with a `ServiceRecord`. The
 * answer is the record as it is now.
 *
 * @category operations
 * @since 0.1.0
 */
export const set = <F extends MadLayout.Fields>(
  self: SubnetAdministration,
  record: SaRecord.SaRecord<F>,
  values: Partial<MadLayout.Record<F>>,
  options: Options = {}
): Effect.Effect<MadLayout.Record<F>, RequestError> => single(self, "set", record, values, options)

/**
 * Leaves or removes what {@link set} made.
 *
 * @category operations
 * @since 0.1.0
 */
export const remove = <F extends MadLayout.Fields>(
  self: SubnetAdministration,
  record: SaRecord.SaRecord<F>,
  values: Partial<MadLayout.Record<F>>,
  options: Options = {}
): Effect.Effect<MadLayout.Record<F>, RequestError> => single(self, "delete", record, values, options)

/**
 * Gets or sets an attribute that is no record: `ClassPortInfo`, or `InformInfo`, with which traps are subscribed to.
 *
 * @category operations
 * @since 0.1.0
 */
export const attribute = <F extends MadLayout.Fields>(
  self: SubnetAdministration,
  method: "get" | "set",
  attribute: MadAttribute.MadAttribute<F>,
  values: Partial<MadLayout.Record<F>> = {},
  options: Options = {}
): Effect.Effect<MadLayout.Record<F>, RequestError> =>
  Effect.flatMap(
    request(self, method, attribute, values, 0n, options),
    (mad) => Effect.fromResult(attribute.decode(mad, SaMad.dataOffset))
  )

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const noRecords = 3

const isNoRecords = (error: RequestError): boolean => error._tag === "MadStatus" && error.status === noRecords << 8

const single = <F extends MadLayout.Fields>(
  self: SubnetAdministration,
  method: "get" | "set" | "delete",
  record: SaRecord.SaRecord<F>,
  values: Partial<MadLayout.Record<F>>,
  options: Options
): Effect.Effect<MadLayout.Record<F>, RequestError> =>
  Effect.flatMap(
    request(self, method, record, values, SaRecord.componentMask(record, values), options),
    (mad) => Effect.fromResult(record.decode(mad, SaMad.dataOffset))
  )

const request = <F extends MadLayout.Fields>(
  { lid, port, sl }: SubnetAdministration,
  method: "get" | "getTable" | "set" | "delete",
  attribute: MadAttribute.MadAttribute<F>,
  values: Partial<MadLayout.Record<F>>,
  componentMask: bigint,
  { smKey = 0n, ...patience }: Options
): Effect.Effect<Uint8Array, RequestError> =>
  Effect.gen(function*() {
    const data = new Uint8Array(200)
    data.set(yield* Effect.fromResult(attribute.encode(values)))
    const mad = yield* Effect.fromResult(SaMad.SaMad.encode({
      baseVersion: 1,
      mgmtClass: "subnAdm",
      classVersion: 2,
      method,
      attributeId: attribute.attributeId,
      rmppVersion: 1,
      smKey,
      componentMask,
      data
    }))
    return (yield* UmadPort.request(port, { address: { lid, sl }, mad, ...patience })).mad
  })
