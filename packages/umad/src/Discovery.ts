/**
 * Finding every node of a subnet from one of its ports, by directed routes: no LIDs and no subnet manager are needed.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import * as Found from "./internal/foundSubnet.ts"
import type * as MadAttribute from "./MadAttribute.ts"
import type * as MadLayout from "./MadLayout.ts"
import type { MadStatus } from "./MadStatus.ts"
import type { MadTimeout } from "./MadTimeout.ts"
import * as NodeDescription from "./NodeDescription.ts"
import * as NodeInfo from "./NodeInfo.ts"
import * as PortInfo from "./PortInfo.ts"
import * as SubnetManagement from "./SubnetManagement.ts"
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
  readonly error: MadTimeout | MadStatus
}

/**
 * How to walk: with how many MADs in flight at once (16), how many hops far at most (63), and how long and how often to ask for
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
 * Nodes that do not answer are reported, not failed on; fails with a `UmadError` when MADs cannot be sent at all, and as a
 * `SchemaError` when an answer is none.
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
  { concurrency = 16, maxHops = 63, ...patience }: Options = {}
): Effect.Effect<Discovery, UmadError | Schema.SchemaError> =>
  Effect.suspend(() => {
    const found = Found.make()
    const unanswered: Array<Unanswered> = []
    const inFlight = Semaphore.makeUnsafe(Math.max(1, concurrency))

    const ask = <F extends MadLayout.Fields>(
      path: ReadonlyArray<number>,
      attribute: MadAttribute.MadAttribute<F>,
      modifier = 0
    ): Effect.Effect<MadLayout.Record<F> | undefined, UmadError | Schema.SchemaError> => {
      const silent = (error: MadTimeout | MadStatus) =>
        Effect.sync(() => {
          unanswered.push({ path, attribute: attribute.name, modifier, error })
          return undefined
        })
      return inFlight.withPermit(SubnetManagement.get(port, { path }, attribute, { modifier, ...patience })).pipe(
        Effect.catchTags({ MadTimeout: silent, MadStatus: silent })
      )
    }

    /** Everything that the node behind a path tells of itself, and every node behind it. */
    const explore = (
      path: ReadonlyArray<number>,
      from?: Found.End
    ): Effect.Effect<void, UmadError | Schema.SchemaError> =>
      Effect.gen(function*() {
        const info = yield* ask(path, NodeInfo.NodeInfo)
        if (info === undefined) return
        const { isNew, node } = Found.addNode(found, info)
        const arrival = info.localPortNum
        // Port 0 has no cable, whatever a node says.
        if (from !== undefined && arrival !== 0) Found.link(from, { node, port: arrival })
        const isSwitch = info.nodeType === "switch"
        const portsToAsk = isSwitch
          ? isNew ? [0, ...numbersUpTo(info.numPorts)] : []
          : Found.hasPort(node, arrival)
          ? []
          : [arrival]
        const ports = Effect.forEach(portsToAsk, (number) =>
          Effect.gen(function*() {
            Found.expectPort(node, number, info.portGuid)
            const portInfo = yield* ask(path, PortInfo.PortInfo, number)
            if (portInfo === undefined) return
            Found.setPort(node, number, portInfo)
            const leadsOn = number !== 0 && portInfo.portPhysicalState === "linkUp" && path.length < maxHops &&
              // An adapter passes nothing on, but for what its own host sends.
              (isSwitch ? number !== arrival : path.length === 0) && !Found.isLinked(node, number)
            if (leadsOn) yield* explore([...path, number], { node, port: number })
          }), { concurrency: "unbounded", discard: true })
        if (!isNew) return yield* ports
        const description = Effect.map(ask(path, NodeDescription.NodeDescription), (answer) => {
          node.description = answer?.nodeDescription ?? ""
        })
        const switchInfo = Effect.map(ask(path, SwitchInfo.SwitchInfo), (answer) => {
          node.enhancedPort0 = answer?.enhancedPort0 ?? false
        })
        yield* Effect.all(isSwitch ? [description, switchInfo, ports] : [description, ports], {
          concurrency: "unbounded",
          discard: true
        })
      })

    return Effect.map(explore([]), () => ({ topology: Found.toTopology(found), unanswered }))
  })

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const numbersUpTo = (last: number): ReadonlyArray<number> => Array.from({ length: last }, (_, index) => index + 1)
