/**
 * What a queue pair is made from: `struct ibv_qp_init_attr` of `ibv_create_qp(3)` and the further fields of `struct
 * ibv_qp_init_attr_ex` of `ibv_create_qp_ex(3)`, without the handles, as schemas with the true range of every field.
 *
 * @since 0.1.0
 */
import * as Enumeration from "@effect-rdma/core/Enumeration"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as QueuePairAttributes from "./QueuePairAttributes.ts"
import * as QueuePairType from "./QueuePairType.ts"

const basic = {
  qpType: QueuePairType.QueuePairType,
  cap: QueuePairAttributes.Capacities.pipe(Schema.withDecodingDefault(Effect.succeed({}))),
  sqSigAll: Schema.Boolean.pipe(Schema.withDecodingDefault(Effect.succeed(false)))
}

/**
 * The plain attributes. With `sqSigAll` every send completes visibly; without it only those that ask for it do, and a
 * send queue of requests that never ask fills up for ever.
 *
 * @category schemas
 * @since 0.1.0
 */
export const QueuePairInitAttributes = Schema.Struct(basic)

/**
 * @category models
 * @since 0.1.0
 */
export type QueuePairInitAttributes = typeof QueuePairInitAttributes.Type

const createFlags = Enumeration.make("CreateFlag", [
  ["blockSelfMcastLb", 1 << 1, "BLOCK_SELF_MCAST_LB"],
  ["scatterFcs", 1 << 8, "SCATTER_FCS"],
  ["cvlanStripping", 1 << 9, "CVLAN_STRIPPING"],
  ["sourceQpn", 1 << 10, "SOURCE_QPN"],
  ["pciWriteEndPadding", 1 << 11, "PCI_WRITE_END_PADDING"]
])

/**
 * A flag of `enum ibv_qp_create_flags`. `sourceQpn` is set by giving one.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CreateFlag = createFlags.schema

/**
 * @category models
 * @since 0.1.0
 */
export type CreateFlag = typeof CreateFlag.Type

const sendOperations = Enumeration.make("SendOperation", [
  ["rdmaWrite", 1 << 0, "RDMA_WRITE"],
  ["rdmaWriteWithImm", 1 << 1, "RDMA_WRITE_WITH_IMM"],
  ["send", 1 << 2, "SEND"],
  ["sendWithImm", 1 << 3, "SEND_WITH_IMM"],
  ["rdmaRead", 1 << 4, "RDMA_READ"],
  ["atomicCmpAndSwp", 1 << 5, "ATOMIC_CMP_AND_SWP"],
  ["atomicFetchAndAdd", 1 << 6, "ATOMIC_FETCH_AND_ADD"],
  ["localInv", 1 << 7, "LOCAL_INV"],
  ["bindMw", 1 << 8, "BIND_MW"],
  ["sendWithInv", 1 << 9, "SEND_WITH_INV"],
  ["tso", 1 << 10, "TSO"],
  ["flush", 1 << 11, "FLUSH"],
  ["atomicWrite", 1 << 12, "ATOMIC_WRITE"]
])

/**
 * A kind of request that batches of the queue pair may hold: `enum ibv_qp_create_send_ops_flags`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const SendOperation = sendOperations.schema

/**
 * @category models
 * @since 0.1.0
 */
export type SendOperation = typeof SendOperation.Type

const hashFields = Enumeration.make("HashField", [
  ["srcIpv4", 1 << 0, "SRC_IPV4"],
  ["dstIpv4", 1 << 1, "DST_IPV4"],
  ["srcIpv6", 1 << 2, "SRC_IPV6"],
  ["dstIpv6", 1 << 3, "DST_IPV6"],
  ["srcPortTcp", 1 << 4, "SRC_PORT_TCP"],
  ["dstPortTcp", 1 << 5, "DST_PORT_TCP"],
  ["srcPortUdp", 1 << 6, "SRC_PORT_UDP"],
  ["dstPortUdp", 1 << 7, "DST_PORT_UDP"],
  ["ipsecSpi", 1 << 8, "IPSEC_SPI"],
  ["inner", 0x8000_0000, "INNER"]
])

/**
 * Which work queue of an indirection table a packet goes to: `struct ibv_rx_hash_conf`, by the Toeplitz function, which is
 * the only one.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ReceiveHash = Schema.Struct({
  rxHashKey: Schema.Uint8Array.check(
    Schema.makeFilter((key: Uint8Array) => key.length <= 255 || "a key has at most 255 bytes")
  ),
  rxHashFields: Schema.Array(hashFields.schema)
})

/**
 * @category models
 * @since 0.1.0
 */
export type ReceiveHash = typeof ReceiveHash.Type

/**
 * The plain attributes and what `ibv_create_qp_ex` takes beyond them. What is absent is left out of `comp_mask`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ExtendedAttributes = Schema.Struct({
  ...basic,
  createFlags: Schema.optionalKey(Schema.Array(CreateFlag)),
  maxTsoHeader: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff }))),
  rxHashConf: Schema.optionalKey(ReceiveHash),
  sourceQpn: Schema.optionalKey(Identifier.Qpn),
  sendOpsFlags: Schema.optionalKey(Schema.Array(SendOperation))
})

/**
 * @category models
 * @since 0.1.0
 */
export type ExtendedAttributes = typeof ExtendedAttributes.Type

const bitsOf = <Value extends string>(toNative: (value: Value) => number) => (values: ReadonlyArray<Value>): number =>
  values.reduce((bits, value) => (bits | toNative(value)) >>> 0, 0)

/** @internal */
export const createFlagsToNative = bitsOf(createFlags.toNative)
/** @internal */
export const sendOperationsToNative = bitsOf(sendOperations.toNative)
/** @internal */
export const hashFieldsToNative = bitsOf(hashFields.toNative)
