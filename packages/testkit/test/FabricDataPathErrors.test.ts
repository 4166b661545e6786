/** How requests between two hosts fail: the status on each side, the states, and the events of mlx5. */
import { MemoryRegion, QueuePair } from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  connected,
  devices,
  type PathOptions,
  request,
  run,
  type Side,
  type SideOptions,
  toRtr,
  toRts
} from "./dataPath.ts"

interface Case {
  readonly name: string
  readonly post: (a: Side, b: Side) => void
  /** What both sides poll, the states of both, and the events of the second. */
  readonly rxe0: Outcome
  readonly mlx5_0: Outcome
  readonly b?: SideOptions
  readonly pathA?: PathOptions
  readonly pathB?: PathOptions
}

type Outcome = readonly [a: string, b: string, states: string, events: string]

const send = (a: Side, length = 20) => a.postSend(request(2n, "send", { sgList: [a.piece(0, length)] }))
const badKey = 0x0012_3400

const cases: ReadonlyArray<Case> = [
  {
    name: "a receive that is too small",
    post: (a, b) => {
      b.postRecv({ wrId: 1n, sgList: [b.piece(0, 4)] }, { wrId: 9n, sgList: [b.piece()] })
      send(a)
    },
    rxe0: ["2 remOpErr", "1 locQpOpErr, 9 wrFlushErr", "err err", ""],
    mlx5_0: ["2 remInvReqErr", "1 locLenErr, 9 wrFlushErr", "err err", ""]
  },
  {
    name: "a receive with a key that there is not",
    post: (a, b) => {
      b.postRecv({ wrId: 1n, sgList: [{ ...b.piece(0, 40), lkey: badKey }] })
      send(a)
    },
    rxe0: ["2 remOpErr", "1 locQpOpErr", "err err", ""],
    mlx5_0: ["2 remOpErr", "1 locProtErr", "err err", ""]
  },
  {
    name: "a receive out of its region",
    post: (a, b) => {
      b.postRecv({ wrId: 1n, sgList: [b.piece(4090, 40)] })
      send(a)
    },
    rxe0: ["2 remOpErr", "1 locQpOpErr", "err err", ""],
    mlx5_0: ["2 remOpErr", "1 locProtErr", "err err", ""]
  },
  {
    name: "a receive into memory that the device may not write",
    post: (a, b) => {
      b.postRecv({ wrId: 1n, sgList: [b.piece(0, 40)] })
      send(a)
    },
    b: { access: [] },
    rxe0: ["2 remOpErr", "1 locQpOpErr", "err err", ""],
    mlx5_0: ["2 remOpErr", "1 locProtErr", "err err", ""]
  },
  {
    name: "a send with a key that there is not",
    post: (a) => {
      a.postRecv({ wrId: 8n, sgList: [] })
      a.postSend(
        request(2n, "send", { sgList: [{ ...a.piece(), lkey: badKey }] }),
        request(3n, "send", { flags: [] })
      )
    },
    rxe0: ["2 locQpOpErr, 8 wrFlushErr, 3 wrFlushErr", "", "err rts", ""],
    mlx5_0: ["2 locProtErr, 8 wrFlushErr, 3 wrFlushErr", "", "err rts", ""]
  },
  {
    name: "a send out of its region",
    post: (a) => a.postSend(request(2n, "send", { sgList: [a.piece(4090, 20)] })),
    rxe0: ["2 locProtErr", "", "err rts", ""],
    mlx5_0: ["2 locProtErr", "", "err rts", ""]
  },
  {
    name: "a write to a key that there is not",
    post: (a, b) => {
      b.postRecv({ wrId: 1n, sgList: [] })
      a.postSend(request(2n, "rdmaWrite", { sgList: [a.piece()], remote: { ...b.remote(), rkey: badKey } }))
    },
    rxe0: ["2 remAccessErr", "1 wrFlushErr", "err err", ""],
    mlx5_0: ["2 remAccessErr", "1 wrFlushErr", "err err", "qpAccessErr"]
  },
  {
    name: "a write out of the region",
    post: (a, b) => a.postSend(request(2n, "rdmaWrite", { sgList: [a.piece(0, 20)], remote: b.remote(4090) })),
    rxe0: ["2 remAccessErr", "", "err err", ""],
    mlx5_0: ["2 remAccessErr", "", "err err", "qpAccessErr"]
  },
  {
    name: "a write to a region that peers may not write",
    post: (a, b) => a.postSend(request(2n, "rdmaWrite", { sgList: [a.piece()], remote: b.remote() })),
    b: { access: ["localWrite", "remoteRead"] },
    rxe0: ["2 remAccessErr", "", "err err", ""],
    mlx5_0: ["2 remAccessErr", "", "err err", "qpAccessErr"]
  },
  {
    name: "a write to a queue pair that takes none",
    post: (a, b) => a.postSend(request(2n, "rdmaWrite", { sgList: [a.piece()], remote: b.remote() })),
    pathB: { access: ["remoteRead"] },
    rxe0: ["2 remInvReqErr", "", "err err", ""],
    mlx5_0: ["2 remInvReqErr", "", "err err", "qpReqErr"]
  },
  {
    name: "a write with immediate data to a key that there is not",
    post: (a, b) => {
      b.postRecv({ wrId: 1n, sgList: [] })
      const remote = { ...b.remote(), rkey: badKey }
      a.postSend(request(2n, "rdmaWriteWithImm", { sgList: [a.piece()], immData: 1, remote }))
    },
    rxe0: ["2 remAccessErr", "1 remAccessErr", "err err", ""],
    mlx5_0: ["2 remAccessErr", "1 wrFlushErr", "err err", "qpAccessErr"]
  },
  {
    name: "a read into a key that there is not",
    post: (a, b) =>
      a.postSend(request(2n, "rdmaRead", { sgList: [{ ...a.piece(), lkey: badKey }], remote: b.remote() })),
    rxe0: ["2 locProtErr", "", "err rts", ""],
    mlx5_0: ["2 locProtErr", "", "err rts", ""]
  },
  {
    name: "a read where none may be answered",
    post: (a, b) => a.postSend(request(2n, "rdmaRead", { sgList: [a.piece()], remote: b.remote() })),
    pathB: { maxDestRdAtomic: 0 },
    rxe0: ["2 remInvReqErr", "", "err err", ""],
    mlx5_0: ["2 remInvReqErr", "", "err err", "qpReqErr"]
  },
  {
    name: "an atomic to a region that allows none",
    post: (a, b) =>
      a.postSend(request(2n, "atomicFetchAndAdd", { sgList: [a.piece()], remote: b.remote(), compareAdd: 1n })),
    b: { access: ["localWrite", "remoteWrite"] },
    rxe0: ["2 remAccessErr", "", "err err", ""],
    mlx5_0: ["2 remAccessErr", "", "err err", "qpAccessErr"]
  },
  {
    name: "an unsignaled write that fails tells nevertheless",
    post: (a, b) => {
      const remote = { ...b.remote(), rkey: badKey }
      a.postSend(request(2n, "rdmaWrite", { flags: [], sgList: [a.piece()], remote }))
    },
    rxe0: ["2 remAccessErr", "", "err err", ""],
    mlx5_0: ["2 remAccessErr", "", "err err", "qpAccessErr"]
  },
  {
    name: "nothing, written to a key that there is not",
    post: (a, b) => a.postSend(request(2n, "rdmaWrite", { remote: { ...b.remote(), rkey: badKey } })),
    rxe0: ["2 success", "", "rts rts", ""],
    mlx5_0: ["2 success", "", "rts rts", ""]
  },
  {
    name: "an invalidation of what is no window is told to the receiver alone",
    post: (a, b) => {
      b.postRecv({ wrId: 1n, sgList: [] })
      a.postSend(request(2n, "sendWithInv", { invalidateRkey: b.region.rkey }))
    },
    rxe0: ["2 success", "1 remInvReqErr", "rts err", ""],
    mlx5_0: ["2 success", "1 remInvReqErr", "rts err", ""]
  }
]

for (const device of devices) {
  describe(`failures of ${device}`, () => {
    for (const each of cases) {
      const [sent, received, states, events] = each[device]
      it.effect(`${each.name}: ${sent || "nothing"}, ${received || "nothing"}`, () =>
        run(Effect.gen(function*() {
          const { b: options, pathA = {}, pathB = {} } = each
          const { a, b } = yield* connected(device, { ...(options === undefined ? {} : { b: options }), pathA, pathB })
          each.post(a, b)
          assert.strictEqual(a.statuses().join(", "), sent)
          assert.strictEqual(b.statuses().join(", "), received)
          assert.strictEqual(`${yield* a.state} ${yield* b.state}`, states)
          assert.strictEqual((yield* b.events).join(", "), events)
        })))
    }

    it.effect("a queue pair of its own peer hears the answer before it is flushed", () =>
      run(Effect.gen(function*() {
        const { a } = yield* connected(device)
        yield* QueuePair.toReset(a.pair)
        yield* toRtr(a, { host: "host-a", qpNum: a.pair.qpNum })
        yield* toRts(a)
        a.postSend(request(1n, "rdmaWrite", { sgList: [a.piece()], remote: { ...a.remote(), rkey: badKey } }))
        assert.deepStrictEqual(a.statuses(), ["1 remAccessErr"])
        assert.strictEqual(yield* a.state, "err")
      })))

    it.effect("memory that was deregistered under a receive fails", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device)
        const gone = yield* Effect.scoped(Effect.map(
          MemoryRegion.alloc(b.domain, { length: 64, access: ["localWrite"] }),
          ({ address, lkey }) => ({ addr: address, length: 64, lkey })
        ))
        b.postRecv({ wrId: 1n, sgList: [gone] })
        send(a)
        assert.deepStrictEqual(b.statuses(), [device === "rxe0" ? "1 locQpOpErr" : "1 locProtErr"])
        assert.deepStrictEqual(a.statuses(), ["2 remOpErr"])
      })))
  })
}

describe("events of mlx5", () => {
  it.effect("the first message in RTR is told, the second is not", () =>
    run(Effect.gen(function*() {
      const { a, b } = yield* connected("mlx5_0")
      yield* QueuePair.toReset(b.pair)
      yield* toRtr(b, { host: "host-a", qpNum: a.pair.qpNum })
      a.postSend(
        request(1n, "rdmaWrite", { sgList: [a.piece()], remote: b.remote() }),
        request(2n, "rdmaWrite", { sgList: [a.piece()], remote: b.remote() })
      )
      assert.deepStrictEqual(yield* b.events, ["commEst"])
    })))

  it.effect("a queue pair on a shared receive queue says that it takes no more", () =>
    run(Effect.gen(function*() {
      const { b } = yield* connected("mlx5_0", { b: { sharedReceives: 4 } })
      yield* QueuePair.toErr(b.pair)
      yield* QueuePair.toErr(b.pair)
      assert.deepStrictEqual(yield* b.events, ["qpLastWqeReached"])
    })))
})
