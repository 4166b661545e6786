import * as Gid from "@effect-rdma/core/Gid"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Equal, Exit, Result, Schema } from "effect"
import * as Net from "node:net"

const decodeText = Schema.decodeUnknownResult(Gid.GidFromString)
const decodeInput = Schema.decodeUnknownResult(Gid.GidInput)

const message = (result: Result.Result<unknown, Schema.SchemaError>): string =>
  Result.isFailure(result) ? result.failure.message : "accepted"

const gidOf = (text: string): Gid.Gid => Result.getOrThrow(decodeText(text))

const full = (text: string): string => Gid.format(gidOf(text))

const canonical = (text: string): string => Gid.formatCompressed(gidOf(text))

const rdma = Uint8Array.of(0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 2, 0xc9, 3, 0, 0xa1, 0xb2, 0xc3)

const Word = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff }))

const u64 = Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: 0xffff_ffff_ffff_ffffn }))

// Mostly zero words, so that runs of zeros of every length and place come up.
const sparse = Arbitrary.map(
  Arbitrary.array(Arbitrary.schema(Schema.Union([Schema.Literals([0, 0xffff]), Word])), {
    minLength: 8,
    maxLength: 8
  }),
  (words) => {
    const bytes = new Uint8Array(16)
    words.forEach((word, index) => new DataView(bytes.buffer).setUint16(index * 2, word))
    return Gid.fromBytes(bytes)
  }
)

describe("Gid", () => {
  describe("bytes", () => {
    it("copies what it is made of, so that its owner cannot change the GID", () => {
      const page = new Uint8Array(64)
      page.set(rdma, 24)
      const view = page.subarray(24, 40)
      const gids = [
        Gid.Gid.make(view),
        Gid.fromBytes(view),
        Gid.fromBytes(page, 24),
        Schema.decodeSync(Gid.Gid)(view),
        Schema.decodeSync(Gid.GidInput)(view)
      ]
      page.fill(0xee)
      for (const gid of gids) {
        assert.deepStrictEqual(gid, gidOf("fe80::2:c903:a1:b2c3"))
        assert.strictEqual(gid.buffer.byteLength, 16)
      }
    })

    it("copies on the way out too", () => {
      const gid = Gid.Gid.make(rdma)
      Schema.encodeSync(Gid.Gid)(gid).fill(0)
      const encoded = Schema.encodeSync(Gid.GidInput)(gid)
      assert.instanceOf(encoded, Uint8Array)
      if (encoded instanceof Uint8Array) encoded.fill(0)
      assert.strictEqual(Gid.formatCompressed(gid), "fe80::2:c903:a1:b2c3")
    })

    it("makes a plain Uint8Array of a Buffer", () => {
      const gid = Gid.fromBytes(Buffer.from(rdma))
      assert.strictEqual(Object.getPrototypeOf(gid), Uint8Array.prototype)
      assert.strictEqual(Object.getPrototypeOf(Gid.Gid.make(Buffer.from(rdma))), Uint8Array.prototype)
    })

    it("refuses any other length and any other type", () => {
      const decode = Schema.decodeUnknownResult(Gid.Gid)
      assert.strictEqual(message(decode(new Uint8Array(15))), "a GID has 16 bytes, not 15")
      assert.strictEqual(message(decode(new Uint8Array(17))), "a GID has 16 bytes, not 17")
      assert.include(message(decode(Array.from(rdma))), "Expected Gid")
      assert.include(message(decode("::1")), "Expected Gid")
      assert.throws(() => Gid.Gid.make(new Uint8Array(4)))
    })

    it("does not read past the end of a struct", () => {
      assert.throws(() => Gid.fromBytes(new Uint8Array(31), 16), RangeError, "not as many at 16 of 31")
      assert.throws(() => Gid.fromBytes(new Uint8Array(32), -1), RangeError)
      assert.isTrue(Gid.isZero(Gid.fromBytes(new Uint8Array(32), 16)))
    })
  })

  describe("text", () => {
    it("reads every legal form of an IPv6 address", () => {
      assert.strictEqual(full("fe80::1"), "fe80:0000:0000:0000:0000:0000:0000:0001")
      assert.strictEqual(full("::"), "0000:0000:0000:0000:0000:0000:0000:0000")
      assert.strictEqual(full("1::"), "0001:0000:0000:0000:0000:0000:0000:0000")
      assert.strictEqual(full("::ffff:10.0.0.1"), "0000:0000:0000:0000:0000:ffff:0a00:0001")
      assert.strictEqual(full("::10.0.0.1"), "0000:0000:0000:0000:0000:0000:0a00:0001")
      assert.strictEqual(full("1:2:3:4:5:6:255.254.253.252"), "0001:0002:0003:0004:0005:0006:fffe:fdfc")
      assert.strictEqual(full("FE80:0:0:0:0002:C903:00A1:B2C3"), "fe80:0000:0000:0000:0002:c903:00a1:b2c3")
      assert.strictEqual(full("fe80:0000:0000:0000:0002:c903:00a1:b2c3"), "fe80:0000:0000:0000:0002:c903:00a1:b2c3")
      assert.strictEqual(full("1:2:3:4:5:6:7::"), "0001:0002:0003:0004:0005:0006:0007:0000")
      assert.strictEqual(full("::2:3:4:5:6:7:8"), "0000:0002:0003:0004:0005:0006:0007:0008")
    })

    it("prints the canonical form of RFC 5952", () => {
      assert.strictEqual(canonical("2001:DB8:0:0:1:0:0:1"), "2001:db8::1:0:0:1")
      assert.strictEqual(canonical("2001:db8:0:1:1:1:1:1"), "2001:db8:0:1:1:1:1:1")
      assert.strictEqual(canonical("1:0:0:2:0:0:0:3"), "1:0:0:2::3")
      assert.strictEqual(canonical("0:0:0:0:0:0:0:0"), "::")
      assert.strictEqual(canonical("1:0:0:0:0:0:0:0"), "1::")
      assert.strictEqual(canonical("::ffff:a00:1"), "::ffff:10.0.0.1")
      // IPv4-compatible addresses are not the ones that RoCE uses; they stay hexadecimal
      assert.strictEqual(canonical("::10.0.0.1"), "::a00:1")
      assert.strictEqual(canonical("::fffe:10.0.0.1"), "::fffe:a00:1")
    })

    it("refuses a zone, and says why", () => {
      assert.strictEqual(
        message(decodeText("fe80::1%eth0")),
        "a GID has no zone: leave out \"%eth0\"; the device and the port say which link is meant"
      )
      assert.include(message(decodeInput("fe80::1%")), "a GID has no zone")
    })

    it.each([
      ["", "8 groups, this has 0"],
      ["1:2:3:4:5:6:7", "8 groups, this has 7"],
      ["1:2:3:4:5:6:7:8:9", "8 groups, this has 9"],
      ["1:2:3:4::5:6:7:8", "8 groups, this has 8 beside the \"::\""],
      ["1:2:3:4:5:6:7:1.2.3.4", "8 groups, this has 9"],
      ["1::2::3", "\"::\" may stand in it once"],
      [":::", "\"\" has no place in one"],
      [":1:2:3:4:5:6:7", "\"\" has no place in one"],
      ["1:2:3:4:5:6:7:", "\"\" has no place in one"],
      ["fe80::g", "\"g\" has no place in one"],
      ["fe80::12345", "\"12345\" has no place in one"],
      ["::1.2.3", "\"1.2.3\" has no place in one"],
      ["::1.2.3.256", "\"1.2.3.256\" has no place in one"],
      ["::1.2.3.04", "\"1.2.3.04\" has no place in one"],
      ["1.2.3.4::", "\"1.2.3.4\" has no place in one"],
      ["::1.2.3.4:5", "\"1.2.3.4\" has no place in one"],
      ["10.0.0.1", "8 groups, this has 2"],
      [" ::1", "\" \" has no place in one"],
      ["::1\n", "has no place in one"],
      ["0xfe80000000000000", "\"0xfe80000000000000\" has no place in one"]
    ])("refuses %j", (text, expected) => {
      assert.include(message(decodeText(text)), expected)
      assert.include(message(decodeInput(text)), expected)
      assert.isFalse(Net.isIPv6(text))
    })

    it("refuses what is no text", () => {
      assert.include(message(decodeText(rdma)), "Expected string")
      assert.include(message(decodeInput(7)), "Expected the 16 bytes of a GID or an IPv6 address")
      assert.strictEqual(message(decodeInput(new Uint8Array(3))), "a GID has 16 bytes, not 3")
    })

    it("names the field in a struct", () => {
      const result = Schema.decodeResult(Schema.Struct({ dgid: Gid.GidInput }))({ dgid: "fe80::1%eth0" })
      assert.include(message(result), "a GID has no zone")
      assert.include(message(result), "[\"dgid\"]")
    })

    it.prop("every GID survives both forms", [sparse], ([gid]) => {
      assert.deepStrictEqual(gidOf(Gid.format(gid)), gid)
      assert.deepStrictEqual(gidOf(Gid.formatCompressed(gid)), gid)
      assert.strictEqual(Schema.encodeSync(Gid.GidFromString)(gid), Gid.formatCompressed(gid))
    }, { arbitrary: { runs: 500 } })

    it.prop("agrees with the URL parser about the shortest form", [sparse], ([gid]) => {
      if (Gid.isIpv4Mapped(gid)) return
      assert.strictEqual(`[${Gid.formatCompressed(gid)}]`, new URL(`http://[${Gid.format(gid)}]/`).hostname)
    }, { arbitrary: { runs: 500 } })

    // Pieces that are right or wrong by a little, so that both verdicts come up often.
    const piece = Schema.Literals(["", "0", "0", "1", "1", "fe80", "FFFF", "a", "10.0.0.1", "12345"])
    it.prop(
      "accepts what node:net calls an IPv6 address, and nothing else",
      [Arbitrary.array(Arbitrary.schema(piece), { minLength: 4, maxLength: 9 })],
      ([pieces]) => {
        const text = pieces.join(":")
        assert.strictEqual(Result.isSuccess(decodeText(text)), Net.isIPv6(text), text)
      },
      { arbitrary: { runs: 2000 } }
    )
    it.prop("never throws on any text", [Schema.String], ([text]) => {
      assert.strictEqual(Result.isSuccess(decodeText(text)), Net.isIPv6(text) && !text.includes("%"))
    })
  })

  describe("schemas", () => {
    it.effect.prop("bytes round trip", [Gid.Gid], ([gid]) =>
      Effect.gen(function*() {
        assert.strictEqual(gid.length, 16)
        const encoded = yield* Schema.encodeEffect(Gid.Gid)(gid)
        assert.notStrictEqual<Uint8Array>(encoded, gid)
        assert.deepStrictEqual(yield* Schema.decodeEffect(Gid.Gid)(encoded), gid)
        const input = yield* Schema.encodeEffect(Gid.GidInput)(gid)
        assert.deepStrictEqual(yield* Schema.decodeEffect(Gid.GidInput)(input), gid)
      }))

    it.effect.prop("JSON has a GID as text", [Gid.Gid], ([gid]) =>
      Effect.gen(function*() {
        const json = Schema.toCodecJson(Schema.Struct({ gid: Gid.Gid }))
        const encoded = yield* Schema.encodeEffect(json)({ gid })
        assert.deepStrictEqual(encoded, { gid: Gid.formatCompressed(gid) })
        assert.deepStrictEqual(yield* Schema.decodeEffect(json)(encoded), { gid })
        const input = Schema.toCodecJson(Gid.GidInput)
        assert.strictEqual(yield* Schema.encodeEffect(input)(gid), Gid.formatCompressed(gid))
        assert.deepStrictEqual(yield* Schema.decodeEffect(input)(Gid.format(gid)), gid)
      }))

    it.effect("bad text in JSON fails as an issue", () =>
      Effect.gen(function*() {
        const exit = yield* Effect.exit(Schema.decodeEffect(Schema.toCodecJson(Gid.Gid))("fe80::1%eth0"))
        assert.isTrue(Exit.isFailure(exit))
        assert.include(String(exit), "a GID has no zone")
      }))
  })

  describe("parts", () => {
    it("are in network order", () => {
      const gid = Gid.Gid.make(rdma)
      assert.strictEqual(Gid.subnetPrefix(gid), 0xfe80_0000_0000_0000n)
      assert.strictEqual(Gid.interfaceId(gid), 0x0002_c903_00a1_b2c3n)
    })

    it.prop("put together again are the same GID", [Gid.Gid], ([gid]) => {
      assert.deepStrictEqual(Gid.fromParts(Gid.subnetPrefix(gid), Gid.interfaceId(gid)), gid)
    })

    it.prop("come back out as they went in", [u64, u64], ([prefix, id]) => {
      const gid = Gid.fromParts(prefix, id)
      assert.deepStrictEqual([Gid.subnetPrefix(gid), Gid.interfaceId(gid)], [prefix, id])
    })

    it("have an IPv4 address only when the GID is mapped from one", () => {
      assert.strictEqual(Gid.ipv4(gidOf("::ffff:10.0.0.1")), "10.0.0.1")
      assert.isUndefined(Gid.ipv4(gidOf("::10.0.0.1")))
      assert.isUndefined(Gid.ipv4(gidOf("1::ffff:10.0.0.1")))
    })
  })

  describe("predicates", () => {
    it.each(
      [
        ["::", "zero"],
        ["::1", ""],
        ["8000::", ""],
        ["fe80::1", "link"],
        ["febf::1", "link"],
        ["fec0::1", ""],
        ["fe7f::1", ""],
        ["ff02::1", "multicast"],
        ["ff12:401b:ffff::1", "multicast"],
        ["fe00::1", ""],
        ["::ffff:0.0.0.0", "mapped"],
        ["::ffff:10.0.0.1", "mapped"],
        ["::fffe:10.0.0.1", ""],
        ["1::ffff:10.0.0.1", ""],
        ["::1:ffff:10.0.0.1", ""]
      ] as const
    )("%s", (text, expected) => {
      const gid = gidOf(text)
      assert.deepStrictEqual({
        zero: Gid.isZero(gid),
        link: Gid.isLinkLocal(gid),
        multicast: Gid.isMulticast(gid),
        mapped: Gid.isIpv4Mapped(gid)
      }, {
        zero: expected === "zero",
        link: expected === "link",
        multicast: expected === "multicast",
        mapped: expected === "mapped"
      })
    })

    it("a fresh zero each time", () => {
      assert.isTrue(Gid.isZero(Gid.zero()))
      assert.notStrictEqual(Gid.zero(), Gid.zero())
    })
  })

  describe("equality", () => {
    it.prop(
      "is by the bytes",
      [Gid.Gid, Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 127 }))],
      ([gid, bit]) => {
        assert.isTrue(Gid.Equivalence(gid, Gid.fromBytes(gid)))
        assert.isTrue(Equal.equals(gid, Gid.fromBytes(gid)))
        const other = new Uint8Array(gid)
        other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        assert.isFalse(Gid.Equivalence(gid, Gid.fromBytes(other)))
        assert.isFalse(Equal.equals(gid, Gid.fromBytes(other)))
        assert.isFalse(Schema.toEquivalence(Gid.Gid)(gid, Gid.fromBytes(other)))
      }
    )
  })
})
