import { Fabric, Topology } from "@effect-rdma/testkit"
import { Discovery, UmadLibrary, UmadPort } from "@effect-rdma/umad"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { readFileSync } from "node:fs"
import { join } from "node:path"

const text = readFileSync(join(import.meta.dirname, "../../testkit/lanes/two-hosts.net"), "utf8")

const fabric = Layer.orDie(Layer.unwrap(Effect.map(Topology.fromText(text), Fabric.layerFrom)))

/** Walks while the fabric does something with MADs, and lets the time of the repetitions pass. */
const walked = (react: Parameters<Fabric.Fabric["Service"]["onMad"]>[0], options: Discovery.Options = {}) =>
  Effect.scoped(Effect.gen(function*() {
    const { onMad } = yield* Fabric.Fabric
    yield* onMad(react)
    const port = yield* UmadPort.open(yield* UmadLibrary.init())
    const fiber = yield* Effect.forkChild(Discovery.walk(port, options), { startImmediately: true })
    for (let step = 0; step < 60; step++) {
      yield* TestClock.adjust("500 millis")
      yield* Effect.yieldNow
    }
    return yield* Fiber.join(fiber)
  }))

const attributeOf = (mad: Uint8Array): number => new DataView(mad.buffer, mad.byteOffset).getUint16(16)
const hopsOf = (mad: Uint8Array): number => mad[7]!

const nodeInfo = 0x11
const nodeDescription = 0x10
const portInfo = 0x15

describe("a walk of a subnet that answers in part", () => {
  it.effect("reports a node that is silent, and finds the others", () =>
    Effect.gen(function*() {
      // Three hops away is the other host alone.
      const { topology, unanswered } = yield* walked(({ mad }) => hopsOf(mad) === 3 ? "lost" : undefined)
      assert.strictEqual(topology.nodes.length, 3)
      assert.deepStrictEqual(
        unanswered.map(({ attribute, error, modifier, path }) => [attribute, modifier, path, error._tag]),
        [["NodeInfo", 0, [1, 8, 1], "MadTimeout"]]
      )
      assert.include(unanswered[0]?.error.message, "ETIMEDOUT")
      const links = topology.nodes.flatMap(({ ports }) => ports.filter(({ link }) => link !== undefined))
      assert.strictEqual(links.length, 4)
    }).pipe(Effect.provide(fabric)))

  it.effect("finds nodes whose description is lost", () =>
    Effect.gen(function*() {
      const { topology, unanswered } = yield* walked(({ mad }) =>
        attributeOf(mad) === nodeDescription ? "lost" : undefined
      )
      assert.deepStrictEqual(topology.nodes.map(({ description }) => description), ["", "", "", ""])
      assert.strictEqual(unanswered.length, 4)
    }).pipe(Effect.provide(fabric)))

  it.effect("tells of a port whose PortInfo is lost what its neighbour knows", () =>
    Effect.gen(function*() {
      const { topology, unanswered } = yield* walked(({ mad }) =>
        attributeOf(mad) === portInfo && hopsOf(mad) === 3 ? "lost" : undefined
      )
      assert.strictEqual(topology.nodes.length, 4)
      assert.deepStrictEqual(unanswered.map(({ attribute, modifier }) => [attribute, modifier]), [["PortInfo", 1]])
      const far = topology.nodes.at(-1)?.ports[0]
      assert.strictEqual(Number(far?.lid), 0)
      assert.isUndefined(far?.state)
      assert.deepStrictEqual([far?.link?.width, far?.link?.speed], ["4x", "sdr"])
    }).pipe(Effect.provide(fabric)))

  it.effect("reports a refusal with its status", () =>
    Effect.gen(function*() {
      const { unanswered } = yield* walked(({ mad }) => {
        if (attributeOf(mad) !== nodeDescription) return undefined
        const answer = mad.slice()
        answer[3] = 0x81
        answer[5] = 0x0c
        return answer
      })
      assert.strictEqual(unanswered.length, 4)
      for (const { error } of unanswered) assert.strictEqual(error._tag, "MadStatus")
    }).pipe(Effect.provide(fabric)))

  it.effect("is an empty topology when even the own node is silent", () =>
    Effect.gen(function*() {
      const { topology, unanswered } = yield* walked(() => "lost")
      assert.deepStrictEqual(topology, { nodes: [] })
      assert.strictEqual(unanswered.length, 1)
    }).pipe(Effect.provide(fabric)))

  it.effect("does not end where every node says that it has one more behind it", () =>
    Effect.gen(function*() {
      // Each NodeInfo has another GUID: a subnet without an end, but for that of a route.
      let guid = 0
      const { topology } = yield* walked(({ mad }) => {
        const answer = mad.slice()
        const view = new DataView(answer.buffer)
        answer[3] = 0x81
        answer[4] = 0x80
        if (attributeOf(mad) === nodeInfo) {
          guid++
          answer.set([1, 1, 2, 2], 64)
          view.setUint32(80, guid)
          answer[100] = 1
        } else if (attributeOf(mad) === portInfo) {
          answer[97] = 0x52
        }
        return answer
      }, { maxHops: 5 })
      assert.isAtMost(topology.nodes.length, 2 ** 6)
      assert.isAbove(topology.nodes.length, 5)
    }).pipe(Effect.provide(fabric)))
})
