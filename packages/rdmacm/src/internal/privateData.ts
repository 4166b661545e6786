/**
 * Private data with its length in front, since the connection manager pads it with zeroes.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/** What fits into a message of the connection manager behind the length. */
export const PrivateData = (max: number) => Schema.Uint8Array.check(Schema.isMaxLength(max - 1))

/** Nothing is nothing: programs that expect no private data get none. */
export const frame = (data: Uint8Array): Uint8Array => data.length === 0 ? data : Uint8Array.of(data.length, ...data)

/** What is framed by nobody, or wrongly, is given as it came. */
export const unframe = (padded: Uint8Array): Uint8Array => {
  const [length = 0] = padded
  return length < padded.length ? padded.slice(1, 1 + length) : padded
}
