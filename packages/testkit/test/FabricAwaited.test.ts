/** Requests that are awaited, where many or hostile ones meet. */
import { QueuePair } from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { connected, devices, run, side } from "./dataPath.ts"

for (const device of devices) {
  describe(`awaited requests on ${device}`, () => {
    it.live("a thousand of them wait for four places, and get them in their order", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device, { b: { cap: { maxRecvWr: 4 } }, pathA: { rnrRetry: 7 } })
        const numbers = Array.from({ length: 1000 }, (_, index) => index)
        const order: Array<number> = []
        const receive = (index: number) =>
          Effect.tap(QueuePair.recv(b.pair, { sgList: [] }), () => Effect.sync(() => order.push(index)))
        const receiving = yield* Effect.forkChild(
          Effect.forEach(numbers, receive, { concurrency: "unbounded", discard: true }),
          { startImmediately: true }
        )
        for (const _ of numbers) yield* QueuePair.send(a.pair, {})
        yield* Fiber.join(receiving)
        assert.deepStrictEqual(order, numbers)
      })))

    it.live("who posts again and again does not keep the place from who waits for it", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device, { b: { cap: { maxRecvWr: 1 } }, pathA: { rnrRetry: 7 } })
        const receive = QueuePair.recv(b.pair, { sgList: [] })
        let greedy = 0
        const again = yield* Effect.forkChild(
          Effect.gen(function*() {
            for (; greedy < 9; greedy++) yield* receive
          }),
          { startImmediately: true }
        )
        const meek = yield* Effect.forkChild(Effect.map(receive, () => greedy), { startImmediately: true })
        for (let count = 0; count < 10; count++) yield* QueuePair.send(a.pair, {})
        yield* Fiber.join(again)
        assert.strictEqual(yield* Fiber.join(meek), 1)
      })))

    it.live("a place that nobody takes goes to the next: the one who was told of it is interrupted", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device, { b: { cap: { maxRecvWr: 1 } }, pathA: { rnrRetry: 7 } })
        const receive = QueuePair.recv(b.pair, { sgList: [] })
        const [first, second, third] = yield* Effect.forEach(
          [0, 1, 2],
          () => Effect.forkChild(receive, { startImmediately: true })
        )
        // Told while `first` ends, and interrupted before it goes on.
        const interrupting = yield* Effect.forkChild(
          Effect.andThen(Fiber.await(first!), Fiber.interrupt(second!)),
          { startImmediately: true }
        )
        for (let count = 0; count < 2; count++) yield* QueuePair.send(a.pair, {})
        yield* Fiber.join(interrupting)
        assert.strictEqual((yield* Fiber.join(third!)).opcode, "recv")
      })))

    it.effect("a queue pair on a shared receive queue has no receives of its own to await", () =>
      run(Effect.gen(function*() {
        const { pair } = yield* side(device, { sharedReceives: 4 })
        const error = yield* Effect.flip(QueuePair.recv(pair, { sgList: [] }))
        assert.include(error.message, "ibv_post_recv (qpType rc): EINVAL")
        assert.include(error.message, "It receives from its shared queue")
      })))
  })
}
