import * as Errno from "@effect-rdma/core/Errno"
import * as Gid from "@effect-rdma/core/Gid"
import * as Guid from "@effect-rdma/core/Guid"
import type * as Identifier from "@effect-rdma/core/Identifier"
import * as LinkLayer from "@effect-rdma/core/LinkLayer"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import type * as PortAttributes from "@effect-rdma/umad/PortAttributes"
import type { Umad } from "@effect-rdma/umad/Umad"
import { UmadError } from "@effect-rdma/umad/UmadError"
import * as Effect from "effect/Effect"
import { FabricMisuse } from "../FabricMisuse.ts"
import type * as Topology from "../Topology.ts"
import type * as Heap from "./heap.ts"
import * as Host from "./host.ts"
import * as OpenPorts from "./umad/openPorts.ts"
import * as Traffic from "./umad/traffic.ts"

/** libibumad of one host, on its heap. It reads sysfs afresh at each call and keeps nothing. */
export const make = (fabric: Host.FabricState, host: Host.HostState, numbers: OpenPorts.Numbers): Umad["Service"] => {
  const { heap } = host
  const openPorts = OpenPorts.make(host, numbers, (caName, portNum) => choosePort(host, caName, portNum))
  const libraries = heap.store<"umad", Heap.Native>("umad")
  const lists = heap.store<"umad_device_node", Heap.Native & { readonly names: ReadonlyArray<string> }>(
    "umad_device_node"
  )
  const adapters = heap.store<"umad_ca", Heap.Native>("umad_ca")
  const ports = heap.store<"umad_port", Heap.Native>("umad_port")

  let debugLevel = 0

  const find = (name: string) => host.devices.find((device) => device.name === name)?.description

  return {
    init: Effect.sync(() => void libraries.alloc({ kind: "UmadLibrary" })),
    done: Effect.sync(() => {
      const [newest] = Array.from(libraries.values()).at(-1) ?? []
      if (newest === undefined) throw new FabricMisuse({ call: "umad_done", problem: "umad_init was not called" })
      libraries.free("umad_done", newest)
    }),
    debug: (level) => Effect.sync(() => level >= 0 ? debugLevel = level : debugLevel),
    getCasNames: Effect.sync(() => adaptersOf(host).map(({ name }) => name).filter(fits).toSorted()),
    getCaDeviceList: Effect.sync(() => {
      const names = adaptersOf(host).map(({ name }) => name)
      return { list: names.length === 0 ? undefined : lists.alloc({ kind: "CaDeviceList", names }), names }
    }),
    sortCaDeviceList: (list) =>
      Effect.sync(() => {
        // The nodes are the same, but another one may be the first.
        const names = lists.free("umad_sort_ca_device_list", list).names.toSorted()
        return { list: lists.alloc({ kind: "CaDeviceList", names }), names }
      }),
    freeCaDeviceList: (list) => Effect.sync(() => void lists.free("umad_free_ca_device_list", list)),
    getCa: (caName) =>
      Effect.suspend(() => {
        const call = "umad_get_ca"
        const input = caName === undefined ? {} : { caName }
        const name = caName ?? choose(host, 0)?.name
        if (name === undefined) return fail(host, call, "ENODEV", input)
        const device = find(name)
        if (device === undefined) return fail(host, call, "ENOENT", input)
        const ports = portsOf(device)
        if (ports === undefined) return fail(host, call, "EIO", input)
        return Effect.succeed({
          ca: adapters.alloc({ kind: "UmadCa" }),
          attributes: {
            caName: device.name,
            nodeType: device.nodeType,
            numports: ports.at(-1)?.portNum ?? 0,
            fwVer: device.attributes.fwVer,
            caType: device.caType,
            hwVer: device.hwVer,
            nodeGuid: device.guid,
            systemGuid: device.guid,
            ports
          }
        })
      }),
    releaseCa: (ca) => Effect.sync(() => void adapters.free("umad_release_ca", ca)),
    getPort: (caName, portNum) =>
      Effect.suspend(() => {
        const call = "umad_get_port"
        const input = caName === undefined ? { portNum } : { caName, portNum }
        const chosen = choosePort(host, caName, portNum)
        if (chosen === undefined) return fail(host, call, "ENODEV", input)
        const device = find(chosen.name)
        const port = device?.ports.find((port) => port.number === chosen.port)
        const attributes = device === undefined || port === undefined ? undefined : readPort(device, port)
        if (attributes === undefined) return fail(host, call, "EIO", input)
        return Effect.succeed({ port: ports.alloc({ kind: "UmadPort" }), attributes })
      }),
    releasePort: (port) => Effect.sync(() => void ports.free("umad_release_port", port)),
    getCaPortguids: (caName) =>
      Effect.suspend(() => {
        const call = "umad_get_ca_portguids"
        const input = caName === undefined ? {} : { caName }
        const name = caName ?? choose(host, 0)?.name
        if (name === undefined) return fail(host, call, "ENODEV", input)
        const device = find(name)
        const ports = device === undefined ? undefined : portsOf(device)
        if (ports === undefined) return fail(host, call, device === undefined ? "ENOENT" : "EIO", input)
        return Effect.succeed(
          Array.from(
            { length: (ports.at(-1)?.portNum ?? 0) + 1 },
            (_, index) => ports.find(({ portNum }) => portNum === index)?.portGuid ?? noGuid
          )
        )
      }),
    getPortNumbers: (caName) =>
      Effect.suspend(() => {
        const device = find(caName)
        return device === undefined
          ? fail(host, "scandir", "ENOENT", { caName })
          : Effect.succeed(device.ports.map(({ number }) => number).toSorted((self, that) => self - that))
      }),
    getIssmPath: (caName, portNum) =>
      Effect.suspend(() => {
        const call = "umad_get_issm_path"
        const input = caName === undefined ? { portNum } : { caName, portNum }
        const chosen = choosePort(host, caName, portNum)
        if (chosen === undefined) return fail(host, call, "ENODEV", input)
        const nodes = host.devices.flatMap(({ description, name }) =>
          description.ports.map((port) => ({ name, port: port.number }))
        )
        const node = nodes.findIndex(({ name, port }) => name === chosen.name && port === chosen.port)
        return node === -1
          ? fail(host, call, "EINVAL", input)
          : Effect.succeed(`/dev/infiniband/issm${node}`)
      }),
    getSmiGsiPairs: Effect.suspend(() => fail(host, "umad_get_smi_gsi_pairs", "EOPNOTSUPP", {})),
    getSmiGsiPairByCaName: (caName, portNum) =>
      fail(host, "umad_get_smi_gsi_pair_by_ca_name", "EOPNOTSUPP", { caName, portNum }),
    ...openPorts.operations,
    ...Traffic.make(fabric, host, openPorts)
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const fail = (
  { rdma }: Host.HostState,
  call: string,
  name: Errno.ErrnoName,
  input: UmadError["input"]
): Effect.Effect<never, UmadError> => {
  const errno = Errno.numberOf(name)
  const reason = rdma ? NativeReason.fromErrno(errno) : new NativeReason.RdmaUnavailable({ errno })
  return Effect.fail(new UmadError({ call, reason, input }))
}

const adaptersOf = (host: Host.HostState): ReadonlyArray<Topology.Device> =>
  host.devices.map((device) => device.description).filter(({ nodeType }) =>
    nodeType === "ca" || nodeType === "switch" || nodeType === "router"
  )

const noGuid = Guid.Guid.make(0n)

// `char[20]` and its NUL.
const fits = (name: string): boolean => new TextEncoder().encode(name).length < 20

// UMAD_CA_MAX_PORTS
const portSlots = 10

const readPort = (device: Topology.Device, port: Topology.Port): PortAttributes.PortAttributes | undefined => {
  // A port without P_Keys is taken for one that cannot be read.
  if (port.pkeys.length === 0) return undefined
  const gid = Host.gidsOf(port).find((row) => row.index === 0)?.gid ?? Gid.zero()
  return {
    caName: device.name,
    portNum: port.number,
    baseLid: port.lid,
    lmc: port.lmc,
    smLid: port.smLid,
    smSl: port.smSl,
    state: port.state,
    physState: port.physState,
    rate: port.rate,
    capmask: port.portCapFlags,
    gidPrefix: Gid.subnetPrefix(gid),
    portGuid: Guid.Guid.make(Gid.interfaceId(gid)),
    pkeys: port.pkeys,
    linkLayer: LinkLayer.format(port.linkLayer)
  }
}

/** The ports of an adapter by rising number; `undefined` when one cannot be read, for then none is. */
const portsOf = (device: Topology.Device): ReadonlyArray<PortAttributes.PortAttributes> | undefined => {
  const ports: Array<PortAttributes.PortAttributes> = []
  for (const port of device.ports.toSorted((self, that) => self.number - that.number)) {
    const read = readPort(device, port)
    if (read === undefined || port.number >= portSlots) return undefined
    ports.push(read)
  }
  return ports
}

interface Choice {
  readonly name: string
  readonly port: number
}

/** A name and a number are taken at their word, and sysfs tells whether they exist. */
const choosePort = (
  host: Host.HostState,
  caName: string | undefined,
  portNum: Identifier.AnyPortNumber
): Choice | undefined => {
  if (caName === undefined) return choose(host, portNum)
  if (portNum > 0) return { name: caName, port: portNum }
  const device = host.devices.find((device) => device.name === caName)?.description
  const candidate = device === undefined ? undefined : candidateOf(device, 0)
  return candidate === undefined ? undefined : { name: caName, port: candidate.port }
}

/** The first adapter with an active port, else the first with a port that is not disabled. */
const choose = (host: Host.HostState, portNum: number): Choice | undefined => {
  const adapters = adaptersOf(host)
  if (adapters.length === 0) return undefined
  const candidates = adapters.flatMap((device) => {
    const candidate = candidateOf(device, portNum)
    return candidate === undefined ? [] : [{ name: device.name, ...candidate }]
  })
  return candidates.find(({ isActive }) => isActive) ?? candidates[0] ?? { name: "mthca0", port: 1 }
}

/**
 * The port of an adapter that libibumad would take: the wanted one unless it is disabled or not InfiniBand; without a
 * wish the first active or linked InfiniBand port, else the first port that is not disabled, of any link layer.
 */
const candidateOf = (
  device: Topology.Device,
  portNum: number
): { readonly port: number; readonly isActive: boolean } | undefined => {
  const ports = portsOf(device)
  if (ports === undefined) return undefined
  if (device.nodeType === "switch") return { port: 0, isActive: true }
  const infiniband = ports.filter((port) => port.linkLayer === "InfiniBand")
  if (portNum > 0) {
    const port = infiniband.find((port) => port.portNum === portNum)
    if (port === undefined || (port.state !== "active" && port.physState === "disabled")) return undefined
    return { port: portNum, isActive: port.state === "active" }
  }
  const active = infiniband.find((port) => port.state === "active")
  const port = active ?? infiniband.find((port) => port.physState === "linkUp") ??
    ports.find((port) => port.physState !== "disabled")
  return port === undefined ? undefined : { port: port.portNum, isActive: active !== undefined }
}
