import * as Gid from "@effect-rdma/core/Gid"
import * as Identifier from "@effect-rdma/core/Identifier"
import type * as Pointer from "@effect-rdma/core/Pointer"
import type { MadToSend } from "@effect-rdma/umad/Umad"
import type * as AsyncEvent from "@effect-rdma/verbs/AsyncEvent"
import type * as ExtendedCompletion from "@effect-rdma/verbs/ExtendedCompletion"
import type * as Fabric from "../Fabric.ts"
import { FabricMisuse } from "../FabricMisuse.ts"
import type * as Topology from "../Topology.ts"
import * as Heap from "./heap.ts"
import type { RSocketState } from "./rdmacm/rsocketState.ts"
import type { Timeline } from "./timeline.ts"
import type { Managed, SentMad } from "./umad/answer.ts"
import type { WorkList } from "./workList.ts"

/** A device of a running fabric. */
export interface DeviceState {
  readonly name: string
  /** With the ports as their links are now. */
  description: Topology.Device
  /** The number that the kernel gave it. */
  readonly index: number
  /** What it answers to over Ethernet: the GIDs of its active ports. */
  readonly addresses: ReadonlyArray<PlacedGid>
  /** The IP addresses of the ports that were active at the start. */
  readonly ipAddresses: ReadonlyArray<IpAddress>
  plugged: boolean
  pds: number
  cqs: number
  ahs: number
  srqs: number
  qps: number
}

/** A completion, and whether the sender asked for an event. */
export interface Completion extends ExtendedCompletion.ExtendedCompletion {
  readonly solicited?: boolean
}

export interface ContextState extends Heap.Native {
  readonly device: DeviceState
}

/** One host, seen from the one process that runs there. */
export interface HostState {
  readonly name: string
  readonly rdma: boolean
  readonly heap: Heap.Heap
  /** In the order of the kernel; an unplugged device is gone from here. */
  devices: ReadonlyArray<DeviceState>
  readonly contexts: Heap.Store<"ibv_context", ContextState>
  readonly rsockets: Heap.Store<"rsocket", RSocketState>
  /** Called when a test raises an asynchronous event of a device. */
  readonly onAsyncEvent: Array<(device: DeviceState, event: AsyncEvent.AsyncEvent) => void>
  /** Called when a test puts a completion into a queue. */
  readonly onCompletion: Array<(queue: Pointer.Pointer<"ibv_cq">, completion: Completion) => void>
  /** Called when a device is unplugged. */
  readonly onUnplug: Array<(device: DeviceState) => void>
  /** Called when a MAD comes to a queue pair of a port, with the address of its sender. */
  readonly onMad: Array<(device: DeviceState, portNum: number, mad: MadToSend, qpn: number) => void>
}

export interface FabricState extends Timeline {
  readonly hosts: ReadonlyMap<string, HostState>
  readonly work: WorkList
  /** What tests have to say about MADs on their way: a reply, that it is lost, or nothing. */
  readonly onMad: Array<(mad: SentMad) => Uint8Array | "lost" | undefined>
  /** What its InfiniBand ports are cabled to; made when it is first asked for. */
  readonly managed: () => Managed
  /** Whether the topology says what they are cabled to. */
  readonly hasSubnet: boolean
  /** Whether any link ever took time or lost something: else nobody looks at them. */
  isDisturbed: boolean
  /** What tests have to say about what comes to a queue or a channel. */
  readonly onArrival: Set<{ readonly react: (arrival: Fabric.Arrival) => Fabric.Fate | undefined }>
}

export const make = (description: Topology.Host, addresses: { next: bigint }): HostState => {
  const heap = Heap.make(description.name, addresses)
  return {
    name: description.name,
    rdma: description.rdma,
    heap,
    devices: description.rdma
      ? description.devices.map((description, index) => ({
        name: description.name,
        description,
        index,
        addresses: description.ports
          .filter((port) => port.linkLayer === "ethernet" && port.state === "active")
          .flatMap(gidsOf),
        ipAddresses: description.ports.filter((port) => port.state === "active").flatMap(ipAddressesOf),
        plugged: true,
        pds: 0,
        cqs: 0,
        ahs: 0,
        srqs: 0,
        qps: 0
      }))
      : [],
    contexts: heap.store<"ibv_context", ContextState>("ibv_context"),
    rsockets: heap.store<"rsocket", RSocketState>("rsocket"),
    onAsyncEvent: [],
    onCompletion: [],
    onUnplug: [],
    onMad: []
  }
}

/** An IP address as a GID, and the port and GID that packets from there have. */
export interface IpAddress {
  readonly ip: Gid.Gid
  readonly ndevIfindex: number
  readonly portNum: Identifier.PortNumber
  readonly source: PlacedGid
}

/** A GID of a table, with its place. */
export interface PlacedGid extends Topology.GidRow {
  readonly index: NonNullable<Topology.GidRow["index"]>
}

/** The GIDs of a port in the order of their places. Each is a copy, as from a C library: the caller may write to it. */
export const gidsOf = (port: Topology.Port): ReadonlyArray<PlacedGid> =>
  port.gids
    .map((row, place) => ({
      ...row,
      gid: Gid.fromBytes(row.gid),
      index: row.index ?? Identifier.GidIndex.make(place)
    }))
    .filter((row) => !Gid.isZero(row.gid))
    .toSorted((self, that) => self.index - that.index)

const ipAddressesOf = (port: Topology.Port): ReadonlyArray<IpAddress> => {
  const [first, ...others] = gidsOf(port)
  if (port.number === 0 || first === undefined) return []
  const portNum = Identifier.PortNumber.make(port.number)
  return port.linkLayer === "ethernet"
    ? [first, ...others].map((source) => ({ ip: source.gid, ndevIfindex: source.ndevIfindex, portNum, source }))
    : port.ipoibAddresses.map(({ address, ndevIfindex }) => ({ ip: address, ndevIfindex, portNum, source: first }))
}

/** The host of that name, for a call of a test. */
export const hostOf = <A>(call: string, of: ReadonlyMap<string, A>, name: string): A => {
  const found = of.get(name)
  if (found === undefined) throw new FabricMisuse({ call, problem: `there is no host ${name}` })
  return found
}

/** The device of that name, for a call of a test. */
export const deviceOf = (call: string, host: HostState, name: string): DeviceState => {
  const device = host.devices.find((device) => device.name === name)
  if (device === undefined) throw new FabricMisuse({ call, problem: `${host.name} has no device ${name}` })
  return device
}

/** The device that answers to an address. */
export const ownerOf = (fabric: FabricState, gid: Gid.Gid): DeviceState | undefined =>
  portsOf(fabric, gid).find(({ device }) => device.addresses.some((address) => Gid.Equivalence(address.gid, gid)))
    ?.device

/** The Ethernet ports with a GID, of devices that are there: nothing changes these GIDs. */
export const portsOf = (
  fabric: FabricState,
  gid: Gid.Gid
): ReadonlyArray<{ readonly device: DeviceState; readonly portNum: number }> => {
  let index = ethernetPorts.get(fabric)
  if (index === undefined) ethernetPorts.set(fabric, index = indexOf(fabric))
  return index.get(keyOf(gid))?.filter(({ device }) => device.plugged) ?? []
}

const ethernetPorts = new WeakMap<FabricState, ReturnType<typeof indexOf>>()

const keyOf = (gid: Gid.Gid): string => String.fromCharCode(...gid)

const indexOf = ({ hosts }: FabricState) => {
  const index = new Map<string, Array<{ readonly device: DeviceState; readonly portNum: number }>>()
  for (const device of Array.from(hosts.values()).flatMap(({ devices }) => devices)) {
    for (const port of device.description.ports.filter(({ linkLayer }) => linkLayer === "ethernet")) {
      for (const { gid } of gidsOf(port)) {
        const key = keyOf(gid)
        const found = index.get(key)
        if (found === undefined) index.set(key, [{ device, portNum: port.number }])
        else found.push({ device, portNum: port.number })
      }
    }
  }
  return index
}

/** Whether any host answers to an address. */
export const isReachable = (fabric: FabricState, gid: Gid.Gid): boolean => ownerOf(fabric, gid) !== undefined
