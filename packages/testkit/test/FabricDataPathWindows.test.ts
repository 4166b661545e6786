/** Memory by its keys: windows of both types, their invalidation, and regions that are not where they seem. */
import { NativeMemory, Resource } from "@effect-rdma/core"
import { type AccessFlags, MemoryRegion, MemoryWindow, ParentDomain, QueuePair } from "@effect-rdma/verbs"
import type * as DataPath from "@effect-rdma/verbs/operations/DataPath"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { connected, devices, outcome, request, run, type Side, toRtr, toRts } from "./dataPath.ts"

const bindTo = (
  window: MemoryWindow.MemoryWindow,
  rkey: number,
  { region }: Side,
  access: AccessFlags.AccessFlags,
  [offset, length]: readonly [number, number] = [1024, 64]
): { readonly bind: DataPath.Bind } => ({
  bind: {
    mw: Resource.raw(window),
    rkey,
    mr: Resource.raw(region).mr,
    addr: region.address + BigInt(offset),
    length: BigInt(length),
    access
  }
})

/** Binds a window of type 1. */
const bindFirst = (self: Side, window: MemoryWindow.MemoryWindow, access: AccessFlags.AccessFlags) => {
  const { bind: { mw, rkey: _, ...binding } } = bindTo(window, 0, self, access)
  return self.context.verbs.bindMw(Resource.raw(self.pair), mw, { ...binding, wrId: 5n, flags: ["signaled"] })
}

const write = (a: Side, wrId: bigint, rkey: number, remoteAddr: bigint) => {
  a.postSend(request(wrId, "rdmaWrite", { sgList: [a.piece()], remote: { rkey, remoteAddr } }))
  return a.statuses()
}

for (const device of devices) {
  const isRxe = device === "rxe0"
  describe(`windows of ${device}`, () => {
    it.effect("a window of type 1 opens a part of a region with flags of its own", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device)
        const window = yield* MemoryWindow.alloc(b.domain, 1)
        const rkey = yield* bindFirst(b, window, ["remoteWrite"])
        assert.deepStrictEqual(b.poll().map((each) => each.status === "success" && each.opcode), ["bindMw"])
        const { address } = b.region
        assert.deepStrictEqual(write(a, 1n, rkey, address + 1080n), ["1 success"])
        // rxe looks at the bounds of the region alone.
        assert.deepStrictEqual(write(a, 2n, rkey, address + 1081n), [isRxe ? "2 success" : "2 remAccessErr"])
        if (!isRxe) return
        a.postSend(request(3n, "rdmaRead", { sgList: [a.piece()], remote: { rkey, remoteAddr: address } }))
        assert.deepStrictEqual(a.statuses(), ["3 remAccessErr"])
      })))

    it.effect("a window of type 2 is bound by a request, and gone when it is invalidated", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device)
        const window = yield* MemoryWindow.alloc(b.domain, 2)
        const rkey = window.rkey + 1
        b.postSend(request(1n, "bindMw", bindTo(window, rkey, b, ["remoteWrite"])))
        assert.deepStrictEqual(b.statuses(), ["1 success"])
        assert.deepStrictEqual(write(a, 1n, rkey, b.region.address + 1024n), ["1 success"])
        b.postSend(request(2n, "localInv", { invalidateRkey: rkey }))
        assert.deepStrictEqual(b.poll().map((each) => each.status === "success" && each.opcode), ["localInv"])
        assert.deepStrictEqual(write(a, 2n, rkey, b.region.address + 1024n), ["2 remAccessErr"])
      })))

    it.effect("a peer invalidates a window with its send", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device)
        const window = yield* MemoryWindow.alloc(b.domain, 2)
        b.postSend(request(1n, "bindMw", bindTo(window, window.rkey, b, ["remoteWrite"])))
        b.poll()
        b.postRecv({ wrId: 5n, sgList: [] })
        a.postSend(request(2n, "sendWithInv", { invalidateRkey: window.rkey }))
        const [received] = b.poll()
        assert(received?.status === "success")
        // The kernel of rxe has another number for the flag than the library.
        assert.strictEqual(received.invalidatedRkey, isRxe ? undefined : window.rkey)
        assert.deepStrictEqual(a.statuses(), ["2 success"])
        assert.deepStrictEqual(write(a, 3n, window.rkey, b.region.address + 1024n), ["3 remAccessErr"])
      })))

    it.effect("a window that counts from 0 begins at its own place", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device)
        a.region.bytes.fill(7, 0, 8)
        const window = yield* MemoryWindow.alloc(b.domain, 2)
        b.postSend(request(1n, "bindMw", bindTo(window, window.rkey, b, ["remoteWrite", "zeroBased"])))
        assert.deepStrictEqual(write(a, 2n, window.rkey, 8n), ["2 success"])
        assert.deepStrictEqual(Array.from(b.region.bytes.subarray(1031, 1034)), [0, 7, 7])
      })))

    it.effect("a window of type 2 serves only the queue pair that bound it", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device)
        const pair = yield* QueuePair.make(b.domain, { qpType: "rc", sendCq: b.queue, recvCq: b.queue })
        const other = { ...b, pair }
        yield* toRtr(other, { host: "host-b", qpNum: pair.qpNum })
        yield* toRts(other)
        const window = yield* MemoryWindow.alloc(b.domain, 2)
        b.postSend(request(1n, "bindMw", bindTo(window, window.rkey, b, ["remoteWrite"])))
        b.poll()
        assert.deepStrictEqual(write(a, 1n, window.rkey, b.region.address + 1024n), ["1 success"])
        const remote = { rkey: window.rkey, remoteAddr: b.region.address + 1024n }
        b.dataPath.postSend(Resource.raw(pair), [request(2n, "rdmaWrite", { sgList: [b.piece()], remote })])
        assert.deepStrictEqual(b.statuses(), ["2 remAccessErr"])
      })))

    it.effect("what the device does not permit is mwBindErr and ERR", () =>
      run(Effect.gen(function*() {
        const refused = Effect.fnUntraced(function*(
          make: (b: Side, window: MemoryWindow.MemoryWindow) => { readonly bind: DataPath.Bind },
          access?: AccessFlags.AccessFlags
        ) {
          const { b } = yield* connected(device, access === undefined ? {} : { b: { access } })
          const window = yield* MemoryWindow.alloc(b.domain, 2)
          b.postSend(request(1n, "bindMw", make(b, window)))
          assert.deepStrictEqual(b.statuses(), ["1 mwBindErr"])
          assert.strictEqual(yield* b.state, "err")
        })
        yield* refused((b, window) => bindTo(window, window.rkey, b, ["remoteRead"]), ["localWrite"])
        yield* refused((b, window) => bindTo(window, window.rkey, b, ["remoteWrite"]), ["mwBind"])
        yield* refused((b, window) => bindTo(window, window.rkey, b, ["remoteRead"], [4090, 64]))
        yield* refused((b, window) => bindTo(window, window.rkey, b, ["remoteRead"], [0, 0]))
        const { b } = yield* connected(device)
        const window = yield* MemoryWindow.alloc(b.domain, 2)
        const bind = bindTo(window, window.rkey, b, ["remoteRead"])
        b.postSend(request(1n, "bindMw", bind), request(2n, "bindMw", bind))
        assert.deepStrictEqual(b.statuses(), ["1 success", "2 mwBindErr"])
      })))

    it.effect("neither regions nor windows of type 1 can be invalidated", () =>
      run(Effect.gen(function*() {
        const { b } = yield* connected(device)
        b.postSend(request(1n, "localInv", { invalidateRkey: b.region.rkey }))
        assert.deepStrictEqual(b.statuses(), [isRxe ? "1 locQpOpErr" : "1 mwBindErr"])
        const other = yield* connected(device)
        const window = yield* MemoryWindow.alloc(other.b.domain, 1)
        const rkey = yield* bindFirst(other.b, window, ["remoteRead"])
        other.b.poll()
        other.b.postSend(request(1n, "localInv", { invalidateRkey: rkey }))
        assert.deepStrictEqual(other.b.statuses(), [isRxe ? "1 locQpOpErr" : "1 mwBindErr"])
      })))

    it.effect("datagrams cannot bind: EINVAL", () =>
      run(Effect.gen(function*() {
        const { a } = yield* connected(device)
        const window = yield* MemoryWindow.alloc(a.domain, 2)
        const pair = yield* QueuePair.make(a.domain, { qpType: "ud", sendCq: a.queue, recvCq: a.queue })
        const bind = request(1n, "bindMw", bindTo(window, window.rkey, a, ["remoteRead"]))
        assert.strictEqual(outcome(a.dataPath.postSend(Resource.raw(pair), [bind])), "0 EINVAL")
      })))

    it.effect("a region is reached by the addresses that it was registered for", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device)
        a.region.bytes.fill(9, 0, 8)
        // Marked for good, so it cannot be unmapped.
        const mapping = NativeMemory.map(4096)
        const iova = 0x10_0000n
        const there = yield* MemoryRegion.register(b.domain, mapping.bytes, {
          access: ["localWrite", "remoteWrite"],
          iova
        })
        assert.deepStrictEqual(write(a, 1n, there.rkey, iova + 16n), ["1 success"])
        assert.deepStrictEqual(Array.from(mapping.bytes.subarray(15, 18)), [0, 9, 9])
        assert.deepStrictEqual(write(a, 2n, there.rkey, mapping.address), ["2 remAccessErr"])
      })))

    it.effect("a region that peers may not touch has no key for them", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device, { b: { access: ["localWrite"] } })
        assert.deepStrictEqual(write(a, 1n, b.region.lkey, b.region.address), ["1 remAccessErr"])
      })))
  })
}

describe("memory of mlx5", () => {
  it.effect("the null region reads as zeros and drops what is written", () =>
    run(Effect.gen(function*() {
      const { a, b } = yield* connected("mlx5_0")
      const { lkey } = yield* MemoryRegion.allocNull(a.domain)
      const nowhere = { addr: 0n, length: 8, lkey }
      b.region.bytes.fill(1, 0, 8)
      a.postSend(
        request(1n, "rdmaWrite", { sgList: [nowhere], remote: b.remote() }),
        request(2n, "rdmaRead", { sgList: [nowhere], remote: b.remote() })
      )
      assert.deepStrictEqual(a.statuses(), ["1 success", "2 success"])
      assert.deepStrictEqual(Array.from(b.region.bytes.subarray(0, 8)), [0, 0, 0, 0, 0, 0, 0, 0])
    })))

  it.effect("regions of a domain are those of its parent domains", () =>
    run(Effect.gen(function*() {
      const { a, b } = yield* connected("mlx5_0")
      const parent = yield* ParentDomain.alloc(a.domain)
      const region = yield* MemoryRegion.alloc(parent, { length: 64 })
      const piece = { addr: NativeMemory.addressOf(region.bytes), length: 8, lkey: region.lkey }
      a.postSend(request(1n, "rdmaWrite", { sgList: [piece], remote: b.remote() }))
      assert.deepStrictEqual(a.statuses(), ["1 success"])
    })))

  it.effect("another registration is another key", () =>
    run(Effect.gen(function*() {
      const { a, b } = yield* connected("mlx5_0")
      const before = b.region.rkey
      yield* MemoryRegion.rereg(b.region, { access: ["localWrite", "remoteRead"] })
      assert.deepStrictEqual(write(a, 1n, before, b.region.address), ["1 remAccessErr"])
    })))
})
