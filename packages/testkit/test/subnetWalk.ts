import * as Lid from "@effect-rdma/core/Lid"
import { DirectedRouteSmp } from "@effect-rdma/umad/DirectedRouteSmp"
import { LinearForwardingTable } from "@effect-rdma/umad/LinearForwardingTable"
import { NodeInfo } from "@effect-rdma/umad/NodeInfo"
import { PortInfo } from "@effect-rdma/umad/PortInfo"
import * as UmadAgent from "@effect-rdma/umad/UmadAgent"
import * as UmadLibrary from "@effect-rdma/umad/UmadLibrary"
import * as UmadPort from "@effect-rdma/umad/UmadPort"
import { Effect } from "effect"

/** An answer: status and the 64 bytes of the attribute, or that there was none. */
export interface Answer {
  readonly status: number
  readonly data: Uint8Array
  /** The whole MAD. */
  readonly mad: Uint8Array
}

export interface Query {
  readonly attributeId: number
  readonly attributeModifier?: number
  readonly method?: "get" | "set"
  readonly data?: Uint8Array
}

/** An agent for directed routes of the host's first port. */
export const directedAgent = Effect.gen(function*() {
  const port = yield* UmadPort.open(yield* UmadLibrary.init())
  return yield* UmadAgent.register(port, { mgmtClass: 0x81 })
})

export const directedSmp = (path: ReadonlyArray<number>, { data, method = "get", ...query }: Query) =>
  Effect.fromResult(DirectedRouteSmp.encode({
    baseVersion: 1,
    mgmtClass: "subnDirectedRoute",
    classVersion: 1,
    method,
    hopCount: path.length,
    drSlid: Lid.permissive,
    drDlid: Lid.permissive,
    initialPath: padded([0, ...path], 64),
    data: padded(data ?? [], 64),
    ...query
  }))

/** Asks the node at the end of a directed route; `undefined` when no answer came. */
export const ask = (agent: UmadAgent.UmadAgent, path: ReadonlyArray<number>, query: Query, retries = 0) =>
  Effect.gen(function*() {
    const mad = yield* directedSmp(path, query)
    return yield* UmadAgent.request(agent, { address: { lid: Lid.permissive }, mad, timeout: "100 millis", retries })
  }).pipe(
    Effect.map(({ mad }) => mad),
    Effect.catchTags({
      MadStatus: ({ mad }) => Effect.succeed(mad),
      MadTimeout: () => Effect.undefined
    }),
    Effect.map((mad): Answer | undefined =>
      mad === undefined ? undefined : {
        status: new DataView(mad.buffer, mad.byteOffset).getUint16(4) & 0x7fff,
        data: mad.slice(64, 128),
        mad: mad.slice()
      }
    )
  )

export interface Found {
  readonly path: ReadonlyArray<number>
  readonly info: NodeInfo
}

/** All nodes that can be reached by directed routes, each by the way on which it was found first. */
export const walk = Effect.fnUntraced(function*(agent: UmadAgent.UmadAgent) {
  const found = new Map<bigint, Found>()
  const ways: Array<ReadonlyArray<number>> = [[]]
  for (const path of ways) {
    const answer = yield* ask(agent, path, { attributeId: NodeInfo.attributeId }, 3)
    if (answer === undefined) continue
    const info = yield* Effect.fromResult(NodeInfo.decode(answer.data))
    if (found.has(info.nodeGuid)) continue
    found.set(info.nodeGuid, { path, info })
    if (info.nodeType !== "switch" && path.length > 0) continue
    const ports = info.nodeType === "switch"
      ? Array.from({ length: info.numPorts }, (_, index) => index + 1)
      : [info.localPortNum]
    for (const port of ports) {
      const state = yield* ask(agent, path, { attributeId: PortInfo.attributeId, attributeModifier: port }, 3)
      if (state === undefined) continue
      const { portPhysicalState } = yield* Effect.fromResult(PortInfo.decode(state.data))
      if (portPhysicalState === "linkUp") ways.push([...path, port])
    }
  }
  return [...found.values()]
})

/** What is to be asked of a node so that all that it tells was told. */
export const questions = ({ nodeType, numPorts }: NodeInfo): ReadonlyArray<Query & { readonly name: string }> => {
  const isSwitch = nodeType === "switch"
  const ports = Array.from({ length: numPorts + 1 }, (_, number) => number)
  return [
    { name: "NodeDescription", attributeId: 0x10 },
    { name: "NodeInfo", attributeId: 0x11 },
    { name: "SwitchInfo", attributeId: 0x12 },
    { name: "GUIDInfo", attributeId: 0x14 },
    ...ports.map((number) => ({ name: `PortInfo ${number}`, attributeId: 0x15, attributeModifier: number })),
    { name: "PortInfo beyond", attributeId: 0x15, attributeModifier: numPorts + 1 },
    ...(isSwitch ? ports : [0]).flatMap((number) => [
      { name: `P_KeyTable ${number}`, attributeId: 0x16, attributeModifier: number << 16 },
      { name: `VLArbitration low ${number}`, attributeId: 0x18, attributeModifier: 0x1_0000 | number },
      { name: `VLArbitration high ${number}`, attributeId: 0x18, attributeModifier: 0x3_0000 | number },
      { name: `VLArbitration ${number} beyond`, attributeId: 0x18, attributeModifier: 0x5_0000 | number }
    ]),
    { name: "P_KeyTable beyond", attributeId: 0x16, attributeModifier: 2 },
    ...(isSwitch ? [0x000, 0x101, 0x201] : [0]).map((modifier) => ({
      name: `SLtoVLMappingTable ${modifier}`,
      attributeId: 0x17,
      attributeModifier: modifier
    })),
    { name: "LinearForwardingTable", attributeId: LinearForwardingTable.attributeId },
    { name: "LinearForwardingTable 1", attributeId: LinearForwardingTable.attributeId, attributeModifier: 1 },
    { name: "LinearForwardingTable beyond", attributeId: LinearForwardingTable.attributeId, attributeModifier: 768 },
    { name: "MulticastForwardingTable", attributeId: 0x1b },
    { name: "MulticastForwardingTable beyond", attributeId: 0x1b, attributeModifier: 0x1ff }
  ]
}

/** Everything that every node tells, and what comes of writing to the first switch and of wrong MADs, by what was asked. */
export const everything = Effect.gen(function*() {
  const agent = yield* directedAgent
  const answers: Record<string, string> = {}
  const found = yield* walk(agent)
  for (const { info, path } of found) {
    for (const { name, ...query } of questions(info)) {
      answers[`${info.nodeGuid.toString(16)} ${name}`] = text(yield* ask(agent, path, query, 3))
    }
  }
  const leaf = found.find(({ info }) => info.nodeType === "switch")
  if (leaf !== undefined) {
    for (const { hops = [], name, ...query } of writes) {
      answers[`write ${name}`] = text(yield* ask(agent, [...leaf.path, ...hops], query))
    }
    const portInfo = yield* ask(agent, leaf.path, { attributeId: 0x15, attributeModifier: 1 }, 3)
    const info = yield* Effect.fromResult(PortInfo.decode(portInfo?.data ?? new Uint8Array(64)))
    for (const [name, { attributeModifier = 1, ...change }] of Object.entries(portChanges)) {
      const data = yield* Effect.fromResult(PortInfo.encode({ ...info, portState: "nop", ...change }))
      const query = { attributeId: 0x15, attributeModifier, method: "set", data } as const
      answers[`write PortInfo ${name}`] = text(yield* ask(agent, leaf.path, query))
    }
  }
  return answers
}).pipe(Effect.scoped)

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const text = (answer: Answer | undefined): string =>
  answer === undefined ? "no answer" : `${answer.status.toString(16)} ${Buffer.from(answer.data).toString("hex")}`

const counted = Uint8Array.from({ length: 64 }, (_, index) => index % 8)

const writes: ReadonlyArray<Query & { readonly name: string; readonly hops?: ReadonlyArray<number> }> = [
  { name: "NodeDescription", attributeId: 0x10, method: "set", data: counted },
  { name: "NodeInfo", attributeId: 0x11, method: "set", data: counted },
  { name: "P_KeyTable", attributeId: 0x16, attributeModifier: 1 << 16, method: "set", data: counted },
  { name: "P_KeyTable read", attributeId: 0x16, attributeModifier: 1 << 16 },
  { name: "P_KeyTable beyond", attributeId: 0x16, attributeModifier: 1 << 16 | 9, method: "set", data: counted },
  { name: "SLtoVLMappingTable", attributeId: 0x17, attributeModifier: 0x102, method: "set", data: counted },
  { name: "SLtoVLMappingTable read", attributeId: 0x17, attributeModifier: 0x102 },
  { name: "VLArbitration", attributeId: 0x18, attributeModifier: 0x3_0001, method: "set", data: counted },
  { name: "VLArbitration read", attributeId: 0x18, attributeModifier: 0x3_0001 },
  { name: "LinearForwardingTable", attributeId: 0x19, attributeModifier: 3, method: "set", data: counted },
  { name: "LinearForwardingTable read", attributeId: 0x19, attributeModifier: 3 },
  { name: "LinearForwardingTable beyond", attributeId: 0x19, attributeModifier: 768, method: "set", data: counted },
  { name: "MulticastForwardingTable", attributeId: 0x1b, attributeModifier: 2, method: "set", data: counted },
  { name: "MulticastForwardingTable read", attributeId: 0x1b, attributeModifier: 2 },
  { name: "unknown attribute", attributeId: 0x30 },
  { name: "beyond a port that is down", attributeId: 0x11, hops: [7] },
  { name: "beyond a port that is not there", attributeId: 0x11, hops: [200] },
  { name: "through an adapter", attributeId: 0x11, hops: [1, 1] }
]

const portChanges: { readonly [name: string]: Partial<PortInfo> & { readonly attributeModifier?: number } } = {
  "hoqLife": { hoqLife: 5 },
  "operationalVls beyond": { operationalVls: 9 },
  "active again": { portState: "active" },
  "armed where it is down": { portState: "armed", attributeModifier: 7 },
  "beyond": { attributeModifier: 200 }
}

const padded = (bytes: ArrayLike<number>, length: number): Uint8Array => {
  const room = new Uint8Array(length)
  room.set(Array.from(bytes))
  return room
}
