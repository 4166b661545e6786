import * as Guid from "@effect-rdma/core/Guid"
import { FabricMisuse } from "../FabricMisuse.ts"
import type { Device, Input, Link } from "../Topology.ts"
import { connectX, softRoce } from "./adapters.ts"

/**
 * What a fabric is built from.
 *
 * @category models
 * @since 0.1.0
 */
export interface Plan {
  /**
   * The hosts with their devices: one whose name begins with `rxe` is Soft-RoCE, any other an InfiniBand adapter like a
   * ConnectX-6. The n-th host is number n: 10.0.0.n on Ethernet, 10.0.1.n on InfiniBand. It has at most one of each kind.
   */
  readonly hosts: { readonly [host: string]: ReadonlyArray<string> }
  /** The InfiniBand switches. Without any all adapters are on one. */
  readonly switches?: ReadonlyArray<string>
  /**
   * The InfiniBand cables: each between a switch and a switch or an adapter such as `host-a mlx5_0`, which takes the next port
   * of both, and what it does to what goes over it.
   */
  readonly cables?: ReadonlyArray<readonly [string, string, Omit<typeof Link.Encoded, "node" | "portNum">?]>
  /** Other links that do something, such as that of `host-a rxe0` to the Ethernet. */
  readonly links?: ReadonlyArray<typeof Link.Encoded>
}

/**
 * A fabric of the usual devices. Dies with `FabricMisuse` when there is no host, more than 254, two devices of one kind on a
 * host, or a cable to what is not there.
 *
 * ```ts
 * import { Fabric, Topology } from "@effect-rdma/testkit"
 *
 * const acrossTheSpine = Fabric.layerFrom(Topology.build({
 *   hosts: { client: ["rxe0", "mlx5_0"], server: ["rxe0", "mlx5_0"] },
 *   switches: ["leaf-1", "leaf-2", "spine"],
 *   cables: [
 *     ["client mlx5_0", "leaf-1"],
 *     ["server mlx5_0", "leaf-2"],
 *     ["leaf-1", "spine"],
 *     ["leaf-2", "spine", { latency: "2 micros", bandwidth: 100, loss: 0.001, seed: 7 }]
 *   ],
 *   links: [{ node: "client rxe0", latency: "1 millis" }]
 * }))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const build = ({ cables = [], hosts, links = [], switches = [] }: Plan): Input => {
  const [first, ...rest] = Object.entries(hosts).map(([name, devices], index) => {
    if (index === 254) throw misuse("more than 254 hosts have no addresses")
    if (new Set(devices.map(isRxe)).size < devices.length) throw misuse(`${name} has two devices of one kind`)
    return { name, devices: devices.map((device) => deviceOf(device, index + 1)) }
  })
  if (first === undefined) throw misuse("there is no host")
  const all = [first, ...rest] as const
  if (switches.length === 0 && cables.length === 0) return { hosts: all, links }
  const nodes = new Map([
    ...switches.map((name, index): [string, Node] => [name, nodeOf("switch", firstSwitch + BigInt(index), name)]),
    ...all.flatMap(({ devices, name }) =>
      devices.filter((device) => !isRxe(device.name)).map((device): [string, Node] => {
        const node = `${name} ${device.name}`
        return [node, nodeOf("ca", Guid.Guid.make(BigInt(device.guid)), node)]
      })
    )
  ])
  const take = (name: string, cable: readonly [string, string, unknown?]): Node => {
    const node = nodes.get(name)
    if (node === undefined) throw misuse(`the cable between ${cable[0]} and ${cable[1]} leads to nothing there`)
    return node
  }
  const disturbed = cables.flatMap((cable): ReadonlyArray<typeof Link.Encoded> => {
    const [self, that] = [take(cable[0], cable), take(cable[1], cable)]
    const [here, there] = [self.links.length + 1, that.links.length + 1]
    self.links.push({ node: that.guid, port: there })
    that.links.push({ node: self.guid, port: here })
    return cable[2] === undefined ? [] : [{ ...cable[2], node: cable[0], portNum: here }]
  })
  return {
    hosts: [cabled(nodes, first), ...rest.map((host) => cabled(nodes, host))],
    subnet: { nodes: Array.from(nodes.values(), described) },
    links: [...disturbed, ...links]
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

type MadeDevice = ReturnType<typeof softRoce>

interface MadeHost {
  readonly name: string
  readonly devices: ReadonlyArray<MadeDevice>
}

interface Node {
  readonly kind: "switch" | "ca"
  readonly guid: bigint
  readonly name: string
  /** Where the cables of its ports lead, from port 1 on. */
  readonly links: Array<{ readonly node: bigint; readonly port: number }>
}

const firstSwitch = 0x5357_0001_0000_0000n

const misuse = (problem: string) => new FabricMisuse({ call: "Topology.build", problem })

const isRxe = (device: string): boolean => device.startsWith("rxe")

const deviceOf = (name: string, hostNumber: number): MadeDevice =>
  isRxe(name) ? softRoce(name, hostNumber) : connectX(name, hostNumber)

const nodeOf = (kind: Node["kind"], guid: bigint, name: string): Node => ({ kind, guid, name, links: [] })

const cabled = (nodes: ReadonlyMap<string, Node>, { devices, name }: MadeHost): MadeHost => ({
  name,
  devices: devices.map((device) => {
    const node = nodes.get(`${name} ${device.name}`)
    return node === undefined ? device : adapterOf(node, device)
  })
})

const adapterOf = ({ links }: Node, device: MadeDevice): MadeDevice => ({
  ...device,
  ports: (device.ports ?? []).map((port) => portOf(port, port.number <= links.length))
})

/** The manager is not where the adapters say, but on the first switch; and a port without a cable is down. */
const portOf = (port: PortInput, hasCable: boolean): PortInput =>
  hasCable
    ? { ...port, state: "active", physState: "linkUp", lid: port.lid === 0xffff ? 0 : port.lid ?? 0, smLid: 0 }
    : { ...port, state: "down", physState: "polling", lid: 0xffff, smLid: 0, ipoibAddresses: [] }

type PortInput = NonNullable<(typeof Device.Encoded)["ports"]>[number]

const described = ({ guid, kind, links, name }: Node) => ({
  kind,
  guid,
  systemGuid: guid,
  name,
  description: name,
  vendorId: 0,
  deviceId: 0,
  numPorts: Math.max(kind === "ca" ? 2 : 1, links.length),
  enhancedPort0: false,
  ports: [
    ...(kind === "switch" ? [{ number: 0, guid, lid: 0, lmc: 0 }] : []),
    ...links.map((link, index) => ({
      number: index + 1,
      guid: kind === "switch" ? guid : guid + BigInt(index + 1),
      lid: 0,
      lmc: 0,
      link: { ...link, width: "4x", speed: "hdr" } as const
    }))
  ]
})
