/**
 * Random programs on the real libraries, with failing calls and interruption: nothing is left in the ledger but what could
 * not be released, and nothing in the kernel's list of RDMA resources or among the open files.
 *
 * What a failed release leaves would be there until the process ends. So here a release fails after its native call: the
 * kernel's object is gone, and so must be those of its parents, but for an event channel, which is not destroyed while one
 * of its ids is thought to live.
 */
import { Ledger, type Pointer } from "@effect-rdma/core"
import { RdmaCm } from "@effect-rdma/rdmacm"
import { Umad } from "@effect-rdma/umad"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { Program, runProgram } from "../randomPrograms.ts"
import { rdmaCmOnSoftRoce } from "./rdmacm.ts"

const libraries = Layer.merge(rdmaCmOnSoftRoce.layer, Umad.Umad.layer)

const statistics = { acquired: 0, failedReleases: 0, keptChannels: 0 }

const onSoftRoce = Effect.fnUntraced(function*(program: Program) {
  const services = yield* Layer.build(libraries)
  const snapshot = Effect.provide(rdmaCmOnSoftRoce.snapshot, services)
  const before = yield* snapshot

  const cm = Context.get(services, RdmaCm.RdmaCm)
  const channels = new Set<Pointer.Pointer<"rdma_event_channel">>()
  const seams = Context.add(services, RdmaCm.RdmaCm, {
    ...cm,
    createEventChannel: Effect.tap(cm.createEventChannel, (channel) => Effect.sync(() => channels.add(channel))),
    destroyEventChannel: (channel) =>
      Effect.tap(cm.destroyEventChannel(channel), () => Effect.sync(() => channels.delete(channel)))
  })
  const { alive, failedReleases, totals } = yield* runProgram({
    seams,
    resolved: Effect.sleep("5 millis"),
    unplug: undefined,
    releasesFail: "after"
  }, program)

  // Without the channels that the ledger tells of, all is as it was.
  assert.strictEqual(
    channels.size,
    alive.filter(({ kind }) => kind === "EventChannel").length,
    Ledger.formatTree(alive)
  )
  yield* Effect.forEach(channels, cm.destroyEventChannel, { discard: true })
  assert.deepStrictEqual(yield* snapshot, before, Ledger.formatTree(alive))

  statistics.acquired += totals.reduce((sum, row) => sum + row.acquired, 0)
  statistics.failedReleases += failedReleases
  statistics.keptChannels += channels.size
})

describe("lifetimes", () => {
  it.live.prop(
    "no random program leaves more in the kernel or the table of files than the ledger tells",
    [Program],
    ([program]) => Effect.provide(Effect.scoped(onSoftRoce(program)), Ledger.layer),
    { arbitrary: { runs: 150, size: 30, seed: 1 }, timeout: 300_000 }
  )

  afterAll(() => {
    assert.isAbove(statistics.acquired, 1000)
    assert.isAbove(statistics.failedReleases, 60)
    assert.isAbove(statistics.keptChannels, 10)
  })
})
