/** Two ends of a connection on the seam, for the tests of the data path. */
import { NativeMemory, Resource } from "@effect-rdma/core"
import { Fabric, LeakCheck } from "@effect-rdma/testkit"
import {
  type AccessFlags,
  CompletionQueue,
  DeviceContext,
  MemoryRegion,
  ProtectionDomain,
  QueuePair,
  type QueuePairAttributes,
  SharedReceiveQueue,
  type WorkCompletion
} from "@effect-rdma/verbs"
import type * as DataPath from "@effect-rdma/verbs/operations/DataPath"
import type * as SendBatch from "@effect-rdma/verbs/operations/SendBatch"
import { assert } from "@effect/vitest"
import { Effect, type Scope } from "effect"

export const run = (program: Effect.Effect<void, unknown, Fabric.Fabric | Fabric.Seams | Scope.Scope>) =>
  LeakCheck.check(program).pipe(Effect.provide(Fabric.layer))

export type Device = "rxe0" | "mlx5_0"
export const devices = ["rxe0", "mlx5_0"] as const

export interface SideOptions {
  readonly qpType?: "rc" | "uc" | "ud"
  readonly cap?: (typeof QueuePairAttributes.Capacities)["Encoded"]
  readonly cqe?: number
  readonly sqSigAll?: boolean
  readonly sharedReceives?: number
  readonly access?: AccessFlags.AccessFlags
}

const everything: AccessFlags.AccessFlags = ["localWrite", "remoteWrite", "remoteRead", "remoteAtomic", "mwBind"]

/** A queue pair with its queue and 4096 bytes that peers may do anything with. */
export const side = Effect.fnUntraced(function*(device: Device, options: SideOptions = {}) {
  const { cap = {}, cqe = 64, qpType = "rc", sharedReceives, sqSigAll = false } = options
  const context = yield* DeviceContext.openByName(device)
  const domain = yield* ProtectionDomain.alloc(context)
  const queue = yield* CompletionQueue.make(context, { cqe })
  const srq = sharedReceives === undefined
    ? undefined
    : yield* SharedReceiveQueue.make(domain, { maxWr: sharedReceives })
  const pair = yield* QueuePair.make(domain, {
    qpType,
    sendCq: queue,
    recvCq: queue,
    cap: { maxSendSge: 4, maxRecvSge: 4, maxInlineData: 64, ...cap },
    sqSigAll,
    ...(srq === undefined ? {} : { srq })
  })
  const region = yield* MemoryRegion.alloc(domain, { length: 4096, access: options.access ?? everything })
  const dataPath = yield* context.verbs.dataPath
  return {
    context,
    domain,
    queue,
    srq,
    pair,
    region,
    dataPath,
    device,
    postSend: (...requests: ReadonlyArray<DataPath.SendRequest>) => dataPath.postSend(Resource.raw(pair), requests),
    postRecv: (...requests: ReadonlyArray<DataPath.ReceiveRequest>) => dataPath.postRecv(Resource.raw(pair), requests),
    poll: (count = 64): ReadonlyArray<WorkCompletion.WorkCompletion> => {
      const { completions, error } = dataPath.pollCq(Resource.raw(queue), count)
      assert.isUndefined(error)
      return completions
    },
    /** The number and the status of each completion. */
    statuses: (): ReadonlyArray<string> => {
      const { completions } = dataPath.pollCq(Resource.raw(queue), 64)
      return completions.map(({ status, wrId }) => `${wrId} ${status}`)
    },
    state: QueuePair.state(pair),
    /** What the context has told since it was asked last. */
    events: Effect.gen(function*() {
      const seen: Array<string> = []
      const next = context.verbs.getAsyncEvent(Resource.raw(context))
      yield* Effect.forever(Effect.map(next, ({ event }) => seen.push(event))).pipe(Effect.ignore)
      return seen
    }),
    piece: (offset = 0, length = 8): SendBatch.Piece => ({
      addr: NativeMemory.addressOf(region.bytes) + BigInt(offset),
      length,
      lkey: region.lkey
    }),
    remote: (offset = 0): SendBatch.Remote => ({ rkey: region.rkey, remoteAddr: region.address + BigInt(offset) })
  }
})

export type Side = Effect.Success<ReturnType<typeof side>>

export interface PathOptions {
  readonly access?: AccessFlags.AccessFlags
  readonly timeout?: number
  readonly retryCnt?: number
  readonly rnrRetry?: number
  readonly minRnrTimer?: number
  readonly maxRdAtomic?: number
  readonly maxDestRdAtomic?: number
}

const hostNumber = { "host-a": 1, "host-b": 2 } as const

/** The address of a host. */
export const addressOf = (device: Device, host: keyof typeof hostNumber) =>
  device === "rxe0"
    ? { portNum: 1, grh: { dgid: `::ffff:10.0.0.${hostNumber[host]}`, sgidIndex: 1 } }
    : { portNum: 1, dlid: hostNumber[host] }

export const toRtr = Effect.fnUntraced(function*(
  { device, pair }: Side,
  to: { readonly host: keyof typeof hostNumber; readonly qpNum: number },
  { access = everything, maxDestRdAtomic = 1, minRnrTimer = 12 }: PathOptions = {}
) {
  yield* QueuePair.modify(pair, {
    qpState: "init",
    portNum: 1,
    pkeyIndex: 0,
    qpAccessFlags: access.filter((flag) => flag !== "mwBind")
  })
  const isReliable = pair.qpType === "rc"
  yield* QueuePair.modify(pair, {
    qpState: "rtr",
    ahAttr: addressOf(device, to.host),
    pathMtu: 1024,
    destQpNum: to.qpNum,
    rqPsn: 7,
    ...(isReliable ? { maxDestRdAtomic, minRnrTimer } : {})
  })
})

export const toRts = Effect.fnUntraced(function*(
  { pair }: Side,
  { maxRdAtomic = 1, retryCnt = 1, rnrRetry = 1, timeout = 10 }: PathOptions = {}
) {
  const isReliable = pair.qpType === "rc"
  yield* QueuePair.modify(pair, {
    qpState: "rts",
    sqPsn: 7,
    ...(isReliable ? { timeout, retryCnt, rnrRetry, maxRdAtomic } : {})
  })
})

/** Two connected queue pairs: `a` on host-a, `b` on host-b. */
export const connected = Effect.fnUntraced(function*(
  device: Device,
  options: {
    readonly a?: SideOptions
    readonly b?: SideOptions
    readonly pathA?: PathOptions
    readonly pathB?: PathOptions
  } = {}
) {
  const a = yield* side(device, options.a)
  const b = yield* side(device, options.b).pipe(Effect.provide(Fabric.host("host-b")))
  yield* toRtr(a, { host: "host-b", qpNum: b.pair.qpNum }, options.pathA)
  yield* toRtr(b, { host: "host-a", qpNum: a.pair.qpNum }, options.pathB)
  yield* toRts(a, options.pathA)
  yield* toRts(b, options.pathB)
  return { a, b }
})

/** A request that tells of its end, unless it says otherwise. */
export const request = (
  wrId: bigint,
  opcode: DataPath.SendRequest["opcode"],
  rest: Partial<DataPath.SendRequest> = {}
): DataPath.SendRequest => ({ sgList: [], flags: ["signaled"], wrId, opcode, ...rest })

export const text = (value: string): Uint8Array => new TextEncoder().encode(value)

export const textAt = ({ region }: Side, offset: number, length: number): string =>
  new TextDecoder().decode(region.bytes.subarray(offset, offset + length))

/** How many were posted, and the errno that refused the next one. */
export const outcome = ({ count, error }: DataPath.Posted): string =>
  error === undefined ? `${count}` : `${count} ${error.reason._tag}`
