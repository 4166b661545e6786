/** Requests of code without types: what C would not survive, and what says one thing first and another then. */
import { Fabric } from "@effect-rdma/testkit"
import { CompletionQueue, QueuePair, SharedReceiveQueue, type WorkRequest } from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { connected, devices, run, side, toRtr, toRts } from "./dataPath.ts"

const untyped = (requests: unknown) => requests as ReadonlyArray<WorkRequest.SendRequest>

for (const device of devices) {
  describe(`requests without types on ${device}`, () => {
    for (
      const [what, bad] of [
        ["a number for flags", { flags: 5 }],
        ["a word for flags", { flags: "signaled" }],
        ["a flag that is none", { flags: ["signalled"] }],
        ["inline data without a length", { inlineData: new DataView(new ArrayBuffer(8)) }],
        ["inline data of less than nothing", { inlineData: { length: -1 } }]
      ] as const
    ) {
      it.effect(`${what}: nothing was posted, and no place is lost`, () =>
        run(Effect.gen(function*() {
          const { a, b } = yield* connected(device)
          const write = { opcode: "rdmaWrite", remote: b.remote() }
          const exit = yield* Effect.exit(QueuePair.postSend(a.pair, untyped([write, { ...write, ...bad }])))
          assert.isTrue(Exit.isFailure(exit))
          yield* QueuePair.postSend(a.pair, untyped(Array.from({ length: a.pair.cap.maxSendWr }, () => write)))
        })))
    }

    it.effect("another handle in the place of an address handle is EINVAL", () =>
      run(Effect.gen(function*() {
        const { pair } = yield* side(device, { qpType: "ud" })
        yield* QueuePair.toInit(pair, { portNum: 1, qkey: 1 })
        yield* QueuePair.toRtr(pair, {})
        yield* QueuePair.toRts(pair, { sqPsn: 0 })
        const to = { ah: pair, remoteQpn: 1, remoteQkey: 1 }
        const error = yield* Effect.flip(QueuePair.postSend(pair, untyped([{ opcode: "send", to }])))
        assert.include(error.message, "A datagram needs an address handle")
      })))

    it.effect("a number that is another one when it is read again is the first one", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device)
        const numbers: Array<unknown> = [7n, "seven"]
        const request = { opcode: "rdmaWrite", remote: b.remote(), flags: ["signaled"] }
        const exit = yield* Effect.exit(QueuePair.postSend(
          a.pair,
          untyped([Object.defineProperty(request, "wrId", { get: () => numbers.shift() })])
        ))
        assert.isTrue(Exit.isSuccess(exit))
        assert.deepStrictEqual((yield* CompletionQueue.poll(a.queue)).map(({ wrId }) => wrId), [7n])
      })))
  })
}

for (const device of devices) {
  it.effect(`the places of a shared receive queue outlive the queues that its messages completed in: ${device}`, () =>
    run(Effect.gen(function*() {
      const b = yield* side(device, { sharedReceives: 4 }).pipe(Effect.provide(Fabric.host("host-b")))
      const srq = b.srq ?? assert.fail("no shared receive queue")
      const connection = (end: "release" | "reset") =>
        Effect.scoped(Effect.gen(function*() {
          const a = yield* side(device)
          const queue = yield* CompletionQueue.make(b.context, { cqe: 16 })
          const pair = yield* QueuePair.make(b.domain, { qpType: "rc", sendCq: queue, recvCq: queue, srq })
          const self = { ...b, pair }
          yield* toRtr(a, { host: "host-b", qpNum: pair.qpNum })
          yield* toRts(a)
          yield* toRtr(self, { host: "host-a", qpNum: a.pair.qpNum })
          yield* toRts(self)
          yield* SharedReceiveQueue.postRecv(srq, [{ sgList: [] }])
          // Nobody polls it.
          yield* QueuePair.send(a.pair, {})
          if (end === "reset") yield* QueuePair.toReset(pair)
        }))
      for (let count = 0; count <= srq.maxWr; count++) {
        yield* connection("release")
        yield* connection("reset")
      }
    })))
}
