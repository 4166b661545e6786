/**
 * Memory that the other side of an rsocket writes to: `riomap`, `riounmap` and `riowrite` of `rsocket(7)`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { refused } from "./internal/idOperation.ts"
import * as Operation from "./internal/rsocketOperation.ts"
import type * as RSockets from "./operations/RSockets.ts"
import type { RdmaCmError } from "./RdmaCmError.ts"
import type * as RSocket from "./RSocket.ts"

const offset = Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: 2n ** 62n }))
const length = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2 ** 31 - 1 }))

/**
 * Where the memory is to the other side. Tell it, for instance through the rsocket itself.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Remote = Schema.Struct({ offset, length })

/**
 * The type of {@link Remote}.
 *
 * @category models
 * @since 0.1.0
 */
export type Remote = typeof Remote.Type

/**
 * Memory that is mapped for the other side. `bytes` are empty after the release.
 *
 * @category models
 * @since 0.1.0
 */
export interface RSocketMapping extends
  Resource.Resource<
    "RSocketMapping",
    { readonly number: RSockets.RSocketNumber; readonly mapping: NativeMemory.Mapping }
  >
{
  readonly socket: RSocket.RSocket
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly remote: Remote
}

/**
 * How much memory, and at which offset the other side finds it: at its address unless said otherwise. Two that overlap are
 * not told apart.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Options = Schema.Struct({ length, offset: Schema.optionalKey(offset) })

/**
 * Allocates zeroed memory, lets the other side write to it, and tells that; owned by the scope, and unmapped before the rsocket
 * is released, which would not return else. The other side must not write any more then: its connection would break.
 *
 * Blocks while the kernel pins the pages, then waits without a thread until the other side takes the announcement. Fails with
 * `ENOMEM` when that has no place for one more (its option `Mappings`, 0 by default, set before it connects or listens), or
 * when there is no memory or the limit of locked memory is reached; with `ENOTCONN` before the call when the rsocket is not
 * connected, and as `RSocket.write`.
 *
 * ```ts
 * import { RSocketMapping } from "@effect-rdma/rdmacm"
 * import type { RSocket } from "@effect-rdma/rdmacm"
 *
 * const mailbox = (socket: RSocket.RSocket) => RSocketMapping.make(socket, { length: 4096 })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  socket: RSocket.RSocket,
  options: typeof Options.Encoded
): Effect.Effect<RSocketMapping, RdmaCmError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(make)
  const { cm } = socket
  return Effect.flatMap(Schema.decodeEffect(Options)(options), ({ length, offset }) => {
    let at = 0n
    const mapped = Resource.make({
      kind: "RSocketMapping",
      pair: ["riomap", "riounmap"],
      site,
      parents: [socket],
      acquire: Operation.connected(
        socket,
        "riomap",
        Effect.flatMap(pages(length), (mapping) => {
          const number = Resource.raw(socket)
          return Effect.map(
            Effect.onError(cm.riomap(number, mapping.bytes, offset), () => Effect.sync(mapping.unmap)),
            (offset) => {
              at = offset
              return { number, mapping }
            }
          )
        })
      ),
      release: ({ mapping, number }) => Effect.map(cm.riounmap(number, mapping.bytes), () => mapping.unmap()),
      fields: ({ mapping }): Pick<RSocketMapping, "socket" | "bytes" | "remote"> => ({
        socket,
        bytes: mapping.bytes,
        remote: { offset: at, length }
      })
    })
    return Effect.tap(mapped, () => announce(socket))
  })
}

/**
 * Writes to memory that the other side has mapped, from `at` on: `riowrite`. Waits as `RSocket.write` does, until the last byte
 * has been taken over, and in one order with what is written to the rsocket: after it the other side is told by a message.
 *
 * Fails with `EINVAL` before the call when the bytes are not inside of what `remote` says, with `ENOENT` when the other side
 * has mapped nothing there, and as `RSocket.write`. `remote` must be true: C never comes to the end of bytes that go over that
 * of the memory.
 *
 * @category combinators
 * @since 0.1.0
 */
export const write = (
  socket: RSocket.RSocket,
  remote: Remote,
  bytes: Uint8Array,
  options: { readonly at?: number } = {}
): Effect.Effect<void, RdmaCmError | Schema.SchemaError> =>
  Effect.flatMap(decodeWriting({ remote, ...options }), ({ at, remote }) => {
    if (at + bytes.length > remote.length) {
      return Effect.fail(
        refused("riowrite", "EINVAL", "The bytes are not inside of what the other side has mapped", {
          at,
          length: bytes.length,
          mapped: remote.length
        })
      )
    }
    const start = remote.offset + BigInt(at)
    return Operation.connected(
      socket,
      "riowrite",
      socket.sending.withPermit(
        Operation.handOver(socket, "riowrite", bytes, (number, rest, done) =>
          Effect.filterOrElse(
            socket.cm.riowrite(number, rest, start + BigInt(done)),
            (count) => count > 0,
            () =>
              Effect.fail(refused("riowrite", "ENOENT", "The other side has mapped nothing there", { offset: start }))
          ))
      )
    )
  })

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const decodeWriting = Schema.decodeEffect(Schema.Struct({
  remote: Schema.toType(Remote),
  at: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 31 - 1 })).pipe(
    Schema.withDecodingDefault(Effect.succeed(0))
  )
}))

const pages = (length: number): Effect.Effect<NativeMemory.Mapping, RdmaCmError> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(NativeMemory.map(length))
    } catch (cause) {
      if (!(cause instanceof RangeError)) throw cause
      return Effect.fail(refused("mmap", "ENOMEM", cause.message, { length }))
    }
  })

/** C tells the other side with whatever is sent next, be it nothing. */
const announce = (socket: RSocket.RSocket): Effect.Effect<void, RdmaCmError> =>
  socket.sending.withPermit(Effect.asVoid(
    Operation.whenReady(socket, "writable", (number) =>
      Effect.andThen(
        Operation.sendable(socket, "rsend"),
        socket.cm.rsend(number, new Uint8Array(0))
      ))
  ))
