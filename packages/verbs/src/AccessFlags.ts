/**
 * What the local device and peers may do with memory: `enum ibv_access_flags` of `ibv_reg_mr(3)`.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { refused } from "./internal/refused.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * The bit of each flag in C.
 *
 * @category constants
 * @since 0.1.0
 */
export const bits = {
  localWrite: 1,
  remoteWrite: 2,
  remoteRead: 4,
  remoteAtomic: 8,
  mwBind: 16,
  zeroBased: 32,
  onDemand: 64,
  hugetlb: 128,
  flushGlobal: 256,
  flushPersistent: 512,
  relaxedOrdering: 1 << 20
} as const

/**
 * One flag. Local read is always allowed and has none.
 *
 * @category models
 * @since 0.1.0
 */
export type AccessFlag = keyof typeof bits

/**
 * All flags, lowest bit first.
 *
 * @category constants
 * @since 0.1.0
 */
export const all: ReadonlyArray<AccessFlag> = [
  "localWrite",
  "remoteWrite",
  "remoteRead",
  "remoteAtomic",
  "mwBind",
  "zeroBased",
  "onDemand",
  "hugetlb",
  "flushGlobal",
  "flushPersistent",
  "relaxedOrdering"
]

/**
 * A set of flags, each at most once, in any order.
 *
 * @category schemas
 * @since 0.1.0
 */
export const AccessFlags = Schema.Array(Schema.Literals(all)).check(
  Schema.makeFilter((flags: ReadonlyArray<AccessFlag>) =>
    new Set(flags).size === flags.length || "a flag is there twice"
  )
)

/**
 * @category models
 * @since 0.1.0
 */
export type AccessFlags = typeof AccessFlags.Type

/**
 * The number that C takes.
 *
 * ```ts
 * import { AccessFlags } from "@effect-rdma/verbs"
 *
 * AccessFlags.toNative(["localWrite", "remoteRead"]) // => 5
 * ```
 *
 * @category conversions
 * @since 0.1.0
 */
export const toNative = (flags: AccessFlags): number => flags.reduce((mask, flag) => mask | bits[flag], 0)

/**
 * The flags of a number, lowest bit first; bits without a name are left out.
 *
 * @category conversions
 * @since 0.1.0
 */
export const fromNative = (mask: number): AccessFlags => all.filter((flag) => (mask & bits[flag]) !== 0)

/**
 * Fails with `EINVAL` for flags that every kernel refuses, and says why: what a peer may write or change atomically, the
 * device must be allowed to write.
 *
 * @internal
 */
export const ensureAllowed = (call: string, flags: AccessFlags): Effect.Effect<void, VerbsError> =>
  !flags.includes("localWrite") && flags.some((flag) => flag === "remoteWrite" || flag === "remoteAtomic")
    ? Effect.fail(
      refused(call, "EINVAL", "remoteWrite and remoteAtomic need localWrite beside them", { access: flags.join(" ") })
    )
    : Effect.void
