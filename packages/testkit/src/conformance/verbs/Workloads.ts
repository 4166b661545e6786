/**
 * Conformance under load: many requests, many queue pairs, many fibers.
 *
 * @since 0.1.0
 */
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as ParentDomain from "@effect-rdma/verbs/ParentDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as SharedReceiveQueue from "@effect-rdma/verbs/SharedReceiveQueue"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Random from "effect/Random"
import * as Scope from "effect/Scope"
import { put, textIn, wordAt } from "../../internal/conformanceBytes.ts"
import { assertQuiet, assertTaken, take, takeOne, within } from "../../internal/conformanceCompletions.ts"
import { addressed, dataPathSuite, type End, end } from "../../internal/conformanceDataPath.ts"
import { postReceives, postSends } from "../../internal/conformanceRequests.ts"
import { stateOf } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { connect, connected, datagramsOn, domain, has, headerBytes, it, itWhere } = dataPathSuite(lane)

  const all = { concurrency: "unbounded", discard: true } as const

  it("writes without a pause: as many under way as there is room for, until all are done", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const total = 400
      const write = (wrId: number) => ({
        opcode: "rdmaWrite",
        wrId: BigInt(wrId),
        flags: ["signaled"],
        sgList: [a.part(wrId % 64, 32)],
        remote: b.remote(wrId % 64)
      } as const)
      let posted = 16
      yield* a.postSend(...Array.from({ length: posted }, (_, wrId) => write(wrId)))
      for (let done = 0; done < total;) {
        for (const completion of yield* within(`write ${done}`, CompletionQueue.next(a.sends))) {
          assert.deepStrictEqual([completion.status, completion.wrId], ["success", BigInt(done++)])
          if (posted < total) yield* a.postSend(write(posted++))
        }
      }
      yield* assertQuiet(a.sends)
    }))

  it("every kind of request in turn, and what each did is there", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      for (let round = 0; round < 15; round++) {
        const text = `round ${round}`
        yield* b.postRecv({ sgList: [b.part(0, 64)] })
        yield* within("the send", QueuePair.send(a.queuePair, { sgList: [put(a, text)] }))
        yield* takeOne(b.receives)
        assert.strictEqual(textIn(b, text.length), text)
        const write = { sgList: [put(a, text)], remote: b.remote(100) }
        yield* within("the write", QueuePair.rdmaWrite(a.queuePair, write))
        const read = { sgList: [a.part(200, text.length)], remote: b.remote(100) }
        yield* within("the read", QueuePair.rdmaRead(a.queuePair, read))
        assert.strictEqual(textIn(a, text.length, 200), text)
        const add = { sgList: [a.part(300, 8)], remote: b.remote(400), add: 3n }
        yield* within("the addition", QueuePair.atomicFetchAndAdd(a.queuePair, add))
        assert.strictEqual(wordAt(a.region, 300), BigInt(4 * round))
        const swap = { ...add, compare: BigInt(4 * round + 3), swap: BigInt(4 * round + 4) }
        yield* within("the swap", QueuePair.atomicCmpAndSwp(a.queuePair, swap))
        assert.strictEqual(wordAt(a.region, 300), BigInt(4 * round + 3))
      }
      assert.strictEqual(wordAt(b.region, 400), 60n)
    }))

  it("twenty connections at once, each with fifty writes", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const sends = yield* CompletionQueue.make(on.context, { cqe: 512 })
      const pairs = yield* Effect.forEach(Array.from({ length: 20 }), () => connected.rc({ on, a: { sends } }))
      yield* within(
        "a thousand writes",
        Effect.forEach(pairs, ({ a, b }) =>
          Effect.forEach(Array.from({ length: 50 }), (_, index) =>
            QueuePair.rdmaWrite(a.queuePair, { sgList: [a.part(index, 32)], remote: b.remote(index) }), {
            concurrency: 4,
            discard: true
          }), all)
      )
      yield* assertQuiet(sends)
    }))

  it("fibers with a connection of their own, from the first object to the last", () =>
    Effect.gen(function*() {
      const on = yield* domain
      yield* Effect.forEach(Array.from({ length: 12 }), (_, fiber) =>
        Effect.scoped(Effect.gen(function*() {
          const { a, b } = yield* connected.rc({ on })
          yield* b.postRecv({ sgList: [b.part(0, 64)] })
          yield* within("the send", QueuePair.send(a.queuePair, { sgList: [put(a, `fiber ${fiber}`)] }))
          const { byteLen } = yield* takeOne(b.receives)
          assert.strictEqual(textIn(b, byteLen), `fiber ${fiber}`)
        })), all)
    }))

  it("many fibers send on one connection, and the messages arrive whole", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const texts = Array.from({ length: 16 }, (_, fiber) => `message of fiber ${fiber}`)
      yield* b.postRecv(...texts.map((_, slot) => ({ wrId: BigInt(slot), sgList: [b.part(64 * slot, 64)] })))
      yield* Effect.forEach(texts, (text, slot) => {
        const message = put(a, text, 64 * slot)
        return within(text, QueuePair.send(a.queuePair, { sgList: [message] }))
      }, all)
      const came: Array<string> = []
      for (const completion of yield* take(b.receives, texts.length)) {
        if (completion.status !== "success") return assert.fail(completion.status)
        came.push(textIn(b, completion.byteLen, 64 * Number(completion.wrId)))
      }
      assert.deepStrictEqual(came.toSorted(), texts.toSorted())
    }))

  it("connections of both kinds and datagrams at the same time", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const [reliable, unreliable] = [yield* connected.rc({ on }), yield* connected.uc({ on })]
      const datagrams = { a: yield* datagramsOn(on), b: yield* datagramsOn(on) }
      const to = addressed(yield* AddressHandle.make(on, lane.loop), datagrams.b)
      const rounds = Array.from({ length: 10 })
      const exchange = ({ a, b }: { readonly a: End; readonly b: End }, offset: number, extra: { to?: typeof to }) =>
        Effect.forEach(rounds, (_, round) =>
          Effect.gen(function*() {
            yield* b.postRecv({ wrId: BigInt(round), sgList: [b.part(0, 100)] })
            const request = { sgList: [put(a, `round ${round}`)], ...extra }
            yield* within("the send", QueuePair.send(a.queuePair, request))
            yield* assertTaken(b.receives, [`${round} success`])
            assert.strictEqual(textIn(b, 7, offset), `round ${round}`)
          }))
      yield* Effect.all([exchange(reliable, 0, {}), exchange(unreliable, 0, {}), exchange(datagrams, 40, { to })], all)
    }))

  itWhere(has("threadDomains"), "the provider has no parent domains")(
    "messages between queue pairs of a parent domain, with memory, addresses and shared receives of it",
    () =>
      Effect.gen(function*() {
        const parent = yield* ParentDomain.alloc(yield* domain)
        const srq = yield* SharedReceiveQueue.make(parent, { maxWr: 4 })
        const { a, b } = yield* connected.rc({ on: parent, b: { srq } })
        yield* SharedReceiveQueue.postRecv(srq, [{ sgList: [b.part(0, 64)] }])
        yield* within("the send", QueuePair.send(a.queuePair, { sgList: [put(a, "connected")] }))
        yield* takeOne(b.receives)
        assert.strictEqual(textIn(b, 9), "connected")
        const [sender, receiver] = [yield* datagramsOn(parent), yield* datagramsOn(parent)]
        const to = addressed(yield* AddressHandle.make(parent, lane.loop), receiver)
        yield* receiver.postRecv({ sgList: [receiver.part(0, 64)] })
        yield* within("the datagram", QueuePair.send(sender.queuePair, { to, sgList: [put(sender, "datagram")] }))
        yield* takeOne(receiver.receives)
        assert.strictEqual(textIn(receiver, 8, headerBytes), "datagram")
      })
  )

  it("the additions of many at once lose none", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const { a: first, b: target } = yield* connected.rc({ on })
      const others = yield* Effect.forEach([0, 1, 2], () => connected.rc({ on }))
      yield* Effect.forEach(
        [first, ...others.map(({ a }) => a)],
        (self) =>
          Effect.forEach(Array.from({ length: 25 }), () =>
            within(
              "an addition",
              QueuePair.atomicFetchAndAdd(self.queuePair, {
                sgList: [self.part()],
                remote: target.remote(64),
                add: 1n
              })
            ), { discard: true }),
        all
      )
      assert.strictEqual(wordAt(target.region, 64), 100n)
    }))

  it("a peer that is destroyed while it is written to hurts nobody else", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const scope = yield* Scope.fork(yield* Effect.scope)
      const well = yield* connected.rc({ on })
      const goes = yield* connected.rc({ on, path: { timeout: 8, retryCnt: 1 } }).pipe(Scope.provide(scope))
      const write = ({ a, b }: typeof well) =>
        within("a write", QueuePair.rdmaWrite(a.queuePair, { sgList: [a.part()], remote: b.remote() }))
      const [, exit] = yield* Effect.all([
        Effect.repeat(write(well), { times: 60 }),
        Effect.exit(Effect.forever(write(goes))),
        Effect.delay(Scope.close(scope, Exit.void), "5 millis")
      ], { concurrency: "unbounded" })
      assert.isTrue(Exit.isFailure(exit))
      assert.strictEqual(yield* stateOf(well.a.queuePair), "rts")
    }))

  for (const seed of ["first", "second", "third"]) {
    it(`a random walk over connections, messages, errors and resets: ${seed}`, () =>
      Effect.gen(function*() {
        const on = yield* domain
        const srq = yield* SharedReceiveQueue.make(on, { maxWr: 32 })
        const live: Array<{ readonly a: End<"rc">; readonly b: End<"rc">; readonly scope: Scope.Closeable }> = []
        const steps = {
          grow: Effect.gen(function*() {
            if (live.length >= 5) return
            const scope = yield* Scope.fork(yield* Effect.scope)
            const isShared = yield* Random.nextBoolean
            const pair = yield* connected.rc({ on, b: isShared ? { srq } : {} }).pipe(Scope.provide(scope))
            live.push({ ...pair, scope })
          }),
          shrink: Effect.gen(function*() {
            const [gone] = live.splice(yield* Random.nextIntBetween(0, Math.max(1, live.length)), 1)
            if (gone !== undefined) yield* Scope.close(gone.scope, Exit.void)
          }),
          send: on1(live, ({ a, b }) =>
            Effect.gen(function*() {
              const isShared = b.queuePair.srq !== undefined
              const receive = [{ wrId: 1n, sgList: [b.part(0, 64)] }]
              yield* isShared ? SharedReceiveQueue.postRecv(srq, receive) : b.postRecv(...receive)
              yield* within("a send", QueuePair.send(a.queuePair, { sgList: [put(a, "step")] }))
              yield* assertTaken(b.receives, ["1 success"])
            })),
          write: on1(live, ({ a, b }) =>
            Effect.gen(function*() {
              const number = yield* Random.nextIntBetween(0, 256)
              a.region.bytes[0] = number
              yield* within(
                "a write",
                QueuePair.rdmaWrite(a.queuePair, { sgList: [a.part(0, 1)], remote: b.remote(99) })
              )
              assert.strictEqual(b.region.bytes[99], number)
            })),
          again: on1(live, ({ a, b }) =>
            Effect.gen(function*() {
              if (yield* Random.nextBoolean) yield* QueuePair.toErr(a.queuePair)
              for (const { queuePair } of [a, b]) yield* QueuePair.toReset(queuePair)
              yield* connect(a, b)
            }))
        }
        const names = ["grow", "send", "write", "send", "write", "again", "grow", "shrink"] as const
        for (let step = 0; step < 60; step++) {
          yield* steps[names[yield* Random.nextIntBetween(0, names.length)] ?? "grow"]
        }
        yield* assertQuiet(...live.flatMap(({ a, b }) => [a.sends, a.receives, b.sends, b.receives]))
      }).pipe(Random.withSeed(seed)))
  }

  it("queue pairs come and go many times, each with a message", () =>
    Effect.gen(function*() {
      const on = yield* domain
      for (let round = 0; round < 20; round++) {
        yield* Effect.scoped(Effect.gen(function*() {
          const [a, b] = [yield* end(on, "rc"), yield* end(on, "rc")]
          yield* connect(a, b)
          yield* postReceives(b, BigInt(round))
          yield* postSends(a, 1n)
          assert.strictEqual((yield* takeOne(b.receives)).wrId, BigInt(round))
          yield* take(a.sends, 1)
        }))
      }
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** Does it to one of those that there are. */
const on1 = <A, E, R>(live: ReadonlyArray<A>, run: (one: A) => Effect.Effect<void, E, R>) =>
  Effect.gen(function*() {
    const one = live[yield* Random.nextIntBetween(0, Math.max(1, live.length))]
    if (one !== undefined) yield* run(one)
  })
