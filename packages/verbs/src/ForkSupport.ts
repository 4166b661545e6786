/**
 * Registered memory and `fork(2)`: `ibv_fork_init(3)` and `ibv_is_fork_initialized(3)`.
 *
 * Since Linux 5.12 the kernel copies pinned pages for the child, and nothing is needed. Before, a child process (that of
 * `child_process` too) makes pages of its parent copy-on-write, and the device goes on writing to the old ones.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Verbs from "./Verbs.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * `enum ibv_fork_status`: `"disabled"`, `"enabled"`, or `"unneeded"` because the kernel takes care of it.
 *
 * @category models
 * @since 0.1.0
 */
export type ForkStatus = "disabled" | "enabled" | "unneeded" | "unknown"

/**
 * Whether children of this process are safe. Blocks at most for a system call. Fails with `EOPNOTSUPP` on a libibverbs that
 * is too old for it (before rdma-core 35).
 *
 * @category queries
 * @since 0.1.0
 */
export const status: Effect.Effect<ForkStatus, VerbsError, Verbs.Verbs> = Verbs.Verbs.use((verbs) =>
  verbs.isForkInitialized
)

/**
 * Keeps registered memory out of children, for the whole process and for good; it must come before the first
 * registration. Blocks for a system call, and makes every registration slower where the kernel needs it. Fails with `EINVAL`
 * when memory was registered already, with `ENOSYS` as `EOPNOTSUPP` on a kernel without `MADV_DONTFORK`, with `ENOMEM`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const init: Effect.Effect<void, VerbsError, Verbs.Verbs> = Verbs.Verbs.use((verbs) => verbs.forkInit)

/**
 * A layer of `Verbs` that calls {@link init} when it is built, before anything can be registered through it.
 *
 * ```ts
 * import { ForkSupport, Verbs } from "@effect-rdma/verbs"
 *
 * const verbs = Verbs.Verbs.layer.pipe(ForkSupport.layer)
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = <ROut, E, RIn>(
  self: Layer.Layer<ROut | Verbs.Verbs, E, RIn>
): Layer.Layer<ROut | Verbs.Verbs, E | VerbsError, RIn> => Layer.tap(self, (context) => Effect.provide(init, context))
