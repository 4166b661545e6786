/**
 * What a fabric is made of, as plain data: hosts, their devices, the ports, GIDs and limits of each, and the subnet between
 * them.
 *
 * Every field but the names and numbers has a default. The defaults of a device are what Soft-RoCE reports on Linux 6.1.
 *
 * @since 0.1.0
 */
import * as Gid from "@effect-rdma/core/Gid"
import * as Guid from "@effect-rdma/core/Guid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as LinkLayer from "@effect-rdma/core/LinkLayer"
import * as Mtu from "@effect-rdma/core/Mtu"
import * as NodeType from "@effect-rdma/core/NodeType"
import * as PhysicalState from "@effect-rdma/core/PhysicalState"
import * as PKey from "@effect-rdma/core/PKey"
import * as PortState from "@effect-rdma/core/PortState"
import * as TransportType from "@effect-rdma/core/TransportType"
import * as SubnetTopology from "@effect-rdma/umad/SubnetTopology"
import type { SubnetTopologyError } from "@effect-rdma/umad/SubnetTopologyError"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { FabricMisuse } from "./FabricMisuse.ts"
import { adapter } from "./internal/adapters.ts"
import { build } from "./internal/topologyBuilder.ts"

const or = <S extends Schema.Constraint>(schema: S, value: S["Encoded"]) =>
  Schema.withDecodingDefault<S>(Effect.succeed(value))(schema)

const unsigned = (bits: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** bits - 1 }))
const u8 = (value: number) => or(unsigned(8), value)
const u16 = (value: number) => or(unsigned(16), value)
const u32 = (value: number) => or(unsigned(32), value)
const count = (value: number) => or(unsigned(31), value)
const u64 = (value: bigint) =>
  or(Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: 0xffff_ffff_ffff_ffffn })), value)

const GuidInput = Schema.Union([Guid.Guid, Guid.GuidFromString])

/**
 * A GID of a port's table. `index` is its place there, by default its place in the list.
 *
 * @category schemas
 * @since 0.1.0
 */
export const GidRow = Schema.Struct({
  gid: Gid.GidInput,
  type: Schema.Literals(["ib", "roceV1", "roceV2"]),
  index: Schema.optionalKey(Identifier.GidIndex),
  ndevIfindex: u32(0)
})

/**
 * The type of {@link GidRow}.
 *
 * @category models
 * @since 0.1.0
 */
export type GidRow = typeof GidRow.Type

/**
 * An IP address of the IPoIB interface on an InfiniBand port, written as a GID: `::ffff:10.0.1.1` is the one of IPv4.
 *
 * @category schemas
 * @since 0.1.0
 */
export const IpoibAddress = Schema.Struct({ address: Gid.GidInput, ndevIfindex: u32(0) })

/**
 * The type of {@link IpoibAddress}.
 *
 * @category models
 * @since 0.1.0
 */
export type IpoibAddress = typeof IpoibAddress.Type

/**
 * A port. `rate` is in Gb/s, as sysfs tells it to libibumad; `activeWidth` and `activeSpeed` say the same to verbs. The
 * IP addresses that the connection manager knows a host by are the RoCE GIDs of its active Ethernet ports, and the IPoIB
 * addresses of its active InfiniBand ports. `smLid` 0 is a subnet without a manager: no route is found there.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Port = Schema.Struct({
  number: Identifier.AnyPortNumber,
  linkLayer: LinkLayer.LinkLayer,
  state: or(PortState.PortState, "active"),
  physState: or(PhysicalState.PhysicalState, "linkUp"),
  lid: or(Lid.Lid, 0),
  lmc: or(unsigned(3), 0),
  smLid: or(Lid.Lid, 0),
  smSl: u8(0),
  gids: or(Schema.Array(GidRow), []),
  ipoibAddresses: or(Schema.Array(IpoibAddress), []),
  gidTblLen: u16(1024),
  pkeys: or(Schema.Array(PKey.PKey), [0xffff]),
  rate: or(Schema.Int, 10),
  maxMtu: or(Mtu.ReportedMtu, 4096),
  activeMtu: or(Mtu.ReportedMtu, 1024),
  maxMsgSz: u32(0x800000),
  portCapFlags: u32(0x0001_0000),
  maxVlNum: u8(1),
  subnetTimeout: u8(0),
  activeWidth: u8(1),
  activeSpeed: u8(8),
  flags: u8(0)
})

/**
 * The type of {@link Port}.
 *
 * @category models
 * @since 0.1.0
 */
export type Port = typeof Port.Type

/**
 * What `ibv_query_device` reports, but for what follows from the rest of the device.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Attributes = Schema.Struct({
  fwVer: or(Schema.String, ""),
  maxMrSize: u64(0xffff_ffff_ffff_ffffn),
  pageSizeCap: u64(0xffff_f000n),
  vendorId: u32(0xffffff),
  vendorPartId: u32(0),
  hwVer: u32(0),
  maxQp: count(1048560),
  maxQpWr: count(1048576),
  deviceCapFlags: u32(0x0122_3c76),
  maxSge: count(32),
  maxSgeRd: count(32),
  maxCq: count(1048576),
  maxCqe: count(32767),
  maxMr: count(524287),
  maxPd: count(1048576),
  maxQpRdAtom: count(128),
  maxEeRdAtom: count(0),
  maxResRdAtom: count(258048),
  maxQpInitRdAtom: count(128),
  maxEeInitRdAtom: count(0),
  atomicCap: or(Schema.Literals(["none", "hca", "glob"]), "hca"),
  maxEe: count(0),
  maxRdd: count(0),
  maxMw: count(524287),
  maxRawIpv6Qp: count(0),
  maxRawEthyQp: count(0),
  maxMcastGrp: count(8192),
  maxMcastQpAttach: count(56),
  maxTotalMcastQpAttach: count(458752),
  maxAh: count(32767),
  maxFmr: count(0),
  maxMapPerFmr: count(0),
  maxSrq: count(917503),
  maxSrqWr: count(1048576),
  maxSrqSge: count(27),
  maxPkeys: u16(64),
  localCaAckDelay: u8(15)
})

/**
 * A device. `provider` says whose behaviour it has where providers differ:
 *
 * - `rxe` (Soft-RoCE) makes address handles in the kernel, which checks them, and has no thread or parent domains; what
 *   its libraries of rdma-core 44 and its kernel of Linux 6.1 get wrong is wrong here too: such as inline data of a
 *   `SendBatch`, which fails with `locQpOpErr`, or the bounds of a memory window, which nobody looks at;
 * - `mlx5` has both kinds of domain, makes InfiniBand address handles in user space, and refuses a port that it does not
 *   have with NULL and no errno; it has work queues, flows, flow actions and counters, which `rxe` refuses.
 *
 * `experimental` devices have the resource domains of MLNX_OFED.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Device = Schema.Struct({
  name: Schema.NonEmptyString,
  provider: or(Schema.Literals(["rxe", "mlx5"]), "rxe"),
  experimental: or(Schema.Boolean, false),
  nodeType: or(NodeType.NodeType, "ca"),
  transport: or(TransportType.TransportType, "ib"),
  guid: GuidInput,
  attributes: or(Attributes, {}),
  caType: or(Schema.String, ""),
  hwVer: or(Schema.String, ""),
  ports: or(Schema.Array(Port).check(unique("port", (port) => port.number)), [])
})

/**
 * The type of {@link Device}.
 *
 * @category models
 * @since 0.1.0
 */
export type Device = typeof Device.Type

/**
 * A host. `rdma: false` is a kernel without RDMA modules, which is something else than one without devices.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Host = Schema.Struct({
  name: Schema.NonEmptyString,
  rdma: or(Schema.Boolean, true),
  devices: or(Schema.Array(Device).check(unique("device", (device) => device.name)), [])
})

/**
 * The type of {@link Host}.
 *
 * @category models
 * @since 0.1.0
 */
export type Host = typeof Host.Type

/**
 * A link that is slow, or loses something: see `Fabric.disturb` for where it is, and `Fabric.Disturbance` for what it does.
 * `latency` is text such as `5 micros`, `bandwidth` in Gb/s.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Link = Schema.Struct({
  node: Schema.NonEmptyString,
  portNum: or(Identifier.PortNumber, 1),
  latency: Schema.optionalKey(Schema.DurationFromString),
  bandwidth: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0))),
  loss: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))),
  seed: Schema.optionalKey(Schema.Int)
})

/**
 * The type of {@link Link}.
 *
 * @category models
 * @since 0.1.0
 */
export type Link = typeof Link.Type

/**
 * A fabric: hosts that all reach each other.
 *
 * `subnet` is what the InfiniBand ports are cabled to: a device is the node of its GUID, and one that is no node of it has no
 * cable. Without a `subnet` every InfiniBand port is cabled to one switch. Its subnet manager is where the `smLid` of the ports
 * says, else on the first switch; with `subnetManager: false` there is none, for programs that are one. `links` are those that are slow or lose something.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Topology = Schema.Struct({
  hosts: Schema.NonEmptyArray(Host).check(unique("host", (host) => host.name)),
  subnet: Schema.optionalKey(SubnetTopology.SubnetTopology),
  subnetManager: or(Schema.Boolean, true),
  links: or(Schema.Array(Link), [])
})

/**
 * The type of {@link Topology}.
 *
 * @category models
 * @since 0.1.0
 */
export type Topology = typeof Topology.Type

/**
 * A topology as people write it: fields with a default left out, GIDs as text.
 *
 * @category models
 * @since 0.1.0
 */
export type Input = typeof Topology.Encoded

export { connectX, softRoce } from "./internal/adapters.ts"
export { build, type Plan } from "./internal/topologyBuilder.ts"

/**
 * The default fabric: `host-a` (10.0.0.1) and `host-b` (10.0.0.2), each with `rxe0` and `mlx5_0`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const twoHosts: Input = build({
  hosts: { "host-a": ["rxe0", "mlx5_0"], "host-b": ["rxe0", "mlx5_0"] }
})

/**
 * A subnet as a fabric: each channel adapter is a host of its name, the one that `SIM_HOST` of ibsim takes, with the device
 * `mlx5_0`. Ports report what ibsim has for them, and what the subnet manager gave. Dies with `FabricMisuse` when there is no
 * adapter.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromSubnet = (subnet: SubnetTopology.SubnetTopology): Input => {
  const [first, ...rest] = subnet.nodes.filter(({ kind }) => kind === "ca").map((node) => ({
    name: SubnetTopology.nameOf(node),
    devices: [adapter(node)]
  }))
  if (first === undefined) {
    throw new FabricMisuse({ call: "Topology.fromSubnet", problem: "the subnet has no channel adapter" })
  }
  return { hosts: [first, ...rest], subnet }
}

/**
 * {@link fromSubnet} of the text that `ibnetdiscover` prints and ibsim reads: the same file is the same fabric here and there.
 *
 * ```ts
 * import { Fabric, Topology } from "@effect-rdma/testkit"
 * import { UmadLibrary, UmadPort } from "@effect-rdma/umad"
 * import { Effect, Layer } from "effect"
 *
 * const fabric = Layer.unwrap(Effect.map(
 *   Topology.fromText(`
 * Switch 8 "leaf"
 * [1] "host-a"[1]
 * [2] "host-b"[1]
 *
 * Ca 1 "host-a"
 * [1] "leaf"[1]
 *
 * Ca 1 "host-b"
 * [1] "leaf"[2]
 * `),
 *   Fabric.layerFrom
 * ))
 *
 * const lid = Effect.scoped(Effect.gen(function*() {
 *   const port = yield* UmadPort.get(yield* UmadLibrary.init())
 *   return port.attributes.baseLid
 * })).pipe(Effect.provide(fabric))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromText = (text: string): Effect.Effect<Input, SubnetTopologyError> =>
  Effect.map(SubnetTopology.parse(text), fromSubnet)

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

function unique<A>(what: string, key: (row: A) => string | number) {
  return Schema.makeFilter((rows: ReadonlyArray<A>) =>
    new Set(rows.map(key)).size === rows.length || `a ${what} is there twice`
  )
}
