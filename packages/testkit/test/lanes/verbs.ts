import { Fabric, Topology } from "@effect-rdma/testkit"
import * as FabricLanes from "@effect-rdma/testkit/conformance/FabricLanes"
import type * as VerbsLane from "@effect-rdma/testkit/conformance/VerbsLane"
import { AddressHandle, ProtectionDomain, QueuePair, SendBatch, Verbs } from "@effect-rdma/verbs"
import { Effect, Layer } from "effect"
import { addNeighbour, ip, joinGroup, kernelHolds, once, roce } from "./softRoce.ts"

// -----------------------------------------------------------------------------
// Soft-RoCE as of Linux 6.1, with rdma-core 44
// -----------------------------------------------------------------------------

// Requests to a queue pair in ERR are flushed.
const flush: VerbsLane.VerbsLane["flush"] = (queue, wrId) =>
  Effect.gen(function*() {
    const domain = yield* ProtectionDomain.alloc(queue.context)
    const queuePair = yield* QueuePair.makeExtended(domain, {
      qpType: "ud",
      sendCq: queue,
      recvCq: queue,
      cap: { maxSendWr: 4, maxRecvWr: 4, maxSendSge: 1, maxRecvSge: 1 },
      sendOpsFlags: ["send"]
    })
    yield* QueuePair.toInit(queuePair, { pkeyIndex: 0, portNum: 1, qkey: 17 })
    yield* QueuePair.toErr(queuePair)
    const to = yield* AddressHandle.make(domain, FabricLanes.verbs.loop)
    yield* SendBatch.post(queuePair, (batch) => {
      batch.send({ wrId, flags: ["signaled"] })
      batch.setUdAddr(to, 1, 17)
      batch.setSgeList([])
    })
    yield* Effect.sleep("20 millis")
  })

// The first wait of the process opens an epoll descriptor for good: no leak of a test.
const waitOnce = once(
  Effect.gen(function*() {
    const verbs = yield* Verbs.Verbs
    const { devices, list } = yield* verbs.getDeviceList
    const device = devices.find(({ name }) => name === FabricLanes.verbs.device)
    if (device !== undefined) {
      const opened = yield* verbs.openDevice(device.pointer)
      const channel = yield* verbs.createCompChannel(opened)
      yield* Effect.timeoutOption(verbs.awaitCqEvent(channel), "1 millis")
      yield* verbs.destroyCompChannel(channel)
      yield* verbs.closeDevice(opened)
    }
    yield* verbs.freeDeviceList(list)
  }).pipe(Effect.orDie)
)

export const verbsOnSoftRoce: VerbsLane.VerbsLane = {
  ...FabricLanes.verbs,
  name: "softroce",
  layer: Layer.tap(
    Verbs.Verbs.layer,
    (context) => Effect.andThen(Effect.andThen(addNeighbour, joinGroup), Effect.provide(waitOnce, context))
  ),
  snapshot: kernelHolds,
  roce: { ...roce, peerMac: [0x02, 0x00, 0x00, 0x00, 0x00, 0x02] },
  flush,
  changeGids: Effect.andThen(
    ip("address", "add", "10.0.0.201/24", "dev", "veth0"),
    ip("address", "del", "10.0.0.201/24", "dev", "veth0")
  ),
  bouncePort: Effect.andThen(ip("link", "set", "veth0", "down"), ip("link", "set", "veth0", "up"))
}

// -----------------------------------------------------------------------------
// The in-memory fabric
// -----------------------------------------------------------------------------

const raise = (event: "gidChange" | "portErr" | "portActive") =>
  Effect.flatMap(Fabric.Fabric, (fabric) => fabric.raise("host-a", "mlx5_0", { _tag: "Port", event, portNum: 1 }))

const mlx5Features: ReadonlyArray<VerbsLane.Feature> = [
  "blocksLoopback",
  "clock",
  "completionCounters",
  "deviceMemory",
  "ece",
  "failureEvents",
  "flowActions",
  "flushesAtOnce",
  "ignoreOverrun",
  "imports",
  "moderation",
  "newerMemory",
  "nullRegions",
  "onDemand",
  "queuePairEvents",
  "rawPackets",
  "rereg",
  "sharedQueueDomain",
  "steering",
  "tagMatching",
  "tellsInvalidation",
  "threadDomains",
  "timestamps",
  "wholeBatches",
  "windowBounds",
  "xrc"
]

/** mlx5 with the newest library. */
export const verbsOnInfiniBandFabric: VerbsLane.VerbsLane<Fabric.Fabric> = {
  ...FabricLanes.verbs,
  device: "mlx5_0",
  port: 1,
  peer: { portNum: 1, dlid: 2 },
  loop: { portNum: 1, dlid: 1 },
  group: { gid: "ff12:401b:ffff::1", mlid: 0xc001 },
  multicast: {
    group: { gid: "ff12:401b:ffff::2", mlid: 0xc002 },
    address: { portNum: 1, dlid: 0xc002, grh: { dgid: "ff12:401b:ffff::2", sgidIndex: 0 } }
  },
  emptyGidIndex: 2,
  roce: undefined,
  features: new Set(mlx5Features),
  extended: undefined,
  boundRegion: "EBUSY",
  statuses: {
    sendKey: "locProtErr",
    shortReceive: { sender: "remInvReqErr", receiver: "locLenErr" },
    receiveKey: { sender: "remOpErr", receiver: "locProtErr" },
    localInv: "mwBindErr",
    longDatagram: "locLenErr",
    shortDatagramReceive: "locLenErr",
    foreignAddressHandle: "success"
  },
  portSpeed: 2000n,
  rateLimit: 100_000,
  changeGids: raise("gidChange"),
  bouncePort: Effect.andThen(raise("portErr"), raise("portActive"))
}

/** The same adapter with the library of MLNX_OFED, which has the experimental resource domains. */
export const verbsOnExperimentalFabric: VerbsLane.VerbsLane<Fabric.Fabric> = {
  ...verbsOnInfiniBandFabric,
  layer: Layer.orDie(Fabric.layerFrom({
    hosts: [{ name: "host-a", devices: [{ ...Topology.connectX("mlx5_0", 1), experimental: true }] }]
  })),
  features: new Set([...mlx5Features.filter((feature) => feature !== "completionCounters"), "experimental"])
}
