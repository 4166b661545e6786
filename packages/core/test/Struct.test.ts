import { assert, describe, it } from "@effect/vitest"
import * as Struct from "../src/Struct.ts"

const Inner = Struct.make("struct inner", 4, { low: Struct.u16(0, "low"), high: Struct.be16(2, "high") })

const Sample = Struct.make("struct sample", { x64: 72, arm64: 80 }, {
  wrId: Struct.u64(0, "wr_id"),
  status: Struct.i32(8, "status"),
  length: Struct.u32(12, "length"),
  guid: Struct.be64(16, "guid"),
  next: Struct.pointer(24, "next"),
  delta: Struct.i64(32, "delta"),
  name: Struct.string(40, 6, "name"),
  port: Struct.u8(46, "port"),
  raw: Struct.bytes(48, 4, "raw"),
  inner: Struct.nested(52, Inner, "inner"),
  counts: Struct.array(Struct.u16(56, "counts"), 3),
  last: Struct.be32({ x64: 64, arm64: 72 }, "last")
})

const values: Struct.Type<typeof Sample> = {
  wrId: 0xffff_ffff_ffff_ffffn,
  status: -5,
  length: 0xffff_ffff,
  guid: 0x0011_2233_4455_6677n,
  next: 0x7f00_0000_1000n,
  delta: -2n,
  name: "mlx5",
  port: 255,
  raw: Uint8Array.of(1, 2, 3, 4),
  inner: { low: 0x1234, high: 0x1234 },
  counts: [1, 2, 65535],
  last: 0x0102_0304
}

describe("Struct", () => {
  it("reads back what it wrote, at an offset, and touches nothing else", () => {
    const view = new DataView(new ArrayBuffer(Sample.size + 16))
    Sample.write(view, values, 8)
    assert.deepStrictEqual(Sample.read(view, 8), values)
    assert.strictEqual(view.getBigUint64(0), 0n)
    assert.strictEqual(view.getBigUint64(8 + Sample.size), 0n)
  })

  it("leaves out fields when asked to", () => {
    const view = Sample.allocate()
    Sample.write(view, { port: 3 })
    Sample.write(view, { status: 1 })
    assert.strictEqual(Sample.get("port", view), 3)
    assert.strictEqual(Sample.get("status", view), 1)
  })

  it("keeps network order where C does", () => {
    const view = Sample.allocate()
    Sample.set("guid", view, 0x0102_0304_0506_0708n)
    Sample.set("last", view, 0x0a0b_0c0d)
    assert.deepStrictEqual(Array.from(new Uint8Array(view.buffer, 16, 8)), [1, 2, 3, 4, 5, 6, 7, 8])
    assert.deepStrictEqual(Array.from(new Uint8Array(view.buffer, Sample.fields.last.offset, 4)), [10, 11, 12, 13])
  })

  it("respects the offset of the view in its buffer", () => {
    const view = new DataView(new ArrayBuffer(128), 40)
    Sample.write(view, values)
    assert.deepStrictEqual(Sample.read(view), values)
  })

  it("copies bytes out", () => {
    const view = Sample.allocate()
    Sample.write(view, values)
    const raw = Sample.get("raw", view)
    Sample.set("raw", view, new Uint8Array(4))
    assert.deepStrictEqual(Array.from(raw), [1, 2, 3, 4])
  })

  it("ends a string at its NUL or at its size", () => {
    const view = Sample.allocate()
    new Uint8Array(view.buffer).fill(0x61)
    assert.strictEqual(Sample.get("name", view), "aaaaaa")
    Sample.set("name", view, "bb")
    assert.strictEqual(Sample.get("name", view), "bb")
    assert.throws(() => Sample.set("name", view, "sixsix"), RangeError)
    assert.throws(() => Sample.set("name", view, "a\0b"), RangeError)
  })

  it("refuses a short view before it reads or writes anything", () => {
    const short = new DataView(new ArrayBuffer(Sample.size - 1))
    assert.throws(() => Sample.read(short), RangeError)
    assert.throws(() => Sample.write(short, values), RangeError)
    assert.strictEqual(Sample.get("wrId", short), 0n)
    assert.throws(() => Sample.read(Sample.allocate(), 1), RangeError)
    assert.throws(() => Sample.read(Sample.allocate(), -1), RangeError)
    assert.throws(() => Sample.get("raw", Sample.allocate(), Sample.size), RangeError)
  })

  it("refuses what does not fit instead of truncating it", () => {
    const view = Sample.allocate()
    assert.throws(() => Sample.set("port", view, 256), RangeError)
    assert.throws(() => Sample.set("port", view, -1), RangeError)
    assert.throws(() => Sample.set("port", view, 1.5), RangeError)
    assert.throws(() => Sample.set("port", view, NaN), RangeError)
    assert.throws(() => Sample.set("wrId", view, -1n), RangeError)
    assert.throws(() => Sample.set("wrId", view, 2n ** 64n), RangeError)
    assert.throws(() => Sample.set("raw", view, new Uint8Array(5)), RangeError)
    assert.throws(() => Sample.set("counts", view, [1, 2]), RangeError)
  })

  it("refuses a field that ends behind the struct", () => {
    assert.throws(() => Struct.make("struct bad", 4, { x: Struct.u32(1, "x") }), RangeError)
  })
})
