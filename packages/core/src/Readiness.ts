/**
 * Waiting for a file descriptor in the event loop: no thread, interruptible at once.
 *
 * What is watched is a duplicate of the descriptor. libuv allows one watcher per number, and both it and koffi abort the
 * process when a number turns out to be closed or watched already; a duplicate is ours alone and stays open.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Errno from "./Errno.ts"
import { koffi } from "./internal/koffi.ts"
import * as libc from "./internal/libc.ts"
import * as linux from "./internal/linux.ts"
import * as ReturnConvention from "./ReturnConvention.ts"

/**
 * The event loop cannot wait for this descriptor: EBADF, it is no descriptor of the kernel, or EPERM, as for a regular
 * file, its kind knows no readiness.
 *
 * @category errors
 * @since 0.1.0
 */
export class NotPollable extends Schema.TaggedError<NotPollable>("@effect-rdma/core/NotPollable")("NotPollable", {
  fd: Schema.Number,
  errno: Schema.Int
}) {
  override get message() {
    return `descriptor ${this.fd} cannot be polled (errno ${this.errno})`
  }
}

/**
 * A descriptor that can be waited for, by any number of fibers.
 *
 * @category models
 * @since 0.1.0
 */
export interface Watcher {
  /**
   * Succeeds when there is something to read, when the other end hung up, or when the watcher is released. Level
   * triggered; all who wait are woken, so read without blocking and wait again on EAGAIN.
   */
  readonly readable: Effect.Effect<void>
}

const minusOne = (fd: number, call: () => number): Effect.Effect<number, NotPollable> =>
  ReturnConvention.minusOneErrno(call, (errno) => new NotPollable({ fd, errno }))

let prober: number | undefined

// koffi aborts the process when libuv refuses a descriptor, so the kernel is asked first.
const probe = (fd: number): number => {
  prober ??= libc.epollCreate(linux.EPOLL_CLOEXEC)
  const event = new Uint8Array(16)
  const added = libc.epollControl(prober, linux.EPOLL_CTL_ADD, fd, event)
  if (added === 0) libc.epollControl(prober, linux.EPOLL_CTL_DEL, fd, event)
  return added
}

const watch = (fd: number): Watcher & { readonly close: () => void } => {
  const waiters = new Set<() => void>()
  let closed = false
  const wake = () => {
    handle.stop()
    const woken = [...waiters]
    waiters.clear()
    for (const waiter of woken) waiter()
  }
  const handle = koffi().node.poll(fd, { readable: true }, wake)
  handle.stop()
  return {
    readable: Effect.callback<void>((resume) => {
      if (closed) return resume(Effect.die(new Error("waited for a descriptor that is no longer watched")))
      const waiter = () => resume(Effect.void)
      if (waiters.size === 0) handle.start({ readable: true }, wake)
      waiters.add(waiter)
      return Effect.sync(() => {
        waiters.delete(waiter)
        if (waiters.size === 0 && !closed) handle.stop()
      })
    }),
    close: () => {
      closed = true
      wake()
      handle.close()
      libc.close(fd)
    }
  }
}

/**
 * Watches a descriptor until the scope closes, which wakes whoever waits. It sets `O_NONBLOCK` on the open file, so on
 * `fd` too. `fd` stays its owner's; release the watcher before it is closed, as the open file lives until then.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (fd: number): Effect.Effect<Watcher, NotPollable, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.gen(function*() {
      // koffi would cut the number down to another descriptor.
      if (!Number.isInteger(fd) || fd < 0 || fd > 0x7fff_ffff) {
        return yield* new NotPollable({ fd, errno: Errno.numberOf("EBADF") })
      }
      const duplicate = yield* minusOne(fd, () => libc.fcntl(fd, linux.F_DUPFD_CLOEXEC, 0))
      yield* minusOne(fd, () => probe(duplicate)).pipe(Effect.tapError(() => Effect.sync(() => libc.close(duplicate))))
      return watch(duplicate)
    }),
    (watcher) => Effect.sync(watcher.close)
  )

/**
 * Waits once for something to read, with the costs of {@link make}.
 *
 * @category combinators
 * @since 0.1.0
 */
export const readable = (fd: number): Effect.Effect<void, NotPollable> =>
  Effect.scoped(Effect.flatMap(make(fd), (watcher) => watcher.readable))

/**
 * Sets `O_NONBLOCK`, so that a call on the descriptor fails with EAGAIN where it would wait.
 *
 * @category combinators
 * @since 0.1.0
 */
export const setNonBlocking = (fd: number): Effect.Effect<void, NotPollable> =>
  Effect.asVoid(Effect.flatMap(
    minusOne(fd, () => libc.fcntl(fd, linux.F_GETFL, 0)),
    (flags) => minusOne(fd, () => libc.fcntl(fd, linux.F_SETFL, flags | linux.O_NONBLOCK))
  ))

/**
 * Sets `FD_CLOEXEC`, so that a program that this process starts does not have the descriptor too, and keep alive what it
 * stands for.
 *
 * @category combinators
 * @since 0.1.0
 */
export const setCloseOnExec = (fd: number): Effect.Effect<void, NotPollable> =>
  Effect.asVoid(minusOne(fd, () => libc.fcntl(fd, linux.F_SETFD, linux.FD_CLOEXEC)))
