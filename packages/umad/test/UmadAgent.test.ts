import * as Errno from "@effect-rdma/core/Errno"
import * as Ledger from "@effect-rdma/core/Ledger"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import * as Pointer from "@effect-rdma/core/Pointer"
import * as ReleaseError from "@effect-rdma/core/ReleaseError"
import { assert, describe, it } from "@effect/vitest"
import * as Brand from "effect/Brand"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import * as MadAddress from "../src/MadAddress.ts"
import * as MadBuffer from "../src/MadBuffer.ts"
import { type AgentId, type BufferTooSmall, type MadToSend, type PortId, type ReceivedMad, Umad } from "../src/Umad.ts"
import * as UmadAgent from "../src/UmadAgent.ts"
import { UmadError } from "../src/UmadError.ts"
import * as UmadLibrary from "../src/UmadLibrary.ts"
import * as UmadPort from "../src/UmadPort.ts"

const portId = Brand.nominal<PortId>()(7)
const agentId = Brand.nominal<AgentId>()

const failure = (call: string, name: Errno.ErrnoName) =>
  new UmadError({ call, reason: NativeReason.fromErrno(Errno.numberOf(name)), input: {} })

type Answer = Effect.Effect<ReceivedMad | BufferTooSmall, UmadError>

/**
 * A libibumad that notes what is called. `onSend` puts what is received then; when nothing is left, waiting never ends.
 */
const library = (options: {
  readonly onSend?: (mad: MadToSend, received: Array<Answer>) => Effect.Effect<void, UmadError>
  readonly received?: ReadonlyArray<Answer>
  readonly unregister?: Effect.Effect<void, UmadError>
}) => {
  const log: Array<string> = []
  const received = Array.from(options.received ?? [])
  const note = (call: string) => Effect.sync(() => void log.push(call))
  const wake: Array<() => void> = []
  let nextBuffer = 0x100n
  const layer = Layer.mock(Umad, {
    init: Effect.void,
    done: Effect.void,
    openPort: () => Effect.succeed(portId),
    closePort: () => note("close"),
    register: () => Effect.as(note("register"), agentId(3)),
    unregister: () => Effect.andThen(note("unregister"), options.unregister ?? Effect.void),
    alloc: (length) => Effect.as(note(`alloc ${length}`), Pointer.make<"ib_user_mad">(nextBuffer += 0x100n)),
    free: () => note("free"),
    send: (_port, _agent, _buffer, mad, timeoutMs, retries) =>
      Effect.andThen(
        note(`send ${timeoutMs} ${retries}`),
        Effect.tap(options.onSend?.(mad, received) ?? Effect.void, () => Effect.sync(() => wake.shift()?.()))
      ),
    recv: () => Effect.suspend(() => received.shift() ?? Effect.fail(failure("umad_recv", "EAGAIN"))),
    awaitMad: () =>
      Effect.callback<void>((resume) => {
        wake.push(() => resume(Effect.void))
      })
  })
  return { log, layer: Layer.merge(layer, Ledger.layer) }
}

const open = Effect.flatMap(UmadLibrary.init(), (library) => UmadPort.open(library))

const address = MadAddress.complete(Schema.decodeSync(MadAddress.Destination)({ lid: 5 }), 4)

const request = (mgmtClass = 4): Uint8Array => {
  const mad = new Uint8Array(256)
  mad.set([1, mgmtClass, 1, 1])
  return mad
}

const from = (mad: Uint8Array, status = 0): Answer =>
  Effect.succeed({ agentId: agentId(3), status, address, mad: Uint8Array.from(mad) })

/** With the number of an agent in the upper half of the transaction id, as the kernel writes it. */
const responseTo = (mad: Uint8Array, changes: { readonly [offset: number]: number } = {}): Uint8Array => {
  const reply = mad.slice()
  reply[3] = (mad[3] ?? 0) | 0x80
  reply[11] = 99
  for (const [offset, value] of Object.entries(changes)) reply[Number(offset)] = value
  return reply
}

const ask = Effect.flatMap(
  open,
  (port) => UmadPort.request(port, { address: { lid: 5 }, mad: request(), timeout: 100, retries: 1 })
)

describe("UmadAgent", () => {
  it.effect("a response is matched by the lower half of its transaction id and its class", () => {
    const { layer, log } = library({
      onSend: ({ mad }, received) =>
        Effect.sync(() => {
          received.push(
            from(responseTo(mad, { 15: 250 })),
            from(responseTo(mad, { 1: 3 })),
            // No response at all: a request of somebody else, with our number.
            from(mad),
            from(responseTo(mad, { 255: 42 }))
          )
        })
    })
    return Effect.gen(function*() {
      assert.strictEqual((yield* ask).mad[255], 42)
      assert.include(log, "send 100 1")
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("a request that the kernel gives back is MadTimeout, with whatever it says", () => {
    const { layer } = library({
      onSend: ({ mad }, received) =>
        Effect.sync(() => {
          received.push(from(mad.subarray(0, 24), Errno.numberOf("ETIMEDOUT")))
        })
    })
    return Effect.gen(function*() {
      const error = yield* Effect.flip(ask)
      assert.strictEqual(error._tag, "MadTimeout")
      assert.strictEqual(
        error.message,
        "method 0x01 of attribute 0x0000, class 0x04, to LID 0x5: no response in 2 times 100 ms (ETIMEDOUT)"
      )
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("a request of which nothing is heard ends a second after its time", () => {
    const { layer } = library({})
    return Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(Effect.flip(ask), { startImmediately: true })
      yield* TestClock.adjust(1199)
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "MadTimeout")
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("a response of a directed route is no failure for its direction", () => {
    const { layer } = library({
      onSend: ({ mad }, received) => Effect.sync(() => void received.push(from(responseTo(mad, { 4: 0x80 }))))
    })
    return Effect.gen(function*() {
      const port = yield* open
      const { mad } = yield* UmadPort.request(port, { address: { lid: 0xffff }, mad: request(0x81) })
      assert.strictEqual(mad[4], 0x80)
      const error = yield* Effect.flip(UmadPort.request(port, { address: { lid: 5 }, mad: request(4) }))
      assert.deepInclude(error, { _tag: "MadStatus", status: 0x8000 })
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("a MAD that cannot be sent is the failure of its request, and nobody waits", () => {
    const { layer } = library({ onSend: () => Effect.fail(failure("umad_send", "ENOMEM")) })
    return Effect.gen(function*() {
      const error = yield* Effect.flip(ask)
      assert.strictEqual(error._tag === "UmadError" ? error.reason._tag : error._tag, "ENOMEM")
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("what is not EAGAIN ends receiving: who waits fails with it, and who comes later, before any call", () => {
    const { layer, log } = library({
      onSend: (_mad, received) => Effect.sync(() => void received.push(Effect.fail(failure("umad_recv", "EIO"))))
    })
    return Effect.gen(function*() {
      const port = yield* open
      const agent = yield* UmadAgent.register(port, { mgmtClass: 4, methods: [1] })
      const outgoing = { address: { lid: 5 }, mad: request() }
      for (let round = 0; round < 2; round++) {
        const error = yield* Effect.flip(UmadAgent.request(agent, outgoing))
        assert.strictEqual(error._tag === "UmadError" ? error.reason._tag : error._tag, "EIO")
      }
      assert.strictEqual((yield* Effect.flip(UmadAgent.next(agent))).reason._tag, "EIO")
      assert.strictEqual(log.filter((call) => call.startsWith("send")).length, 1)
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("a message that does not fit is received again with room for it, and no bytes are lost", () => {
    const long = new Uint8Array(5000)
    const { layer, log } = library({
      onSend: ({ mad }, received) =>
        Effect.sync(() => {
          long.set(responseTo(mad))
          received.push(Effect.succeed({ needed: 5000 }), from(long))
        })
    })
    return Effect.gen(function*() {
      assert.strictEqual((yield* ask).mad.length, 5000)
      assert.deepStrictEqual(log.filter((call) => /alloc|free/.test(call)), ["alloc 2048", "alloc 5000", "free"])
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("a message over the bound is EMSGSIZE, and no memory is asked for", () => {
    const { layer, log } = library({
      onSend: (_mad, received) =>
        Effect.sync(() => void received.push(Effect.succeed({ needed: MadBuffer.maximumLength + 1 })))
    })
    return Effect.gen(function*() {
      const error = yield* Effect.flip(ask)
      assert.strictEqual(error._tag === "UmadError" ? error.reason._tag : error._tag, "EMSGSIZE")
      assert.deepStrictEqual(log.filter((call) => call.startsWith("alloc")), ["alloc 2048"])
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("an agent that the kernel does not have any more is released; another failure is a ReleaseError", () =>
    Effect.gen(function*() {
      const gone = library({ unregister: Effect.fail(failure("umad_unregister", "EINVAL")) })
      const registered = Effect.scoped(Effect.flatMap(open, (port) => UmadAgent.register(port, { mgmtClass: 4 })))
      yield* Effect.provide(registered, gone.layer)
      assert.deepStrictEqual(gone.log.slice(-2), ["unregister", "close"])

      const refusing = library({ unregister: Effect.fail(failure("umad_unregister", "EIO")) })
      const exit = yield* Effect.exit(Effect.provide(registered, refusing.layer))
      const defect = Exit.isFailure(exit)
        ? exit.cause.reasons.find((reason) => reason._tag === "Die")?.defect
        : undefined
      assert.instanceOf(defect, ReleaseError.ReleaseError)
      assert.deepStrictEqual(refusing.log.slice(-2), ["unregister", "close"])
    }))

  it.effect("garbage shorter than a header is dropped", () => {
    const { layer } = library({
      onSend: ({ mad }, received) =>
        Effect.sync(() => void received.push(from(new Uint8Array(0)), from(mad.subarray(0, 23)), from(responseTo(mad))))
    })
    return Effect.gen(function*() {
      assert.strictEqual((yield* ask).mad[3], 0x81)
    }).pipe(Effect.scoped, Effect.provide(layer))
  })
})
