/**
 * The speed of a link's lanes: `ibv_port_attr.active_speed`.
 *
 * @since 0.1.0
 */
import * as Enumeration from "./Enumeration.ts"

const enumeration = Enumeration.make("LinkSpeed", [
  ["sdr", 1, "SDR"],
  ["ddr", 2, "DDR"],
  ["qdr", 4, "QDR"],
  ["fdr10", 8, "FDR10"],
  ["fdr", 16, "FDR"],
  ["edr", 32, "EDR"],
  ["hdr", 64, "HDR"],
  ["ndr", 128, "NDR"]
], "???")

/**
 * Schema for the speed of a link's lanes, `ibv_port_attr.active_speed`; `"unknown"` stands for a number outside this
 * table.
 *
 * @category schemas
 * @since 0.1.0
 */
export const LinkSpeed = enumeration.reported

/**
 * The speed of a link's lanes.
 *
 * @category models
 * @since 0.1.0
 */
export type LinkSpeed = typeof LinkSpeed.Type

/**
 * Reads `ibv_port_attr.active_speed`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromNative = enumeration.fromNative

/**
 * The number of a speed as `ibv_port_attr.active_speed`.
 *
 * @category getters
 * @since 0.1.0
 */
export const toNative = enumeration.toNative

/**
 * A speed as `ibnetdiscover` prints it, such as `"EDR"`.
 *
 * @category getters
 * @since 0.1.0
 */
export const format = enumeration.format

/**
 * The speed that `ibnetdiscover` prints so; `"unknown"` for any other text.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromText = (text: string): LinkSpeed =>
  enumeration.values.find((speed) => enumeration.format(speed) === text) ?? "unknown"

/**
 * Gb/s of one lane as sysfs counts them: 2.5, 5, 10, 14, 25, …; 0 for `"unknown"`.
 *
 * @category getters
 * @since 0.1.0
 */
export const gigabitsPerLane = (speed: LinkSpeed): number => rates[speed]

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const rates: { readonly [Speed in LinkSpeed]: number } = {
  sdr: 2.5,
  ddr: 5,
  qdr: 10,
  fdr10: 10,
  fdr: 14,
  edr: 25,
  hdr: 50,
  ndr: 100,
  unknown: 0
}
