/**
 * The bytes of flows as the C compiler lays them out, and the codec on them in both directions.
 */
import * as Pointer from "@effect-rdma/core/Pointer"
import * as FlowAttributes from "@effect-rdma/verbs/FlowAttributes"
import type * as FlowSpecification from "@effect-rdma/verbs/FlowSpecification"
import type * as Steering from "@effect-rdma/verbs/operations/Steering"
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Codec from "../../../verbs/src/internal/steeringCodec.ts"
import * as Compiler from "./Compiler.ts"

const action = 0x1122_3344_5566_7788n
const counters = 0x99aa_bbcc_ddee_ff00n

/** A specification as C initialises it and as we write it. */
const specs: ReadonlyArray<{ readonly c: string; readonly input: FlowSpecification.Input | FlowSpecification.Raw }> = [
  {
    c: `struct ibv_flow_spec_eth s = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof s,
      .val = { .dst_mac = {2,0,0,0,0,1}, .src_mac = {2,0,0,0,0,9}, .ether_type = htons(0x0800), .vlan_tag = htons(0x6123) },
      .mask = { .dst_mac = {255,255,255,255,255,255}, .src_mac = {255,255,255,0,0,0}, .ether_type = 0xffff, .vlan_tag = htons(0x0fff) } }`,
    input: {
      _tag: "Eth",
      val: { dstMac: "02:00:00:00:00:01", srcMac: Uint8Array.of(2, 0, 0, 0, 0, 9), etherType: 0x0800, vlanTag: 0x6123 },
      mask: { srcMac: "ff:ff:ff:00:00:00", vlanTag: 0x0fff }
    }
  },
  {
    c: `struct ibv_flow_spec_ipv4 s = { .type = IBV_FLOW_SPEC_IPV4 | IBV_FLOW_SPEC_INNER, .size = sizeof s,
      .val = { .src_ip = htonl(0x0a000001), .dst_ip = htonl(0x0a000200) }, .mask = { .src_ip = ~0u, .dst_ip = htonl(0xffffff00) } }`,
    input: {
      _tag: "Ipv4",
      inner: true,
      val: { srcIp: "10.0.0.1", dstIp: "10.0.2.0" },
      mask: { dstIp: "255.255.255.0" }
    }
  },
  {
    c: `struct ibv_flow_spec_ipv4_ext s = { .type = IBV_FLOW_SPEC_IPV4_EXT, .size = sizeof s,
      .val = { .dst_ip = htonl(0xc0a80001), .proto = 17, .tos = 4, .ttl = 64, .flags = 2 },
      .mask = { .dst_ip = ~0u, .proto = 255, .tos = 252, .ttl = 255, .flags = 3 } }`,
    input: {
      _tag: "Ipv4Ext",
      val: { dstIp: "192.168.0.1", proto: 17, tos: 4, ttl: 64, flags: 2 },
      mask: { tos: 252, flags: 3 }
    }
  },
  {
    c: `struct ibv_flow_spec_ipv6 s = { .type = IBV_FLOW_SPEC_IPV6, .size = sizeof s,
      .val = { .src_ip = {0xfe,0x80,[15]=1}, .dst_ip = {0x20,1,0xd,0xb8,[15]=2}, .flow_label = htonl(0x12345), .next_hdr = 6,
        .traffic_class = 8, .hop_limit = 1 },
      .mask = { .src_ip = {[0 ... 15] = 255}, .dst_ip = {[0 ... 7] = 255}, .flow_label = htonl(0xfffff), .next_hdr = 255,
        .traffic_class = 255, .hop_limit = 255 } }`,
    input: {
      _tag: "Ipv6",
      val: { srcIp: "fe80::1", dstIp: "2001:db8::2", flowLabel: 0x12345, nextHdr: 6, trafficClass: 8, hopLimit: 1 },
      mask: { dstIp: "ffff:ffff:ffff:ffff::" }
    }
  },
  {
    c: `struct ibv_flow_spec_esp s = { .type = IBV_FLOW_SPEC_ESP, .size = sizeof s,
      .val = { .spi = htonl(0x01020304), .seq = htonl(5) }, .mask = { .spi = ~0u, .seq = htonl(0xff) } }`,
    input: { _tag: "Esp", val: { spi: 0x01020304, seq: 5 }, mask: { seq: 0xff } }
  },
  {
    c: `struct ibv_flow_spec_tcp_udp s = { .type = IBV_FLOW_SPEC_TCP, .size = sizeof s,
      .val = { .dst_port = htons(443), .src_port = htons(0x1234) }, .mask = { .dst_port = 0xffff, .src_port = htons(0xff00) } }`,
    input: { _tag: "Tcp", val: { dstPort: 443, srcPort: 0x1234 }, mask: { srcPort: 0xff00 } }
  },
  {
    c: `struct ibv_flow_spec_tcp_udp s = { .type = IBV_FLOW_SPEC_UDP, .size = sizeof s,
      .val = { .dst_port = htons(4791) }, .mask = { .dst_port = 0xffff } }`,
    input: { _tag: "Udp", val: { dstPort: 4791 } }
  },
  {
    c: `struct ibv_flow_spec_tunnel s = { .type = IBV_FLOW_SPEC_VXLAN_TUNNEL, .size = sizeof s,
      .val = { .tunnel_id = htonl(0x123456) }, .mask = { .tunnel_id = htonl(0xffffff) } }`,
    input: { _tag: "VxlanTunnel", val: { tunnelId: 0x123456 } }
  },
  {
    c: `struct ibv_flow_spec_gre s = { .type = IBV_FLOW_SPEC_GRE, .size = sizeof s,
      .val = { .c_ks_res0_ver = htons(0x2000), .protocol = htons(0x6558), .key = htonl(0xdeadbeef) },
      .mask = { .c_ks_res0_ver = htons(0xb000), .protocol = 0xffff, .key = ~0u } }`,
    input: {
      _tag: "Gre",
      val: { cKsRes0Ver: 0x2000, protocol: 0x6558, key: 0xdeadbeef },
      mask: { cKsRes0Ver: 0xb000 }
    }
  },
  {
    c: `struct ibv_flow_spec_mpls s = { .type = IBV_FLOW_SPEC_MPLS | IBV_FLOW_SPEC_INNER, .size = sizeof s,
      .val = { .label = htonl(0x12345140) }, .mask = { .label = htonl(0xfffff000) } }`,
    input: { _tag: "Mpls", inner: true, val: { label: 0x12345140 }, mask: { label: 0xfffff000 } }
  },
  {
    c: `struct ibv_flow_spec_action_tag s = { .type = IBV_FLOW_SPEC_ACTION_TAG, .size = sizeof s, .tag_id = 0x00c0ffee }`,
    input: { _tag: "ActionTag", tagId: 0x00c0ffee }
  },
  {
    c: `struct ibv_flow_spec_action_drop s = { .type = IBV_FLOW_SPEC_ACTION_DROP, .size = sizeof s }`,
    input: { _tag: "ActionDrop" }
  },
  {
    c: `struct ibv_flow_spec_action_handle s = { .type = IBV_FLOW_SPEC_ACTION_HANDLE, .size = sizeof s,
      .action = (void *)0x${action.toString(16)}ULL }`,
    input: { _tag: "ActionHandle", action: Pointer.make<"ibv_flow_action">(action) }
  },
  {
    c: `struct ibv_flow_spec_counter_action s = { .type = IBV_FLOW_SPEC_ACTION_COUNT, .size = sizeof s,
      .counters = (void *)0x${counters.toString(16)}ULL }`,
    input: { _tag: "ActionCount", counters: Pointer.make<"ibv_counters">(counters) }
  }
]

/** Every specification behind the head of a flow, as hexadecimal bytes, one after the other; the head is printed last. */
const program = `#include <stdio.h>
#include <string.h>
#include <infiniband/verbs.h>
#undef htons
#undef htonl
/* Constants, so that the structs are static and what the compiler leaves between their members is zero. */
#define htons(x) __builtin_bswap16(x)
#define htonl(x) __builtin_bswap32(x)
static size_t total;
static void dump(const void *data, size_t size) {
  for (size_t i = 0; i < size; i++) printf("%02x", ((const unsigned char *)data)[i]);
  printf("\\n");
  total += size;
}
int main(void) {
  ${specs.map(({ c }) => `{ static const ${c}; dump(&s, s.size); }`).join("\n  ")}
  struct ibv_flow_attr flow;
  memset(&flow, 0, sizeof flow);
  flow.type = IBV_FLOW_ATTR_SNIFFER;
  flow.size = total + sizeof flow;
  flow.priority = 0x1234;
  flow.num_of_specs = ${specs.length};
  flow.port = 7;
  flow.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP | IBV_FLOW_ATTR_FLAGS_EGRESS;
  dump(&flow, sizeof flow);
  return 0;
}
`

const golden = (): ReadonlyArray<string> =>
  Compiler.withDirectory((directory) => {
    const source = join(directory, "flows.c")
    const output = join(directory, "flows")
    writeFileSync(source, program)
    Compiler.compile(source, output, [])
    return execFileSync(output, { encoding: "utf8" }).trim().split("\n")
  })

const isRaw = (spec: FlowSpecification.Input | FlowSpecification.Raw): spec is FlowSpecification.Raw =>
  spec._tag === "ActionHandle" || spec._tag === "ActionCount"

const decodeSpecs = Schema.decodeSync(FlowAttributes.FlowAttributes)

const raw = (): ReadonlyArray<FlowSpecification.Raw> =>
  specs.map(({ input }) => {
    if (isRaw(input)) return input
    const [spec] = decodeSpecs({ port: 1, specs: [input] }).specs
    if (spec === undefined || spec._tag === "ActionHandle" || spec._tag === "ActionCount") throw new Error(input._tag)
    return spec
  })

const hex = (view: DataView<ArrayBuffer>): string => Buffer.from(view.buffer).toString("hex")

describe.skipIf(Compiler.missing !== undefined)("the bytes of a flow", () => {
  it("of every specification are those of C, and decode to what they were made from", () => {
    const expected = golden()
    for (const [index, spec] of raw().entries()) {
      const bytes = Codec.encodeSpecification(spec)
      assert.strictEqual(hex(bytes), expected[index], spec._tag)
      const decoded = Codec.decodeSpecification(bytes, 0)
      if (decoded === undefined) return assert.fail(spec._tag)
      assert.strictEqual(decoded._tag, spec._tag)
      assert.strictEqual(hex(Codec.encodeSpecification(decoded)), expected[index], spec._tag)
    }
  })

  it("are the head and behind it the specifications without a gap", () => {
    const lines = golden()
    const flow: Steering.RawFlowAttributes = {
      type: "sniffer",
      priority: 0x1234,
      port: decodeSpecs({ port: 7 }).port,
      flags: ["egress", "dontTrap"],
      specs: raw()
    }
    assert.strictEqual(hex(Codec.encodeFlow(flow)), [lines.at(-1), ...lines.slice(0, -1)].join(""))
  })
})
