/**
 * Makes one of each resource and prints what is alive as it comes and goes: on the in-memory fabric, or with `--live` on
 * the libraries of this host.
 */
import { CreationSite, Gid, Ledger } from "@effect-rdma/core"
import { CmId, EventChannel, RdmaCm } from "@effect-rdma/rdmacm"
import { Fabric, Faults } from "@effect-rdma/testkit"
import { Umad, UmadLibrary, UmadPort } from "@effect-rdma/umad"
import {
  AddressHandle,
  DeviceContext,
  DeviceList,
  Port,
  ProtectionDomain,
  ResourceDomain,
  Verbs
} from "@effect-rdma/verbs"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Console, Effect } from "effect"
import type { Scope } from "effect"

const printLive = (step: string) =>
  Effect.flatMap(Ledger.live, (entries) =>
    Console.log(
      `  ${step}\n${
        entries.length === 0 ? "      (nothing is alive)" : Ledger.formatTree(entries).replaceAll(/^/gm, "      ")
      }`
    ))

/** Acquires a resource, and prints the tree after that and after its release. */
const show = <A, E, R>(what: string, acquire: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | Scope.Scope> =>
  Effect.gen(function*() {
    let acquired = false
    // A scope runs its finalizers in reverse, so this one comes after the release.
    yield* Effect.addFinalizer(() => Effect.when(printLive(`- ${what}`), Effect.sync(() => acquired)))
    const resource = yield* acquire
    acquired = true
    yield* printLive(`+ ${what}`)
    return resource
  })

/** The GID that packets leave with: the RoCE v2 one of an IPv4 address if there is one, else the first. */
const sourceGid = (context: DeviceContext.DeviceContext) =>
  Effect.map(DeviceContext.gidTable(context), (entries) => {
    const usable = entries.filter((entry) => entry.portNum === 1)
    return usable.find((entry) => entry.gidType === "roceV2" && Gid.isIpv4Mapped(entry.gid)) ?? usable[0]
  })

const describe = Effect.fnUntraced(function*(device: DeviceList.Device) {
  const context = yield* DeviceContext.open(device)
  const { physPortCnt } = yield* DeviceContext.query(context)
  for (let portNum = 1; portNum <= physPortCnt; portNum++) {
    const { activeMtu, linkLayer, state } = yield* Port.query(context, portNum)
    yield* Console.log(`    ${device.name} port ${portNum} is ${state}, ${linkLayer}, MTU ${activeMtu}`)
  }
})

const verbs = (peer?: string) =>
  Effect.gen(function*() {
    const list = yield* show("the device list", DeviceList.get())
    for (const device of list.devices) {
      yield* Effect.scoped(describe(device))
    }
    const [device] = list.devices
    if (device === undefined) return yield* Console.log("    no devices")
    const context = yield* show(`a context of ${device.name}`, DeviceContext.open(device))
    const domain = yield* show("a protection domain", ProtectionDomain.alloc(context))
    const source = yield* sourceGid(context)
    if (source === undefined) return yield* Console.log("    no GID: no address handle")
    const dgid = peer ?? Gid.formatCompressed(source.gid)
    yield* show(
      `an address handle to ${dgid}`,
      AddressHandle.make(domain, { portNum: 1, grh: { dgid, sgidIndex: source.gidIndex } })
    )
    const resources = yield* show("a resource domain", ResourceDomain.make(context, { threadModel: "single" }))
    const { origin } = resources
    yield* Console.log(`    it is ${origin._tag}${origin._tag === "Shared" ? `: ${origin.refusal?.message}` : ""}`)
  })

const connectionManager = Effect.gen(function*() {
  const channel = yield* show("an event channel", EventChannel.make())
  yield* show("a CM id", CmId.make(channel, "tcp"))
})

const managementDatagrams = Effect.gen(function*() {
  const library = yield* show("libibumad", UmadLibrary.init())
  const { attributes } = yield* show("a umad port", UmadPort.get(library))
  yield* Console.log(`    ${attributes.caName} port ${attributes.portNum} is ${attributes.state}`)
})

/** What this host lacks is said, and the other libraries are shown all the same. */
const sayWhatIsMissing = <A, R>(library: string, part: Effect.Effect<A, { readonly message: string }, R>) =>
  Effect.catch(part, (error) => Console.log(`    ${library} is not to be had here: ${error.message}`))

const tour = <E, R>(title: string, program: Effect.Effect<void, E, R>) =>
  Effect.gen(function*() {
    yield* Console.log(`\n${title}`)
    yield* Effect.scoped(program)
    const alive = yield* Ledger.live
    const totals = yield* Ledger.totals
    const sum = (key: "acquired" | "released") => totals.reduce((count, row) => count + row[key], 0)
    yield* Console.log(`  ${alive.length} alive; ${sum("acquired")} acquired and ${sum("released")} released so far`)
    if (alive.length > 0) return yield* Effect.die(`left behind:\n${Ledger.formatTree(alive)}`)
  })

const inMemory = Effect.gen(function*() {
  yield* tour(
    "Two hosts in memory",
    Effect.gen(function*() {
      yield* verbs("::ffff:10.0.0.2")
      yield* connectionManager
      yield* managementDatagrams
    })
  )
  yield* tour(
    "The same, and the address handle fails",
    Effect.gen(function*() {
      yield* verbs("::ffff:10.0.0.2").pipe(
        Faults.inject([{ call: "ibv_create_ah", nth: 1, errno: "ENOMEM" }]),
        Effect.catchReason("VerbsError", "ENOMEM", (_, error) => Console.log(`    ${error.message}`))
      )
    })
  )
}).pipe(
  Effect.provideService(CreationSite.CaptureSites, false),
  Effect.provide([Fabric.layer, Ledger.layer])
)

const live = Effect.gen(function*() {
  yield* tour(
    "The libraries of this host",
    Effect.gen(function*() {
      yield* sayWhatIsMissing("libibverbs", Effect.provide(verbs(), Verbs.Verbs.layer))
      yield* sayWhatIsMissing("librdmacm", Effect.provide(connectionManager, RdmaCm.RdmaCm.layer))
      yield* sayWhatIsMissing("libibumad", Effect.provide(managementDatagrams, Umad.Umad.layer))
    })
  )
}).pipe(Effect.provide(Ledger.layer))

NodeRuntime.runMain(process.argv.includes("--live") ? live : inMemory)
