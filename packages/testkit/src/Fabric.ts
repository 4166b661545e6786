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
import { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import type * as MadAddress from "@effect-rdma/umad/MadAddress"
import * as SubnetTopology from "@effect-rdma/umad/SubnetTopology"
import { Umad } from "@effect-rdma/umad/Umad"
import type * as AsyncEvent from "@effect-rdma/verbs/AsyncEvent"
import { Verbs } from "@effect-rdma/verbs/Verbs"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { FabricMisuse } from "./FabricMisuse.ts"
import * as Calls from "./internal/calls.ts"
import type * as Heap from "./internal/heap.ts"
import * as Host from "./internal/host.ts"
import * as MakeRdmaCm from "./internal/rdmacm.ts"
import * as MakeUmad from "./internal/umad.ts"
import * as Answer from "./internal/umad/answer.ts"
import type { Numbers } from "./internal/umad/openPorts.ts"
import * as Subnet from "./internal/umad/subnet.ts"
import * as MakeVerbs from "./internal/verbs.ts"
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
 * What happens to the MADs that go over a cable.
 *
 * @category models
 * @since 0.1.0
 */
export interface Disturbance {
  readonly latency?: Duration.Input
  readonly drops?: (packet: { readonly count: number; readonly mad: Uint8Array }) => boolean
}

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
   * Plugs the cable of a port in or pulls it out. Every context of the device gets the event of the port (`portActive` or
   * `portErr`), its state is then what `ibv_query_port` tells, and nothing gets through a port that is down: peers retry
   * until they give up, queue pairs and the connection manager both. On InfiniBand both ends go down, and a port that has no
   * cable in the subnet stays without. Dies with `FabricMisuse` when there is no such port.
   */
  readonly setLink: (host: string, device: string, portNum: number, link: "up" | "down") => Effect.Effect<void>
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
   * Disturbs the cable at a port: from now on each MAD takes so long to get over it, and those are lost of which `drops` says
   * so. They count from 1, both directions together, answers too. What is left out is undisturbed. Dies with
   * `FabricMisuse` when there is no such node, or no cable at the port.
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
  const log: Array<LoggedCall> = []
  const fork = yield* FiberSet.makeRuntime()
  let managed: Answer.Managed | undefined
  const fabric: Host.FabricState = {
    hosts,
    hasSubnet: topology.subnet !== undefined,
    managed: () => managed ??= Answer.make(topology, fabric),
    work: WorkList.make(),
    onMad: [],
    after: (duration, run) => {
      const fiber = fork(Effect.delay(Effect.sync(run), duration))
      return () => fiber.interruptUnsafe()
    }
  }
  // Ports that are to be configured are so from the start.
  if (fabric.hasSubnet) fabric.managed()
  const numbers = { nextHighTid: 1 }
  const seams = new Map(Array.from(hosts, ([name, host]) => [name, seamsOf(fabric, host, log, numbers)]))

  return Fabric.of({
    topology,
    seams: (name) => Effect.sync(() => hostOf("Fabric.seams", seams, name)),
    objects: Effect.sync(() =>
      Array.from(hosts.values())
        .flatMap((host) => host.heap.objects().flatMap(([pointer, value]) => objectOf(host.name, pointer, value)))
        .toSorted((self, that) => self.pointer < that.pointer ? -1 : 1)
    ),
    calls: Effect.sync(() => log.slice(-logged).map(copyOf)),
    raise: (name, deviceName, event) =>
      Effect.sync(() => {
        const host = hostOf("Fabric.raise", hosts, name)
        const device = deviceOf("Fabric.raise", host, deviceName)
        for (const react of host.onAsyncEvent) react(device, event)
      }),
    complete: (name, queue, completion) =>
      Effect.sync(() => {
        for (const react of hostOf("Fabric.complete", hosts, name).onCompletion) react(queue, completion)
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
    subnet: Effect.sync(() => Subnet.describe(fabric.managed().subnet)),
    setNode: (name, state) =>
      Effect.sync(() => {
        const { subnet } = fabric.managed()
        Subnet.setAlive(subnet, nodeOf("Fabric.setNode", subnet, name), state === "alive")
      }),
    disturb: (name, portNum, { drops = () => false, latency = 0 }) =>
      Effect.sync(() => {
        const call = "Fabric.disturb"
        const cable = Subnet.portOf(nodeOf(call, fabric.managed().subnet, name), portNum)?.cable
        if (cable === undefined) throw new FabricMisuse({ call, problem: `port ${portNum} of ${name} has no cable` })
        cable.latency = Duration.toMillis(latency)
        cable.drops = drops
      }),
    setLink: (name, deviceName, portNum, link) =>
      Effect.sync(() => {
        const call = "Fabric.setLink"
        const host = hostOf(call, hosts, name)
        const device = deviceOf(call, host, deviceName)
        const ports = Array.from(device.description.ports)
        const index = ports.findIndex((port) => port.number === portNum)
        const before = ports[index]
        if (before === undefined) {
          throw new FabricMisuse({ call, problem: `${deviceName} of ${name} has no port ${portNum}` })
        }
        const cabled = before.linkLayer === "infiniband"
          ? Subnet.portOfDevice(fabric.managed().subnet, device, portNum)
          : undefined
        if (cabled !== undefined) return Subnet.setLink(fabric.managed().subnet, cabled, link === "up")
        const { event, port } = linkStates[link]
        ports[index] = { ...before, ...port }
        device.description = { ...device.description, ports }
        for (const react of host.onAsyncEvent) react(device, { _tag: "Port", event, portNum })
      }),
    unplug: (name, deviceName) =>
      Effect.sync(() => {
        const host = hostOf("Fabric.unplug", hosts, name)
        const device = deviceOf("Fabric.unplug", host, deviceName)
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

const logged = 10_000

const linkStates = {
  up: { event: "portActive", port: { state: "active", physState: "linkUp" } },
  down: { event: "portErr", port: { state: "down", physState: "polling" } }
} as const

interface LoggedCall extends NativeCall {
  returned: bigint | undefined
  errno: number | undefined
}

const hostOf = <A>(call: string, of: ReadonlyMap<string, A>, name: string): A => {
  const found = of.get(name)
  if (found === undefined) throw new FabricMisuse({ call, problem: `there is no host ${name}` })
  return found
}

const deviceOf = (call: string, host: Host.HostState, name: string): Host.DeviceState => {
  const device = host.devices.find((device) => device.name === name)
  if (device === undefined) throw new FabricMisuse({ call, problem: `${host.name} has no device ${name}` })
  return device
}

const nodeOf = (call: string, { nodes }: Subnet.SubnetState, name: string): Subnet.NodeState => {
  const node = nodes.find(({ description }) => SubnetTopology.nameOf(description) === name)
  if (node === undefined) throw new FabricMisuse({ call, problem: `the subnet has no node ${name}` })
  return node
}

const copyOf = (call: NativeCall): NativeCall => ({ ...call })

const objectOf = (host: string, pointer: bigint, { context, device, kind }: Heap.Native): ReadonlyArray<NativeObject> =>
  kind === undefined || device?.plugged === false ? [] : [{ host, kind, pointer, device: device?.name, context }]

const seamsOf = (
  fabric: Host.FabricState,
  host: Host.HostState,
  log: Array<LoggedCall>,
  numbers: Numbers
): Context.Context<Seams> => {
  const begin = (call: NativeCall["call"], args: ReadonlyArray<unknown>): LoggedCall => {
    const entry: LoggedCall = {
      host: host.name,
      call,
      pointers: pointersIn(args),
      returned: undefined,
      errno: undefined
    }
    log.push(entry)
    if (log.length === 2 * logged) log.splice(0, logged)
    return entry
  }
  const record = <A, E extends { readonly reason: { readonly errno: number } }>(
    call: NativeCall["call"],
    args: ReadonlyArray<unknown>,
    run: Effect.Effect<A, E>
  ): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      const entry = begin(call, args)
      return Effect.onExit(run, (exit) =>
        Effect.sync(() => {
          if (Exit.isSuccess(exit)) entry.returned = pointersIn([exit.value])[0]
          else entry.errno = Option.getOrUndefined(Exit.findErrorOption(exit))?.reason.errno
        }))
    })
  const recordSynchronous = <A extends { readonly error: { readonly reason: { readonly errno: number } } | undefined }>(
    call: NativeCall["call"],
    args: ReadonlyArray<unknown>,
    run: () => A
  ): A => {
    const entry = begin(call, args.slice(0, 1))
    const returned = run()
    entry.errno = returned.error?.reason.errno
    return returned
  }
  const recorder = { fallible: record, infallible: record, synchronous: recordSynchronous }
  const verbs = MakeVerbs.make(fabric, host)
  return Context.make(Verbs, Calls.interceptVerbs(verbs, recorder)).pipe(
    Context.add(RdmaCm, Calls.interceptRdmaCm(MakeRdmaCm.make(fabric, host, verbs), recorder)),
    Context.add(Umad, Calls.interceptUmad(MakeUmad.make(fabric, host, numbers), recorder))
  )
}

// The pointers among arguments and results: as they are, or one level down (`{ pd, td }`, `{ list, devices }`). Memory has none.
const pointersIn = (values: ReadonlyArray<unknown>): ReadonlyArray<bigint> =>
  values.flatMap((value) =>
    typeof value !== "object" || value === null ? [value] : ArrayBuffer.isView(value) ? [] : Object.values(value)
  ).filter((value) => typeof value === "bigint")
