/**
 * The lanes of a link: LinkWidthActive of the InfiniBand PortInfo attribute.
 *
 * @since 0.1.0
 */
import * as Enumeration from "./Enumeration.ts"

const enumeration = Enumeration.make("LinkWidth", [
  ["1x", 1, "1x"],
  ["4x", 2, "4x"],
  ["8x", 4, "8x"],
  ["12x", 8, "12x"],
  ["2x", 16, "2x"]
], "??")

/**
 * Schema for the width of a link, `ibv_port_attr.active_width`; `"unknown"` stands for a number outside this table.
 *
 * @category schemas
 * @since 0.1.0
 */
export const LinkWidth = enumeration.reported

/**
 * The width of a link.
 *
 * @category models
 * @since 0.1.0
 */
export type LinkWidth = typeof LinkWidth.Type

/**
 * Reads a width in use: one bit.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromNative = enumeration.fromNative

/**
 * The bit of a width, alone as the width in use and with others as those that a port can have.
 *
 * @category getters
 * @since 0.1.0
 */
export const toNative = enumeration.toNative

/**
 * A width as `ibnetdiscover` prints it, such as `"4x"`.
 *
 * @category getters
 * @since 0.1.0
 */
export const format = enumeration.format

/**
 * The width that `ibnetdiscover` prints so; `"unknown"` for any other text.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromText = (text: string): LinkWidth =>
  enumeration.values.find((width) => enumeration.format(width) === text) ?? "unknown"

/**
 * How many lanes a width has; 0 for `"unknown"`.
 *
 * @category getters
 * @since 0.1.0
 */
export const lanes = (width: LinkWidth): number => width === "unknown" ? 0 : Number.parseInt(width)
