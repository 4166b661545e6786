import { RdmaCm } from "@effect-rdma/rdmacm"
import { Fabric, Topology } from "@effect-rdma/testkit"
import type * as PortsConformance from "@effect-rdma/testkit/conformance/Ports"
import type * as RdmaCmConformance from "@effect-rdma/testkit/conformance/RdmaCm"
import type * as UmadConformance from "@effect-rdma/testkit/conformance/Umad"
import type * as VerbsConformance from "@effect-rdma/testkit/conformance/Verbs"
import { Umad } from "@effect-rdma/umad"
import { Verbs } from "@effect-rdma/verbs"
import { Context, Effect, Layer } from "effect"
import { execFileSync, spawn } from "node:child_process"
import { readdirSync, readlinkSync } from "node:fs"
import { createInterface } from "node:readline"

// -----------------------------------------------------------------------------
// The in-memory fabric: host-a of the default topology
// -----------------------------------------------------------------------------

const fabricObjects = Effect.flatMap(Fabric.Fabric, (fabric) => fabric.objects)

const fabric = { name: "fabric", layer: Fabric.layer, snapshot: fabricObjects } as const

const roce = {
  sgidIndex: 1,
  ownAddress: "10.0.0.1",
  peerAddress: "10.0.0.2",
  silentAddress: "10.0.0.77",
  emptyGidIndex: 2
} as const

const roceDevice = {
  device: "rxe0",
  port: 1,
  peer: { portNum: 1, grh: { dgid: `::ffff:${roce.peerAddress}`, sgidIndex: roce.sgidIndex } },
  checkedAddresses: true,
  roce,
  threadDomains: false,
  experimental: false
} as const

export const verbsOnFabric: VerbsConformance.VerbsLane<Fabric.Fabric | Fabric.Seams> = { ...fabric, ...roceDevice }

export const verbsOnInfiniBandFabric: VerbsConformance.VerbsLane<Fabric.Fabric | Fabric.Seams> = {
  ...fabric,
  device: "mlx5_0",
  port: 1,
  peer: { portNum: 1, dlid: 2 },
  checkedAddresses: false,
  roce: undefined,
  threadDomains: true,
  experimental: false
}

/** The same adapter with the library of MLNX_OFED, which has the experimental resource domains. */
export const verbsOnExperimentalFabric: VerbsConformance.VerbsLane<Fabric.Fabric | Fabric.Seams> = {
  ...verbsOnInfiniBandFabric,
  layer: Layer.orDie(Fabric.layerFrom({
    hosts: [{ name: "host-a", devices: [{ ...Topology.connectX("mlx5_0", 1), experimental: true }] }]
  })),
  experimental: true
}

// -----------------------------------------------------------------------------
// Soft-RoCE: the real libraries on rxe0 of the guest
// -----------------------------------------------------------------------------

// One `rdma` answers for all tests of a file: it would take longer to start it than most tests run.
const startRdma = () => {
  const child = spawn("rdma", ["--json", "--batch", "-"], { stdio: ["pipe", "pipe", "inherit"] })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  return async (command: string): Promise<unknown> => {
    child.stdin.write(`${command}\n`)
    const { done, value } = await lines.next()
    if (done) throw new Error(`rdma ended with status ${child.exitCode}`)
    return JSON.parse(value)
  }
}

let rdma: ReturnType<typeof startRdma> | undefined

/** How many objects the kernel holds, whoever made them, and which files this process has open, by what they are. */
const kernelHolds = Effect.promise(async () => ({
  resources: await (rdma ??= startRdma())("resource show"),
  files: openFiles()
}))

const openFiles = () => {
  const counts: Record<string, number> = {}
  for (const fd of readdirSync("/proc/self/fd")) {
    const kind = kindOfFile(fd)
    if (kind !== undefined) counts[kind] = (counts[kind] ?? 0) + 1
  }
  return counts
}

const kindOfFile = (fd: string) => {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`).replace(/:\[\d+\]$/, "")
  } catch {
    // The descriptor of the folder itself, which is closed again.
    return undefined
  }
}

let hasNeighbour = false

// Nobody is behind the veth pair; this entry stands for a peer that answered.
const addNeighbour = Effect.sync(() => {
  if (hasNeighbour) return
  const entry = ["lladdr", "02:00:00:00:00:02", "dev", "veth0", "nud", "permanent"]
  execFileSync("ip", ["neigh", "replace", roce.peerAddress, ...entry])
  hasNeighbour = true
})

export const verbsOnSoftRoce: VerbsConformance.VerbsLane = {
  name: "softroce",
  layer: Layer.tap(Verbs.Verbs.layer, () => addNeighbour),
  snapshot: kernelHolds,
  ...roceDevice
}

// rxe of Linux 6.1 and rdma-core 44 tell no speeds and limit none.
const rxePort = { rateLimit: undefined, speed: undefined } as const

export const portsOnFabric: PortsConformance.PortsLane<Fabric.Fabric | Fabric.Seams> = {
  ...verbsOnFabric,
  ...rxePort,
  ethernet: { ...roce, peerMac: [0x52, 0x54, 0x00, 0x0a, 0x00, 0x02] }
}

export const portsOnSoftRoce: PortsConformance.PortsLane = {
  ...verbsOnSoftRoce,
  ...rxePort,
  ethernet: { ...roce, peerMac: [0x02, 0x00, 0x00, 0x00, 0x00, 0x02] }
}

export const portsOnInfiniBandFabric: PortsConformance.PortsLane<Fabric.Fabric | Fabric.Seams> = {
  ...verbsOnInfiniBandFabric,
  rateLimit: 100_000,
  speed: 2000n,
  ethernet: undefined
}

const manager = { ...roce, device: "rxe0", port: 1 } as const

export const rdmaCmOnFabric: RdmaCmConformance.RdmaCmLane<Fabric.Fabric | Fabric.Seams> = { ...fabric, ...manager }

// At its first call librdmacm opens every device and keeps it open; the first wait of the process opens an epoll
// descriptor for good. Neither is a leak of a test.
const librdmacm = Layer.tap(RdmaCm.RdmaCm.layer, (context) =>
  Effect.gen(function*() {
    const cm = Context.get(context, RdmaCm.RdmaCm)
    const { list } = yield* cm.getDevices
    if (list !== undefined) yield* cm.freeDevices(list)
    const channel = yield* cm.createEventChannel
    yield* Effect.timeoutOption(cm.awaitCmEvent(channel), "1 millis")
    yield* cm.destroyEventChannel(channel)
  }).pipe(Effect.orDie))

export const rdmaCmOnSoftRoce: RdmaCmConformance.RdmaCmLane = {
  name: "softroce",
  layer: Layer.tap(Layer.merge(Verbs.Verbs.layer, librdmacm), () => addNeighbour),
  snapshot: kernelHolds,
  ...manager
}

// -----------------------------------------------------------------------------
// libibumad: on the fabric, over the port of Soft-RoCE, and over ibsim
// -----------------------------------------------------------------------------

export const umadOnFabric: UmadConformance.UmadLane<Fabric.Fabric | Fabric.Seams> = {
  ...fabric,
  adapter: "mlx5_0",
  port: 1,
  adapters: 2,
  ports: 2,
  linkLayer: "InfiniBand"
}

/** A host whose only adapter is an Ethernet one, as the guest of Soft-RoCE is. */
export const umadOnEthernetFabric: UmadConformance.UmadLane<Fabric.Fabric | Fabric.Seams> = {
  name: "fabric",
  layer: Layer.orDie(Fabric.layerFrom({ hosts: [{ name: "host-a", devices: [Topology.softRoce("rxe0", 1)] }] })),
  snapshot: fabricObjects,
  adapter: "rxe0",
  port: 1,
  adapters: 1,
  ports: 1,
  linkLayer: "Ethernet"
}

export const umadOnSoftRoce: UmadConformance.UmadLane = {
  name: "softroce",
  layer: Umad.Umad.layer,
  snapshot: kernelHolds,
  adapter: "rxe0",
  port: 1,
  adapters: 1,
  ports: 1,
  linkLayer: "Ethernet"
}

// The simulator's library connects at the first look into sysfs and stays connected: that is no leak of a test.
const connected = Layer.tap(Umad.Umad.layer, (context) => Effect.orDie(Context.get(context, Umad.Umad).getCasNames))

export const umadOnIbsim: UmadConformance.UmadLane = {
  name: "ibsim",
  layer: connected,
  snapshot: Effect.sync(openFiles),
  adapter: "ibsim0",
  port: 1,
  adapters: 1,
  ports: 1,
  linkLayer: "IB"
}
