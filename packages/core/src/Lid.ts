/**
 * The local identifier of an InfiniBand port: 16 bits that a subnet manager assigns.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { hexadecimal, integerFromString } from "./internal/integerText.ts"

/**
 * Schema for a LID: 16 bits; `ibv_ah_attr.dlid`, `ibv_port_attr.lid`, `ibv_wc.slid`. 0 is a port without one.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Lid = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff })).annotate({
  identifier: "Lid"
}).pipe(Schema.brand("Lid"))

/**
 * A local identifier.
 *
 * @category models
 * @since 0.1.0
 */
export type Lid = typeof Lid.Type

/**
 * Schema for a LID as text: `0x1a`, as sysfs prints it, or decimal, as `ibstat` does. It encodes to the first.
 *
 * @category schemas
 * @since 0.1.0
 */
export const LidFromString = integerFromString("a LID", 1).pipe(Schema.decodeTo(Lid))

/**
 * The LID 0xffff, which every port takes for its own.
 *
 * @category constructors
 * @since 0.1.0
 */
export const permissive: Lid = Lid.make(0xffff)

/**
 * Whether a LID names one port: 0x0001 to 0xbfff.
 *
 * @category guards
 * @since 0.1.0
 */
export const isUnicast = (lid: Lid): boolean => lid >= 0x0001 && lid <= 0xbfff

/**
 * Whether a LID names a multicast group: 0xc000 to 0xfffe.
 *
 * @category guards
 * @since 0.1.0
 */
export const isMulticast = (lid: Lid): boolean => lid >= 0xc000 && lid <= 0xfffe

/**
 * A LID as sysfs prints it, such as `"0x1a"`.
 *
 * @category getters
 * @since 0.1.0
 */
export const format = (lid: Lid): string => hexadecimal(lid, 1)
