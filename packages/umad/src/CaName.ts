/**
 * The name of a channel adapter, such as `mlx5_0`.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

const maximumBytes = 19

/**
 * A name that fits into libibumad's `char[20]`: 1 to 19 bytes. A longer one is refused here, before the library would cut
 * it and look up another adapter.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CaName = Schema.String.check(
  Schema.isPattern(/^[^/\0]+$/, { expected: "a name without slash or NUL" }),
  Schema.makeFilter((name: string) =>
    new TextEncoder().encode(name).length <= maximumBytes || `libibumad takes names of at most ${maximumBytes} bytes`
  )
).pipe(Schema.brand("CaName"))

/**
 * The type of {@link CaName}.
 *
 * @category models
 * @since 0.1.0
 */
export type CaName = typeof CaName.Type
