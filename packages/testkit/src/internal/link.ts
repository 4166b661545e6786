import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type * as Fabric from "../Fabric.ts"
import type * as Host from "./host.ts"

/** What lies between two ports, or on Ethernet between a port and the network: in both directions. */
export interface Link {
  /** Milliseconds that every packet takes. */
  latency: number
  /** Milliseconds for which a byte keeps it busy. */
  byteTime: number
  /** Whether a packet gets lost. */
  drops: (packet: Fabric.Packet) => boolean
  passed: number
  readonly directions: readonly [Direction, Direction]
}

interface Direction {
  /** When it can take another packet. */
  free: number
  /** When the last packet arrives: none overtakes another one. */
  last: number
}

/** One way over a link: 0 from its first end to the other one, and 1 back. */
export interface Hop {
  readonly link: Link
  readonly direction: 0 | 1
}

export const make = (): Link => ({
  latency: 0,
  byteTime: 0,
  drops: dropsNone,
  passed: 0,
  directions: [{ free: 0, last: 0 }, { free: 0, last: 0 }]
})

/** Disturbs it from now on; what is left out is undisturbed. */
export const disturb = (
  self: Link,
  { bandwidth = Infinity, drops, latency = 0, loss = 0, seed = 0 }: Fabric.Disturbance
): void => {
  if (!(bandwidth > 0)) throw new RangeError(`a bandwidth is above 0 Gb/s, not ${bandwidth}`)
  if (!(loss >= 0 && loss <= 1)) throw new RangeError(`a loss is from 0 to 1, not ${loss}`)
  const random = Effect.runSync(Random.withSeed(Effect.service(Random.Random), seed))
  self.latency = Duration.toMillis(latency)
  self.byteTime = 8 / (bandwidth * bitsPerMilli)
  self.drops = drops === undefined && loss === 0
    ? dropsNone
    : (packet) => (loss > 0 && random.nextDoubleUnsafe() < loss) || (drops?.(packet) ?? false)
}

/** When a packet has got over a link that it comes to at a time, or `undefined` when it is lost. */
export const pass = (
  { direction, link }: Hop,
  at: number,
  packet: Omit<Fabric.Packet, "count">,
  length: number = packet.bytes.length
): number | undefined => {
  const way = link.directions[direction]
  way.free = Math.max(at, way.free) + length * link.byteTime
  if (isLost(link, packet)) return undefined
  way.last = Math.max(way.last, way.free + link.latency)
  return way.last
}

/** Counts a packet, and asks whether it is lost. */
export const isLost = (link: Link, packet: Omit<Fabric.Packet, "count">): boolean => {
  link.passed++
  return link.drops !== dropsNone && link.drops({ ...packet, bytes: packet.bytes.slice(), count: link.passed })
}

/** The link of a port to the Ethernet. */
export const ofEthernet = (device: Host.DeviceState, portNum: number): Link => {
  let links = ethernet.get(device)
  if (links === undefined) ethernet.set(device, links = new Map())
  let link = links.get(portNum)
  if (link === undefined) links.set(portNum, link = make())
  return link
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const bitsPerMilli = 1_000_000

const dropsNone = (): boolean => false

const ethernet = new WeakMap<Host.DeviceState, Map<number, Link>>()
