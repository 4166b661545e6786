/** rsockets against the programs of rdmacm-utils in C, in both roles, and what the library takes for the end of a peer. */
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { execFile, spawn } from "node:child_process"
import { promisify } from "node:util"
import * as RdmaCm from "../src/RdmaCm.ts"
import * as RSocket from "../src/RSocket.ts"
import * as RSocketMapping from "../src/RSocketMapping.ts"

const host = "10.0.0.1"
const iterations = 3
const transfers = 5
const size = 10_000

const argumentsFor = (port: number) => `-p ${port} -S ${size} -C ${transfers} -I ${iterations} -T blocking`.split(" ")

/** Runs a program in C, which must end well, and gives what it printed. */
const inC = (name: "rstream" | "riostream", args: ReadonlyArray<string>) =>
  Effect.promise(async (signal) => (await promisify(execFile)(name, args, { signal, timeout: 50_000 })).stdout)

const readExactly = Effect.fnUntraced(function*(socket: RSocket.RSocket, length: number) {
  const into = new Uint8Array(length)
  for (let at = 0; at < length;) {
    const piece = yield* RSocket.read(socket, { maxLength: length - at })
    if (piece.length === 0) return assert.fail(`the end after ${at} of ${length} bytes`)
    into.set(piece, at)
    at += piece.length
  }
  return into
})

const message = new Uint8Array(16)

/** What both programs begin with: each side says something. */
const greet = (socket: RSocket.RSocket) => Effect.andThen(RSocket.write(socket, message), readExactly(socket, 16))
const answer = (socket: RSocket.RSocket) => Effect.andThen(readExactly(socket, 16), RSocket.write(socket, message))

/** Connects once the program listens. */
const connecting = (port: number, options: ReadonlyArray<Parameters<typeof RSocket.setOption>[1]>) =>
  Effect.gen(function*() {
    const socket = yield* RSocket.make()
    yield* Effect.forEach(options, (option) => RSocket.setOption(socket, option), { discard: true })
    yield* RSocket.connect(socket, `${host}:${port}`)
    return socket
  }).pipe(
    // One that was refused is of no more use.
    Effect.retry({
      schedule: Schedule.spaced("100 millis"),
      times: 100,
      while: (error) => error._tag === "RdmaCmError" && error.reason._tag === "ECONNREFUSED"
    })
  )

const listening = (port: number, options: ReadonlyArray<Parameters<typeof RSocket.setOption>[1]>) =>
  Effect.gen(function*() {
    const listener = yield* RSocket.make()
    yield* Effect.forEach(options, (option) => RSocket.setOption(listener, option), { discard: true })
    yield* RSocket.bind(listener, `${host}:${port}`)
    yield* RSocket.listen(listener)
    return listener
  })

/** A program in C that listens, and us as its client. */
const asClient = <A, E>(
  name: "rstream" | "riostream",
  port: number,
  options: ReadonlyArray<Parameters<typeof RSocket.setOption>[1]>,
  talk: (socket: RSocket.RSocket) => Effect.Effect<A, E, Scope.Scope>
) =>
  Effect.scoped(Effect.all([
    inC(name, ["-b", host, ...argumentsFor(port)]),
    Effect.scoped(Effect.flatMap(connecting(port, options), talk))
  ], { concurrency: 2 }))

/** A program in C that connects to us. */
const asServer = <A, E>(
  name: "rstream" | "riostream",
  port: number,
  options: ReadonlyArray<Parameters<typeof RSocket.setOption>[1]>,
  talk: (socket: RSocket.RSocket) => Effect.Effect<A, E, Scope.Scope>
) =>
  Effect.scoped(Effect.flatMap(listening(port, options), (listener) =>
    Effect.all([
      inC(name, ["-s", host, ...argumentsFor(port)]),
      Effect.scoped(Effect.flatMap(RSocket.accept(listener), talk))
    ], { concurrency: 2 })))

const pattern = Uint8Array.from({ length: size * transfers }, (_, index) => index % 251)

/** Waits until the last byte of the memory is the one that is expected. */
const untilMarked = (bytes: Uint8Array, marker: number): Effect.Effect<void> =>
  Effect.suspend(() =>
    bytes[size - 1] === marker ? Effect.void : Effect.andThen(Effect.sleep(1), untilMarked(bytes, marker))
  )

const mappings = [{ _tag: "Mappings", value: 1 }] as const

describe("RSocket and rdmacm-utils", () => {
  layer(RdmaCm.RdmaCm.layer, { excludeTestServices: true })((it) => {
    it.effect("rstream listens: it gets what we send, and sends the last of it back", () =>
      Effect.gen(function*() {
        const [printed] = yield* asClient("rstream", 7001, [], (socket) =>
          Effect.gen(function*() {
            yield* greet(socket)
            for (let round = 0; round < iterations; round++) {
              yield* RSocket.write(socket, pattern)
              const last = pattern.subarray(size * (transfers - 1))
              for (let transfer = 0; transfer < transfers; transfer++) {
                assert.deepStrictEqual(yield* readExactly(socket, size), last)
              }
            }
          }))
        assert.match(printed, /^custom +\S+ +5 +3 /m)
      }))

    it.effect("rstream connects to us", () =>
      Effect.gen(function*() {
        const [printed] = yield* asServer("rstream", 7002, [], (socket) =>
          Effect.gen(function*() {
            yield* answer(socket)
            for (let round = 0; round < iterations; round++) {
              yield* readExactly(socket, size * transfers)
              yield* RSocket.write(socket, pattern)
            }
            // It shuts down when it is done.
            assert.strictEqual((yield* RSocket.read(socket)).length, 0)
          }))
        assert.match(printed, /^custom +\S+ +5 +3 /m)
      }))

    it.effect("riostream listens: each side writes to the memory of the other", () =>
      Effect.gen(function*() {
        const [printed] = yield* asClient("riostream", 7003, mappings, (socket) =>
          Effect.gen(function*() {
            const { bytes, remote } = yield* RSocketMapping.make(socket, { length: size, offset: 0n })
            bytes.fill(0xff)
            yield* greet(socket)
            let marker = 0
            for (let round = 0; round < iterations; round++) {
              for (let transfer = 0; transfer < transfers; transfer++) {
                const sent = pattern.slice(0, size)
                sent[size - 1] = transfer === transfers - 1 ? marker : 0xff
                yield* RSocketMapping.write(socket, remote, sent)
              }
              yield* untilMarked(bytes, marker + 1)
              // It sends back what it has got.
              assert.deepStrictEqual(bytes.subarray(0, size - 1), pattern.subarray(0, size - 1))
              marker += 2
            }
          }))
        assert.match(printed, /^custom +\S+ +5 +3 /m)
      }))

    it.effect("riostream connects to us, and writes to our memory", () =>
      Effect.gen(function*() {
        const [printed] = yield* asServer("riostream", 7004, mappings, (socket) =>
          Effect.gen(function*() {
            const { bytes, remote } = yield* RSocketMapping.make(socket, { length: size, offset: 0n })
            bytes.fill(0xff)
            yield* answer(socket)
            let marker = 0
            for (let round = 0; round < iterations; round++) {
              yield* untilMarked(bytes, marker)
              const sent = pattern.slice(0, size)
              sent[size - 1] = marker + 1
              yield* RSocketMapping.write(socket, remote, sent)
              marker += 2
            }
            assert.strictEqual((yield* RSocket.read(socket)).length, 0)
          }))
        assert.match(printed, /^custom +\S+ +5 +3 /m)
      }))

    it.effect("a peer that is killed comes to its end like any other", () =>
      Effect.gen(function*() {
        const listener = yield* listening(7005, [])
        const child = yield* Effect.acquireRelease(
          Effect.sync(() => spawn("rstream", ["-s", host, ...argumentsFor(7005)], { stdio: "ignore" })),
          (child) => Effect.sync(() => child.kill("SIGKILL"))
        )
        const socket = yield* RSocket.accept(listener)
        // It waits for our part of the greeting.
        yield* readExactly(socket, 16)
        child.kill("SIGKILL")
        assert.strictEqual((yield* RSocket.read(socket)).length, 0)
        const started = performance.now()
        const error = yield* Effect.flip(RSocket.write(socket, message))
        assert.strictEqual(error.reason._tag, "ECONNRESET")
        assert.isBelow(performance.now() - started, 1000)
      }))
  })
})
