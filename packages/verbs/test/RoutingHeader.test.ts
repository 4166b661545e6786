import * as Gid from "@effect-rdma/core/Gid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as RoutingHeader from "@effect-rdma/verbs/RoutingHeader"
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"

const gid = Schema.decodeSync(Gid.GidFromString)

const hex = (text: string) => Uint8Array.from(text.match(/[0-9a-f]{2}/g) ?? [], (byte) => Number.parseInt(byte, 16))

const mapped = (address: number) => Gid.fromParts(0n, 0xffff_0000_0000n | BigInt(address))

// An IPv4 header from a capture: 192.168.0.1 to 192.168.0.199, checksum b861.
const captured = hex(`${"00".repeat(20)} 45 00 00 73 00 00 40 00 40 11 b8 61 c0 a8 00 01 c0 a8 00 c7`)

describe("RoutingHeader", () => {
  it("reads IPv4 from the last 20 bytes", () => {
    assert.deepStrictEqual(RoutingHeader.fromBytes(captured), {
      _tag: "Ipv4",
      typeOfService: 0,
      flowLabel: 0,
      timeToLive: 64,
      sgid: gid("::ffff:192.168.0.1"),
      dgid: gid("::ffff:192.168.0.199")
    })
  })

  it("takes a first byte that looks like IPv6 for IPv4 only with the right checksum", () => {
    const bytes = captured.slice()
    bytes[0] = 0x60
    assert.strictEqual(RoutingHeader.fromBytes(bytes)?._tag, "Ipv4")
    bytes[31] = 0x62
    assert.strictEqual(RoutingHeader.fromBytes(bytes)?._tag, "Global")
  })

  it("reads the fields of a global header", () => {
    const bytes = hex(
      "6a b1 23 45 01 00 1b 3f fe 80 00 00 00 00 00 00 00 02 c9 03 00 a0 01 01" +
        "fe 80 00 00 00 00 00 00 00 02 c9 03 00 a0 02 01"
    )
    const header: RoutingHeader.RoutingHeader = {
      _tag: "Global",
      trafficClass: 0xab,
      flowLabel: 0x12345,
      payloadLength: 256,
      nextHeader: RoutingHeader.nextHeaderIb,
      hopLimit: 63,
      sgid: gid("fe80::2:c903:a0:101"),
      dgid: gid("fe80::2:c903:a0:201")
    }
    assert.deepStrictEqual(RoutingHeader.fromBytes(bytes), header)
    assert.deepStrictEqual(RoutingHeader.toBytes(header), bytes)
  })

  it("is undefined for neither form and throws for too few bytes", () => {
    assert.isUndefined(RoutingHeader.fromBytes(new Uint8Array(40)))
    assert.throws(() => RoutingHeader.fromBytes(new Uint8Array(39)), RangeError)
  })

  it("reads at an offset of a larger buffer", () => {
    const buffer = new Uint8Array(100)
    buffer.set(captured, 30)
    assert.deepStrictEqual(RoutingHeader.fromBytes(buffer.subarray(30)), RoutingHeader.fromBytes(captured))
  })

  it.prop("reads back what it wrote", {
    trafficClass: Identifier.TrafficClass,
    flowLabel: Identifier.FlowLabel,
    hopLimit: Identifier.HopLimit,
    sgid: Gid.Gid,
    dgid: Gid.Gid,
    source: Identifier.QKey,
    destination: Identifier.QKey
  }, ({ destination, dgid, flowLabel, hopLimit, sgid, source, trafficClass }) => {
    const headers: ReadonlyArray<RoutingHeader.RoutingHeader> = [
      {
        _tag: "Ipv4",
        typeOfService: trafficClass,
        flowLabel,
        timeToLive: hopLimit,
        sgid: mapped(source),
        dgid: mapped(destination)
      },
      { _tag: "Global", trafficClass, flowLabel, payloadLength: 8, nextHeader: 17, hopLimit, sgid, dgid }
    ]
    for (const header of headers) {
      assert.deepStrictEqual(RoutingHeader.fromBytes(RoutingHeader.toBytes(header)), header)
    }
  })
})
