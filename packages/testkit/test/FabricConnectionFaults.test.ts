/** Connections that fail or are interrupted at every step: the error is typed, and nothing is left. */
import * as Errno from "@effect-rdma/core/Errno"
import * as AddressInfo from "@effect-rdma/rdmacm/AddressInfo"
import * as CmId from "@effect-rdma/rdmacm/CmId"
import * as CmQueuePair from "@effect-rdma/rdmacm/CmQueuePair"
import * as Endpoint from "@effect-rdma/rdmacm/Endpoint"
import * as EventChannel from "@effect-rdma/rdmacm/EventChannel"
import * as MulticastMembership from "@effect-rdma/rdmacm/MulticastMembership"
import * as RdmaCm from "@effect-rdma/rdmacm/RdmaCm"
import * as RdmaCmError from "@effect-rdma/rdmacm/RdmaCmError"
import * as Fabric from "@effect-rdma/testkit/Fabric"
import * as Faults from "@effect-rdma/testkit/Faults"
import * as LeakCheck from "@effect-rdma/testkit/LeakCheck"
import * as VerbsError from "@effect-rdma/verbs/VerbsError"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Predicate from "effect/Predicate"
import type * as Scope from "effect/Scope"
import * as Calls from "../src/internal/calls.ts"
import { dial, portOf, serve } from "../src/internal/conformanceRdmaCm.ts"

type Program = Effect.Effect<unknown, unknown, Fabric.Seams | Scope.Scope>

const together = { concurrency: "unbounded", discard: true } as const

const listening = Effect.fnUntraced(function*(portSpace: "tcp" | "udp" = "tcp") {
  const listener = yield* CmId.make(yield* EventChannel.make(), portSpace)
  yield* CmId.bind(listener, "10.0.0.1:0")
  yield* CmId.listen(listener, { backlog: 4 })
  return { listener, address: `10.0.0.1:${yield* portOf(listener)}` }
})

const routed = Effect.fnUntraced(function*(address: string) {
  const id = yield* CmId.make(yield* EventChannel.make(), "tcp")
  yield* CmId.resolveAddress(id, { destination: address })
  yield* CmId.resolveRoute(id)
  return id
})

const found = (flags: ReadonlyArray<"passive">) =>
  Effect.flatMap(
    AddressInfo.get({ node: "10.0.0.1", service: "7471", flags, portSpace: "tcp" }),
    ([info]) => info === undefined ? Effect.die("no address") : Effect.succeed(info)
  )

const answer = (id: CmId.CmId) => Effect.andThen(CmId.awaitDisconnected(id), CmId.disconnect(id))

const programs: { readonly [name: string]: Program } = {
  "a connection with queue pairs of verbs": Effect.gen(function*() {
    const { address, listener } = yield* listening()
    const id = yield* routed(address)
    yield* Effect.all([
      Effect.flatMap(serve(listener), ({ id }) => answer(id)),
      Effect.andThen(dial(id), CmId.disconnect(id))
    ], together)
  }),
  "a connection with queue pairs of librdmacm": Effect.gen(function*() {
    const { address, listener } = yield* listening()
    const id = yield* routed(address)
    const server = Effect.gen(function*() {
      const request = yield* CmId.nextRequest(listener)
      yield* CmQueuePair.make(request.id, { qpType: "rc" })
      yield* CmId.accept(request.id)
      yield* answer(request.id)
    })
    const client = Effect.gen(function*() {
      yield* CmQueuePair.make(id, { qpType: "rc" })
      yield* CmId.connect(id)
      yield* CmId.disconnect(id)
    })
    yield* Effect.all([server, client], together)
  }),
  "a connection that is rejected": Effect.gen(function*() {
    const { address, listener } = yield* listening()
    const id = yield* routed(address)
    yield* Effect.all([
      Effect.flatMap(CmId.nextRequest(listener), ({ id }) => CmId.reject(id)),
      Effect.catchTag(CmId.connect(id, { qpNum: 1 }), "ConnectionRejected", () => Effect.void)
    ], together)
  }),
  "two endpoints": Effect.gen(function*() {
    const channel = yield* EventChannel.make()
    const listener = yield* Endpoint.listen(yield* found(["passive"]), { queuePair: {} })
    const client = yield* Endpoint.make(channel, yield* found([]), { queuePair: {} })
    yield* Effect.all([
      Effect.flatMap(Endpoint.nextRequest(listener, channel), ({ id }) => CmId.accept(id)),
      CmId.connect(client)
    ], together)
  }),
  "a group": Effect.gen(function*() {
    const id = yield* CmId.make(yield* EventChannel.make(), "udp")
    yield* CmId.bind(id, "10.0.0.1:0")
    yield* CmQueuePair.make(id, { qpType: "ud" })
    yield* MulticastMembership.join(id, "239.1.2.3:0")
  })
}

/** What the man pages and the kernel say that each call may fail with; of what only releases, nothing. */
const errnos: { readonly [call: string]: ReadonlyArray<Errno.ErrnoName> } = {
  rdma_create_event_channel: ["ENODEV", "EPERM", "ENOENT", "EACCES", "EMFILE"],
  rdma_get_cm_event: ["EINTR", "EINVAL", "ENOMEM", "ENODATA"],
  rdma_create_id: ["ENODEV", "EPERM", "ENOMEM", "EINVAL"],
  rdma_bind_addr: ["EINVAL", "EADDRINUSE", "EADDRNOTAVAIL", "EACCES", "ENODEV"],
  rdma_resolve_addr: ["EINVAL", "ENODEV", "ETIMEDOUT", "EADDRNOTAVAIL", "ENETUNREACH"],
  rdma_resolve_route: ["EINVAL", "ETIMEDOUT", "ENODEV"],
  rdma_listen: ["EINVAL", "EADDRINUSE", "ENODEV"],
  rdma_connect: ["EINVAL", "ECONNREFUSED", "ETIMEDOUT", "ENODEV"],
  rdma_accept: ["EINVAL", "ENOMEM"],
  rdma_establish: ["EINVAL"],
  rdma_reject: ["EINVAL", "ENOENT"],
  rdma_disconnect: ["EINVAL", "ENOTCONN"],
  rdma_init_qp_attr: ["EINVAL", "ENOENT"],
  rdma_migrate_id: ["EINVAL", "ENOENT"],
  rdma_getaddrinfo: ["EINVAL", "ENODEV", "EPERM", "ENOMEM"],
  rdma_create_qp: ["EINVAL", "ENOMEM"],
  rdma_create_ep: ["ENODEV", "ENOMEM", "ETIMEDOUT", "ECONNREFUSED"],
  rdma_get_request: ["EINVAL", "ECONNREFUSED"],
  rdma_join_multicast: ["EINVAL", "ENOMEM"],
  ibv_alloc_pd: ["ENOMEM", "EINVAL"],
  ibv_create_cq: ["ENOMEM", "EINVAL", "ENOSYS"],
  ibv_create_qp: ["ENOMEM", "EINVAL", "EPERM"],
  ibv_modify_qp: ["ENOMEM", "EINVAL", "ETIMEDOUT"]
}

/** The calls of a client that make something or wait; a release that fails would leave something for good. */
const steps: ReadonlyArray<Faults.FallibleCall> = [
  "rdma_create_event_channel",
  "rdma_create_id",
  "rdma_resolve_addr",
  "rdma_resolve_route",
  "rdma_get_cm_event",
  "ibv_alloc_pd",
  "ibv_create_cq",
  "ibv_create_qp",
  "ibv_modify_qp",
  "rdma_init_qp_attr",
  "rdma_connect",
  "rdma_establish",
  "rdma_disconnect"
]

const outcomeOf = (exit: Exit.Exit<unknown, unknown>): string => {
  if (Exit.isSuccess(exit)) return "success"
  if (Cause.hasDies(exit.cause)) return "defect"
  if (Cause.hasInterrupts(exit.cause)) return "interrupted"
  const error = Cause.squash(exit.cause)
  return Predicate.hasProperty(error, "_tag") ? String(error._tag) : String(error)
}

const isFallible = (call: Faults.ObservedCall["call"]): call is Faults.FallibleCall => Calls.isFallible(call)

const objects = Effect.flatMap(Fabric.Fabric, ({ objects }) => objects)

describe("Fabric: connections that fail", () => {
  for (const [name, program] of Object.entries(programs)) {
    it.live(`${name}: every call with every errno is a typed error, and leaves nothing`, () =>
      Effect.gen(function*() {
        const dry = yield* Faults.start([])
        yield* Faults.injectInto(dry)(LeakCheck.check(program)).pipe(Effect.provide(Fabric.layer))
        const counts = new Map<Faults.FallibleCall, number>()
        for (const { call } of yield* dry.calls) {
          if (isFallible(call)) counts.set(call, (counts.get(call) ?? 0) + 1)
        }
        let tried = 0
        for (const [call, count] of counts) {
          for (let nth = 1; nth <= count; nth++) {
            for (const errno of errnos[call] ?? []) {
              tried++
              const fault = `${call} ${nth}: ${errno}`
              const exit = yield* Effect.gen(function*() {
                const exit = yield* Effect.exit(LeakCheck.check(Faults.inject([{ call, nth, errno }])(program)))
                assert.deepStrictEqual(yield* objects, [], fault)
                return exit
              }).pipe(Effect.provide(Fabric.layer))
              // Which side reads the event that is the last one is a matter of turns: that fault may come to nothing.
              if (Exit.isSuccess(exit) && call === "rdma_get_cm_event") {
                continue
              }
              assert(Exit.isFailure(exit), fault)
              const error = Cause.squash(exit.cause)
              assert(
                error instanceof RdmaCmError.RdmaCmError || error instanceof VerbsError.VerbsError,
                `${fault}: ${String(error)}`
              )
              assert.strictEqual(error.call, call, fault)
              assert.strictEqual(error.reason.errno, Errno.numberOf(errno), fault)
            }
          }
        }
        assert.isAbove(tried, 10)
      }), 120_000)
  }

  it.live(
    "a thousand connects that fail or are interrupted at different steps leave what was there before",
    () =>
      Effect.gen(function*() {
        const seams = yield* Effect.context<Fabric.Seams>()
        yield* LeakCheck.check(Effect.gen(function*() {
          const { address, listener } = yield* listening()
          // A server that rejects every fourth, lets go of every fifth, and accepts the others.
          let served = 0
          yield* Effect.forkScoped(Effect.forever(Effect.scoped(
            Effect.gen(function*() {
              const { id } = yield* CmId.nextRequest(listener)
              const turn = served++
              if (turn % 4 === 0) yield* CmId.reject(id)
              else if (turn % 5 > 0) yield* Effect.timeoutOption(CmId.accept(id, { qpNum: 0x8000 + turn }), "2 millis")
            }).pipe(Effect.ignore)
          )))
          const before = yield* objects
          const outcomes = new Map<string, number>()
          for (let step = 0; step < 1000; step++) {
            const at = 1 + step % 23
            const attempt = Effect.scoped(Effect.gen(function*() {
              const id = yield* routed(step % 7 === 0 ? "10.0.0.2:9" : address)
              yield* dial(id)
              yield* CmId.disconnect(id)
            }))
            const call = steps[step % steps.length] ?? "rdma_connect"
            const fails = Faults.inject([{ call, nth: 1 + step % 2, errno: "ENOMEM" }])
            const run: Effect.Effect<unknown, unknown, Fabric.Seams> = step % 4 < 2
              ? interruptedAt(seams, at, attempt)
              : fails(attempt)
            const exit = yield* Effect.exit(run)
            const outcome = outcomeOf(exit)
            outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
          }
          yield* Effect.sleep("20 millis")
          assert.deepStrictEqual(yield* objects, before)
          assert.isUndefined(outcomes.get("defect"), JSON.stringify(Object.fromEntries(outcomes)))
          for (const outcome of ["interrupted", "RdmaCmError", "VerbsError", "ConnectionRejected"]) {
            assert.isAbove(outcomes.get(outcome) ?? 0, 20, JSON.stringify(Object.fromEntries(outcomes)))
          }
        }))
        assert.deepStrictEqual(yield* objects, [])
      }).pipe(Effect.provide(Fabric.layer)),
    120_000
  )
})

/** Interrupts a program when it makes its n-th call of librdmacm. */
const interruptedAt = <A, E>(
  seams: Context.Context<Fabric.Seams>,
  nth: number,
  program: Effect.Effect<A, E, Fabric.Seams>
) =>
  Effect.gen(function*() {
    const reached = yield* Deferred.make<void>()
    let calls = 0
    const watch = <B, F>(_call: unknown, _args: unknown, run: Effect.Effect<B, F>) =>
      Effect.andThen(
        Effect.suspend(() => ++calls === nth ? Deferred.succeed(reached, undefined) : Effect.void),
        Effect.andThen(Effect.yieldNow, run)
      )
    const cm = Calls.interceptRdmaCm(Context.get(seams, RdmaCm.RdmaCm), {
      fallible: watch,
      infallible: watch,
      synchronous: (_call, _args, run) => run()
    })
    return yield* Effect.raceFirst(
      Effect.provideService(program, RdmaCm.RdmaCm, cm),
      Effect.andThen(Deferred.await(reached), Effect.interrupt)
    )
  })
