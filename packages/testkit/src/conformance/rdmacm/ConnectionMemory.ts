/**
 * Conformance of reading and writing the other side's memory.
 *
 * @since 0.1.0
 */
import * as Connection from "@effect-rdma/rdmacm/Connection"
import * as RemoteMemory from "@effect-rdma/rdmacm/RemoteMemory"
import type * as AccessFlags from "@effect-rdma/verbs/AccessFlags"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { assertReason } from "../../internal/conformance.ts"
import { bytes, connectionSuite, text } from "../../internal/conformanceConnections.ts"
import type * as RdmaCmLane from "../RdmaCmLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: RdmaCmLane.RdmaCmLane<Others>): void => {
  const { connected, it } = connectionSuite(lane)

  /** Memory of the server that the client was told of, and memory of the client. */
  const offered = Effect.fnUntraced(function*(access: ReadonlyArray<AccessFlags.AccessFlag>, length: number = 4096) {
    const { client, server } = yield* connected()
    const remote = yield* MemoryRegion.alloc(server.domain, { length, access })
    const local = yield* MemoryRegion.alloc(client.domain, { length, access: ["localWrite"] })
    yield* Connection.send(server, RemoteMemory.toBytes(RemoteMemory.of(remote)))
    const memory = yield* RemoteMemory.fromBytes(yield* Connection.receive(client))
    return { client, server, remote, local, memory }
  })

  it("what one side writes is in the memory of the other", () =>
    Effect.gen(function*() {
      const { client, local, memory, remote } = yield* offered(["localWrite", "remoteWrite"])
      local.bytes.set(bytes("written from afar"))
      yield* Connection.write(client, { region: local, length: 17, remote: memory, remoteOffset: 100 })
      assert.strictEqual(text(remote.bytes.slice(100, 117)), "written from afar")
      assert.strictEqual(remote.bytes[99], 0)
      assert.strictEqual(remote.bytes[117], 0)
    }))

  it("who accepted writes to the memory of who connected, and reads it", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected()
      const remote = yield* MemoryRegion.alloc(client.domain, {
        length: 64,
        access: ["localWrite", "remoteWrite", "remoteRead"]
      })
      const local = yield* MemoryRegion.alloc(server.domain, { length: 64, access: ["localWrite"] })
      local.bytes.set(bytes("there and back"))
      yield* Connection.write(server, { region: local, remote: RemoteMemory.of(remote) })
      assert.strictEqual(text(remote.bytes.slice(0, 14)), "there and back")
      local.bytes.fill(0)
      yield* Connection.read(server, { region: local, remote: RemoteMemory.of(remote) })
      assert.strictEqual(text(local.bytes.slice(0, 14)), "there and back")
    }))

  it("a megabyte is read from the memory of the other side", () =>
    Effect.gen(function*() {
      const { client, local, memory, remote } = yield* offered(["remoteRead"], 1 << 20)
      remote.bytes.forEach((_, index) => remote.bytes[index] = index * 31)
      yield* Connection.read(client, { region: local, remote: memory })
      assert.isTrue(Buffer.from(local.bytes.buffer).equals(Buffer.from(remote.bytes.buffer)))
    }))

  it("many at once", () =>
    Effect.gen(function*() {
      const { client, local, memory, remote } = yield* offered(["localWrite", "remoteWrite", "remoteRead"])
      local.bytes.forEach((_, index) => local.bytes[index] = index)
      const parts = Array.from({ length: 64 }, (_, index) => index * 64)
      yield* Effect.forEach(
        parts,
        (offset) =>
          Connection.write(client, { region: local, offset, length: 64, remote: memory, remoteOffset: offset }),
        { concurrency: "unbounded", discard: true }
      )
      assert.deepStrictEqual(remote.bytes, local.bytes)
      local.bytes.fill(0)
      yield* Effect.forEach(
        parts,
        (offset) =>
          Connection.read(client, { region: local, offset, length: 64, remote: memory, remoteOffset: offset }),
        { concurrency: "unbounded", discard: true }
      )
      assert.deepStrictEqual(local.bytes, remote.bytes)
    }))

  it("what is not in the memory of the other side, or in the region, is EINVAL, and the connection goes on", () =>
    Effect.gen(function*() {
      const { client, local, memory } = yield* offered(["localWrite", "remoteWrite"])
      const beyond = [
        { region: local, remote: memory, remoteOffset: 1 },
        { region: local, offset: 4090, length: 7, remote: memory },
        { region: local, length: -1, remote: memory },
        { region: local, remote: memory, remoteOffset: -1 }
      ]
      for (const transfer of beyond) {
        assertReason(yield* Effect.flip(Connection.write(client, transfer)), "ibv_post_send", "EINVAL")
        assertReason(yield* Effect.flip(Connection.read(client, transfer)), "ibv_post_send", "EINVAL")
      }
      yield* Connection.write(client, { region: local, remote: memory })
    }))

  const refused = [
    ["a key that is none", (memory: RemoteMemory.RemoteMemory) => ({ ...memory, rkey: memory.rkey ^ 0x100 })],
    [
      "memory beyond the region",
      (memory: RemoteMemory.RemoteMemory) => ({
        ...memory,
        length: memory.length + 4096,
        address: memory.address + 4096n
      })
    ]
  ] as const
  for (const [what, change] of refused) {
    it(`${what} is refused by the device: remAccessErr, and the connection ends on both sides`, () =>
      Effect.gen(function*() {
        const { client, local, memory, server } = yield* offered(["localWrite", "remoteWrite"])
        const error = yield* Effect.flip(Connection.write(client, { region: local, remote: change(memory) }))
        assert(error._tag === "WorkCompletionError", error.message)
        assert.strictEqual(error.status, "remAccessErr")
        assert.strictEqual(yield* Effect.flip(Connection.send(client, bytes("more"))), error)
        yield* Connection.awaitEnd(server)
      }))
  }

  it("memory that is readable only is not written", () =>
    Effect.gen(function*() {
      const { client, local, memory, remote } = yield* offered(["remoteRead"])
      local.bytes.fill(1)
      const error = yield* Effect.flip(Connection.write(client, { region: local, remote: memory }))
      assert(error._tag === "WorkCompletionError", error.message)
      assert.strictEqual(error.status, "remAccessErr")
      assert.isTrue(remote.bytes.every((byte) => byte === 0))
    }))

  it("memory that was released is refused", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected()
      const scope = yield* Scope.make()
      const remote = yield* Scope.provide(
        MemoryRegion.alloc(server.domain, { length: 64, access: ["localWrite", "remoteWrite"] }),
        scope
      )
      const memory = RemoteMemory.of(remote)
      yield* Scope.close(scope, Exit.void)
      const local = yield* MemoryRegion.alloc(client.domain, { length: 64, access: ["localWrite"] })
      const error = yield* Effect.flip(Connection.read(client, { region: local, remote: memory }))
      assert(error._tag === "WorkCompletionError", error.message)
      assert.strictEqual(error.status, "remAccessErr")
    }))
}
