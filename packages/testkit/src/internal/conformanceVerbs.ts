/**
 * What the conformance suites of libibverbs have in common: the objects that most of them make.
 *
 * @since 0.1.0
 */
import type * as AddressHandleAttributes from "@effect-rdma/verbs/AddressHandleAttributes"
import * as CompletionChannel from "@effect-rdma/verbs/CompletionChannel"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import type * as DeviceList from "@effect-rdma/verbs/DeviceList"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import type * as QueuePairSteps from "@effect-rdma/verbs/QueuePairSteps"
import type * as Verbs from "@effect-rdma/verbs/Verbs"
import * as WorkQueue from "@effect-rdma/verbs/WorkQueue"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Lane from "../conformance/Lane.ts"
import type * as VerbsLane from "../conformance/VerbsLane.ts"
import { testWhere } from "./conformance.ts"

// For the tests that a lane without these facts skips.
const noRoce: VerbsLane.RoceFacts = { sgidIndex: 0, ownAddress: "", peerAddress: "", peerMac: [], silentAddress: "" }

/** The tests that a lane runs or skips, and the first objects on its device. */
export const verbsSuite = <Others>(lane: VerbsLane.VerbsLane<Others>) => {
  const has = (feature: VerbsLane.Feature): boolean => lane.features.has(feature)
  const itWhere = testWhere<Verbs.Verbs | Others>(lane)
  const open = DeviceContext.openByName(lane.device)
  const domain = Effect.flatMap(open, ProtectionDomain.alloc)
  const portNum = lane.port
  const path = { ahAttr: lane.loop, rqPsn: 0x123 }
  const roce = lane.roce ?? noRoce
  return {
    has,
    it: Lane.test<Verbs.Verbs | Others>(lane),
    itWhere,
    itOnRoce: itWhere(lane.roce !== undefined, "the port has no IPv4 address"),
    itChecked: itWhere(lane.roce !== undefined && has("checkedAddresses"), "no kernel checks its addresses"),
    itSteers: itWhere(has("steering"), "the provider has no steering"),
    itRefusesSteering: itWhere(!has("steering"), "the provider has steering"),
    open,
    domain,
    contextAndChannel: Effect.gen(function*() {
      const context = yield* open
      return { context, channel: yield* CompletionChannel.make(context) }
    }),
    pair: <const Type extends "rc" | "uc" | "ud">(qpType: Type) =>
      Effect.flatMap(domain, (domain) => pairOn(domain, qpType)),
    portNum,
    path,
    /** Brings a queue pair to RTS; a connected one is its own peer. */
    ready: {
      rc: (self: QueuePair.QueuePair<"rc">) =>
        toRts(self, { portNum }, { ...path, destQpNum: self.qpNum }, { sqPsn: 0x123 }),
      uc: (self: QueuePair.QueuePair<"uc">) =>
        toRts(self, { portNum }, { ...path, destQpNum: self.qpNum }, { sqPsn: 0x123 }),
      ud: (self: QueuePair.QueuePair<"ud">) => toRts(self, { portNum, qkey: 0x1111 }, {}, { sqPsn: 0x123 })
    },
    roce,
    toIpv4: (address: string, sgidIndex = roce.sgidIndex): AddressHandleAttributes.Input => ({
      portNum,
      grh: { dgid: `::ffff:${address}`, sgidIndex }
    })
  }
}

export const deviceNamed = (name: string, devices: DeviceList.DeviceList["devices"]) =>
  devices.find((device) => device.name === name) ??
    assert.fail(`no ${name} among ${devices.map(({ name }) => name).join(", ")}`)

export const cap = { maxSendWr: 8, maxRecvWr: 8 }

export const queueOn = (domain: ProtectionDomain.ProtectionDomain) => CompletionQueue.make(domain.context, { cqe: 16 })

export const pairOn = Effect.fnUntraced(function*<const Type extends "rc" | "uc" | "ud">(
  domain: ProtectionDomain.ProtectionDomain,
  qpType: Type,
  options: Omit<QueuePair.Options<Type>, "qpType"> = {}
) {
  const queue = yield* queueOn(domain)
  return yield* QueuePair.make(domain, { sendCq: queue, recvCq: queue, cap, ...options, qpType })
})

export const workQueueOn = (domain: ProtectionDomain.ProtectionDomain) =>
  Effect.flatMap(queueOn(domain), (queue) => WorkQueue.make(domain, queue, { maxWr: 4 }))

export const stateOf = (self: QueuePair.QueuePair) =>
  Effect.map(QueuePair.query(self), ({ attributes }) => attributes.qpState)

export const toRts = <Type extends "rc" | "uc" | "ud" | "xrcSend" | "xrcRecv">(
  self: QueuePair.QueuePair<Type>,
  init: QueuePairSteps.Init<Type>,
  rtr: QueuePairSteps.Rtr<Type>,
  rts: QueuePairSteps.Rts<Type>
) =>
  Effect.gen(function*() {
    yield* QueuePair.toInit(self, init)
    yield* QueuePair.toRtr(self, rtr)
    yield* QueuePair.toRts(self, rts)
  })
