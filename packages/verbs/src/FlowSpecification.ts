/**
 * What a flow looks at in a packet, and what it does with one: the `struct ibv_flow_spec_…` of `ibv_create_flow(3)`, as one
 * tagged union.
 *
 * @since 0.1.0
 */
import * as Gid from "@effect-rdma/core/Gid"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaTransformation from "effect/SchemaTransformation"
import * as Counters from "./Counters.ts"
import * as FlowAction from "./FlowAction.ts"

// -----------------------------------------------------------------------------
// Fields
// -----------------------------------------------------------------------------

const unsigned = (bits: number) =>
  Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** bits - 1 })))

const address = (size: number, expected: string, parse: (text: string) => ReadonlyArray<number> | undefined) => {
  const Bytes = Schema.Uint8Array.check(
    Schema.makeFilter((bytes) => bytes.length === size || `${expected} has ${size} bytes, not ${bytes.length}`)
  )
  const Input = Schema.declare<Uint8Array | string>(
    (input): input is Uint8Array | string => typeof input === "string" || input instanceof Uint8Array,
    { expected: `${expected}, as bytes or as text` }
  )
  return Schema.optionalKey(Input.pipe(Schema.decodeTo(
    Bytes,
    SchemaTransformation.makeTransformation<Uint8Array, Uint8Array | string>({
      decode: SchemaGetter.transformEffect((input, options) => {
        if (typeof input !== "string") return Effect.succeed(input.slice())
        const bytes = parse(input)
        return bytes === undefined
          ? Effect.fail(new SchemaIssue.InvalidValue({ message: `"${input}" is not ${expected}` }, input, options))
          : Effect.succeed(Uint8Array.from(bytes))
      }),
      encode: SchemaGetter.transform((bytes) => bytes)
    })
  )))
}

const Mac = address(
  6,
  "an Ethernet address such as 02:00:00:00:00:01",
  (text) =>
    /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i.test(text)
      ? text.split(":").map((octet) => Number.parseInt(octet, 16))
      : undefined
)

const Ipv4 = address(4, "an IPv4 address such as 10.0.0.1", (text) => {
  if (!/^(0|[1-9][0-9]{0,2})(\.(0|[1-9][0-9]{0,2})){3}$/.test(text)) return undefined
  const octets = text.split(".").map(Number)
  return octets.every((octet) => octet <= 0xff) ? octets : undefined
})

const Ipv6 = Schema.optionalKey(Gid.GidInput)

/** Value and mask over the same fields; `inner` looks behind a tunnel's header. */
const matching = <F extends Schema.Struct.Fields>(fields: F) => {
  const filter = Schema.Struct(fields)
  return {
    inner: Schema.Boolean.pipe(Schema.withDecodingDefault(Effect.succeed(false))),
    val: filter,
    mask: Schema.optionalKey(filter)
  }
}

const ipv4 = { srcIp: Ipv4, dstIp: Ipv4 }
const ports = { dstPort: unsigned(16), srcPort: unsigned(16) }

const matches = {
  /** The Ethernet header; `vlanTag` is laid out as in 802.1Q: 3 bits of priority, 1 CFI, 12 VLAN. */
  Eth: matching({ dstMac: Mac, srcMac: Mac, etherType: unsigned(16), vlanTag: unsigned(16) }),
  Ipv4: matching(ipv4),
  Ipv4Ext: matching({ ...ipv4, proto: unsigned(8), tos: unsigned(8), ttl: unsigned(8), flags: unsigned(8) }),
  Ipv6: matching({
    srcIp: Ipv6,
    dstIp: Ipv6,
    flowLabel: unsigned(20),
    nextHdr: unsigned(8),
    trafficClass: unsigned(8),
    hopLimit: unsigned(8)
  }),
  /** The header of IPsec. */
  Esp: matching({ spi: unsigned(32), seq: unsigned(32) }),
  Tcp: matching(ports),
  Udp: matching(ports),
  /** `tunnelId` is the VXLAN network identifier. */
  VxlanTunnel: matching({ tunnelId: unsigned(24) }),
  /** `cKsRes0Ver` is the first 16 bits of the header: checksum, key and sequence number present, version. */
  Gre: matching({ cKsRes0Ver: unsigned(16), protocol: unsigned(16), key: unsigned(32) }),
  /** `label` is the whole entry: 20 bits of label, 3 of traffic class, 1 bottom of stack, 8 TTL. */
  Mpls: matching({ label: unsigned(32) }),
  /** Puts `tagId` into the completions of the packets: `ibv_wc_read_flow_tag`. */
  ActionTag: { tagId: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff_ffff })) },
  /** Drops the packets. */
  ActionDrop: {}
}

const handleOf = <Kind extends string, Handle extends { readonly kind: Kind }>(
  is: (input: unknown) => input is Handle,
  expected: Kind
) => Schema.declare(is, { expected: `a ${expected}` })

// -----------------------------------------------------------------------------
// Schemas
// -----------------------------------------------------------------------------

/**
 * A specification. `val` holds what a packet is compared with, in host order, addresses as bytes or as text. `mask` says
 * which bits count; a field that it leaves out counts in full when `val` has it, and not at all when not.
 *
 * `ActionHandle` and `ActionCount` name objects that the flow then needs: it is released before them.
 *
 * ```ts
 * import { FlowSpecification } from "@effect-rdma/verbs"
 * import { Schema } from "effect"
 *
 * const https = Schema.decodeSync(FlowSpecification.FlowSpecification)({ _tag: "Tcp", val: { dstPort: 443 } })
 * https._tag // => "Tcp"
 * ```
 *
 * @category schemas
 * @since 0.1.0
 */
export const FlowSpecification = Schema.TaggedUnion({
  ...matches,
  ActionHandle: { action: handleOf(FlowAction.isFlowAction, "FlowAction") },
  ActionCount: { counters: handleOf(Counters.isCounters, "Counters") }
})

/**
 * @category models
 * @since 0.1.0
 */
export type FlowSpecification = typeof FlowSpecification.Type

/**
 * What a caller writes.
 *
 * @category models
 * @since 0.1.0
 */
export type Input = typeof FlowSpecification.Encoded

/**
 * A specification of the seam, with pointers for handles.
 *
 * @category models
 * @since 0.1.0
 */
export type Raw =
  | Exclude<FlowSpecification, { readonly _tag: "ActionHandle" | "ActionCount" }>
  | { readonly _tag: "ActionHandle"; readonly action: Pointer.Pointer<"ibv_flow_action"> }
  | { readonly _tag: "ActionCount"; readonly counters: Pointer.Pointer<"ibv_counters"> }
