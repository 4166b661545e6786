import {
  GuidInfo,
  LinearForwardingTable,
  MadField,
  MadLayout,
  PKeyTable,
  SlToVlMappingTable,
  SmState,
  VlArbitrationTable
} from "@effect-rdma/umad"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Option, Result, Schema } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { layouts } from "./layouts.ts"

/** The bits that no field has: as a mask over the bytes, all ones where a field is. */
const maskOf = (layout: MadLayout.MadLayout<MadLayout.Fields>): Uint8Array => {
  const mask = new Uint8Array(layout.size)
  const view = new DataView(mask.buffer)
  for (const [name, field] of Object.entries(layout.fields)) {
    for (let bit = field.bit; bit < field.bit + field.width; bit++) {
      assert.strictEqual(view.getUint8(bit >> 3) & (0x80 >> (bit & 7)), 0, `${layout.name}.${name} overlaps another`)
      view.setUint8(bit >> 3, view.getUint8(bit >> 3) | (0x80 >> (bit & 7)))
    }
  }
  // The only field with reserved bits inside.
  return layout.name === "VLArbitrationTable" ? mask.map((byte, index) => index % 2 === 0 ? 0x0f : byte) : mask
}

/** A generator whose numbers are the same in every run. */
const random = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor(state / 2 ** 32 * below)
  }
}

const asciiText = (layout: MadLayout.MadLayout<MadLayout.Fields>, bytes: Uint8Array): void => {
  for (const [name, field] of Object.entries(layout.fields)) {
    if (!/^(?:nodeDescription|serviceName)$/.test(name)) continue
    bytes.subarray(field.bit / 8, (field.bit + field.width) / 8).forEach((byte, index, text) => {
      text[index] = 0x20 + byte % 0x5f
    })
  }
}

describe("every layout", () => {
  it("is in the list of these tests", () => {
    const source = join(import.meta.dirname, "..", "src")
    const declared = readdirSync(source).flatMap((file) =>
      file.endsWith(".ts")
        ? Array.from(
          readFileSync(join(source, file), "utf8").matchAll(/@category layouts\n[^/]*\*\/\nexport const (\w+)/g)
        )
        : []
    )
    assert.strictEqual(layouts.length, declared.length)
    assert.isAbove(declared.length, 25)
  })

  for (const layout of layouts) {
    describe(layout.name, () => {
      const isValue = Schema.is(Schema.toType(layout.schema))
      const mask = maskOf(layout)

      it.prop("a value survives its bytes", [Arbitrary.schema(Schema.toType(layout.schema))], ([value]) => {
        const bytes = layout.encode(value)
        // Texts alone may be refused: they are bounded in bytes.
        if (Result.isFailure(bytes)) return assert.match(bytes.failure.message, /does not fit/)
        assert.strictEqual(bytes.success.length, layout.size)
        assert.deepStrictEqual(Result.getOrThrow(layout.decode(bytes.success)), value)
      }, { arbitrary: { runs: 50 } })

      it("bytes survive their value, but for reserved bits", () => {
        const next = random(layout.size)
        for (let run = 0; run < 50; run++) {
          const bytes = Uint8Array.from({ length: layout.size }, () => next(256))
          asciiText(layout, bytes)
          const value = Result.getOrThrow(layout.decode(bytes))
          assert.isTrue(isValue(value))
          assert.deepStrictEqual(
            Result.getOrThrow(layout.encode(value)),
            bytes.map((byte, index) => byte & mask[index]!)
          )
        }
      })

      it("takes any bytes, or says how many are missing", () => {
        const next = random(layout.size + 1)
        for (let run = 0; run < 200; run++) {
          const bytes = Uint8Array.from({ length: next(2 * layout.size) }, () => next(4) === 0 ? 0xff : next(256))
          const offset = next(8)
          const decoded = layout.decode(bytes, offset)
          assert.strictEqual(Result.isSuccess(decoded), offset + layout.size <= bytes.length)
          if (Result.isFailure(decoded)) assert.include(decoded.failure.message, `has ${layout.size} bytes`)
          else assert.isTrue(isValue(decoded.success))
        }
      })

      it("is a schema", () => {
        const bytes = new Uint8Array(layout.size)
        const value = Schema.decodeSync(layout.schema)(bytes)
        assert.deepStrictEqual(value, Result.getOrThrow(layout.decode(bytes)))
        assert.deepStrictEqual(Schema.encodeSync(layout.schema)(value), bytes)
        assert.isTrue(Option.isNone(Schema.decodeOption(layout.schema)(bytes.subarray(1))))
      })

      it("refuses what does not fit, by the name of the field", () => {
        for (const [name, field] of Object.entries(layout.fields)) {
          for (
            const wrong of [-1, 0.5, 2 ** 33, -1n, 2n ** 64n, "\0", null, {}, [], new Uint8Array(layout.size + 1), NaN]
          ) {
            const encoded = layout.encode({ [name]: wrong })
            if (Result.isSuccess(encoded)) assert.fail(`${name} took ${String(wrong)}`)
            else assert.include(encoded.failure.message, `["${name}"]`)
            assert.isFalse(Schema.is(field.schema)(wrong))
          }
        }
      })
    })
  }

  it("decodes a million strings of bytes", { timeout: 60_000 }, () => {
    const next = random(1)
    const noise = Uint8Array.from({ length: 4096 }, () => next(256))
    let values = 0
    for (let run = 0; run < 1_000_000; run++) {
      const start = next(4096)
      const bytes = noise.subarray(start, start + next(300))
      const decoded = layouts[run % layouts.length]!.decode(bytes, next(3) - 1)
      if (Result.isSuccess(decoded)) values++
    }
    assert.isAbove(values, 100_000)
    assert.isBelow(values, 900_000)
  })
})

describe("MadLayout", () => {
  const Small = MadLayout.make("Small", 3, { high: MadField.unsigned(1, 3), rest: MadField.unsigned(12, 4) })

  it("takes a field that is left out for zero", () => {
    assert.deepStrictEqual(Result.getOrThrow(Small.encode({ rest: 9 })), Uint8Array.of(0, 9, 0))
  })

  it("refuses offsets that are none", () => {
    for (const offset of [-1, 1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.isTrue(Result.isFailure(Small.decode(new Uint8Array(3), offset)), String(offset))
    }
  })

  it("reads at an offset into a view of a larger buffer", () => {
    const buffer = new Uint8Array(16)
    buffer[9] = 0x70
    assert.deepStrictEqual(Result.getOrThrow(Small.decode(buffer.subarray(8), 1)), { high: 7, rest: 0 })
  })

  it("refuses a table that cannot be", () => {
    assert.throws(() => MadField.unsigned(28, 8), /lie in no word/)
    assert.throws(() => MadField.unsigned(0, 0), /lie in no word/)
    assert.throws(() => MadLayout.make("Late", 1, { field: MadField.unsigned(8, 8) }), /ends behind 1 bytes/)
    assert.throws(() => MadLayout.make("Odd", 1, { "a b": MadField.unsigned(0, 8) }), /no name of a field/)
    assert.throws(() => MadField.bytes(4, 1), /does not begin a byte/)
  })

  it("has the elements of an array in the order of their bits", () => {
    const bytes = Uint8Array.from({ length: 64 }, (_, index) => index)
    assert.deepStrictEqual(
      Result.getOrThrow(PKeyTable.PKeyTable.decode(bytes)).pKeys.map(Number),
      Array.from({ length: 32 }, (_, index) => index << 9 | index * 2 + 1)
    )
    assert.deepStrictEqual(
      Result.getOrThrow(
        SlToVlMappingTable.SlToVlMappingTable.decode(Uint8Array.of(0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef))
      ).vls,
      Array.from({ length: 16 }, (_, index) => index)
    )
    assert.deepStrictEqual(
      Result.getOrThrow(VlArbitrationTable.VlArbitrationTable.decode(bytes)).entries.slice(0, 3),
      [{ vl: 0, weight: 1 }, { vl: 2, weight: 3 }, { vl: 4, weight: 5 }]
    )
    assert.strictEqual(Result.getOrThrow(GuidInfo.GuidInfo.decode(bytes)).guids[1], 0x0809_0a0b_0c0d_0e0fn)
    assert.deepStrictEqual(
      Result.getOrThrow(LinearForwardingTable.LinearForwardingTable.decode(bytes)).ports.map(Number),
      Array.from(bytes)
    )
  })

  it("keeps the bits around a field", () => {
    const view = new DataView(Uint8Array.of(0xff, 0xff, 0xff, 0xff).buffer)
    MadField.unsigned(13, 7).set(view, 0, 0)
    assert.strictEqual(view.getUint32(0), 0xfff8_0fff)
  })

  it("gives a number where the table has no word, and takes only such a number", () => {
    const State = MadLayout.make("State", 1, { state: MadField.enumerated(4, 4, SmState.enumeration) })
    assert.deepStrictEqual(Result.getOrThrow(State.decode(Uint8Array.of(0xf3))), { state: "master" })
    assert.deepStrictEqual(Result.getOrThrow(State.decode(Uint8Array.of(9))), { state: 9 })
    assert.deepStrictEqual(Result.getOrThrow(State.encode({ state: 9 })), Uint8Array.of(9))
    assert.isTrue(Result.isFailure(State.encode({ state: 3 })))
  })

  it("reads a text up to its NUL, and what is no UTF-8 as U+FFFD", () => {
    const Name = MadLayout.make("Name", 4, { name: MadField.text(0, 4) })
    const read = (...bytes: ReadonlyArray<number>) => Result.getOrThrow(Name.decode(Uint8Array.from(bytes))).name
    assert.strictEqual(read(0x61, 0x62, 0, 0x63), "ab")
    assert.strictEqual(read(0x61, 0x62, 0x63, 0x64), "abcd")
    assert.strictEqual(read(0xef, 0xbb, 0xbf, 0x61), "\uFEFFa")
    assert.strictEqual(read(0xff, 0x61, 0, 0), "\uFFFDa")
    assert.isTrue(Result.isFailure(Name.encode({ name: "\uFFFD\uFFFD" })))
    assert.isTrue(Result.isFailure(Name.encode({ name: "\ud800" })))
    assert.deepStrictEqual(Result.getOrThrow(Name.encode({ name: "€a" })), Uint8Array.of(0xe2, 0x82, 0xac, 0x61))
  })
})
