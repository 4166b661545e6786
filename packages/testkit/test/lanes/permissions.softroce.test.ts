import { EventChannel, RdmaCm, RdmaDevices } from "@effect-rdma/rdmacm"
import { LeakCheck } from "@effect-rdma/testkit"
import { DeviceContext, DeviceList, Port, Verbs } from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schedule, Schema } from "effect"
import { execFile } from "node:child_process"
import { chmodSync, existsSync, mkdirSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { nodeFlags } from "../../../../examples/nodeFlags.ts"

const run = promisify(execFile)

const device = "rxe0"
const verbsNode = "/dev/infiniband/uverbs0"
const managerNode = "/dev/infiniband/rdma_cm"
const madNode = "/dev/infiniband/umad0"
const nobody = 65534

const withModes = (mode: number) => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const before = [verbsNode, managerNode, madNode].map((node) => [node, statSync(node).mode] as const)
      for (const [node] of before) chmodSync(node, mode)
      return before
    }),
    () => effect,
    (before) =>
      Effect.sync(() => {
        for (const [node, mode] of before) chmodSync(node, mode)
      })
  )

/** Where udev keeps this folder, rdma-core waits there for 5 s for a node that it cannot open. */
const withUdevFolder = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const isMissing = !existsSync("/dev/char")
      if (isMissing) mkdirSync("/dev/char")
      return isMissing
    }),
    () => effect,
    (isMissing) => Effect.sync(() => isMissing && rmSync("/dev/char", { recursive: true }))
  )

const Outcome = Schema.Struct({
  call: Schema.String,
  reason: Schema.String,
  message: Schema.String,
  millis: Schema.Finite
})

const decodeReport = Schema.decodeEffect(
  Schema.fromJsonString(Schema.Struct({ device: Outcome, channel: Outcome, port: Outcome }))
)

const openAllAs = (user: number) =>
  Effect.promise(() =>
    run(process.execPath, [...nodeFlags, join(import.meta.dirname, "openAll.ts"), device], { uid: user, gid: user })
  ).pipe(Effect.flatMap(({ stdout }) => decodeReport(stdout)))

const rdma = (...args: ReadonlyArray<string>) => Effect.promise(() => run("rdma", args, { timeout: 30_000 }))

const decodeResources = Schema.decodeEffect(Schema.fromJsonString(Schema.Array(Schema.Struct({ ctx: Schema.Int }))))

/** Soft-RoCE waits in the kernel, for ever and unkillable, until nobody has the device open any more. */
const deleteDevice = Effect.gen(function*() {
  const { stdout } = yield* rdma("--json", "resource", "show")
  assert.deepStrictEqual(yield* decodeResources(stdout), [{ ctx: 0 }], "somebody still has the device open")
  yield* rdma("link", "delete", device)
})

/** Takes the only device away; when it is back, its port is active and its GIDs are there. */
const withoutDevice = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    deleteDevice,
    () => effect,
    () =>
      Effect.andThen(
        rdma("link", "add", device, "type", "rxe", "netdev", "veth0"),
        Effect.retry(isReady, Schedule.spaced("20 millis"))
      ).pipe(Effect.timeout("20 seconds"), Effect.orDie)
  )

const isReady = Effect.scoped(Effect.gen(function*() {
  const context = yield* DeviceContext.openByName(device)
  const { state } = yield* Port.query(context, 1)
  const gids = yield* DeviceContext.gidTable(context)
  if (state !== "active" || gids.length < 2) return yield* Effect.fail("not ready")
}))

describe("device nodes that only root may open", () => {
  it.live("are EACCES for everybody else, with the node, its mode and the way to change it", () =>
    Effect.gen(function*() {
      const { channel, device, port } = yield* openAllAs(nobody)
      for (
        const [outcome, call, node] of [
          [device, "ibv_open_device", verbsNode],
          [channel, "rdma_create_event_channel", managerNode],
          [port, "umad_open_port", madNode]
        ] as const
      ) {
        assert.strictEqual(outcome.reason, "EACCES", outcome.message)
        assert.strictEqual(outcome.call, call)
        assert.include(outcome.message, `${node} has mode 0600, owner root:root`)
        assert.include(outcome.message, "this process runs as nobody:nogroup")
        assert.include(outcome.message, `chmod 0666 ${node}`)
        assert.include(outcome.message, "udev rule")
        assert.isBelow(outcome.millis, 2000, "it does not wait for udev")
      }
    }).pipe(withModes(0o600), withUdevFolder))

  it.live("are open to everybody again with mode 0666", () =>
    Effect.gen(function*() {
      const { channel, device, port } = yield* openAllAs(nobody)
      assert.strictEqual(device.reason, "none", device.message)
      assert.strictEqual(channel.reason, "none", channel.message)
      assert.strictEqual(port.reason, "none", port.message)
    }).pipe(withModes(0o666)))
})

describe("a kernel with RDMA and without a device", () => {
  it.live("has an empty list, no devices of librdmacm, and no event channel", () =>
    Effect.gen(function*() {
      yield* Effect.gen(function*() {
        assert.deepStrictEqual((yield* DeviceList.get()).devices, [])
        assert.deepStrictEqual(yield* RdmaDevices.get(), [])

        const notFound = yield* Effect.flip(DeviceContext.openByName(device))
        assert.strictEqual(notFound.reason._tag, "ENODEV")
        assert.include(notFound.message, "The host has no RDMA device")

        const noChannel = yield* Effect.flip(EventChannel.make())
        assert.strictEqual(noChannel.reason._tag, "ENODEV")
        assert.include(noChannel.message, "rdma link")
      }).pipe(LeakCheck.check, withoutDevice)

      const { devices } = yield* DeviceList.get()
      assert.deepStrictEqual(devices.map(({ name }) => name), [device])
    }).pipe(Effect.provide(Layer.merge(Verbs.Verbs.layer, RdmaCm.RdmaCm.layer))))
})
