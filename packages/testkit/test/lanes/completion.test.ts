import { Resource } from "@effect-rdma/core"
import { Fabric } from "@effect-rdma/testkit"
import * as CompletionConformance from "@effect-rdma/testkit/conformance/Completion"
import { describe } from "@effect/vitest"
import { Effect } from "effect"
import { verbsOnExperimentalFabric, verbsOnFabric, verbsOnInfiniBandFabric } from "./lanes.ts"

const raise = (device: string, event: "gidChange" | "portErr" | "portActive") =>
  Effect.flatMap(Fabric.Fabric, (fabric) => fabric.raise("host-a", device, { _tag: "Port", event, portNum: 1 }))

const events = (device: string) => ({
  changeGids: raise(device, "gidChange"),
  bouncePort: Effect.andThen(raise(device, "portErr"), raise(device, "portActive"))
})

const flush: CompletionConformance.CompletionLane<Fabric.Fabric | Fabric.Seams>["flush"] = (queue, wrId) =>
  Effect.flatMap(
    Fabric.Fabric,
    (fabric) => fabric.complete("host-a", Resource.raw(queue), { wrId, status: "wrFlushErr", vendorErr: 0, qpNum: 17 })
  )

const roce: CompletionConformance.CompletionLane<Fabric.Fabric | Fabric.Seams> = {
  ...verbsOnFabric,
  moderation: false,
  timestamps: false,
  ignoreOverrun: false,
  completionCounters: false,
  parentDomains: false,
  flush,
  ...events("rxe0")
}

const infiniBand: CompletionConformance.CompletionLane<Fabric.Fabric | Fabric.Seams> = {
  ...verbsOnInfiniBandFabric,
  moderation: true,
  timestamps: true,
  ignoreOverrun: true,
  completionCounters: true,
  parentDomains: true,
  flush,
  ...events("mlx5_0")
}

const mlnxOfed: CompletionConformance.CompletionLane<Fabric.Fabric | Fabric.Seams> = {
  ...infiniBand,
  layer: verbsOnExperimentalFabric.layer,
  completionCounters: false,
  experimental: true
}

describe("RoCE", () => CompletionConformance.suite(roce))
describe("InfiniBand", () => CompletionConformance.suite(infiniBand))
describe("MLNX_OFED", () => CompletionConformance.suite(mlnxOfed))
