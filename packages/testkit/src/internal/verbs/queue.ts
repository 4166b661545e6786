import * as Gid from "@effect-rdma/core/Gid"
import * as Identifier from "@effect-rdma/core/Identifier"
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as Queue from "@effect-rdma/verbs/operations/Queue"
import type * as QueuePairAttributes from "@effect-rdma/verbs/QueuePairAttributes"
import * as Effect from "effect/Effect"
import { FabricMisuse } from "../../FabricMisuse.ts"
import type * as Host from "../host.ts"
import * as QueuePairError from "./queuePairError.ts"
import * as Transitions from "./queuePairModify.ts"
import * as QueueState from "./queueState.ts"
import type { QueuePairObject, QueuePairState } from "./queueState.ts"
import * as SendBatch from "./sendBatch.ts"
import * as SharedReceiveQueues from "./sharedReceiveQueue.ts"
import { destroy, ensureOneContext, fail, on, query, reclaim, type VerbsState } from "./state.ts"

/** XRC domains and queue pairs of one host, and with them its shared receive queues. */
export const make = (state: VerbsState): Queue.Operations => {
  const { completionQueues, domains, queuePairs, sharedReceiveQueues, xrcDomains } = state
  let lastNumber = 0x10
  state.onClose.push((context) => {
    reclaim(queuePairs, context, (pair) => {
      if (forget(pair)) pair.device.qps--
    })
    reclaim(xrcDomains, context)
  })

  state.host.onUnplug.push((device) => {
    for (const object of QueueState.of(device).pairs.values()) {
      QueuePairError.stop(object)
      QueuePairError.wake(object.receives)
    }
  })

  const nextNumber = (): Identifier.Qpn => {
    const isTaken = () => state.host.devices.some((device) => QueueState.of(device).pairs.has(lastNumber))
    do {
      lastNumber = lastNumber === 0xffffff ? 0x11 : lastNumber + 1
    } while (isTaken())
    return Identifier.Qpn.make(lastNumber)
  }

  const createQueuePair = (
    call: string,
    device: Host.DeviceState,
    context: Pointer.Pointer<"ibv_context">,
    init: Queue.ExtendedQueuePairInit
  ) => {
    const { cap, pd, qpType, recvCq, rwqIndTbl, sendCq, sendOpsFlags, srq, xrcd } = init
    const made = {
      xrcDomain: xrcd && xrcDomains.get(call, xrcd),
      domain: pd && domains.get(call, pd),
      sendQueue: sendCq && completionQueues.get(call, sendCq),
      receiveQueue: recvCq && completionQueues.get(call, recvCq),
      srq: srq && sharedReceiveQueues.get(call, srq)
    }
    const table = rwqIndTbl && state.rwqIndTables.get(call, rwqIndTbl)
    const parts = [...Object.values(made), table].filter((part) => part !== undefined)
    ensureOneContext(call, context, parts)
    const refused = refuseQueuePair(device, init)
    if (refused !== undefined) {
      return fail(call, refused, { qpType, maxSendWr: cap.maxSendWr, maxRecvWr: cap.maxRecvWr })
    }
    if (qpType !== "xrcRecv" && rwqIndTbl === undefined && (sendCq === undefined || lacksReceives(init))) {
      // The library reads the handle of the queue behind NULL.
      throw new FabricMisuse({ call, problem: `a queue pair of type ${qpType} without a completion queue` })
    }
    if (device.qps >= device.description.attributes.maxQp) return fail(call, "ENOMEM")
    device.qps++
    for (const part of parts) part.users++
    const room = roomOf(device, cap)
    const object: QueuePairObject = {
      verbs: state,
      device,
      qpType,
      qpNum: nextNumber(),
      ...made,
      sqSigAll: init.sqSigAll,
      blocksOwnMulticast: init.createFlags?.includes("blockSelfMcastLb") ?? false,
      cap: room.real,
      state: "reset",
      attributes: {},
      sends: QueueState.makeSends(),
      receives: QueueState.makeReceives(),
      routed: undefined,
      expectedPsn: 0,
      isMissing: false,
      isEstablished: false,
      counters: [],
      handles: new Set(),
      parts
    }
    QueueState.of(device).pairs.set(object.qpNum, object)
    const qp = queuePairs.make((pointer) => handleOn(object, pointer, context, sendOpsFlags !== undefined))
    return Effect.succeed({ qp, qpNum: object.qpNum, cap: room.told })
  }

  return {
    ...SharedReceiveQueues.make(state),
    openXrcd: (context) =>
      query(state, "ibv_open_xrcd", context, (device) =>
        device.description.provider === "rxe"
          ? fail("ibv_open_xrcd", "EOPNOTSUPP")
          : Effect.succeed(xrcDomains.alloc({ kind: "XrcDomain", device, context, users: 0 }))),
    closeXrcd: (xrcd) =>
      destroy("ibv_close_xrcd", xrcDomains.get("ibv_close_xrcd", xrcd), () => xrcDomains.free("ibv_close_xrcd", xrcd)),

    createQp: (pd, attributes) =>
      Effect.suspend(() => {
        const call = "ibv_create_qp"
        const { context, device } = domains.get(call, pd)
        if (!device.plugged) return fail(call, "EIO")
        return createQueuePair(call, device, context, { ...attributes, pd, xrcd: undefined, rwqIndTbl: undefined })
      }),
    createQpEx: (context, attributes) =>
      query(
        state,
        "ibv_create_qp_ex",
        context,
        (device) => createQueuePair("ibv_create_qp_ex", device, context, attributes)
      ),
    openQp: (context, { qpNum, qpType, xrcd }) =>
      query(state, "ibv_open_qp", context, () => {
        const call = "ibv_open_qp"
        const domain = xrcDomains.get(call, xrcd)
        ensureOneContext(call, context, [domain])
        const found = Array.from(queuePairs.values(), ([, { object }]) => object)
          .find((object) => object.qpNum === qpNum && object.xrcDomain === domain && object.qpType === qpType)
        if (found === undefined) return fail(call, "EINVAL", { qpNum })
        domain.users++
        return Effect.succeed(queuePairs.make((pointer) => handleOn(found, pointer, context, false)))
      }),
    destroyQp: (qp) =>
      Effect.suspend(() => {
        const call = "ibv_destroy_qp"
        const pair = queuePairs.get(call, qp)
        const { device, groups, object, users } = pair
        if (!device.plugged) return fail(call, "EIO")
        if (users > 0 || groups.size > 0) return fail(call, "EBUSY")
        queuePairs.free(call, qp)
        if (forget(pair)) {
          device.qps--
          for (const part of object.parts) part.users--
        } else if (object.xrcDomain !== undefined) object.xrcDomain.users--
        return Effect.void
      }),
    modifyQp: (qp, attributes) =>
      on("ibv_modify_qp", queuePairs, qp, ({ device, object }) => {
        const refused = Transitions.refuse(state.fabric, device, object, attributes)
        if (refused !== undefined) return fail("ibv_modify_qp", refused)
        Transitions.apply(object, attributes)
        return Effect.void
      }),
    queryQp: (qp) =>
      on(
        "ibv_query_qp",
        queuePairs,
        qp,
        ({ device, object }) => Effect.succeed({ attributes: Transitions.report(device, object), cap: object.cap })
      ),
    modifyQpRateLimit: (qp, { maxBurstSz, rateLimit, typicalPktSz }) =>
      on("ibv_modify_qp_rate_limit", queuePairs, qp, ({ device, object }) => {
        const call = "ibv_modify_qp_rate_limit"
        if (device.description.provider === "rxe") return fail(call, "EOPNOTSUPP")
        // The device bounds no bursts.
        if (maxBurstSz > 0 || typicalPktSz > 0) return fail(call, "EINVAL", { maxBurstSz, typicalPktSz })
        const refused = Transitions.refuse(state.fabric, device, object, { rateLimit })
        if (refused !== undefined) return fail(call, refused, { rateLimit })
        Transitions.apply(object, { rateLimit })
        return Effect.void
      }),
    queryEce: (qp) =>
      on("ibv_query_ece", queuePairs, qp, ({ device }) =>
        device.description.provider === "rxe"
          ? fail("ibv_query_ece", "EOPNOTSUPP")
          : Effect.succeed({ vendorId: mellanox, options: 0, compMask: 0 })),
    setEce: (qp, { compMask, options, vendorId }) =>
      on("ibv_set_ece", queuePairs, qp, ({ device }) => {
        const call = "ibv_set_ece"
        if (vendorId === 0 || device.description.provider === "rxe") return fail(call, "EOPNOTSUPP")
        return compMask === 0 && vendorId === mellanox ? Effect.void : fail(call, "EINVAL", { vendorId, options })
      }),

    attachMcast: (qp, gid, lid) =>
      on("ibv_attach_mcast", queuePairs, qp, (pair) => {
        const call = "ibv_attach_mcast"
        const input = { gid: Gid.formatCompressed(gid), lid }
        if (!Transitions.isGroup(pair, gid, lid)) return fail(call, "EINVAL", input)
        const key = keyOf(gid, lid)
        if (!pair.groups.has(key) && pair.groups.size >= pair.device.description.attributes.maxMcastGrp) {
          return fail(call, "ENOMEM", input)
        }
        pair.groups.add(key)
        attachedTo(state.fabric, gid).add(pair)
        return Effect.void
      }),
    detachMcast: (qp, gid, lid) =>
      on("ibv_detach_mcast", queuePairs, qp, (pair) => {
        if (!pair.groups.delete(keyOf(gid, lid))) {
          return fail("ibv_detach_mcast", "EINVAL", { gid: Gid.formatCompressed(gid), lid })
        }
        attachedTo(state.fabric, gid).delete(pair)
        return Effect.void
      }),

    wrComplete: (qp, build) =>
      Effect.suspend(() => {
        const pair = queuePairs.get("ibv_wr_start", qp)
        return pair.isExtended ? SendBatch.run(pair, build) : fail("ibv_wr_start", "EOPNOTSUPP")
      })
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const mellanox = 0x15b3

const keyOf = (gid: Gid.Gid, lid: number): string => `${Gid.format(gid)} ${lid}`

/**
 * The room of a queue pair that the call tells, and the one that there is. On rxe pieces and inline data share the space of
 * a request, and the rings are larger than told.
 */
const roomOf = (
  { description }: Host.DeviceState,
  cap: QueuePairAttributes.Capacities
): { readonly told: QueuePairAttributes.Capacities; readonly real: QueuePairAttributes.Capacities } => {
  if (description.provider !== "rxe") {
    const room = { ...cap, maxSendWr: powerOfTwo(cap.maxSendWr), maxRecvWr: powerOfTwo(cap.maxRecvWr) }
    return { told: room, real: room }
  }
  const space = Math.max(cap.maxSendSge * pieceBytes, cap.maxInlineData)
  const told = { ...cap, maxSendSge: Math.floor(space / pieceBytes), maxInlineData: space }
  return {
    told,
    real: {
      ...told,
      maxSendWr: SharedReceiveQueues.ringOf(cap.maxSendWr),
      maxRecvWr: SharedReceiveQueues.ringOf(cap.maxRecvWr)
    }
  }
}

const powerOfTwo = (count: number): number => count === 0 ? 0 : 2 ** Math.ceil(Math.log2(count))

const pieceBytes = 16

const handleOn = (
  object: QueuePairObject,
  pointer: Pointer.Pointer<"ibv_qp">,
  context: Pointer.Pointer<"ibv_context">,
  isExtended: boolean
): QueuePairState => {
  const handle: QueuePairState = {
    kind: "QueuePair",
    device: object.device,
    context,
    pointer,
    object,
    qpType: object.qpType,
    isExtended,
    groups: new Set(),
    users: 0
  }
  object.handles.add(handle)
  return handle
}

/** What is attached to a group. */
const attachedTo = (fabric: Host.FabricState, gid: Gid.Gid): Set<QueuePairState> => {
  const groups = QueueState.groupsOf(fabric)
  const name = Gid.format(gid)
  let attached = groups.get(name)
  if (attached === undefined) groups.set(name, attached = new Set())
  return attached
}

/** Takes a handle away, and with the last one the queue pair; `true` when it was that. */
const forget = (handle: QueuePairState): boolean => {
  const { device, object } = handle
  object.handles.delete(handle)
  for (const attached of QueueState.groupsOf(object.verbs.fabric).values()) attached.delete(handle)
  if (object.handles.size > 0) return false
  QueuePairError.drop(object)
  QueueState.of(device).pairs.delete(object.qpNum)
  return true
}

const lacksReceives = ({ qpType, recvCq }: Queue.QueuePairInit): boolean => qpType !== "xrcSend" && recvCq === undefined

const rxeSends: { readonly [type: string]: ReadonlyArray<string> } = {
  rc: [
    "rdmaWrite",
    "rdmaWriteWithImm",
    "send",
    "sendWithImm",
    "rdmaRead",
    "atomicCmpAndSwp",
    "atomicFetchAndAdd",
    "localInv",
    "bindMw",
    "sendWithInv",
    "atomicWrite"
  ],
  uc: ["rdmaWrite", "rdmaWriteWithImm", "send", "sendWithImm", "bindMw", "sendWithInv"],
  ud: ["send", "sendWithImm"]
}

/** The largest inline data: of rxe as its kernel says, of mlx5 about what a request of the largest size has room for. */
const maxInline = { rxe: 512, mlx5: 956 } as const

/** The errno that refuses to make a queue pair, 0 for NULL without one; read in rxe and mlx5 of 44.0. */
const refuseQueuePair = ({ description }: Host.DeviceState, init: Queue.ExtendedQueuePairInit) => {
  const { attributes, provider } = description
  const { cap, createFlags = [], pd, qpType, rwqIndTbl, sendOpsFlags, sourceQpn, srq, xrcd } = init
  if (provider === "rxe") {
    const beyond = [xrcd, rwqIndTbl, init.maxTsoHeader, init.rxHashConf, sourceQpn]
    if (beyond.some((value) => value !== undefined) || createFlags.length > 0) return "EOPNOTSUPP"
    const supported = rxeSends[qpType]
    if (supported === undefined) return "EOPNOTSUPP"
    if (sendOpsFlags?.some((operation) => !supported.includes(operation))) return "EOPNOTSUPP"
  } else if (init.maxTsoHeader !== undefined && qpType !== "rawPacket") return 0
  if (qpType === "xrcRecv" ? xrcd === undefined : pd === undefined) return "EINVAL"
  if (rwqIndTbl !== undefined && (cap.maxRecvWr > 0 || init.recvCq !== undefined || srq !== undefined)) return "EINVAL"
  const hasReceives = srq === undefined && qpType !== "xrcSend" && qpType !== "xrcRecv"
  const tooMuch = cap.maxSendWr > attributes.maxQpWr ||
    cap.maxSendSge > attributes.maxSge ||
    cap.maxInlineData > maxInline[provider] ||
    (hasReceives && (cap.maxRecvWr > attributes.maxQpWr || cap.maxRecvSge > attributes.maxSge))
  return tooMuch ? "EINVAL" : undefined
}
