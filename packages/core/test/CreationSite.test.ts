import * as CreationSite from "@effect-rdma/core/CreationSite"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const ours = new URL("../src/Resource.ts", import.meta.url)
const theirs = "/home/me/program.ts:7:9"
const placeIn = (...frames: ReadonlyArray<string>) =>
  CreationSite.format({ stack: ["Error", ...frames.map((frame) => `    at ${frame}`)].join("\n") })

describe("CreationSite", () => {
  it("is the first place outside of the packages, however its frame is written", () => {
    for (const frame of [theirs, `main (file://${theirs})`, `async ${theirs}`, `Object.<anonymous> (${theirs})`]) {
      assert.strictEqual(placeIn(`make (${ours.href}:1:1)`, frame), theirs)
    }
  })

  it("knows the packages where they are installed, and tells the program's tests from them", () => {
    const installed = "/srv/node_modules/@effect-rdma/verbs/dist/AddressHandle.js:10:2"
    assert.strictEqual(placeIn(`make (file://${installed})`, theirs), theirs)
    const here = new URL(import.meta.url).pathname
    assert.strictEqual(placeIn(`make (${ours.pathname}:1:1)`, `${here}:3:4`, theirs), `${here}:3:4`)
  })

  it("a constructor that Effect calls has no place of the program", () => {
    const effect = "flatMap (/srv/node_modules/effect/dist/internal/effect.js:1:1)"
    assert.strictEqual(placeIn(effect, theirs), "a place that called it through Effect")
    assert.strictEqual(placeIn(`make (${ours.pathname}:1:1)`), "a place that called it through Effect")
  })

  it("is captured outside of a fiber always, and leaves the depth of stack traces alone", () => {
    const make = () => CreationSite.capture(make)
    const limit = Error.stackTraceLimit
    const site = make()
    assert.strictEqual(Error.stackTraceLimit, limit)
    assert(site !== undefined)
    assert.match(CreationSite.format(site), /CreationSite\.test\.ts:\d+:\d+$/)
  })

  it.effect("is captured in a fiber only when it is asked for", () =>
    Effect.gen(function*() {
      const make = Effect.sync(() => CreationSite.capture(() => {}))
      assert.isUndefined(yield* make)
      assert.isDefined(yield* Effect.provideService(make, CreationSite.CaptureSites, true))
    }))
})
