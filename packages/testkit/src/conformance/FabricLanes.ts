/**
 * What the suites have to know of the first host of `Fabric.layer`. A provider on top of the fabric is held to the same with its
 * own layer in the place of the fabric's, and any other one by what differs.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Fabric from "../Fabric.ts"
import { answerRequests } from "../internal/answerRequests.ts"
import { rxeExtended } from "../internal/rxeExtended.ts"
import type * as RdmaCmLane from "./RdmaCmLane.ts"
import type * as UmadLane from "./UmadLane.ts"
import type * as VerbsLane from "./VerbsLane.ts"

const host = {
  name: "fabric",
  layer: Fabric.layer,
  snapshot: Effect.flatMap(Fabric.Fabric, (fabric) => fabric.objects)
} as const

const addresses = {
  ownAddress: "10.0.0.1",
  peerAddress: "10.0.0.2",
  silentAddress: "10.0.0.77"
} as const

const toIpv4 = (address: string) => ({ portNum: 1, grh: { dgid: `::ffff:${address}`, sgidIndex: 1 } })

const group = { gid: "::ffff:224.1.2.3", mlid: 0 }

const raise = (event: "gidChange" | "portErr" | "portActive") =>
  Effect.flatMap(Fabric.Fabric, (fabric) => fabric.raise("host-a", "rxe0", { _tag: "Port", event, portNum: 1 }))

/**
 * The lane of `conformance/Verbs`: `rxe0`, a likeness of Soft-RoCE as of Linux 6.1 with rdma-core 44.
 *
 * ```ts
 * import { Fabric } from "@effect-rdma/testkit"
 * import * as FabricLanes from "@effect-rdma/testkit/conformance/FabricLanes"
 * import * as VerbsConformance from "@effect-rdma/testkit/conformance/Verbs"
 * import { Verbs } from "@effect-rdma/verbs"
 * import { Effect, Layer } from "effect"
 *
 * // It passes every call on.
 * const provider = Layer.effect(Verbs.Verbs, Effect.map(Verbs.Verbs, (verbs) => ({ ...verbs }))).pipe(
 *   Layer.provideMerge(Fabric.layer)
 * )
 *
 * VerbsConformance.suites.ProtectionDomain.suite({ ...FabricLanes.verbs, name: "mine", layer: provider })
 * ```
 *
 * @category lanes
 * @since 0.1.0
 */
export const verbs: VerbsLane.VerbsLane<Fabric.Fabric> = {
  ...host,
  device: "rxe0",
  port: 1,
  peer: toIpv4(addresses.peerAddress),
  loop: toIpv4(addresses.ownAddress),
  group: { gid: "ff0e::ffff:e001:203", mlid: 0 },
  multicast: { group, address: { portNum: 1, grh: { dgid: group.gid, sgidIndex: 1 } } },
  emptyGidIndex: 2,
  roce: { ...addresses, sgidIndex: 1, peerMac: [0x52, 0x54, 0x00, 0x0a, 0x00, 0x02] },
  features: new Set<VerbsLane.Feature>(["checkedAddresses", "checkedAtomics", "noRemoteKey", "resizableSrq"]),
  extended: rxeExtended,
  boundRegion: "EINVAL",
  statuses: {
    sendKey: "locQpOpErr",
    shortReceive: { sender: "remOpErr", receiver: "locQpOpErr" },
    receiveKey: { sender: "remOpErr", receiver: "locQpOpErr" },
    localInv: "locQpOpErr",
    longDatagram: "success",
    shortDatagramReceive: "locQpOpErr",
    foreignAddressHandle: "locQpOpErr"
  },
  portSpeed: undefined,
  rateLimit: undefined,
  flush: (queue, wrId) =>
    Effect.flatMap(
      Fabric.Fabric,
      (fabric) =>
        fabric.complete("host-a", Resource.raw(queue), { wrId, status: "wrFlushErr", vendorErr: 0, qpNum: 17 })
    ),
  changeGids: raise("gidChange"),
  bouncePort: Effect.andThen(raise("portErr"), raise("portActive"))
}

/**
 * The lane of `conformance/RdmaCm` and `conformance/Connections`: `rxe0` by its IPv4 addresses.
 *
 * @category lanes
 * @since 0.1.0
 */
export const rdmaCm: RdmaCmLane.RdmaCmLane<Fabric.Fabric> = {
  ...host,
  ...addresses,
  device: "rxe0",
  port: 1,
  rdmaCore: 65,
  manyConnections: 200
}

/** The LID of `mlx5_0` of host-b. */
const hostB = 2

/**
 * The lane of `conformance/Umad`: the InfiniBand adapter `mlx5_0`, and the same one of host-b that answers it.
 *
 * @category lanes
 * @since 0.1.0
 */
export const umad: UmadLane.UmadLane<Fabric.Fabric> = {
  ...host,
  layer: Layer.tap(host.layer, (context) => answerRequests(Context.get(context, Fabric.Fabric), [hostB])),
  adapter: "mlx5_0",
  port: 1,
  adapters: 2,
  ports: 2,
  linkLayer: "InfiniBand",
  hasKernel: true,
  peers: { answering: hostB, silent: 77 }
}
