import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import type * as Pointer from "@effect-rdma/core/Pointer"
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as NetAddress from "effect/net/NetAddress"
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs"
import { networkInterfaces } from "node:os"
import * as RdmaCm from "../src/RdmaCm.ts"

const managerNode = "/dev/infiniband/rdma_cm"
const destination = NetAddress.inetAddressFromStringUnsafe("10.0.0.1:7471")

const openDescriptors = () => readdirSync("/proc/self/fd").length

const channel = Effect.flatMap(
  RdmaCm.RdmaCm,
  (cm) => Effect.acquireRelease(cm.createEventChannel, cm.destroyEventChannel)
)

const cmId = (channel: Pointer.Pointer<"rdma_event_channel">) =>
  Effect.flatMap(
    RdmaCm.RdmaCm,
    (cm) => Effect.acquireRelease(cm.createId(channel, "tcp"), (id) => Effect.orDie(cm.destroyId(id)))
  )

const next = (channel: Pointer.Pointer<"rdma_event_channel">) =>
  Effect.gen(function*() {
    const cm = yield* RdmaCm.RdmaCm
    yield* cm.awaitCmEvent(channel)
    const { event, pointer } = yield* cm.getCmEvent(channel)
    yield* cm.ackCmEvent(pointer)
    return event
  })

const resolved = Effect.scoped(Effect.gen(function*() {
  const cm = yield* RdmaCm.RdmaCm
  const events = yield* channel
  const id = yield* cmId(events)
  yield* cm.resolveAddr(id, undefined, destination, 2000)
  return { event: yield* next(events), id }
}))

/** `ibv_context.device->name`. */
const nameOf = (context: Pointer.Pointer<"ibv_context">) =>
  NativeMemory.readCString(NativeMemory.view(context, 8).getBigUint64(0, true) + 24n, 64)

/** Gives root up, so that modes count, and takes it back. */
const asNobody = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      process.setegid?.(65534)
      process.seteuid?.(65534)
    }),
    () => effect,
    () =>
      Effect.sync(() => {
        process.seteuid?.(0)
        process.setegid?.(0)
      })
  )

const withMode = <A, E, R>(path: string, mode: number, effect: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => chmodSync(path, mode)),
    () => effect,
    () => Effect.sync(() => chmodSync(path, 0o666))
  )

describe("librdmacm on Soft-RoCE", { concurrent: false }, () => {
  layer(RdmaCm.RdmaCm.layer, { excludeTestServices: true })((it) => {
    // First, as the library never asks again for a device that it could not open.
    it.effect("refuses at once where the nodes of all devices do", () =>
      Effect.gen(function*() {
        const cm = yield* RdmaCm.RdmaCm
        const error = yield* Effect.flip(withMode("/dev/infiniband/uverbs0", 0o600, asNobody(cm.getDevices)))
        assert.strictEqual(error.reason._tag, "EACCES")
        assert.include(error.message, "/dev/infiniband/uverbs0 has mode 0600, owner root:root")
      }))

    it.effect("lists the device, whose context outlives the list", () =>
      Effect.gen(function*() {
        const cm = yield* RdmaCm.RdmaCm
        const first = yield* cm.getDevices
        assert.deepStrictEqual(first.contexts.map(nameOf), ["rxe0"])
        assert.isDefined(first.list)
        if (first.list !== undefined) yield* cm.freeDevices(first.list)
        const second = yield* cm.getDevices
        assert.deepStrictEqual(second.contexts, first.contexts)
        if (second.list !== undefined) yield* cm.freeDevices(second.list)
        assert.deepStrictEqual(second.contexts.map(nameOf), ["rxe0"])
      }))

    it.effect("resolves an address and reports it for the id", () =>
      Effect.gen(function*() {
        const { event, id } = yield* resolved
        assert.deepStrictEqual(event, { event: "addrResolved", status: 0, id })
      }))

    it.effect("takes the source address that it is given", () =>
      Effect.gen(function*() {
        const cm = yield* RdmaCm.RdmaCm
        const events = yield* channel
        const foreign = NetAddress.inetAddressFromStringUnsafe("203.0.113.9:0")
        const error = yield* Effect.flip(cm.resolveAddr(yield* cmId(events), foreign, destination, 2000))
        assert.strictEqual(error.reason._tag, "EADDRNOTAVAIL")
        assert.include(error.message, "(source 203.0.113.9:0, destination 10.0.0.1:7471, timeoutMillis 2000)")
        const own = NetAddress.inetAddressFromStringUnsafe("10.0.0.1:0")
        yield* cm.resolveAddr(yield* cmId(events), own, destination, 2000)
        assert.strictEqual((yield* next(events)).event, "addrResolved")
      }))

    it.effect("resolves a link-local address of IPv6 by its scope", () =>
      Effect.gen(function*() {
        const cm = yield* RdmaCm.RdmaCm
        const events = yield* channel
        const local = networkInterfaces()["veth0"]?.find(({ family }) => family === "IPv6")
        assert.isDefined(local)
        const { address = "", scopeid = 0 } = local ?? {}
        const outcome = (scope: number) =>
          Effect.gen(function*() {
            const to = NetAddress.inetAddressFromStringUnsafe(`[${address}%${scope}]:7471`)
            yield* cm.resolveAddr(yield* cmId(events), undefined, to, 2000)
            return (yield* next(events)).event
          })
        assert.strictEqual(yield* outcome(scopeid), "addrResolved")
        const noInterface = Effect.catch(outcome(4000), ({ reason }) => Effect.succeed(reason._tag))
        assert.notStrictEqual(yield* noInterface, "addrResolved")
      }))

    it.effect("has no event to take, does not wait for one in a get, and stops waiting at once", () =>
      Effect.gen(function*() {
        const cm = yield* RdmaCm.RdmaCm
        const events = yield* channel
        const id = yield* cmId(events)
        assert.strictEqual((yield* Effect.flip(cm.getCmEvent(events))).reason._tag, "EAGAIN")
        const waiting = yield* Effect.forkChild(cm.awaitCmEvent(events), { startImmediately: true })
        yield* Effect.sleep("20 millis")
        assert.isUndefined(waiting.pollUnsafe())
        yield* Fiber.interrupt(waiting)
        const woken = yield* Effect.forkChild(cm.awaitCmEvent(events), { startImmediately: true })
        yield* cm.resolveAddr(id, undefined, destination, 2000)
        yield* Fiber.join(woken)
        // The event is not taken: the kernel forgets it with its id, whose destruction does not wait.
      }))

    it.effect("names the node that refuses, its mode and owner, and does not wait for udev", () =>
      Effect.gen(function*() {
        const cm = yield* RdmaCm.RdmaCm
        // Where udev keeps this folder, the library watches it for 5 s before it gives up.
        const made = !existsSync("/dev/char")
        if (made) mkdirSync("/dev/char")
        const started = performance.now()
        const error = yield* Effect.flip(withMode(managerNode, 0o600, asNobody(cm.createEventChannel)))
        assert.isBelow(performance.now() - started, 2000)
        if (made) rmSync("/dev/char", { recursive: true })
        assert.strictEqual(error.reason._tag, "EACCES")
        assert.include(
          error.message,
          `${managerNode} has mode 0600, owner root:root, and this process runs as nobody:nogroup. ` +
            `Until the next boot: chmod 0666 ${managerNode}.`
        )
        // The mode is read anew each time.
        yield* asNobody(Effect.scoped(channel))
      }))

    it.effect("closes what it opened", () =>
      Effect.gen(function*() {
        yield* resolved
        const before = openDescriptors()
        yield* Effect.repeat(resolved, { times: 50 })
        assert.strictEqual(openDescriptors(), before)
      }))
  })
})
