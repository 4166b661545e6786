/**
 * Finding every node of a subnet from one of its ports, by directed routes: no LIDs and no subnet manager are needed.
 *
 * @since 0.1.0
 */
import * as Lid from "@effect-rdma/core/Lid"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Ask from "./internal/ask.ts"
import * as Exchange from "./internal/exchange.ts"
import * as Found from "./internal/foundSubnet.ts"
import * as Request from "./internal/request.ts"
import * as SmpCodec from "./internal/smpCodec.ts"
import * as MadAddress from "./MadAddress.ts"
import type * as MadAttribute from "./MadAttribute.ts"
import type * as MadLayout from "./MadLayout.ts"
import type { MadStatus } from "./MadStatus.ts"
import type { MadTimeout } from "./MadTimeout.ts"
import * as ManagementClass from "./ManagementClass.ts"
import * as NodeDescription from "./NodeDescription.ts"
import * as NodeInfo from "./NodeInfo.ts"
import * as PortInfo from "./PortInfo.ts"
import type * as SubnetTopology from "./SubnetTopology.ts"
import * as SwitchInfo from "./SwitchInfo.ts"
import type { UmadError } from "./UmadError.ts"
import type * as UmadPort from "./UmadPort.ts"

/**
 * What a walk found. The nodes are in the order of their distance, the own one first, and among equals by the ports that lead
 * to them. Without what is in `unanswered` the topology is as complete as it can be: a node whose NodeInfo did not come
 * is not in it, nor is the link to it; a port whose PortInfo did not come is there without what that tells.
 *
 * @category models
 * @since 0.1.0
 */
export interface Discovery {
  readonly topology: SubnetTopology.SubnetTopology
  readonly unanswered: ReadonlyArray<Unanswered>
}

/**
 * A request without an answer, or with a refusal: which attribute, by which ports.
 *
 * @category models
 * @since 0.1.0
 */
export interface Unanswered {
  readonly path: ReadonlyArray<number>
  readonly attribute: string
  readonly modifier: number
  readonly error: MadTimeout | MadStatus | Schema.SchemaError
}

/**
 * How to walk: with how many MADs in flight at once (8), how many hops far at most (63), and how long and how often to ask for
 * each attribute (1 s, and 3 times more).
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly concurrency?: number
  readonly maxHops?: number
  readonly timeout?: Duration.Input
  readonly retries?: number
}

/**
 * Walks the subnet of the port, as `ibnetdiscover(8)` does. Takes as long as its answers, and can be interrupted at any time.
 * Nodes that do not answer are reported, not failed on; it fails with a `UmadError` when MADs cannot be sent at all, and as
 * a `SchemaError` for options that are out of range.
 *
 * ```ts
 * import { Discovery, SubnetTopology, UmadLibrary, UmadPort } from "@effect-rdma/umad"
 * import { Effect } from "effect"
 *
 * const subnet = Effect.scoped(Effect.gen(function*() {
 *   const port = yield* UmadPort.open(yield* UmadLibrary.init())
 *   const { topology, unanswered } = yield* Discovery.walk(port)
 *   return { text: SubnetTopology.format(topology), silent: unanswered.length }
 * }))
 * ```
 *
 * @category operations
 * @since 0.1.0
 */
export const walk = (
  port: UmadPort.OpenPort,
  { concurrency = 8, maxHops = 63, retries, timeout }: Options = {}
): Effect.Effect<Discovery, UmadError | Schema.SchemaError> =>
  Effect.gen(function*() {
    const bounds = yield* decodeBounds({ concurrency, maxHops })
    const patience = yield* Request.patienceOf(timeout, retries)
    const agent = yield* Ask.agentOf(port, ManagementClass.toNative("subnDirectedRoute"), 1)
    const found = Found.make()
    const unanswered: Array<Unanswered> = []
    const queue: Array<Exchange.Question> = []

    const ask = <F extends MadLayout.Fields>(
      path: ReadonlyArray<number>,
      attribute: MadAttribute.MadAttribute<F>,
      modifier: number,
      onValue: (value: MadLayout.Record<F>) => void,
      isNeeded: () => boolean = always
    ): void => {
      const onFailure = (error: Unanswered["error"]) =>
        void unanswered.push({ path, attribute: attribute.name, modifier, error })
      queue.push({
        isNeeded,
        // Nothing of it can be too large: the path has no more hops than there is room for.
        mad: () => Result.getOrThrow(SmpCodec.encode("get", { path }, attribute, { modifier })),
        onAnswer: (mad) => Result.match(SmpCodec.decode(attribute, mad), { onSuccess: onValue, onFailure }),
        onFailure
      })
    }

    /** Everything that the node behind a path tells of itself, and every node behind it. */
    const explore = (path: ReadonlyArray<number>, from?: Found.End): void =>
      ask(path, NodeInfo.NodeInfo, 0, (info) => {
        const { isNew, node } = Found.addNode(found, info)
        const arrival = info.localPortNum
        // Port 0 has no cable, whatever a node says.
        if (from !== undefined && arrival !== 0) Found.link(from, { node, port: arrival })
        const isSwitch = info.nodeType === "switch"
        if (isNew) {
          ask(path, NodeDescription.NodeDescription, 0, ({ nodeDescription }) => node.description = nodeDescription)
          if (isSwitch) {
            ask(path, SwitchInfo.SwitchInfo, 0, ({ enhancedPort0 }) => node.enhancedPort0 = enhancedPort0)
            for (let number = 0; number <= info.numPorts; number++) askPort(path, node, number)
          }
        }
        if (!isSwitch && !Found.hasPort(node, arrival)) askPort(path, node, arrival)
        // The other end of a cable may have told of it meanwhile.
      }, () => from === undefined || !Found.isLinked(from.node, from.port))

    const askPort = (path: ReadonlyArray<number>, node: Found.FoundNode, number: number): void => {
      Found.expectPort(node, number)
      ask(path, PortInfo.PortInfo, number, (info) => {
        Found.setPort(node, number, info)
        const leadsOn = number !== 0 && info.portPhysicalState === "linkUp" && path.length < bounds.maxHops &&
          // An adapter passes nothing on, but for what its own host sends.
          (node.info.nodeType === "switch" ? number !== info.localPortNum : path.length === 0)
        if (leadsOn) explore([...path, number], { node, port: number })
      })
    }

    explore([])
    yield* Exchange.run(agent, address, queue, bounds.concurrency, patience)
    return { topology: Found.toTopology(found), unanswered }
  })

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const always = () => true

const decodeBounds = Schema.decodeEffect(Schema.Struct({
  concurrency: Schema.Int.check(Schema.isGreaterThan(0)),
  maxHops: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 63 }))
}))

const address = MadAddress.complete(
  Schema.decodeSync(MadAddress.Destination)({ lid: Lid.permissive }),
  ManagementClass.toNative("subnDirectedRoute")
)
