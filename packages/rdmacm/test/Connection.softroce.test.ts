/** Connections with programs in C, which know nothing of what is at the other end. */
import * as Verbs from "@effect-rdma/verbs/Verbs"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Option, Schedule, Stream } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as Connection from "../src/Connection.ts"
import * as Listener from "../src/Listener.ts"
import * as RdmaCm from "../src/RdmaCm.ts"

/** Runs a program of rdmacm-utils, and gives what it says and how it ends. */
const run = (command: string, ...args: ReadonlyArray<string>) =>
  Effect.promise(async (signal) => {
    const child = spawn(command, args, { signal, stdio: ["ignore", "pipe", "inherit"] })
    let output = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => output += text)
    const [status] = await once(child, "close")
    return { status, output }
  })

describe("connections with C", () => {
  layer(Layer.merge(Verbs.Verbs.layer, RdmaCm.RdmaCm.layer), { excludeTestServices: true })((it) => {
    it.effect("rdma_client sends to a listener, and gets its message back", () =>
      Effect.gen(function*() {
        const listener = yield* Listener.make({ address: "10.0.0.1:0" })
        assert(listener.address._tag === "InetAddressV4")
        const [client, message] = yield* Effect.all([
          run("rdma_client", "-s", "10.0.0.1", "-p", String(listener.address.port)),
          Effect.scoped(Effect.gen(function*() {
            const incoming = Option.getOrThrow(yield* Stream.runHead(listener.connections))
            const connection = yield* Listener.accept(incoming)
            const message = yield* Connection.receive(connection)
            yield* Connection.send(connection, message)
            yield* Connection.awaitEnd(connection)
            return message
          }))
        ], { concurrency: "unbounded" })
        assert.strictEqual(message.length, 16)
        assert.deepInclude(client, { status: 0 }, client.output)
      }))

    it.effect("a connection sends to rdma_server, and gets a message", () =>
      Effect.gen(function*() {
        const [server, message] = yield* Effect.all([
          run("rdma_server", "-p", "23781"),
          Effect.scoped(Effect.gen(function*() {
            const connection = yield* Connection.connect({
              address: "10.0.0.1:23781",
              retry: Schedule.spaced("50 millis").pipe(Schedule.upTo({ duration: "20 seconds" }))
            })
            yield* Connection.send(connection, new Uint8Array(16).fill(7))
            return yield* Connection.receive(connection)
          }))
        ], { concurrency: "unbounded" })
        assert.strictEqual(message.length, 16)
        assert.deepInclude(server, { status: 0 }, server.output)
      }))
  })
})
