/**
 * The partition key: 15 bits that name a partition and one that says whether the port is a full member of it.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { hexadecimal, integerFromString } from "./internal/integerText.ts"

/**
 * Schema for a P_Key: 16 bits in host order; `ibv_query_pkey` answers in network order.
 *
 * @category schemas
 * @since 0.1.0
 */
export const PKey = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff })).annotate({
  identifier: "PKey"
}).pipe(Schema.brand("PKey"))

/**
 * A partition key.
 *
 * @category models
 * @since 0.1.0
 */
export type PKey = typeof PKey.Type

/**
 * Schema for a P_Key as text: `0x7fff`, as sysfs prints it, or decimal. It encodes to the first.
 *
 * @category schemas
 * @since 0.1.0
 */
export const PKeyFromString = integerFromString("a P_Key", 4).pipe(Schema.decodeTo(PKey))

/**
 * The P_Key 0xffff: full member of the default partition.
 *
 * @category constructors
 * @since 0.1.0
 */
export const defaultFull: PKey = PKey.make(0xffff)

/**
 * The P_Key 0x7fff: limited member of the default partition.
 *
 * @category constructors
 * @since 0.1.0
 */
export const defaultLimited: PKey = PKey.make(0x7fff)

/**
 * The number of the partition, without the membership bit: 15 bits.
 *
 * @category getters
 * @since 0.1.0
 */
export const partition = (pkey: PKey): number => pkey & 0x7fff

/**
 * Whether the membership bit (0x8000) is set: a full member talks to every member, a limited one only to full ones.
 *
 * @category guards
 * @since 0.1.0
 */
export const isFull = (pkey: PKey): boolean => (pkey & 0x8000) !== 0

/**
 * Whether two ports with these P_Keys may talk: the same partition, and at least one of them a full member.
 *
 * Partition 0 is an empty entry of the table and matches nothing.
 *
 * @category guards
 * @since 0.1.0
 */
export const matches = (self: PKey, that: PKey): boolean =>
  partition(self) !== 0 && partition(self) === partition(that) && (isFull(self) || isFull(that))

/**
 * A P_Key as sysfs prints it, such as `"0x7fff"`.
 *
 * @category getters
 * @since 0.1.0
 */
export const format = (pkey: PKey): string => hexadecimal(pkey, 4)
