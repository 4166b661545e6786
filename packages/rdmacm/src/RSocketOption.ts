/**
 * The options of an rsocket: `rgetsockopt` and `rsetsockopt` of `rsocket(7)`.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const room = between(2048, 2 ** 29)

/**
 * What can be set.
 *
 * `SendBuffer` and `ReceiveBuffer` are in bytes; C doubles them, and says so when asked. `SendQueue` and `ReceiveQueue` are
 * numbers of work requests, `Inline` the bytes that go with one. `Mappings` is how many pieces of memory the other side can
 * map for this one. These count for a connection that is not there yet, and those after them in the list cannot be set later
 * than that; accepted rsockets have those of their listener.
 *
 * `KeepAlive` sends an empty message each `KeepIdle` seconds, so that a silent connection that is broken is found out.
 * `NoDelay` is kept and changes nothing. `ReuseAddress` is set before binding, `Ipv6Only` too.
 *
 * @category schemas
 * @since 0.1.0
 */
export const RSocketOption = Schema.TaggedUnion({
  ReuseAddress: { value: Schema.Boolean },
  KeepAlive: { value: Schema.Boolean },
  KeepIdle: { value: between(1, 0x7fff_ffff) },
  NoDelay: { value: Schema.Boolean },
  Ipv6Only: { value: Schema.Boolean },
  SendBuffer: { value: room },
  ReceiveBuffer: { value: room },
  SendQueue: { value: between(16, 0xfffe) },
  ReceiveQueue: { value: between(16, 0xfffe) },
  Inline: { value: between(0, 0xfffe) },
  Mappings: { value: between(0, 0x7fff) }
})

/**
 * The type of {@link RSocketOption}.
 *
 * @category models
 * @since 0.1.0
 */
export type RSocketOption = typeof RSocketOption.Type

/**
 * What can be asked for: every option, `MaxSegment` in bytes, and `Error`, the errno of what went wrong last, which asking
 * forgets.
 *
 * @category models
 * @since 0.1.0
 */
export type Name = RSocketOption["_tag"] | "MaxSegment" | "Error"

/**
 * What an option says.
 *
 * @category models
 * @since 0.1.0
 */
export type Value<N extends Name> = N extends RSocketOption["_tag"] ? Extract<RSocketOption, { _tag: N }>["value"]
  : number

/**
 * Reads what C says of an option.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromNative = <N extends Name>(name: N, value: number): Value<N> =>
  (flags.has(name) ? value !== 0 : value) as Value<N>

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const flags: ReadonlySet<Name> = new Set(["ReuseAddress", "KeepAlive", "NoDelay", "Ipv6Only"])
