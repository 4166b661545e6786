/**
 * An InfiniBand subnet as data: its nodes, their ports, and the links between them.
 *
 * The text form is what `ibnetdiscover` prints and `ibsim` reads, so that a snapshot of a real subnet is a fabric to test
 * on.
 *
 * @since 0.1.0
 */
import * as Guid from "@effect-rdma/core/Guid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as LinkSpeed from "@effect-rdma/core/LinkSpeed"
import * as LinkWidth from "@effect-rdma/core/LinkWidth"
import * as PortState from "@effect-rdma/core/PortState"
import type * as DateTime from "effect/DateTime"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Printer from "./internal/subnetPrinter.ts"
import * as Reader from "./internal/subnetReader.ts"
import type { SubnetTopologyError } from "./SubnetTopologyError.ts"

const unsigned = (bits: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** bits - 1 }))

/**
 * What a port may run at: bit masks as in PortInfo (LinkWidthEnabled, LinkSpeedEnabled, LinkSpeedExtEnabled). A link runs
 * at the most that both of its ends have.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Enabled = Schema.Struct({
  width: unsigned(5),
  speed: unsigned(4),
  extendedSpeed: unsigned(4)
})

/**
 * The type of {@link Enabled}.
 *
 * @category models
 * @since 0.1.0
 */
export type Enabled = typeof Enabled.Type

/**
 * Where the cable of a port leads, and what runs on it.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Link = Schema.Struct({
  node: Guid.Guid,
  port: Identifier.PortNumber,
  width: LinkWidth.LinkWidth,
  speed: LinkSpeed.LinkSpeed
})

/**
 * The type of {@link Link}.
 *
 * @category models
 * @since 0.1.0
 */
export type Link = typeof Link.Type

/**
 * A port. Number 0 is the management port of a switch: it has the LID of the switch, whose other ports have 0.
 *
 * `state` is absent where a text does not tell it, `enabled` where it is {@link enabledFor} the link, and what ibsim enables
 * without being told where there is no link.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Port = Schema.Struct({
  number: Identifier.AnyPortNumber,
  guid: Guid.Guid,
  lid: Lid.Lid,
  lmc: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 7 })),
  state: Schema.optionalKey(PortState.PortState),
  enabled: Schema.optionalKey(Enabled),
  link: Schema.optionalKey(Link)
})

/**
 * The type of {@link Port}.
 *
 * @category models
 * @since 0.1.0
 */
export type Port = typeof Port.Type

/**
 * A node. `name` is what a file calls it (and `SIM_HOST` of ibsim), where that is not its {@link canonicalName}.
 *
 * A number from 1 to `numPorts` that is not among `ports` is a port without a
 * cable. A switch has its port 0 there.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Node = Schema.Struct({
  kind: Schema.Literals(["ca", "switch", "router"]),
  guid: Guid.Guid,
  systemGuid: Guid.Guid,
  name: Schema.optionalKey(Schema.NonEmptyString),
  description: Schema.String,
  vendorId: unsigned(24),
  deviceId: unsigned(16),
  numPorts: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 255 })),
  enhancedPort0: Schema.Boolean,
  ports: Schema.Array(Port)
})

/**
 * The type of {@link Node}.
 *
 * @category models
 * @since 0.1.0
 */
export type Node = typeof Node.Type

/**
 * A subnet: nodes in the order that they were found or written in, and from which port they were found.
 *
 * Each link is there twice, once from each end. The schema refuses a subnet where that is not so, or where two nodes have
 * one GUID.
 *
 * @category schemas
 * @since 0.1.0
 */
export const SubnetTopology = Schema.Struct({
  initiator: Schema.optionalKey(Schema.Struct({ node: Guid.Guid, port: Guid.Guid })),
  nodes: Schema.Array(Node)
}).check(Schema.makeFilter(inconsistency))

/**
 * The type of {@link SubnetTopology}.
 *
 * @category models
 * @since 0.1.0
 */
export type SubnetTopology = typeof SubnetTopology.Type

/**
 * The name that `ibnetdiscover` gives a node, such as `S-0000000000200000`.
 *
 * @category getters
 * @since 0.1.0
 */
export const canonicalName: (node: Pick<Node, "kind" | "guid">) => string = Printer.canonicalName

/**
 * The name of a node in its file: its own, or its {@link canonicalName}.
 *
 * @category getters
 * @since 0.1.0
 */
export const nameOf = (node: Node): string => node.name ?? canonicalName(node)

/**
 * What ibsim enables on a port of which the file tells only what its link runs at: that and all below.
 *
 * @category getters
 * @since 0.1.0
 */
export const enabledFor: (link: Pick<Link, "width" | "speed">) => Enabled = Reader.enabledFor

/**
 * Reads what `ibnetdiscover` prints (also with `-f` and `-g`), and the topology files of ibsim, which are the same with
 * names instead of GUIDs and some assignments more. GUIDs that a file leaves out are those that ibsim gives.
 *
 * Pure. Fails with a {@link SubnetTopologyError} at the first line that is neither; and where a link leads to nothing, is
 * told by one end only, or its ends have no width or speed in common. `include`, `do` and aliases (`@`) of ibsim are
 * refused. Where ibsim overreads a node that follows without an empty line, this does not.
 *
 * ```ts
 * import { SubnetTopology } from "@effect-rdma/umad"
 * import { Effect } from "effect"
 *
 * const subnet = Effect.runSync(SubnetTopology.parse(`
 * Switch 8 "leaf"
 * [1] "host-a"[1]
 *
 * Ca 1 "host-a"
 * [1] "leaf"[1]
 * `))
 * console.log(SubnetTopology.format(subnet))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const parse: (text: string) => Effect.Effect<SubnetTopology, SubnetTopologyError> = Reader.parse

/**
 * A subnet as `ibnetdiscover` prints it, byte for byte: switches first, then adapters, then routers, each in the order of
 * `nodes`, with those ports that have a link. With `generatedAt` it begins with the line that tells when, in the time zone
 * of the value.
 *
 * Neither names, states, what is enabled, nor a system GUID of 0 are in the text; what else there is, {@link parse} gives
 * back, as long as descriptions are printable ASCII of 64
 * bytes at most.
 *
 * @category getters
 * @since 0.1.0
 */
export const format: (
  self: SubnetTopology,
  options?: { readonly generatedAt?: DateTime.DateTime }
) => string = Printer.format

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

function inconsistency({ nodes }: { readonly nodes: ReadonlyArray<Node> }): true | string {
  const byGuid = new Map(nodes.map((node) => [node.guid, node]))
  if (byGuid.size !== nodes.length) return "a GUID is there twice"
  for (const node of nodes) {
    const numbers = new Set(node.ports.map((port) => port.number))
    if (numbers.size !== node.ports.length) return `${canonicalName(node)} has a port twice`
    if (numbers.has(management) !== (node.kind === "switch")) return `port 0 belongs to switches, and each has one`
    for (const { link, number } of node.ports) {
      if (number > node.numPorts) return `${canonicalName(node)} has no port ${number}`
      if (link === undefined) continue
      const back = byGuid.get(link.node)?.ports.find((port) => port.number === link.port)?.link
      if (back === undefined || back.node !== node.guid || back.port !== number) {
        return `port ${number} of ${canonicalName(node)} is linked from one end only`
      }
    }
  }
  return true
}

const management = Identifier.AnyPortNumber.make(0)
