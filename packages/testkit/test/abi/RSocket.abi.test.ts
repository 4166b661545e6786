/**
 * rsockets on the echo provider: every argument that C receives, and what is made of what it gives back.
 */
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as Pointer from "@effect-rdma/core/Pointer"
import { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import type { RdmaCmError } from "@effect-rdma/rdmacm/RdmaCmError"
import type * as RSocketOption from "@effect-rdma/rdmacm/RSocketOption"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as NetAddress from "effect/net/NetAddress"
import { existsSync } from "node:fs"
import * as Compiler from "./Compiler.ts"
import * as Echo from "./Echo.ts"

const four = NetAddress.inetAddressFromStringUnsafe("10.0.0.2:1")
const fourHex = "020000010a0000020000000000000000"
const six = NetAddress.inetAddressFromStringUnsafe("[fe80::9%5]:17185")
const sixHex = ["0a00432100000000", "fe800000000000000000000000000009", "05000000"].join("")

const bytes = (...values: ReadonlyArray<number>) => Uint8Array.from(values)

describe.skipIf(Compiler.missing !== undefined)("rsockets", () => {
  const { echo } = Echo.lane()
  const test = <E>(name: string, program: (cm: RdmaCm["Service"]) => Effect.Effect<void, E, RdmaCm>) =>
    it.live(name, () =>
      Effect.provide(
        Effect.flatMap(RdmaCm, program),
        Layer.unwrap(Effect.sync(() => RdmaCm.layerFromPath(echo().path)))
      ))

  /** An rsocket that was accepted, which needs no node of the kernel, for as long as it is used. */
  const withSocket = <A, E>(
    cm: RdmaCm["Service"],
    use: (socket: Pointer.Pointer<"rsocket">, of: { readonly socket: string }) => Effect.Effect<A, E>
  ) =>
    Effect.gen(function*() {
      const socket = yield* cm.raccept(Pointer.make<"rsocket">(1n))
      echo().calls()
      yield* use(socket, { socket: String(socket) })
      yield* cm.rclose(socket)
    })

  test("an accepted one is set to non-blocking at once; when that fails it is closed", (cm) =>
    Effect.gen(function*() {
      const listener = Pointer.make<"rsocket">(77n)
      const socket = yield* cm.raccept(listener)
      const of = { socket: String(socket) }
      yield* cm.rclose(socket)
      assert.deepStrictEqual<ReadonlyArray<object>>(echo().calls(), [
        { op: "raccept", socket: "77", addr: "0", addrlen: "0" },
        { op: "rfcntl", ...of, cmd: "4", arg: "2048" },
        { op: "rclose", ...of }
      ])
      echo().script("rfcntl", { result: -1, errno: 9 })
      const error = yield* Effect.flip(cm.raccept(listener))
      assert.deepStrictEqual([error.call, error.reason._tag], ["raccept", "EBADF"])
      assert.deepStrictEqual(echo().calls().map(({ op }) => op), ["raccept", "rfcntl", "rclose"])
    }))

  test("a short read of the queue of connections is EPROTO, and nothing is closed", (cm) =>
    Effect.gen(function*() {
      for (const length of [0, 3]) {
        echo().script("raccept", { result: length })
        echo().script("rfcntl", { result: -1, errno: 9 })
        const error = yield* Effect.flip(cm.raccept(Pointer.make<"rsocket">(77n)))
        assert.deepStrictEqual([error.call, error.reason._tag], ["raccept", "EPROTO"])
      }
      assert.deepStrictEqual(echo().calls().map(({ op }) => op), ["raccept", "rfcntl", "raccept", "rfcntl"])
    }))

  // Before the call the node of the connection manager is looked at.
  const withNode: typeof test = existsSync("/dev/infiniband/rdma_cm") ? test : (name) => {
    const reason = "there is no /dev/infiniband/rdma_cm"
    process.stderr.write(`abi: skipped, since ${reason}: ${name}\n`)
    it.skip(`${name} (${reason})`)
  }
  withNode("a new one is of the family, for a stream", (cm) =>
    Effect.gen(function*() {
      const socket = yield* cm.rsocket("ipv6")
      yield* cm.rclose(socket)
      assert.deepInclude(echo().calls()[0], { op: "rsocket", domain: "10", type: "1", protocol: "0" })
    }))

  test("what is done on one: every argument", (cm) =>
    withSocket(cm, (socket, of) =>
      Effect.gen(function*() {
        yield* cm.rbind(socket, six)
        yield* cm.rlisten(socket, 7)
        yield* cm.rconnect(socket, four)
        yield* cm.rshutdown(socket, "receive")
        yield* cm.rshutdown(socket, "send")
        yield* cm.rshutdown(socket, "both")
        assert.strictEqual(yield* cm.rsend(socket, bytes(1, 2, 3)), 3)
        const into = new Uint8Array(4)
        assert.strictEqual(yield* cm.rrecv(socket, into), 4)
        assert.deepStrictEqual(into, bytes(0x5a, 0x5a, 0x5a, 0x5a))
        assert.deepStrictEqual(yield* cm.rgetsockname(socket), NetAddress.inetAddressFromStringUnsafe("10.0.0.1:4660"))
        assert.isUndefined(yield* cm.rgetpeername(socket))
        assert.strictEqual(yield* cm.riowrite(socket, bytes(4, 5), 2n ** 62n), 2)
        assert.deepStrictEqual<ReadonlyArray<object>>(echo().calls(), [
          { op: "rbind", ...of, addr: sixHex },
          { op: "rlisten", ...of, backlog: "7" },
          { op: "rconnect", ...of, addr: fourHex },
          { op: "rshutdown", ...of, how: "0" },
          { op: "rshutdown", ...of, how: "1" },
          { op: "rshutdown", ...of, how: "2" },
          { op: "rsend", ...of, buf: "010203", len: "3", flags: "0" },
          { op: "rrecv", ...of, len: "4", flags: "0" },
          { op: "rgetsockname", ...of, addrlen: "128" },
          { op: "rgetpeername", ...of, addrlen: "128" },
          { op: "riowrite", ...of, buf: "0405", offset: String(2n ** 62n), flags: "0" }
        ])
      })))

  test("to connect in the background is no failure", (cm) =>
    withSocket(cm, (socket) =>
      Effect.gen(function*() {
        echo().script("rconnect", { result: -1, errno: 115 })
        yield* cm.rconnect(socket, four)
      })))

  test("options: level, name, and an int both ways", (cm) =>
    withSocket(cm, (socket, of) =>
      Effect.gen(function*() {
        const places: ReadonlyArray<readonly [RSocketOption.RSocketOption["_tag"], string, string]> = [
          ["ReuseAddress", "1", "2"],
          ["SendBuffer", "1", "7"],
          ["ReceiveBuffer", "1", "8"],
          ["KeepAlive", "1", "9"],
          ["NoDelay", "6", "1"],
          ["KeepIdle", "6", "4"],
          ["Ipv6Only", "41", "26"],
          ["SendQueue", "65536", "0"],
          ["ReceiveQueue", "65536", "1"],
          ["Inline", "65536", "2"],
          ["Mappings", "65536", "3"]
        ]
        for (const [name, level, optname] of places) {
          yield* cm.rsetsockopt(socket, name, 0x01020304)
          assert.strictEqual(yield* cm.rgetsockopt(socket, name), 0x12345)
          assert.deepStrictEqual<ReadonlyArray<object>>(echo().calls(), [
            { op: "rsetsockopt", ...of, level, optname, optval: "04030201" },
            { op: "rgetsockopt", ...of, level, optname, optlen: "4" }
          ])
        }
        yield* cm.rgetsockopt(socket, "Error")
        assert.deepInclude(echo().last(), { level: "1", optname: "4" })
        yield* cm.rgetsockopt(socket, "MaxSegment")
        assert.deepInclude(echo().last(), { level: "6", optname: "2" })
      })))

  test("mappings: where the memory is, and at which offset", (cm) =>
    withSocket(cm, (socket, of) =>
      Effect.gen(function*() {
        const memory = bytes(9, 8)
        assert.strictEqual(yield* cm.riomap(socket, memory, 77n), 77n)
        assert.strictEqual(yield* cm.riomap(socket, memory, undefined), NativeMemory.addressOf(memory))
        yield* cm.riounmap(socket, memory)
        yield* cm.riounmap(socket, memory)
        const address = String(NativeMemory.addressOf(memory))
        const mapped = { op: "riomap", ...of, address, buf: "0908", len: "2", prot: "2", flags: "0" }
        assert.deepStrictEqual<ReadonlyArray<object>>(echo().calls(), [
          { ...mapped, offset: "77" },
          { ...mapped, offset: "-1" },
          { op: "riounmap", ...of, address, len: "2" },
          { op: "riounmap", ...of, address, len: "2" }
        ])
      })))

  test("readiness: all who wait are looked at in one call that does not wait", (cm) =>
    withSocket(cm, (first) =>
      withSocket(cm, (second) =>
        Effect.gen(function*() {
          const even = Number(first) % 2 === 0 ? first : second
          const odd = even === first ? second : first
          assert.deepStrictEqual(yield* cm.rpoll(even), {
            isReadable: true,
            isWritable: false,
            isHungUp: false,
            isBroken: false
          })
          assert.deepInclude(echo().last(), { op: "rpoll", nfds: "1", timeout: "0", fd0: String(even), events0: "5" })
          assert.deepInclude(yield* cm.rpoll(odd), { isReadable: false, isHungUp: true, isBroken: true })
          echo().calls()
          const waits = [cm.awaitRSocket(even, "readable"), cm.awaitRSocket(odd, "writable")]
          yield* Effect.all(waits, { concurrency: "unbounded" })
          assert.deepStrictEqual<ReadonlyArray<object>>(echo().calls(), [{
            op: "rpoll",
            nfds: "2",
            timeout: "0",
            fd0: String(even),
            events0: "1",
            fd1: String(odd),
            events1: "4"
          }])
          // Who waits for what does not come waits on, and leaves at once.
          const waiting = yield* Effect.forkChild(cm.awaitRSocket(even, "writable"), { startImmediately: true })
          yield* Effect.sleep("20 millis")
          assert.isUndefined(waiting.pollUnsafe())
          yield* Fiber.interrupt(waiting)
          echo().calls()
          yield* Effect.sleep("30 millis")
          assert.deepStrictEqual(echo().calls(), [])
        }))))

  test("sets: every argument, what is told, and an errno in the place of a count", (cm) =>
    withSocket(cm, (socket) =>
      Effect.gen(function*() {
        const poll = yield* cm.repollCreate
        yield* cm.repollCtl(poll, "add", socket, ["readable", "writable"])
        yield* cm.repollCtl(poll, "delete", socket, [])
        const epfd = String(poll)
        assert.deepStrictEqual<object>(yield* cm.repollWait(poll), [
          { isReadable: true, isWritable: false, isHungUp: false, isBroken: false, socket: 1001n },
          { isReadable: false, isWritable: true, isHungUp: true, isBroken: true, socket: 1002n }
        ])
        const change = { op: "repoll_ctl", epfd, fd: String(socket), data: String(socket) }
        assert.deepStrictEqual<ReadonlyArray<object>>(echo().calls(), [
          { op: "repoll_create", cloexec: "1" },
          { ...change, operation: "1", events: "5" },
          { ...change, operation: "2", events: "0" },
          { op: "repoll_wait", epfd, maxevents: "8", timeout: "0" }
        ])
        echo().script("repoll_wait", { result: 22 })
        assert.strictEqual((yield* Effect.flip(cm.repollWait(poll))).reason._tag, "EINVAL")
        echo().script("repoll_ctl", { result: 17 })
        assert.strictEqual((yield* Effect.flip(cm.repollCtl(poll, "add", socket, []))).reason._tag, "EEXIST")
        echo().script("rclose", { result: 16 })
        assert.strictEqual((yield* Effect.flip(cm.rclose(poll))).reason._tag, "EBUSY")
        yield* cm.rclose(poll)
      })))

  test("each call that fails tells its name and errno", (cm) =>
    withSocket(cm, (socket) =>
      Effect.gen(function*() {
        const calls: ReadonlyArray<readonly [string, Effect.Effect<unknown, RdmaCmError>]> = [
          ["rbind", cm.rbind(socket, four)],
          ["rlisten", cm.rlisten(socket, 1)],
          ["raccept", cm.raccept(socket)],
          ["rconnect", cm.rconnect(socket, four)],
          ["rsend", cm.rsend(socket, bytes(1))],
          ["rrecv", cm.rrecv(socket, bytes(1))],
          ["rshutdown", cm.rshutdown(socket, "both")],
          ["rgetsockname", cm.rgetsockname(socket)],
          ["rgetpeername", cm.rgetpeername(socket)],
          ["rgetsockopt", cm.rgetsockopt(socket, "Error")],
          ["rsetsockopt", cm.rsetsockopt(socket, "NoDelay", 1)],
          ["riomap", cm.riomap(socket, bytes(1), undefined)],
          ["riounmap", cm.riounmap(socket, bytes(1))],
          ["riowrite", cm.riowrite(socket, bytes(1), 0n)],
          ["repoll_create", cm.repollCreate]
        ]
        for (const [name, effect] of calls) {
          echo().script(name, { result: -1, errno: 98 })
          const error = yield* Effect.flip(effect)
          assert.deepStrictEqual([error.call, error.reason._tag], [name, "EADDRINUSE"])
        }
        // Its errno is what it returns.
        echo().script("rclose", { result: 9, errno: 98 })
        assert.strictEqual((yield* Effect.flip(cm.rclose(socket))).reason._tag, "EBADF")
      })))
})
