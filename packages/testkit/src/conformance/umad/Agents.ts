/**
 * Conformance of the agents of an open port.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import type * as Umad from "@effect-rdma/umad/Umad"
import * as UmadAgent from "@effect-rdma/umad/UmadAgent"
import type * as UmadPort from "@effect-rdma/umad/UmadPort"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import {
  assertInterruptible,
  assertReason,
  namesOf,
  recorded,
  testWhere,
  timesCalled,
  usesDeadHandle
} from "../../internal/conformance.ts"
import { application, getCounters, openPort, performance } from "../../internal/conformanceUmad.ts"
import * as LeakCheck from "../../LeakCheck.ts"
import * as Lane from "../Lane.ts"
import type * as UmadLane from "../UmadLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: UmadLane.UmadLane<Others>): void => {
  const it = Lane.test<Umad.Umad | Others>(lane)
  const inKernel = testWhere<Umad.Umad | Others>(lane)(lane.hasKernel, "a simulator takes every agent")
  const onSimulator = testWhere<Umad.Umad | Others>(lane)(!lane.hasKernel, "a kernel counts the agents of a class")
  const onEthernet = testWhere<Umad.Umad | Others>(lane)(lane.linkLayer === "Ethernet", "the port is InfiniBand")
  const onInfiniBand = testWhere<Umad.Umad | Others>(lane)(lane.linkLayer !== "Ethernet", "the port is Ethernet")

  // ---------------------------------------------------------------------------
  // Registering
  // ---------------------------------------------------------------------------

  it("an agent is registered with its scope, and unregistered before its port is closed", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(Effect.flatMap(openPort(), (port) => UmadAgent.register(port, application)))
      assert.deepStrictEqual(
        namesOf(yield* calls).filter((name) => name.startsWith("umad_re") || name.startsWith("umad_un")),
        ["umad_register", "umad_unregister"]
      )
      assert.deepStrictEqual(namesOf(yield* calls).slice(-2), ["umad_close_port", "umad_done"])
    }))

  it("agents of several classes at once have numbers of their own", () =>
    Effect.gen(function*() {
      const port = yield* openPort()
      const agents = yield* Effect.forEach([0x04, 0x09, 0x21, 0x28], (mgmtClass) =>
        UmadAgent.register(port, { mgmtClass }))
      const numbers = agents.map((agent) =>
        Number(Resource.raw(agent))
      )
      assert.strictEqual(new Set(numbers).size, agents.length)
      for (const number of numbers) assert.isTrue(number >= 0 && number < 32, String(number))
      assert.deepStrictEqual(agents.map(({ mgmtClass }) => mgmtClass), [0x04, 0x09, 0x21, 0x28])
    }))

  it("a port takes 32 agents, the next one is ENOMEM, and one less makes room again", () =>
    Effect.gen(function*() {
      const port = yield* openPort()
      const last = yield* Scope.make()
      yield* Effect.forEach(Array.from({ length: 31 }), () => UmadAgent.register(port, { mgmtClass: 0x28 }))
      yield* Scope.provide(UmadAgent.register(port, { mgmtClass: 0x28 }), last)
      const error = yield* Effect.flip(UmadAgent.register(port, { mgmtClass: 0x28 }))
      assertReason(error, "umad_register", "ENOMEM")
      assert.include(error.message, "0x28")
      yield* Scope.close(last, Exit.void)
      yield* UmadAgent.register(port, { mgmtClass: 0x28 })
    }))

  it("a thousand agents one after the other stay below the kernel's 32", () =>
    recorded(function*(calls) {
      const port = yield* openPort()
      yield* Effect.repeat(Effect.scoped(UmadAgent.register(port, { ...application, methods: [1, 127] })), {
        times: 999
      })
      assert.strictEqual(timesCalled(yield* calls, "umad_register"), 1000)
      assert.strictEqual(timesCalled(yield* calls, "umad_unregister"), 1000)
    }))

  it("an agent of a vendor class is registered with its OUI", () =>
    recorded(function*(calls) {
      const port = yield* openPort()
      yield* Effect.scoped(UmadAgent.registerOui(port, { mgmtClass: 0x32, oui: 0x00_14_05, methods: [3] }))
      assert.deepStrictEqual(namesOf(yield* calls).slice(-2), ["umad_register_oui", "umad_unregister"])
    }))

  it("an agent is registered with the newer call, too", () =>
    recorded(function*(calls) {
      const port = yield* openPort()
      yield* Effect.scoped(UmadAgent.register2(port, { ...application, methods: [1, 65, 127] }))
      assert.deepStrictEqual(namesOf(yield* calls).slice(-2), ["umad_register2", "umad_unregister"])
    }))

  onSimulator(
    "a method that another agent of the port has is given to a second one all the same",
    () =>
      Effect.gen(function*() {
        const port = yield* openPort()
        yield* UmadAgent.register(port, { ...application, methods: [2] })
        yield* UmadAgent.register(port, { ...application, methods: [2] })
      })
  )

  inKernel("an agent of a class with RMPP can do it itself", () =>
    Effect.gen(function*() {
      const port = yield* openPort()
      const agent = yield* UmadAgent.register2(port, {
        mgmtClass: 0x03,
        mgmtVersion: 2,
        rmppVersion: 1,
        userRmpp: true
      })
      assert.strictEqual(agent.rmppVersion, 1)
    }))

  onInfiniBand("an agent of subnet management is registered on an InfiniBand port", () =>
    Effect.gen(function*() {
      const port = yield* openPort()
      assert.strictEqual((yield* UmadAgent.register(port, { mgmtClass: 0x81 })).mgmtClass, 0x81)
    }))

  onEthernet(
    "an agent of subnet management is EPROTONOSUPPORT on an Ethernet port, which has none",
    () =>
      Effect.gen(function*() {
        const port = yield* openPort()
        for (const mgmtClass of [0x01, 0x81]) {
          const error = yield* Effect.flip(UmadAgent.register(port, { mgmtClass }))
          assertReason(error, "umad_register", "EPROTONOSUPPORT")
        }
      })
  )

  inKernel(
    "a method that another agent of the port has is EINVAL until that one is gone",
    () =>
      Effect.gen(function*() {
        const port = yield* openPort()
        const first = yield* Scope.make()
        yield* Scope.provide(UmadAgent.register(port, { ...application, methods: [1, 2] }), first)
        const error = yield* refused(port, { ...application, methods: [2, 3] })
        assert.include(error.message, "0x28")
        yield* UmadAgent.register(port, { ...application, methods: [3] })
        yield* UmadAgent.register(port, application)
        yield* Scope.close(first, Exit.void)
        yield* UmadAgent.register(port, { ...application, methods: [2] })
      })
  )

  inKernel(
    "a method that an agent of another open port has is EINVAL as well: the adapter's port is one",
    () =>
      Effect.gen(function*() {
        const filter = { caName: lane.adapter, portNum: lane.port }
        const first = yield* openPort(filter)
        const second = yield* openPort(filter)
        yield* UmadAgent.register(first, { ...application, methods: [1] })
        yield* refused(second, { ...application, methods: [1] })
      })
  )

  inKernel("a class, a version or RMPP that agents cannot have is EINVAL", () =>
    Effect.gen(function*() {
      const port = yield* openPort()
      for (const registration of [{ mgmtClass: 0x60 }, { mgmtClass: 0xff }, { mgmtClass: 0x28, mgmtVersion: 131 }]) {
        yield* refused(port, registration)
      }
      yield* refused(port, { mgmtClass: 0x28, rmppVersion: 1 })
    }))

  it("what is out of range is a SchemaError with its path, and the library is not called", () =>
    recorded(function*(calls) {
      const port = yield* openPort()
      const before = (yield* calls).length
      const cases = [
        [UmadAgent.register(port, { mgmtClass: 256 }), "mgmtClass"],
        [UmadAgent.register(port, { mgmtClass: -1 }), "mgmtClass"],
        [UmadAgent.register(port, { mgmtClass: 4, mgmtVersion: 256 }), "mgmtVersion"],
        [UmadAgent.register(port, { mgmtClass: 4, methods: [128] }), "methods"],
        [UmadAgent.register(port, { mgmtClass: 4, capacity: 0 }), "capacity"],
        [UmadAgent.registerOui(port, { mgmtClass: 0x2f, oui: 1 }), "mgmtClass"],
        [UmadAgent.registerOui(port, { mgmtClass: 0x50, oui: 1 }), "mgmtClass"],
        [UmadAgent.registerOui(port, { mgmtClass: 0x30, oui: 0 }), "oui"],
        [UmadAgent.register2(port, { mgmtClass: 0x30, oui: 0x100_0000 }), "oui"]
      ] as const
      for (const [registering, path] of cases) {
        const error = yield* Effect.flip<unknown, { readonly _tag: string; readonly message: string }, Scope.Scope>(
          registering
        )
        assert.strictEqual(error._tag, "SchemaError")
        assert.include(error.message, `at ["${path}"]`)
      }
      assert.strictEqual((yield* calls).length, before)
    }))

  // ---------------------------------------------------------------------------
  // Lifetimes
  // ---------------------------------------------------------------------------

  it("an unregistered agent is dead: nothing on it reaches the library", () =>
    recorded(function*(calls) {
      const port = yield* openPort()
      const agent = yield* Effect.scoped(UmadAgent.register(port, performance))
      const before = (yield* calls).length
      const outgoing = { address: { lid: 1 }, mad: getCounters() }
      assert.include((yield* usesDeadHandle(UmadAgent.request(agent, outgoing))).message, "UmadAgent#")
      yield* usesDeadHandle(UmadAgent.send(agent, outgoing))
      yield* usesDeadHandle(UmadAgent.next(agent))
      assert.strictEqual((yield* calls).length, before)
    }))

  it("agents in an outer scope go with their port in an inner one, last registered first", () =>
    recorded(function*(calls) {
      const outer = yield* Effect.scope
      const agents = yield* Effect.scoped(
        Effect.flatMap(
          openPort(),
          (port) =>
            Effect.forEach([0x28, 0x29], (mgmtClass) => Scope.provide(UmadAgent.register(port, { mgmtClass }), outer))
        )
      )
      assert.isFalse(agents.some(Resource.isLive))
      assert.deepStrictEqual(
        (yield* calls).filter(({ call }) => call === "umad_unregister").map(({ args }) => args[1]),
        [1, 0]
      )
    }))

  it("an agent that failed to be registered is not unregistered", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(
        Effect.flatMap(openPort(), (port) => Effect.flip(UmadAgent.register(port, { mgmtClass: 300 })))
      )
      assert.strictEqual(timesCalled(yield* calls, "umad_unregister"), 0)
      yield* LeakCheck.assertNothingAlive
    }))

  it("waiting for an unsolicited MAD is interrupted at once, again and again", () =>
    Effect.gen(function*() {
      const port = yield* openPort()
      const agent = yield* UmadAgent.register(port, { ...application, methods: [application.method] })
      yield* assertInterruptible(UmadAgent.next(agent))
    }))

  it("who waits for a MAD when the agent is unregistered dies with it", () =>
    Effect.gen(function*() {
      const port = yield* openPort()
      const scope = yield* Scope.make()
      const agent = yield* Scope.provide(UmadAgent.register(port, { ...application, methods: [1] }), scope)
      const fiber = yield* Effect.forkChild(usesDeadHandle(UmadAgent.next(agent)), { startImmediately: true })
      yield* Scope.close(scope, Exit.void)
      assert.include((yield* Fiber.join(fiber)).message, "UmadAgent#")
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const refused = (port: UmadPort.OpenPort, registration: typeof UmadAgent.Registration.Encoded) =>
  Effect.map(Effect.flip(UmadAgent.register(port, registration)), (error) => {
    assertReason(error, "umad_register", "EINVAL")
    return error
  })
