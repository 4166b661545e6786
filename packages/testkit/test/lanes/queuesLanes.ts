import type { Fabric } from "@effect-rdma/testkit"
import type * as QueuesConformance from "@effect-rdma/testkit/conformance/Queues"
import { verbsOnFabric, verbsOnInfiniBandFabric, verbsOnSoftRoce } from "./lanes.ts"

// Soft-RoCE on the veth pair of the guest, and its likeness on the fabric: 10.0.0.1 on both.
const rxe = {
  loop: { portNum: 1, grh: { dgid: "::ffff:10.0.0.1", sgidIndex: 1 } },
  silent: { portNum: 1, grh: { dgid: "::ffff:10.0.0.77", sgidIndex: 1 } },
  group: { gid: "ff0e::ffff:e001:203", mlid: 0, countsLid: false },
  xrc: false,
  tagMatching: false,
  rawPackets: false,
  ece: false,
  resizable: true,
  blocksLoopback: false,
  checkedBatches: true,
  fullBatch: "ENOSPC",
  boundRegion: "EINVAL"
} as const

export const queuesOnFabric: QueuesConformance.QueuesLane<Fabric.Fabric | Fabric.Seams> = { ...verbsOnFabric, ...rxe }

export const queuesOnSoftRoce: QueuesConformance.QueuesLane = { ...verbsOnSoftRoce, ...rxe }

export const queuesOnInfiniBandFabric: QueuesConformance.QueuesLane<Fabric.Fabric | Fabric.Seams> = {
  ...verbsOnInfiniBandFabric,
  loop: { portNum: 1, dlid: 1 },
  silent: undefined,
  group: { gid: "ff12:401b:ffff::1", mlid: 0xc001, countsLid: true },
  xrc: true,
  tagMatching: true,
  rawPackets: true,
  ece: true,
  resizable: false,
  blocksLoopback: true,
  checkedBatches: false,
  fullBatch: "ENOMEM",
  boundRegion: "EBUSY"
}
