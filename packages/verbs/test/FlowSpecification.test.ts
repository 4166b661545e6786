import * as Gid from "@effect-rdma/core/Gid"
import * as Pointer from "@effect-rdma/core/Pointer"
import * as FlowAttributes from "@effect-rdma/verbs/FlowAttributes"
import * as FlowSpecification from "@effect-rdma/verbs/FlowSpecification"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as Codec from "../src/internal/steeringCodec.ts"

const unsigned = (bits: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** bits - 1 }))
const bytes = (length: number) =>
  Arbitrary.map(
    Arbitrary.array(Arbitrary.schema(unsigned(8)), { minLength: length, maxLength: length }),
    (values) => Uint8Array.from(values)
  )
const numbers = <F extends Schema.Struct.Fields>(fields: F) => Arbitrary.schema(Schema.Struct(fields))

/** A specification whose value and mask are whole, as the codec reads it. */
const whole = <const Tag extends string, A>(tag: Tag, filter: Arbitrary.Arbitrary<A>) =>
  Arbitrary.map(
    Arbitrary.all({ inner: Arbitrary.schema(Schema.Boolean), val: filter, mask: filter }),
    (spec) => ({ _tag: tag, ...spec })
  )

const ports = numbers({ dstPort: unsigned(16), srcPort: unsigned(16) })
const gids = Arbitrary.schema(Gid.Gid)

const arbitraries = {
  Eth: whole(
    "Eth",
    Arbitrary.map(
      Arbitrary.all([bytes(6), bytes(6), numbers({ etherType: unsigned(16), vlanTag: unsigned(16) })]),
      ([dstMac, srcMac, rest]) => ({ dstMac, srcMac, ...rest })
    )
  ),
  Ipv4: whole("Ipv4", Arbitrary.all({ srcIp: bytes(4), dstIp: bytes(4) })),
  Ipv4Ext: whole(
    "Ipv4Ext",
    Arbitrary.map(
      Arbitrary.all([
        bytes(4),
        bytes(4),
        numbers({ proto: unsigned(8), tos: unsigned(8), ttl: unsigned(8), flags: unsigned(8) })
      ]),
      ([srcIp, dstIp, rest]) => ({ srcIp, dstIp, ...rest })
    )
  ),
  Ipv6: whole(
    "Ipv6",
    Arbitrary.map(
      Arbitrary.all([
        gids,
        gids,
        numbers({
          flowLabel: unsigned(20),
          nextHdr: unsigned(8),
          trafficClass: unsigned(8),
          hopLimit: unsigned(8)
        })
      ]),
      ([srcIp, dstIp, rest]) => ({ srcIp, dstIp, ...rest })
    )
  ),
  Esp: whole("Esp", numbers({ spi: unsigned(32), seq: unsigned(32) })),
  Tcp: whole("Tcp", ports),
  Udp: whole("Udp", ports),
  VxlanTunnel: whole("VxlanTunnel", numbers({ tunnelId: unsigned(24) })),
  Gre: whole("Gre", numbers({ cKsRes0Ver: unsigned(16), protocol: unsigned(16), key: unsigned(32) })),
  Mpls: whole("Mpls", numbers({ label: unsigned(32) })),
  ActionTag: Arbitrary.map(Arbitrary.schema(unsigned(32)), (tagId) => ({ _tag: "ActionTag", tagId } as const))
}

describe("FlowSpecification", () => {
  for (const [tag, arbitrary] of Object.entries(arbitraries)) {
    it.prop(`${tag} comes back from its bytes`, [arbitrary as Arbitrary.Arbitrary<FlowSpecification.Raw>], ([spec]) => {
      const encoded = Codec.encodeSpecification(spec)
      const moved = new DataView(new ArrayBuffer(encoded.byteLength + 20))
      new Uint8Array(moved.buffer).set(new Uint8Array(encoded.buffer), 20)
      assert.deepStrictEqual(Codec.decodeSpecification(moved, 20), spec)
    })
  }

  it("actions come back from their bytes", () => {
    const actions: ReadonlyArray<FlowSpecification.Raw> = [
      { _tag: "ActionDrop" },
      { _tag: "ActionHandle", action: Pointer.make<"ibv_flow_action">(0xffff_ffff_ffff_fff8n) },
      { _tag: "ActionCount", counters: Pointer.make<"ibv_counters">(8n) }
    ]
    for (const action of actions) {
      assert.deepStrictEqual(Codec.decodeSpecification(Codec.encodeSpecification(action), 0), action)
    }
  })

  it("a type that this does not know is nothing", () => {
    const view = Codec.encodeSpecification({ _tag: "ActionDrop" })
    view.setInt32(0, 0x7777, true)
    assert.isUndefined(Codec.decodeSpecification(view, 0))
  })

  const decode = Schema.decodeSync(FlowSpecification.FlowSpecification)

  it("a field without a mask counts in full, and one that is not named does not count", () => {
    const spec = decode({ _tag: "Ipv6", val: { flowLabel: 1, hopLimit: 0 } })
    assert(spec._tag === "Ipv6")
    const decoded = Codec.decodeSpecification(Codec.encodeSpecification(spec), 0)
    assert(decoded?._tag === "Ipv6")
    assert.deepStrictEqual(decoded.mask, {
      srcIp: Gid.zero(),
      dstIp: Gid.zero(),
      flowLabel: 0xf_ffff,
      nextHdr: 0,
      trafficClass: 0,
      hopLimit: 0xff
    })
  })

  it("a mask counts as it is written, with or without a value", () => {
    const spec = decode({ _tag: "Udp", val: { dstPort: 5 }, mask: { dstPort: 0, srcPort: 0xf0 } })
    assert(spec._tag === "Udp")
    const decoded = Codec.decodeSpecification(Codec.encodeSpecification(spec), 0)
    assert(decoded?._tag === "Udp")
    assert.deepStrictEqual(decoded.mask, { dstPort: 0, srcPort: 0xf0 })
    assert.deepStrictEqual(decoded.val, { dstPort: 5, srcPort: 0 })
  })

  it("addresses are text or bytes, and the bytes are copied", () => {
    const mine = Uint8Array.of(10, 0, 0, 1)
    const [text, copied] = [
      decode({ _tag: "Ipv4", val: { srcIp: "10.0.0.1" } }),
      decode({ _tag: "Ipv4", val: { srcIp: mine } })
    ]
    assert.deepStrictEqual(text, copied)
    mine[0] = 11
    assert(copied._tag === "Ipv4")
    assert.deepStrictEqual(copied.val.srcIp, Uint8Array.of(10, 0, 0, 1))
  })

  it("what is no address says what one is", () => {
    for (
      const [input, message] of [
        [{ _tag: "Eth", val: { dstMac: "02-00-00-00-00-01" } }, /"02-00-00-00-00-01" is not an Ethernet address/],
        [{ _tag: "Ipv4", val: { dstIp: "10.0.0" } }, /"10.0.0" is not an IPv4 address/],
        [{ _tag: "Ipv4", val: { dstIp: "010.0.0.1" } }, /is not an IPv4 address/],
        [{ _tag: "Ipv4", val: { dstIp: new Uint8Array(16) } }, /has 4 bytes, not 16/]
      ] as const
    ) {
      assert.throws(() => decode(input), message)
    }
  })

  it("a handle of another kind is not one", () => {
    const decodeUnknown = Schema.decodeUnknownSync(FlowSpecification.FlowSpecification)
    assert.throws(() => decodeUnknown({ _tag: "ActionCount", counters: { kind: "Counters" } }), /Counters/)
    assert.throws(() => decodeUnknown({ _tag: "ActionHandle", action: 1 }), /FlowAction/)
  })

  it("a flow has defaults for all but its port", () => {
    assert.deepStrictEqual<unknown>(Schema.decodeSync(FlowAttributes.FlowAttributes)({ port: 3 }), {
      type: "normal",
      priority: 0,
      port: 3,
      flags: [],
      specs: []
    })
    const drops = Array.from({ length: 256 }, () => ({ _tag: "ActionDrop" as const }))
    assert.throws(() => Schema.decodeSync(FlowAttributes.FlowAttributes)({ port: 1, specs: drops }))
  })
})
