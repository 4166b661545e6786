import { assert, describe, it, vi } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { koffi } from "../src/internal/koffi.ts"
import * as Library from "../src/Library.ts"
import * as NativeMemory from "../src/NativeMemory.ts"

const strlen = Library.fromProcess().bind("strlen", ["pointer"], "size")

const mappedPages = () => Number(readFileSync("/proc/self/statm", "utf8").split(" ")[0])

describe("NativeMemory", () => {
  it("maps zeroed bytes on pages of their own", () => {
    const mapping = NativeMemory.map(100)
    const page = NativeMemory.pageSize()
    assert.strictEqual(mapping.address % BigInt(page), 0n)
    assert.strictEqual(mapping.bytes.length, 100)
    assert.isTrue(mapping.bytes.every((byte) => byte === 0))
    mapping.bytes.set([97, 98, 0])
    assert.strictEqual(strlen(mapping.address), 2)
    mapping.unmap()
  })

  it("detaches every view when it unmaps, and unmaps once", () => {
    const mapping = NativeMemory.map(8192)
    const part = mapping.bytes.subarray(10, 20)
    const view = new DataView(mapping.bytes.buffer)
    mapping.bytes.fill(1)
    mapping.unmap()
    assert.strictEqual(mapping.bytes.byteLength, 0)
    assert.strictEqual(part.byteLength, 0)
    assert.throws(() => view.getUint8(0), TypeError)
    assert.strictEqual(part[0], undefined)
    const other = NativeMemory.map(8192)
    mapping.unmap()
    other.bytes.fill(2)
    other.unmap()
  })

  it("keeps the pages of a buffer that was transferred away", () => {
    const mapping = NativeMemory.map(4096)
    mapping.bytes[0] = 7
    const stolen = mapping.bytes.buffer.transfer()
    assert.throws(() => mapping.unmap(), TypeError)
    assert.strictEqual(new Uint8Array(stolen)[0], 7)
  })

  it("gives the pages back when JS refuses to see them", () => {
    const view = vi.spyOn(koffi(), "view").mockImplementation(() => {
      throw new Error("no external buffers")
    })
    const before = mappedPages()
    assert.throws(() => NativeMemory.map(1024 * NativeMemory.pageSize()), /no external buffers/)
    view.mockRestore()
    assert.isBelow(mappedPages() - before, 1024)
  })

  it("refuses bad lengths", () => {
    for (const length of [0, -1, 1.5, NaN, Infinity]) assert.throws(() => NativeMemory.map(length), RangeError)
    assert.throws(() => NativeMemory.map(2 ** 52), RangeError, /errno 12/)
  })

  it("views native memory and reads strings out of it", () => {
    const mapping = NativeMemory.map(NativeMemory.pageSize())
    mapping.bytes.set(new TextEncoder().encode("mlx5_0"))
    assert.strictEqual(NativeMemory.view(mapping.address + 4n, 2).getUint8(0), "_".charCodeAt(0))
    assert.strictEqual(NativeMemory.readCString(mapping.address, 64), "mlx5_0")
    assert.strictEqual(NativeMemory.readCString(mapping.address + 6n, 1), "")
    // The rest of a bound that ends behind the mapping is not read.
    assert.strictEqual(NativeMemory.readCString(mapping.address, 2 ** 30), "mlx5_0")
    assert.throws(() => NativeMemory.readCString(mapping.address, 6), RangeError)
    assert.throws(() => NativeMemory.view(0n, 1), RangeError)
    assert.throws(() => NativeMemory.view(mapping.address, -1), RangeError)
    mapping.unmap()
  })

  it("survives the garbage collector", () => {
    const program = `
      import { map, view } from ${JSON.stringify(new URL("../src/NativeMemory.ts", import.meta.url).href)}
      for (let i = 0; i < 2000; i++) {
        const mapping = map(65536)
        mapping.bytes.fill(i)
        view(mapping.address, 16).setUint8(0, 1)
        mapping.unmap()
        if (i % 50 === 0) { gc(); await new Promise((resolve) => setImmediate(resolve)) }
      }
      gc()
      process.stdout.write("alive")`
    assert.strictEqual(
      execFileSync(process.execPath, ["--expose-gc", "--input-type=module", "--eval", program], { encoding: "utf8" }),
      "alive"
    )
  })
})
