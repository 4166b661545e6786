/**
 * Polls on the echo provider: every field of completions as the C compiler writes it, and whom they are for.
 */
import type * as Resource from "@effect-rdma/core/Resource"
import * as Lane from "@effect-rdma/testkit/conformance/Lane"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as SharedReceiveQueue from "@effect-rdma/verbs/SharedReceiveQueue"
import type * as Verbs from "@effect-rdma/verbs/Verbs"
import type * as WorkCompletion from "@effect-rdma/verbs/WorkCompletion"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Compiler from "./Compiler.ts"
import { address, names, open, ready, requestsOf } from "./dataPathWorld.ts"
import * as Echo from "./Echo.ts"

const whole: WorkCompletion.Succeeded = {
  wrId: 1n,
  status: "success",
  vendorErr: 0x8bad_f00d,
  qpNum: 0xab_cdef,
  opcode: "recv",
  byteLen: 0x8000_0001,
  immData: undefined,
  invalidatedRkey: undefined,
  srcQp: 0x12_3456,
  hasGrh: false,
  pkeyIndex: 0xfffe,
  slid: 0xfffd,
  sl: 15,
  dlidPathBits: 0xfe
}

describe.skipIf(Compiler.missing !== undefined)("polls of libibverbs", () => {
  const lane = Echo.lane()
  const test = Lane.test(lane)
  const { echo } = lane

  test("every field of a completion arrives, and of a failed one only what counts", () =>
    Effect.gen(function*() {
      const { queue } = yield* open()
      // Those who post by themselves have numbers of their own.
      const cases: ReadonlyArray<readonly [Parameters<Echo.Echo["completion"]>[1], WorkCompletion.WorkCompletion]> = [
        [{ opcode: 128 }, whole],
        [{ opcode: 128, flags: 1 }, { ...whole, hasGrh: true }],
        [{ opcode: 129, flags: 3 }, { ...whole, opcode: "recvRdmaWithImm", hasGrh: true, immData: 0x9122_3344 }],
        [{ opcode: 128, flags: 8 }, { ...whole, invalidatedRkey: 0xcafe_0001 }],
        [{ opcode: 7, flags: 4 }, { ...whole, opcode: "tso" }],
        [{ opcode: 77 }, { ...whole, opcode: "unknown" }],
        [{ opcode: 0x7fff_ffff }, { ...whole, opcode: "unknown" }],
        [{ status: 10 }, { wrId: 1n, status: "remAccessErr", vendorErr: 0x8bad_f00d, qpNum: 0xab_cdef }],
        [{ status: 24 }, { wrId: 1n, status: "unknown", vendorErr: 0x8bad_f00d, qpNum: 0xab_cdef }],
        [{ status: -1 }, { wrId: 1n, status: "unknown", vendorErr: 0x8bad_f00d, qpNum: 0xab_cdef }]
      ]
      for (const [fields] of cases) echo().completion(1n, fields)
      assert.deepStrictEqual(yield* CompletionQueue.poll(queue), cases.map(([, completion]) => completion))
      echo().completion(0xffff_ffff_ffff_ffffn)
      assert.strictEqual((yield* CompletionQueue.poll(queue))[0]?.wrId, 0xffff_ffff_ffff_ffffn)
    }))

  test("a poll takes no more than it is asked for, the oldest first, and leaves the rest", () =>
    Effect.gen(function*() {
      const { queue } = yield* open()
      for (let wrId = 1n; wrId <= 5n; wrId++) echo().completion(wrId)
      echo().calls()
      const poll = Effect.map(CompletionQueue.poll(queue, 3), (completions) => completions.map(({ wrId }) => wrId))
      assert.deepStrictEqual([yield* poll, yield* poll, yield* poll], [[1n, 2n, 3n], [4n, 5n], []])
      const call = { op: "poll_cq", cq: address(queue), num_entries: "3" }
      assert.deepStrictEqual(echo().calls(), [call, call, call])
      for (const max of [0, -1, 1.5, 0x1_0001, Number.NaN]) {
        assert.include((yield* Effect.flip(CompletionQueue.poll(queue, max))).message, "max must be")
      }
      assert.deepStrictEqual(echo().calls(), [])
      echo().completion(1n)
      assert.strictEqual((yield* CompletionQueue.poll(queue, 0x1_0000)).length, 1)
    }))

  test("a poll that fails is an error with the provider's own number, and takes nothing", () =>
    Effect.gen(function*() {
      const { queue } = yield* open()
      echo().completion(1n)
      for (const returned of [-1, -2]) {
        // What stands in errno has nothing to do with it.
        echo().script("poll_cq", { result: returned, errno: 12 })
        const error = yield* Effect.flip(CompletionQueue.poll(queue))
        assert.deepInclude<object>(error, { call: "ibv_poll_cq", input: { returned } })
        assert.deepInclude(error.reason, { _tag: "UnknownErrno", errno: 0 })
      }
      assert.strictEqual((yield* CompletionQueue.poll(queue)).length, 1)
    }))

  test("a completion of a queue pair that is no more, or was reset, is nobody's", () =>
    Effect.gen(function*() {
      const world = yield* open()
      const { queue } = world
      const post = Effect.fnUntraced(function*(self: QueuePair.QueuePair) {
        yield* QueuePair.postSend(self, [{ opcode: "send" }])
        return Echo.numberOf(echo().last())
      })
      const gone = yield* Effect.scoped(Effect.flatMap(ready(world, "rc"), post))
      const self = yield* ready(world, "rc")
      const dropped = yield* post(self)
      yield* QueuePair.toReset(self)
      yield* QueuePair.modify(self, { qpState: "rts" })
      const number = yield* post(self)
      assert.strictEqual(new Set([gone, dropped, number]).size, 3)
      for (const wrId of [gone, dropped, number, number]) echo().completion(wrId)
      const completions = yield* CompletionQueue.poll(queue, 1)
      assert.deepStrictEqual(completions.map(({ wrId }) => wrId), [0n])
      assert.deepStrictEqual(yield* CompletionQueue.poll(queue), [])
    }))

  test("who awaits a request has its completion, and who polls does not", () =>
    Effect.gen(function*() {
      const world = yield* open()
      const { queue } = world
      const self = yield* ready(world, "rc")
      echo().calls()
      const numberOfPosted = () => Echo.numberOf(requestsOf(echo().calls())[0] ?? assert.fail("nothing was posted"))
      const sending = yield* Effect.forkChild(
        QueuePair.send(self, { wrId: 5n, immData: 1, inlineData: Uint8Array.of(1) }),
        { startImmediately: true }
      )
      echo().completion(numberOfPosted(), { opcode: 0 })
      assert.deepStrictEqual(yield* Fiber.join(sending), { ...whole, wrId: 5n, opcode: "send" })
      const receiving = yield* Effect.forkChild(
        Effect.flip(QueuePair.recv(self, { wrId: 6n, sgList: [{ addr: 1n, length: 2, lkey: 3 }] })),
        {
          startImmediately: true
        }
      )
      echo().completion(numberOfPosted(), { status: 99 })
      assert.deepInclude<object>(yield* Fiber.join(receiving), {
        _tag: "WorkCompletionError",
        request: "recv",
        status: "unknown",
        vendorErr: 0x8bad_f00d,
        wrId: 6n,
        qpNum: 0xab_cdef
      })
      assert.deepStrictEqual(yield* CompletionQueue.poll(queue), [])
    }))

  // ---------------------------------------------------------------------------
  // Functions
  // ---------------------------------------------------------------------------

  test("where an object was destroyed another one may stand, with other functions", () =>
    Effect.gen(function*() {
      const [world, other] = [yield* open("echo0"), yield* open("echo3")]
      const kinds: ReadonlyArray<{
        readonly make: (
          on: typeof world
        ) => Effect.Effect<Resource.Resource<string, bigint>, unknown, Scope.Scope | Verbs.Verbs>
        readonly operations: ReadonlyArray<string>
      }> = [
        {
          make: (on) =>
            Effect.tap(ready(on, "rc"), (self) =>
              Effect.andThen(
                QueuePair.postSend(self, [{ opcode: "send" }]),
                QueuePair.postRecv(self, [{ sgList: [] }])
              )),
          operations: ["post_send", "post_recv"]
        },
        {
          make: ({ domain }) =>
            Effect.tap(
              SharedReceiveQueue.make(domain, { maxWr: 1 }),
              (self) => SharedReceiveQueue.postRecv(self, [{ sgList: [] }])
            ),
          operations: ["post_srq_recv"]
        },
        {
          make: ({ context }) => Effect.tap(CompletionQueue.make(context, { cqe: 1 }), CompletionQueue.poll),
          operations: ["poll_cq"]
        }
      ]
      for (const { make, operations } of kinds) {
        const called = () => names(echo().calls()).filter((name) => name.includes("post_") || name.includes("poll_"))
        called()
        const place = yield* Effect.scoped(Effect.map(make(world), (first) => {
          echo().recycle()
          return address(first)
        }))
        assert.deepStrictEqual(called(), operations)
        assert.strictEqual(address(yield* make(other)), place)
        assert.deepStrictEqual(called(), operations.map((name) => `legacy_${name}`))
      }
    }))
})
