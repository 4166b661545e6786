import { Explorer, Fabric } from "@effect-rdma/testkit"
import { CompletionQueue, DeviceContext, MemoryRegion, ProtectionDomain, QueuePair } from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const options = { layer: Fabric.layer }

/** A queue pair with what it needs. */
const side = Effect.gen(function*() {
  const context = yield* DeviceContext.openByName("rxe0")
  const domain = yield* ProtectionDomain.alloc(context)
  const queue = yield* CompletionQueue.make(context, { cqe: 8 })
  const pair = yield* QueuePair.make(domain, { qpType: "rc", sendCq: queue, recvCq: queue })
  const region = yield* MemoryRegion.alloc(domain, { length: 4096, access: ["localWrite"] })
  const local = yield* QueuePair.endpoint(pair, { portNum: 1, gidIndex: 1 })
  return { pair, region, local }
})

/** Two hosts connect, one message goes over, and both close. */
const connectSendClose = Effect.gen(function*() {
  const a = yield* side
  const b = yield* Effect.provide(side, Fabric.host("host-b"))
  yield* QueuePair.connect(a.pair, a.local, b.local)
  yield* QueuePair.connect(b.pair, b.local, a.local)
  a.region.bytes.fill(7)
  yield* Effect.all([
    QueuePair.recv(b.pair, { sgList: [{ region: b.region }] }),
    QueuePair.send(a.pair, { sgList: [{ region: a.region }] })
  ], { concurrency: 2 })
  assert.strictEqual(b.region.bytes[4095], 7)
})

describe("Explorer", () => {
  it.effect("finds nothing in a program that connects, sends and closes", () =>
    Effect.gen(function*() {
      const started = performance.now()
      const report = yield* Explorer.check(connectSendClose, options)
      console.log(report, performance.now() - started)
    }), 60_000)
})
