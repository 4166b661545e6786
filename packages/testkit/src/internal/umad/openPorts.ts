import * as Errno from "@effect-rdma/core/Errno"
import type * as Identifier from "@effect-rdma/core/Identifier"
import * as LinkLayer from "@effect-rdma/core/LinkLayer"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as CaName from "@effect-rdma/umad/CaName"
import type { AgentId, PortId, ReceivedMad, RegistrationAttributes, Umad } from "@effect-rdma/umad/Umad"
import { UmadError } from "@effect-rdma/umad/UmadError"
import * as Brand from "effect/Brand"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import { FabricMisuse } from "../../FabricMisuse.ts"
import { Deque } from "../deque.ts"
import type * as Heap from "../heap.ts"
import type * as Host from "../host.ts"
import * as Agents from "./agents.ts"

/** A request that waits for its response. */
export interface Outstanding {
  readonly agent: AgentState
  /** The MAD on the wire. */
  readonly mad: Uint8Array
  stopTimer: () => void
}

export interface AgentState extends Agents.Agent, Heap.Native {
  readonly file: FileState
}

/** An open `/dev/infiniband/umadN`, as the kernel keeps it. */
export interface FileState extends Heap.Native {
  readonly portId: PortId
  readonly device: Host.DeviceState
  readonly portNum: number
  readonly agents: Map<AgentId, Pointer.Pointer<"ib_mad_agent">>
  readonly received: Deque<ReceivedMad>
  /** Open while MADs can be received. */
  readonly readable: Latch.Latch
  readonly outstanding: Set<Outstanding>
}

export interface OpenPorts {
  readonly files: ReadonlyMap<PortId, FileState>
  readonly agentOf: (file: FileState, agentId: AgentId) => AgentState | undefined
  readonly agents: () => Iterable<AgentState>
}

type Operations = Pick<
  Umad["Service"],
  "openPort" | "openSmiPort" | "closePort" | "getFd" | "register" | "registerOui" | "register2" | "unregister"
>

/** Who an agent is, unique on the whole fabric as if every host had started at another number. */
export interface Numbers {
  nextHighTid: number
}

/** Open ports and agents of one host. `choose` is how libibumad takes a filter. */
export const make = (
  host: Host.HostState,
  numbers: Numbers,
  choose: (
    caName: CaName.CaName | undefined,
    portNum: Identifier.AnyPortNumber
  ) => { readonly name: string; readonly port: number } | undefined
): OpenPorts & { readonly operations: Operations } => {
  const { heap } = host
  const fileStore = heap.store<"ib_umad_file", FileState>("ib_umad_file")
  const agentStore = heap.store<"ib_mad_agent", AgentState>("ib_mad_agent")
  const files = new Map<PortId, FileState>()
  const pointers = new Map<PortId, Pointer.Pointer<"ib_umad_file">>()
  let nextPortId = firstDescriptor

  host.onUnplug.push((device) => {
    for (const file of files.values()) {
      // What was received stays; the agents are gone, and nobody hears of their requests again.
      if (file.device === device) file.outstanding.forEach((request) => forget(request))
    }
  })

  const agentOf = (file: FileState, agentId: AgentId): AgentState | undefined => {
    const pointer = file.device.plugged ? file.agents.get(agentId) : undefined
    return pointer === undefined ? undefined : agentStore.find(pointer)
  }

  function* agents(): Generator<AgentState> {
    for (const [, agent] of agentStore.values()) {
      if (agent.file.device.plugged) yield agent
    }
  }

  const openPort: Operations["openPort"] = (caName, portNum) =>
    Effect.suspend(() => {
      const call = "umad_open_port"
      const input = caName === undefined ? { portNum } : { caName, portNum }
      if (!host.rdma) return fail(call, "EOPNOTSUPP", input)
      const chosen = choose(caName, portNum)
      if (chosen === undefined) return fail(call, "ENODEV", input)
      const device = host.devices.find(({ name }) => name === chosen.name)
      if (device?.description.ports.some(({ number }) => number === chosen.port) !== true) {
        return fail(call, "EINVAL", input)
      }
      const portId = portIdOf(nextPortId++)
      const file: FileState = {
        kind: "OpenPort",
        portId,
        device,
        portNum: chosen.port,
        agents: new Map(),
        received: new Deque(),
        readable: Latch.makeUnsafe(false),
        outstanding: new Set()
      }
      files.set(portId, file)
      pointers.set(portId, fileStore.alloc(file))
      return Effect.succeed(portId)
    })

  const register = (
    call: string,
    portId: PortId,
    attributes: RegistrationAttributes
  ): Effect.Effect<AgentId, UmadError> =>
    Effect.suspend(() => {
      const input = { mgmtClass: `0x${attributes.mgmtClass.toString(16).padStart(2, "0")}` }
      const file = files.get(portId)
      if (file === undefined) return fail(call, "EBADF", input)
      if (!file.device.plugged) return fail(call, "EPIPE", input)
      const id = Array.from({ length: Agents.maximumAgents }, (_, index) => agentIdOf(index))
        .find((id) => !file.agents.has(id))
      if (id === undefined) return fail(call, "ENOMEM", input)
      const { device, portNum } = file
      const port = device.description.ports.find(({ number }) => number === portNum)
      const others = Array.from(agents()).filter((other) =>
        other.file.device === device && other.file.portNum === portNum
      )
      const refusal = Agents.refusalOf(
        attributes,
        port !== undefined && LinkLayer.format(port.linkLayer) !== "Ethernet",
        others
      )
      if (refusal !== undefined) return fail(call, refusal, input)
      file.agents.set(
        id,
        agentStore.alloc({
          ...attributes,
          kind: "UmadAgent",
          device,
          file,
          id,
          highTid: numbers.nextHighTid++,
          qpn: Agents.isSubnetManagement(attributes.mgmtClass) ? 0 : 1
        })
      )
      return Effect.succeed(id)
    })

  const release = (call: string, file: FileState, agentId: AgentId, pointer: Pointer.Pointer<"ib_mad_agent">) => {
    const agent = agentStore.free(call, pointer)
    file.agents.delete(agentId)
    for (const request of file.outstanding) if (request.agent === agent) forget(request)
  }

  return {
    files,
    agentOf,
    agents,
    operations: {
      openPort,
      openSmiPort: () => fail("umad_open_smi_port", "EOPNOTSUPP", {}),
      closePort: (portId) =>
        Effect.sync(() => {
          const call = "umad_close_port"
          const file = files.get(portId)
          const pointer = pointers.get(portId)
          if (file === undefined || pointer === undefined) {
            throw new FabricMisuse({ call, problem: `${portId} is not open: it may be somebody else's` })
          }
          for (const [agentId, pointer] of file.agents) release(call, file, agentId, pointer)
          fileStore.free(call, pointer)
          pointers.delete(portId)
          files.delete(portId)
          // A watcher has the open file too; closing ours does not wake it, and nothing ever will.
        }),
      getFd: (portId) => Effect.succeed(portId),
      register: (portId, { mgmtVersion, ...registration }) =>
        register("umad_register", portId, {
          ...registration,
          mgmtClassVersion: mgmtVersion,
          oui: openIbOui,
          flags: 0
        }),
      registerOui: (portId, registration) =>
        Agents.isVendorClass(registration.mgmtClass)
          ? register("umad_register_oui", portId, { ...registration, mgmtClassVersion: 1, flags: 0 })
          : fail("umad_register_oui", "EINVAL", { mgmtClass: registration.mgmtClass }),
      register2: (portId, attributes) => register("umad_register2", portId, attributes),
      unregister: (portId, agentId) =>
        Effect.suspend(() => {
          const call = "umad_unregister"
          const file = files.get(portId)
          if (file === undefined) return fail(call, "EBADF", { agentId })
          const pointer = file.agents.get(agentId)
          if (pointer === undefined || !file.device.plugged) return fail(call, "EINVAL", { agentId })
          release(call, file, agentId, pointer)
          return Effect.void
        })
    }
  }
}

/** A request that nobody waits for any more. */
export const forget = (request: Outstanding): void => {
  request.stopTimer()
  request.agent.file.outstanding.delete(request)
}

export const fail = (
  call: string,
  name: Errno.ErrnoName,
  input: UmadError["input"]
): Effect.Effect<never, UmadError> =>
  Effect.fail(new UmadError({ call, reason: NativeReason.fromErrno(Errno.numberOf(name)), input }))

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const portIdOf = Brand.nominal<PortId>()
const agentIdOf = Brand.nominal<AgentId>()

// Above the descriptors that a process starts with. None is given twice, so that a stale one is noticed.
const firstDescriptor = 20

// IB_OPENIB_OUI
const openIbOui = 0x001405
