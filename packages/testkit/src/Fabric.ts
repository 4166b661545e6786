/**
 * An in-memory RDMA fabric: the C libraries of every host on it, as they behave, their failures included. No hardware,
 * no root, no kernel module, no timer but Effect's Clock.
 *
 * Each build of a layer is a fabric of its own. Calls that a C program would pay for with a crash or a hang die with
 * `FabricMisuse`. Two things are stricter than some provider: `ibv_dealloc_pd` refuses with EBUSY while any address
 * handle lives (mlx5 forgets the InfiniBand ones), and `umad_done` wants an `umad_init`. One is kinder: whoever is attached
 * to a multicast group gets its datagrams, where IP of Linux wants that somebody has joined it too.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as CmEvent from "@effect-rdma/rdmacm/CmEvent"
import type { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import type * as MadAddress from "@effect-rdma/umad/MadAddress"
import type * as SubnetTopology from "@effect-rdma/umad/SubnetTopology"
import type { Umad } from "@effect-rdma/umad/Umad"
import type * as AsyncEvent from "@effect-rdma/verbs/AsyncEvent"
import type { Verbs } from "@effect-rdma/verbs/Verbs"
import type * as WorkCompletion from "@effect-rdma/verbs/WorkCompletion"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as CallLog from "./internal/callLog.ts"
import type * as Calls from "./internal/calls.ts"
import type * as Heap from "./internal/heap.ts"
import * as Host from "./internal/host.ts"
import * as Links from "./internal/links.ts"
import * as Timeline from "./internal/timeline.ts"
import * as Answer from "./internal/umad/answer.ts"
import * as Subnet from "./internal/umad/subnet.ts"
import * as WorkList from "./internal/workList.ts"
import * as Topology from "./Topology.ts"

/**
 * The three libraries of one host.
 *
 * @category models
 * @since 0.1.0
 */
export type Seams = Verbs | RdmaCm | Umad

/**
 * What a native object is, named as the scoped modules name their handles.
 *
 * @category models
 * @since 0.1.0
 */
export type Kind = Heap.Kind

/**
 * A native object that somebody has to release.
 *
 * @category models
 * @since 0.1.0
 */
export interface NativeObject {
  readonly host: string
  readonly kind: Kind
  readonly pointer: bigint
  /** The device that it is on; absent for lists, channels and ids. */
  readonly device: string | undefined
  /** The pointer of the context that it was made on. */
  readonly context: bigint | undefined
}

/**
 * A native call: the C function, the pointers that it was given, and what came of it: the pointer that it returned, or
 * the errno. Both are `undefined` while it runs, and for one that returns no pointer.
 *
 * @category models
 * @since 0.1.0
 */
export interface NativeCall {
  readonly host: string
  readonly call: Calls.FallibleCall | Calls.InfallibleCall
  readonly pointers: ReadonlyArray<bigint>
  readonly returned: bigint | undefined
  readonly errno: number | undefined
}

/**
 * A completion that a test makes; `solicited` when the sender asked for an event.
 *
 * @category models
 * @since 0.1.0
 */
export type Completion = Host.Completion

/**
 * A MAD on its way: the port that it left, where it goes, and a copy of it.
 *
 * @category models
 * @since 0.1.0
 */
export interface SentMad {
  readonly host: string
  readonly device: string
  readonly portNum: number
  readonly address: MadAddress.MadAddress
  readonly mad: Uint8Array
}

/**
 * What goes over a link, and a copy of it: a `message` of a queue pair, or the `answer` to one (the bytes of a read, else
 * none); a MAD; or a message of the connection manager, which is not encoded here and has none. `count` is of all that went
 * over the link so far, this one included, in both directions.
 *
 * @category models
 * @since 0.1.0
 */
export interface Packet {
  readonly count: number
  readonly kind: "message" | "answer" | "mad" | "connection"
  readonly bytes: Uint8Array
}

/**
 * What a link does to all that goes over it, in each direction:
 *
 * - `latency`: it takes so long;
 * - `bandwidth`, in Gb/s: each byte keeps it busy, and what comes meanwhile has to wait. Headers are not counted, a message
 *   of the connection manager is 256 bytes, and MADs have a lane of their own: they wait for nobody;
 * - `loss`: so large a part of it is lost, from 0 to 1, by chance; the same `seed` loses the same ones;
 * - `drops`: those are lost of which it says so.
 *
 * A message goes over each of the links on its way as a whole. Without `drops` it is plain data.
 *
 * @category models
 * @since 0.1.0
 */
export interface Disturbance {
  readonly latency?: Duration.Input
  readonly bandwidth?: number
  readonly loss?: number
  readonly seed?: number
  readonly drops?: (packet: Packet) => boolean
}

/**
 * Something that comes to a queue or a channel of a program: a completion, an asynchronous event, or an event of the
 * connection manager. `device` is the one that it is of, if any.
 *
 * @category models
 * @since 0.1.0
 */
export type Arrival =
  & { readonly host: string; readonly device: string | undefined }
  & (
    | { readonly arrival: "completion"; readonly completion: WorkCompletion.WorkCompletion }
    | { readonly arrival: "asyncEvent"; readonly event: AsyncEvent.AsyncEvent }
    | { readonly arrival: "cmEvent"; readonly event: CmEvent.CmEvent["event"] }
  )

/**
 * What becomes of an arrival instead:
 *
 * - `dropped`: what it tells of has happened, and nobody hears of it;
 * - `duplicated`: it comes twice;
 * - `delayed`: it comes so much later, on Effect's Clock, and others overtake it;
 * - `reordered`: it comes behind the next `behind` arrivals of the same queue or channel, one unless told, and not while
 *   fewer have come. Of completions those of other queue pairs only can be meant: then what is of its own queue pair waits
 *   with it.
 *
 * @category models
 * @since 0.1.0
 */
export type Fate =
  | { readonly _tag: "dropped" | "duplicated" }
  | { readonly _tag: "delayed"; readonly by: Duration.Input }
  | { readonly _tag: "reordered"; readonly behind?: number; readonly among?: "all" | "queuePairs" }

/**
 * A running fabric, from the outside: what tests ask and do.
 *
 * @category services
 * @since 0.1.0
 */
export class Fabric extends Context.Service<Fabric, {
  readonly topology: Topology.Topology
  /** The libraries of a host, the same at each call. Dies with `FabricMisuse` when there is no such host. */
  readonly seams: (host: string) => Effect.Effect<Context.Context<Seams>>
  /**
   * The live native objects of all hosts, oldest first: the truth that a ledger is compared with. The contexts that
   * librdmacm keeps are not among them, nor what was on a device that is gone.
   */
  readonly objects: Effect.Effect<ReadonlyArray<NativeObject>>
  /** The last 10,000 native calls of all hosts, in order. */
  readonly calls: Effect.Effect<ReadonlyArray<NativeCall>>
  /**
   * Takes a device away. Every later call on what was made on it fails with EIO, but for closing its contexts, it can be
   * opened no more (ENOENT), no list shows it, and the CM ids that are bound to it get the event `deviceRemoval`: a later
   * call on one fails with ENXIO, but for destroying it. Peers are told nothing. Dies with `FabricMisuse` when there is no
   * such device.
   */
  readonly unplug: (host: string, device: string) => Effect.Effect<void>
  /**
   * Plugs the cable of a port in or pulls it out; with `for`, so long, and then the other way round. Every context of the device gets the event of the port (`portActive` or
   * `portErr`), its state is then what `ibv_query_port` tells, and nothing gets through a port that is down: peers retry
   * until they give up, queue pairs and the connection manager both. On InfiniBand both ends go down, and a port that has no
   * cable in the subnet stays without. Dies with `FabricMisuse` when there is no such port.
   */
  readonly setLink: (
    host: string,
    device: string,
    portNum: number,
    link: "up" | "down",
    options?: { readonly for?: Duration.Input }
  ) => Effect.Effect<void>
  /**
   * The InfiniBand subnet as it is now: with the LIDs that its manager gave, and the links that are up.
   */
  readonly subnet: Effect.Effect<SubnetTopology.SubnetTopology>
  /**
   * Takes the power from a node of the subnet, or gives it back. A dead node answers nothing and forwards nothing, its links
   * are down, and the subnet manager finds other ways around it. `node` is its name in the topology file; without a file, the
   * switch is `switch-1` and an adapter such as `host-a mlx5_0`. Dies with `FabricMisuse` when there is no such node.
   */
  readonly setNode: (node: string, state: "alive" | "dead") => Effect.Effect<void>
  /**
   * Disturbs the link at a port from now on; what is left out is undisturbed. An InfiniBand port is one of the node of that
   * name, as in `setNode`, with a link to the port that it is cabled to. An Ethernet port is one of an adapter such as
   * `host-a rxe0`, with a link to the network that all of them are on. What a host sends to itself goes over none, and
   * neither does the request of an rsocket to connect.
   *
   * What a reliable queue pair has lost is sent again after its `timeout`, or when its peer misses it, and that of an rsocket
   * after 2.1 s; the connection manager and MADs have timeouts of their own; anything else is gone. Dies with
   * `FabricMisuse` when there is no such port, or no cable at it.
   */
  readonly disturb: (node: string, portNum: number, disturbance: Disturbance) => Effect.Effect<void>
  /**
   * Raises an asynchronous event: of a port or the device on every context of it, of a queue on the context that it was
   * made on. Dies with `FabricMisuse` when there is no such device or queue.
   */
  readonly raise: (host: string, device: string, event: AsyncEvent.AsyncEvent) => Effect.Effect<void>
  /**
   * Puts a completion into a queue, as the device does: it gives the event that was asked for, and one too many breaks
   * the queue (`cqErr`). Dies with `FabricMisuse` when there is no such queue.
   */
  readonly complete: (host: string, queue: Pointer.Pointer<"ibv_cq">, completion: Completion) => Effect.Effect<void>
  /**
   * Lets a test have its say about everything that comes to a queue or a channel, as long as the scope lives. The first who
   * says something is heard.
   */
  readonly onArrival: (react: (arrival: Arrival) => Fate | undefined) => Effect.Effect<void, never, Scope.Scope>
  /**
   * Lets a test have its say about every MAD that leaves a port, each time that it is sent: the bytes of a reply, `"lost"`, or
   * `undefined`, and then the fabric does with it what it does. The first who says something is heard.
   */
  readonly onMad: (react: (mad: SentMad) => Uint8Array | "lost" | undefined) => Effect.Effect<void>
}>()("@effect-rdma/testkit/Fabric") {}

/**
 * The fabric of `Topology.twoHosts` and the libraries of its `host-a`; creation sites are noted.
 *
 * ```ts
 * import { Fabric } from "@effect-rdma/testkit"
 * import { DeviceContext, ProtectionDomain } from "@effect-rdma/verbs"
 * import { Effect } from "effect"
 *
 * const program = Effect.scoped(Effect.gen(function*() {
 *   const context = yield* DeviceContext.openByName("rxe0")
 *   yield* ProtectionDomain.alloc(context)
 *   const fabric = yield* Fabric.Fabric
 *   return yield* fabric.objects
 * })).pipe(Effect.provide(Fabric.layer))
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<Fabric | Seams> = Layer.fresh(
  Layer.suspend(() => Layer.orDie(layerFrom(Topology.twoHosts)))
)

/**
 * {@link layer} of another topology, with the libraries of its first host.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerFrom = (topology: Topology.Input): Layer.Layer<Fabric | Seams, Schema.SchemaError> =>
  Layer.fresh(Layer.effectContext(Effect.gen(function*() {
    const fabric = yield* make(topology)
    const seams = yield* fabric.seams(fabric.topology.hosts[0].name)
    return Context.make(Fabric, fabric).pipe(
      Context.merge(seams),
      Context.add(CreationSite.CaptureSites, true)
    )
  })))

/**
 * The libraries of another host of the same fabric.
 *
 * ```ts
 * import { Fabric } from "@effect-rdma/testkit"
 * import { DeviceContext } from "@effect-rdma/verbs"
 * import { Effect } from "effect"
 *
 * const bothEnds = Effect.gen(function*() {
 *   const here = yield* DeviceContext.openByName("rxe0")
 *   const there = yield* DeviceContext.openByName("rxe0").pipe(Effect.provide(Fabric.host("host-b")))
 *   return [here, there] as const
 * }).pipe(Effect.scoped, Effect.provide(Fabric.layer))
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const host = (name: string): Layer.Layer<Seams, never, Fabric> =>
  Layer.effectContext(Effect.flatMap(Fabric, (fabric) => fabric.seams(name)))

/**
 * Makes a fabric, by default of two hosts. What it does later by itself, such as resolving an address, ends with the scope. Fails with a
 * `SchemaError` that tells where the topology is wrong.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fn("Fabric.make")(function*(
  input: Topology.Input = Topology.twoHosts
): Effect.fn.Return<Fabric["Service"], Schema.SchemaError, Scope.Scope> {
  const topology = yield* decode(input)
  const addresses = { next: firstAddress }
  const hosts = new Map(topology.hosts.map((host) => [host.name, Host.make(host, addresses)]))
  const log: CallLog.CallLog = []
  const timeline = yield* Timeline.make
  let managed: Answer.Managed | undefined
  const fabric: Host.FabricState = {
    ...timeline,
    hosts,
    hasSubnet: topology.subnet !== undefined,
    managed: () => managed ??= Answer.make(topology, fabric),
    work: WorkList.make(),
    isDisturbed: false,
    onArrival: new Set(),
    onMad: []
  }
  // Ports that are to be configured are so from the start.
  if (fabric.hasSubnet) fabric.managed()
  for (const { node, portNum, ...disturbance } of topology.links) Links.disturb(fabric, node, portNum, disturbance)
  const numbers = { nextHighTid: 1 }
  const seams = new Map(Array.from(hosts, ([name, host]) => [name, CallLog.seamsOf(fabric, host, log, numbers)]))

  return Fabric.of({
    topology,
    seams: (name) => Effect.sync(() => Host.hostOf("Fabric.seams", seams, name)),
    objects: Effect.sync(() =>
      Array.from(hosts.values())
        .flatMap((host) => host.heap.objects().flatMap(([pointer, value]) => objectOf(host.name, pointer, value)))
        .toSorted((self, that) => self.pointer < that.pointer ? -1 : 1)
    ),
    calls: Effect.sync(() => CallLog.read(log)),
    raise: (name, deviceName, event) =>
      Effect.sync(() => {
        const host = Host.hostOf("Fabric.raise", hosts, name)
        const device = Host.deviceOf("Fabric.raise", host, deviceName)
        for (const react of host.onAsyncEvent) react(device, event)
      }),
    complete: (name, queue, completion) =>
      Effect.sync(() => {
        for (const react of Host.hostOf("Fabric.complete", hosts, name).onCompletion) react(queue, completion)
      }),
    onMad: (react) =>
      Effect.sync(() => {
        fabric.onMad.push(({ address, from, mad }) =>
          react({
            host: from.host.name,
            device: from.device.name,
            portNum: from.port.number,
            address,
            mad: mad.slice()
          })
        )
      }),
    onArrival: (react) =>
      Effect.asVoid(Effect.acquireRelease(
        Effect.sync(() => {
          // Of its own: the same function can be given twice.
          const listener = { react }
          fabric.onArrival.add(listener)
          return listener
        }),
        (listener) => Effect.sync(() => fabric.onArrival.delete(listener))
      )),
    subnet: Effect.sync(() => Subnet.describe(fabric.managed().subnet)),
    setNode: (node, state) => Effect.sync(() => Links.setNode(fabric, node, state)),
    disturb: (node, portNum, disturbance) => Effect.sync(() => Links.disturb(fabric, node, portNum, disturbance)),
    setLink: (host, device, portNum, link, options) =>
      Effect.sync(() => {
        Links.set(fabric, host, device, portNum, link)
        if (options?.for === undefined) return
        fabric.after(options.for, () => Links.set(fabric, host, device, portNum, link === "up" ? "down" : "up"))
      }),
    unplug: (name, deviceName) =>
      Effect.sync(() => {
        const host = Host.hostOf("Fabric.unplug", hosts, name)
        const device = Host.deviceOf("Fabric.unplug", host, deviceName)
        device.plugged = false
        host.devices = host.devices.filter((other) => other !== device)
        for (const react of host.onUnplug) react(device)
      })
  })
})

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const decode = Schema.decodeEffect(Topology.Topology)

// Looks like the heap of a process, and is far above any small number that is taken for a pointer by mistake.
const firstAddress = 0x7f10_0000_0000n

const objectOf = (host: string, pointer: bigint, { context, device, kind }: Heap.Native): ReadonlyArray<NativeObject> =>
  kind === undefined || device?.plugged === false ? [] : [{ host, kind, pointer, device: device?.name, context }]
