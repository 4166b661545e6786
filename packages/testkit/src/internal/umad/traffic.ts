import * as Errno from "@effect-rdma/core/Errno"
import * as Gid from "@effect-rdma/core/Gid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import type * as MadAddress from "@effect-rdma/umad/MadAddress"
import type { BufferTooSmall, MadToSend, ReceivedMad, Umad } from "@effect-rdma/umad/Umad"
import type { UmadError } from "@effect-rdma/umad/UmadError"
import * as Effect from "effect/Effect"
import { FabricMisuse } from "../../FabricMisuse.ts"
import type * as Topology from "../../Topology.ts"
import type * as Heap from "../heap.ts"
import * as Host from "../host.ts"
import * as Route from "../verbs/route.ts"
import * as Agents from "./agents.ts"
import { carry, type Place } from "./answer.ts"
import { type AgentState, fail, type FileState, forget, type OpenPorts, type Outstanding } from "./openPorts.ts"

type Operations = Pick<
  Umad["Service"],
  "alloc" | "free" | "dump" | "addrDump" | "send" | "recv" | "poll" | "awaitMad"
>

interface Buffer extends Heap.Native {
  readonly length: number
}

/** What MADs do between the hosts of a fabric. */
export const make = (fabric: Host.FabricState, host: Host.HostState, openPorts: OpenPorts): Operations => {
  const buffers = host.heap.store<"ib_user_mad", Buffer>("ib_user_mad")

  /** Looks who gets a MAD that has come to a port. */
  const arrive = (device: Host.DeviceState, portNum: number, { address, mad }: MadToSend, qpn: number): void => {
    for (const agent of openPorts.agents()) {
      if (agent.file.device !== device || agent.file.portNum !== portNum) continue
      if (!isResponse(mad)) {
        if (!Agents.wants(agent, mad, qpn)) continue
      } else {
        if (agent.highTid !== viewOf(mad).getUint32(8)) continue
        const request = Array.from(agent.file.outstanding).find((request) => answers(agent, mad, request))
        // The response to what is not awaited is dropped.
        if (request === undefined) return
        forget(request)
      }
      return receive(agent.file, { agentId: agent.id, status: 0, address, mad: packetsOf(mad, agent) })
    }
  }
  host.onMad.push(arrive)

  const transmit = (agent: AgentState, { address, mad }: MadToSend): void => {
    const { device, portNum } = agent.file
    const port = portOf(device, portNum)
    if (port === undefined) return
    const from: Place = { host, device, port }
    const sent = { from, address, mad }
    const told = fabric.onMad.reduce<Uint8Array | "lost" | undefined>((known, react) => known ?? react(sent), undefined)
    if (told === "lost") return
    const reply = (mad: Uint8Array) =>
      arrive(device, portNum, { address: { ...address, qkey: noKey }, mad }, address.qpn)
    if (told !== undefined) return reply(told)
    if (port.linkLayer === "ethernet") {
      const to = destinationOf(fabric, from, address)
      if (to === undefined) return
      return Route.carry(
        fabric,
        endOf(from),
        endOf(to),
        { kind: "mad", bytes: mad },
        (mad) => come(from, address, agent.qpn, to, mad)
      )
    }
    const outcome = carry(fabric.managed(), sent)
    if (outcome === undefined) return
    const end = () =>
      outcome._tag === "Reply" ? reply(outcome.mad) : come(from, address, agent.qpn, outcome.at, outcome.mad)
    if (outcome.latency === 0) end()
    else fabric.after(outcome.latency, () => fabric.work.run(end))
  }

  return {
    alloc: (length) => Effect.sync(() => buffers.alloc({ kind: "MadBuffer", length })),
    free: (buffer) => Effect.sync(() => void buffers.free("umad_free", buffer)),
    dump: (buffer) => Effect.sync(() => void buffers.get("umad_dump", buffer)),
    addrDump: (buffer) => Effect.sync(() => void buffers.get("umad_addr_dump", buffer)),

    send: (portId, agentId, buffer, { address, mad }, timeoutMs, retries) =>
      Effect.suspend(() => {
        const call = "umad_send"
        const input = { agentId, lid: address.lid, length: mad.length }
        checkRoom(call, buffers.get(call, buffer), mad.length)
        const file = openPorts.files.get(portId)
        if (file === undefined) return fail(call, "EBADF", input)
        if (mad.length < shortest) return fail(call, "EINVAL", input)
        const agent = openPorts.agentOf(file, agentId)
        if (agent === undefined) return fail(call, "EINVAL", input)
        const port = portOf(file.device, file.portNum)
        if (port?.linkLayer === "ethernet" && address.grh === undefined) return fail(call, "EINVAL", input)
        if (mad.length > packetSize && !isSegmented(agent, mad)) return fail(call, "EINVAL", input)
        const wire = mad.slice()
        if (!isResponse(wire)) {
          viewOf(wire).setUint32(8, agent.highTid)
          if (Array.from(file.outstanding).some((other) => isSameRequest(other.mad, wire))) {
            return fail(call, "EINVAL", input)
          }
        }
        const sending = { address, mad: wire }
        if (timeoutMs === 0 || isResponse(wire)) {
          fabric.work.run(() => transmit(agent, sending))
          return Effect.void
        }
        const request: Outstanding = { agent, mad: wire, stopTimer: () => {} }
        file.outstanding.add(request)
        const attempt = (left: number): void => {
          fabric.work.run(() => {
            if (!file.outstanding.has(request)) return
            request.stopTimer = fabric.after(timeoutMs, () => {
              if (left > 0) return attempt(left - 1)
              forget(request)
              receive(file, { agentId, status: ETIMEDOUT, address, mad: wire.slice(0, headerSize) })
            })
            transmit(agent, sending)
          })
        }
        attempt(retries)
        return Effect.void
      }),
    recv: (portId, buffer, length) =>
      Effect.suspend((): Effect.Effect<ReceivedMad | BufferTooSmall, UmadError> => {
        const call = "umad_recv"
        const input = { portId, length }
        checkRoom(call, buffers.get(call, buffer), length)
        const file = openPorts.files.get(portId)
        if (file === undefined) return fail(call, "EBADF", input)
        const first = file.received.peek()
        if (first === undefined) return fail(call, "EAGAIN", input)
        const needed = first.mad.length
        if (length < Math.min(needed, packetSize)) return fail(call, "EINVAL", input)
        if (length < needed) return Effect.succeed({ needed })
        file.received.shift()
        if (file.received.length === 0) file.readable.closeUnsafe()
        return Effect.succeed(first)
      }),
    poll: (portId) => Effect.sync(() => (openPorts.files.get(portId)?.received.length ?? 1) > 0),
    awaitMad: (portId) => Effect.suspend(() => openPorts.files.get(portId)?.readable.await ?? Effect.void)
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const ETIMEDOUT = Errno.numberOf("ETIMEDOUT")

const headerSize = 24
/** The common header and the one of RMPP, without which the kernel takes no MAD. */
const shortest = 36
const packetSize = 256

const noKey = Identifier.QKey.make(0)
const trapRepress = 0x07
const baseboardManagement = 0x05

const viewOf = (mad: Uint8Array): DataView => new DataView(mad.buffer, mad.byteOffset, mad.byteLength)

const isResponse = (mad: Uint8Array): boolean =>
  ((mad[3] ?? 0) & 0x80) !== 0 || mad[3] === trapRepress || (mad[1] === baseboardManagement && (mad[23]! & 1) !== 0)

/** A packet is always a whole one, a message of RMPP as long as what is in it. Whoever has no RMPP gets the first packet of a message alone. */
const packetsOf = (mad: Uint8Array, agent: AgentState): Uint8Array<ArrayBuffer> => {
  const isMessage = agent.rmppVersion > 0 && agent.flags === 0 && isActive(mad)
  const length = isMessage ? mad.length : agent.rmppVersion === 0 ? packetSize : Math.max(mad.length, packetSize)
  const packets = new Uint8Array(length)
  packets.set(mad.subarray(0, length))
  return packets
}

const isSegmented = (agent: AgentState, mad: Uint8Array): boolean =>
  agent.rmppVersion > 0 && agent.flags === 0 && Agents.isRmppClass(mad[1] ?? 0) && isActive(mad)

// The flag of RMPP that says that there is any.
const isActive = (mad: Uint8Array): boolean => ((mad[26] ?? 0) & 1) !== 0

const isSameRequest = (self: Uint8Array, that: Uint8Array): boolean =>
  self[1] === that[1] && viewOf(self).getBigUint64(8) === viewOf(that).getBigUint64(8)

const answers = (agent: AgentState, mad: Uint8Array, request: Outstanding): boolean =>
  request.agent === agent && isSameRequest(request.mad, mad)

const receive = (file: FileState, mad: ReceivedMad): void => {
  file.received.push(mad)
  file.readable.openUnsafe()
}

const checkRoom = (call: string, buffer: Buffer, length: number): void => {
  if (length > buffer.length) {
    throw new FabricMisuse({ call, problem: `${length} bytes would run over the buffer, which takes ${buffer.length}` })
  }
}

const portOf = (device: Host.DeviceState, portNum: number): Topology.Port | undefined =>
  device.plugged ? device.description.ports.find(({ number }) => number === portNum) : undefined

/** The port that answers to an address on Ethernet. */
const destinationOf = (
  fabric: Host.FabricState,
  from: Place,
  { grh }: MadAddress.MadAddress
): Place | undefined => {
  if (grh === undefined) return undefined
  const isThere = (port: Topology.Port): boolean => Host.gidsOf(port).some(({ gid }) => Gid.Equivalence(gid, grh.gid))
  if (isThere(from.port)) return from
  if (from.port.physState !== "linkUp") return undefined
  for (const host of fabric.hosts.values()) {
    for (const device of host.devices) {
      for (const port of device.description.ports) {
        if (port.linkLayer === "ethernet" && port.physState === "linkUp" && isThere(port)) return { host, device, port }
      }
    }
  }
  return undefined
}

const endOf = ({ device, port }: Place) => ({ device, portNum: port.number })

/** A MAD comes to the agents of a port. */
const come = (from: Place, address: MadAddress.MadAddress, sourceQpn: number, to: Place, mad: Uint8Array): void => {
  const received = { address: receivedAddress(from, address, to.port, sourceQpn), mad }
  for (const react of to.host.onMad) react(to.device, to.port.number, received, address.qpn)
}

const receivedAddress = (
  from: Place,
  { grh, lid, pathBits, pkeyIndex, sl }: MadAddress.MadAddress,
  to: Topology.Port,
  qpn: number
): MadAddress.MadAddress => {
  const sourceGid = Host.gidsOf(from.port).find(({ index }) => index === (grh?.gidIndex ?? 0))?.gid
  const index = grh === undefined
    ? undefined
    : Host.gidsOf(to).find(({ gid }) => Gid.Equivalence(gid, grh.gid))?.index
  return {
    // The hardware takes as many bits as the port has LIDs for.
    lid: lid === Lid.permissive ? lid : Lid.Lid.make(from.port.lid | pathBits & (2 ** from.port.lmc - 1)),
    qpn: Identifier.Qpn.make(qpn),
    qkey: noKey,
    sl,
    pathBits: Identifier.PathBits.make(to.lid !== 0 && lid >= to.lid && lid < to.lid + 2 ** to.lmc ? lid - to.lid : 0),
    pkeyIndex,
    ...(grh === undefined || sourceGid === undefined ? undefined : {
      grh: { ...grh, gid: sourceGid, gidIndex: index ?? Identifier.GidIndex.make(0) }
    })
  }
}
