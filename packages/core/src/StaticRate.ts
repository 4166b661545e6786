/**
 * The static rate of a path: `enum ibv_rate` of `infiniband/verbs.h`.
 *
 * @since 0.1.0
 */
import * as Enumeration from "./Enumeration.ts"

// The signalling rates of FDR and later are not what their names say (14 lanes at 66 of 64 bits), and only multiples of
// 2.5 Gbps have a multiplier; hence a table. -1 is what libibverbs answers where there is no number.
const table = [
  ["max", 0, -1, -1],
  ["2.5Gbps", 2, 2500, 1],
  ["10Gbps", 3, 10000, 4],
  ["30Gbps", 4, 30000, 12],
  ["5Gbps", 5, 5000, 2],
  ["20Gbps", 6, 20000, 8],
  ["40Gbps", 7, 40000, 16],
  ["60Gbps", 8, 60000, 24],
  ["80Gbps", 9, 80000, 32],
  ["120Gbps", 10, 120000, 48],
  ["14Gbps", 11, 14062, -1],
  ["56Gbps", 12, 56250, -1],
  ["112Gbps", 13, 112500, -1],
  ["168Gbps", 14, 168750, -1],
  ["25Gbps", 15, 25781, -1],
  ["100Gbps", 16, 103125, -1],
  ["200Gbps", 17, 206250, -1],
  ["300Gbps", 18, 309375, -1],
  ["28Gbps", 19, 28125, 11],
  ["50Gbps", 20, 53125, 20],
  ["400Gbps", 21, 425000, 160],
  ["600Gbps", 22, 637500, 240],
  ["800Gbps", 23, 850000, 320],
  ["1200Gbps", 24, 1275000, 480]
] as const

/**
 * The table: literal, number and printed name.
 *
 * @category constants
 * @since 0.1.0
 */
export const enumeration = Enumeration.make(
  "StaticRate",
  table.map(([value, native]) => [value, native, value] as const)
)

/**
 * Schema for the highest rate of a path, `ibv_ah_attr.static_rate`; `"max"` is no limit but the port's own.
 *
 * @category schemas
 * @since 0.1.0
 */
export const StaticRate = enumeration.schema

/**
 * The highest rate of a path.
 *
 * @category models
 * @since 0.1.0
 */
export type StaticRate = typeof StaticRate.Type

/**
 * Schema for a static rate that a driver or a subnet manager reports; `"unknown"` stands for a number outside
 * `enum ibv_rate`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ReportedStaticRate = enumeration.reported

/**
 * A static rate that a driver or a subnet manager reports.
 *
 * @category models
 * @since 0.1.0
 */
export type ReportedStaticRate = typeof ReportedStaticRate.Type

/**
 * Reads `enum ibv_rate`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromNative = enumeration.fromNative

/**
 * The number of a static rate in `enum ibv_rate`.
 *
 * @category getters
 * @since 0.1.0
 */
export const toNative = enumeration.toNative

const mbps: ReadonlyMap<StaticRate, number> = new Map(table.map(([value, , mbps]) => [value, mbps]))

const multipliers: ReadonlyMap<StaticRate, number> = new Map(
  table.map(([value, , , multiplier]) => [value, multiplier])
)

/**
 * The signalling rate in Mbps as `ibv_rate_to_mbps` says it: `"100Gbps"` is 103125; -1 for `"max"`.
 *
 * @category getters
 * @since 0.1.0
 */
export const toMbps = (rate: StaticRate): number => mbps.get(rate) ?? -1

/**
 * The rate in units of 2.5 Gbps as `ibv_rate_to_mult` says it; -1 for `"max"` and for the rates of FDR and EDR.
 *
 * @category getters
 * @since 0.1.0
 */
export const toMultiplier = (rate: StaticRate): number => multipliers.get(rate) ?? -1

/**
 * The rate of exactly that many Mbps, `"max"` when there is none; as `mbps_to_ibv_rate`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromMbps = (mbps: number): StaticRate => table.find((row) => row[2] === mbps)?.[0] ?? "max"

/**
 * The rate of exactly that multiple of 2.5 Gbps, `"max"` when there is none; as `mult_to_ibv_rate`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromMultiplier = (multiplier: number): StaticRate =>
  table.find((row) => row[3] === multiplier)?.[0] ?? "max"
