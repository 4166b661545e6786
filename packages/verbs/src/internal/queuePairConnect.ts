/**
 * Both ends of a connection: what one tells of itself, and the way from RESET to RTS.
 *
 * @since 0.1.0
 */
import * as Gid from "@effect-rdma/core/Gid"
import * as Identifier from "@effect-rdma/core/Identifier"
import type * as Mtu from "@effect-rdma/core/Mtu"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import type * as AccessFlags from "../AccessFlags.ts"
import * as AddressHandleAttributes from "../AddressHandleAttributes.ts"
import * as GidSelection from "../GidSelection.ts"
import type { QueuePair } from "../QueuePair.ts"
import type * as QueuePairAttributes from "../QueuePairAttributes.ts"
import type * as QueuePairEndpoint from "../QueuePairEndpoint.ts"
import * as QueuePairSteps from "../QueuePairSteps.ts"
import type { VerbsError } from "../VerbsError.ts"
import * as Path from "./queuePairPath.ts"
import { refused } from "./refused.ts"

/** The types that have another end. */
export type Connected = "rc" | "uc" | "xrcSend" | "xrcRecv"

/** Which port and which GID of it; port 1 and the best GID unless told otherwise. */
export interface EndpointOptions {
  readonly portNum?: number
  readonly gidIndex?: number
  readonly address?: Gid.GidInput
  readonly psn?: number
}

export const endpoint = Effect.fnUntraced(function*(
  self: QueuePair,
  options: EndpointOptions
): Effect.fn.Return<QueuePairEndpoint.QueuePairEndpoint, VerbsError | Schema.SchemaError> {
  const { address, gidIndex, portNum, psn } = yield* decodeOptions(options)
  const { verbs } = self.context
  const port = yield* Resource.use(self.context, (context) => verbs.queryPort(context, portNum))
  const place = gidIndex === undefined
    ? GidSelection.select(yield* Resource.use(self.context, verbs.queryGidTable), {
      portNum,
      ...(address === undefined ? {} : { address })
    })
    : { gid: yield* Resource.use(self.context, (context) => verbs.queryGid(context, portNum, gidIndex)), gidIndex }
  if (place === undefined && (port.linkLayer === "ethernet" || address !== undefined)) {
    return yield* refused(
      "ibv_query_gid_table",
      "ENODATA",
      "No GID of the port will do: DeviceContext.gidTable lists them",
      { portNum, ...(address === undefined ? {} : { address: Gid.formatCompressed(address) }) }
    )
  }
  return {
    qpNum: self.qpNum,
    psn: psn ?? Identifier.Psn.make(yield* Random.nextIntBetween(0, 0x1_000000)),
    portNum,
    lid: port.lid,
    ...(place === undefined ? {} : { gid: place.gid, gidIndex: Identifier.GidIndex.make(place.gidIndex) }),
    ...(port.activeMtu === "unknown" ? {} : { mtu: port.activeMtu })
  }
})

/** What of a connection may be asked for; the defaults are those of the steps. */
export interface Options<E, R> {
  readonly qpAccessFlags?: AccessFlags.AccessFlags
  readonly pkeyIndex?: number
  readonly pathMtu?: Mtu.Mtu
  readonly sl?: number
  readonly hopLimit?: number
  readonly trafficClass?: number
  readonly flowLabel?: number
  readonly maxRdAtomic?: number
  readonly maxDestRdAtomic?: number
  readonly minRnrTimer?: number
  readonly timeout?: number
  readonly retryCnt?: number
  readonly rnrRetry?: number
  /** Runs in INIT, when receives can be posted and no peer can send yet. */
  readonly receives?: Effect.Effect<unknown, E, R>
}

export const connect = <E, R>(
  self: QueuePair<Connected>,
  local: QueuePairEndpoint.QueuePairEndpoint,
  remote: QueuePairEndpoint.QueuePairEndpoint,
  { receives = Effect.void, ...options }: Options<E, R>
): Effect.Effect<void, VerbsError | Schema.SchemaError | E, R> =>
  Effect.gen(function*() {
    if (local.qpNum !== self.qpNum) {
      return yield* refused("ibv_modify_qp", "EINVAL", "local must be the endpoint of this queue pair", {
        qpNum: self.qpNum,
        local: local.qpNum
      })
    }
    const { init, rts, rtr } = yield* decodeSteps(self, local, remote, options)
    yield* Path.modify(self, { ...init, qpState: "init" })
    const active = yield* Path.activeMtu(self, local.portNum)
    const pathMtu = smallest(options.pathMtu ?? local.mtu ?? active, remote.mtu ?? active, active)
    yield* Effect.gen(function*() {
      yield* receives
      yield* Path.modify(self, { ...rtr, pathMtu, qpState: "rtr" })
      yield* Path.modify(self, { ...rts, qpState: "rts" })
    }).pipe(Effect.onError(() => Effect.ignore(Path.modify(self, { qpState: "reset" }))))
  })

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const decodeOptions = Schema.decodeEffect(Schema.Struct({
  portNum: Identifier.PortNumber.pipe(Schema.withDecodingDefault(Effect.succeed(1))),
  gidIndex: Schema.optionalKey(Identifier.GidIndex),
  address: Schema.optionalKey(Gid.GidInput),
  psn: Schema.optionalKey(Identifier.Psn)
}))

const smallest = (...mtus: ReadonlyArray<Mtu.Mtu>): Mtu.Mtu =>
  mtus.reduce((least, mtu) => mtu < least ? mtu : least, 4096)

const pick = <const Name extends string>(
  from: { readonly [N in Name]?: unknown },
  names: ReadonlyArray<Name>
): { readonly [name: string]: unknown } =>
  Object.fromEntries(names.filter((name) => from[name] !== undefined).map((name) => [name, from[name]]))

interface Steps {
  readonly init: QueuePairAttributes.Modification
  readonly rtr: QueuePairAttributes.Modification
  readonly rts: QueuePairAttributes.Modification
}

// Every value is looked at before the first call, so that a bad one leaves the queue pair as it is.
const decodeSteps = (
  { qpType }: QueuePair<Connected>,
  local: QueuePairEndpoint.QueuePairEndpoint,
  remote: QueuePairEndpoint.QueuePairEndpoint,
  options: Omit<Options<never, never>, "receives">
): Effect.Effect<Steps, Schema.SchemaError> => {
  const route = pick(options, ["hopLimit", "trafficClass", "flowLabel"])
  const isGlobal = local.gidIndex !== undefined && remote.gid !== undefined
  const isResponder = qpType === "rc" || qpType === "xrcRecv"
  const isRequester = qpType === "rc" || qpType === "xrcSend"
  return Effect.all({
    init: Schema.decodeEffect(QueuePairSteps.init[qpType])({
      portNum: local.portNum,
      ...pick(options, ["pkeyIndex", "qpAccessFlags"])
    }),
    rtr: Effect.flatMap(
      Schema.decodeEffect(AddressHandleAttributes.AddressHandleAttributes)({
        portNum: local.portNum,
        dlid: remote.lid,
        ...pick(options, ["sl"]),
        ...(isGlobal ? { grh: { dgid: remote.gid, sgidIndex: local.gidIndex, ...route } } : {})
      }),
      (ahAttr) =>
        Schema.decodeEffect(QueuePairSteps.rtr[qpType])({
          ahAttr,
          destQpNum: remote.qpNum,
          rqPsn: remote.psn,
          ...(isResponder ? pick(options, ["maxDestRdAtomic", "minRnrTimer"]) : {})
        })
    ),
    rts: Schema.decodeEffect(QueuePairSteps.rts[qpType])({
      sqPsn: local.psn,
      ...(isRequester ? pick(options, ["timeout", "retryCnt", "rnrRetry", "maxRdAtomic"]) : {}),
      ...(qpType === "xrcRecv" ? pick(options, ["timeout"]) : {})
    })
  })
}
