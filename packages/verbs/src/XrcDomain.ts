/**
 * A domain of extended reliable connections: `ibv_open_xrcd(3)` and `ibv_close_xrcd`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as DeviceContext from "./DeviceContext.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * An XRC domain: shared receive queues and receiving queue pairs of it work together, across the processes that opened it
 * by the same file.
 *
 * @category models
 * @since 0.1.0
 */
export interface XrcDomain extends Resource.Resource<"XrcDomain", Pointer.Pointer<"ibv_xrcd">> {
  readonly context: DeviceContext.DeviceContext
}

/**
 * How a domain is opened. `fd` is a file that other processes share the domain by, open for the call only; -1, the
 * default, is a domain of this process alone. `create` makes it when it is not there yet, `exclusive` refuses when it is.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Options = Schema.Struct({
  fd: Schema.Int.check(Schema.isBetween({ minimum: -1, maximum: 0x7fff_ffff })).pipe(
    Schema.withDecodingDefault(Effect.succeed(-1))
  ),
  create: Schema.Boolean.pipe(Schema.withDecodingDefault(Effect.succeed(true))),
  exclusive: Schema.Boolean.pipe(Schema.withDecodingDefault(Effect.succeed(false)))
})

/**
 * Opens an XRC domain, owned by the scope. Its queues are released before it. Blocks for a system call. Fails with
 * `EOPNOTSUPP` where the device has no XRC, as Soft-RoCE, `EBADF` for a bad `fd`, `EINVAL` when `exclusive` finds one, `EAGAIN`
 * when there is none to open.
 *
 * @category constructors
 * @since 0.1.0
 */
export const open = (
  context: DeviceContext.DeviceContext,
  options: typeof Options.Encoded = {}
): Effect.Effect<XrcDomain, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(open)
  return Effect.flatMap(decodeOptions(options), (options) =>
    Resource.make({
      kind: "XrcDomain",
      pair: ["ibv_open_xrcd", "ibv_close_xrcd"],
      site,
      parents: [context],
      goneWithDevice: true,
      acquire: Resource.use(context, (pointer) => context.verbs.openXrcd(pointer, options)),
      release: context.verbs.closeXrcd,
      fields: () => ({ context })
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const decodeOptions = Schema.decodeEffect(Options)
