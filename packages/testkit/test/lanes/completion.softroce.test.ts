import * as CompletionConformance from "@effect-rdma/testkit/conformance/Completion"
import { AddressHandle, ProtectionDomain, QueuePair, SendBatch, Verbs } from "@effect-rdma/verbs"
import { describe } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { execFileSync } from "node:child_process"
import { verbsOnSoftRoce } from "./lanes.ts"

const ip = (...args: ReadonlyArray<string>) =>
  Effect.sync(() => {
    execFileSync("ip", args)
  })

// The first wait of the process opens an epoll descriptor for good: no leak of a test.
const warm = Layer.tap(verbsOnSoftRoce.layer, (context) =>
  Effect.gen(function*() {
    const verbs = Context.get(context, Verbs.Verbs)
    const { devices, list } = yield* verbs.getDeviceList
    const device = devices.find(({ name }) => name === verbsOnSoftRoce.device)
    if (device !== undefined) {
      const opened = yield* verbs.openDevice(device.pointer)
      const channel = yield* verbs.createCompChannel(opened)
      yield* Effect.timeoutOption(verbs.awaitCqEvent(channel), "1 millis")
      yield* verbs.destroyCompChannel(channel)
      yield* verbs.closeDevice(opened)
    }
    yield* verbs.freeDeviceList(list)
  }).pipe(Effect.orDie))

// Requests to a queue pair in ERR are flushed.
const flush: CompletionConformance.CompletionLane["flush"] = (queue, wrId) =>
  Effect.gen(function*() {
    const domain = yield* ProtectionDomain.alloc(queue.context)
    const queuePair = yield* QueuePair.makeExtended(domain, {
      qpType: "ud",
      sendCq: queue,
      recvCq: queue,
      cap: { maxSendWr: 4, maxRecvWr: 4, maxSendSge: 1, maxRecvSge: 1 },
      sendOpsFlags: ["send"]
    })
    yield* QueuePair.toInit(queuePair, { pkeyIndex: 0, portNum: 1, qkey: 17 })
    yield* QueuePair.toErr(queuePair)
    const to = yield* AddressHandle.make(domain, { portNum: 1, grh: { dgid: "::ffff:10.0.0.1", sgidIndex: 1 } })
    yield* SendBatch.post(queuePair, (batch) => {
      batch.send({ wrId, flags: ["signaled"] })
      batch.setUdAddr(to, 1, 17)
      batch.setSgeList([])
    })
    yield* Effect.sleep("20 millis")
  })

const lane: CompletionConformance.CompletionLane = {
  ...verbsOnSoftRoce,
  layer: warm,
  flush,
  moderation: false,
  timestamps: false,
  ignoreOverrun: false,
  completionCounters: false,
  parentDomains: false,
  changeGids: Effect.andThen(
    ip("address", "add", "10.0.0.201/24", "dev", "veth0"),
    ip("address", "del", "10.0.0.201/24", "dev", "veth0")
  ),
  bouncePort: Effect.andThen(ip("link", "set", "veth0", "down"), ip("link", "set", "veth0", "up"))
}

describe("completion", () => CompletionConformance.suite(lane))
