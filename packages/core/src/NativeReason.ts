/**
 * Why a native call failed: one class per errno that programs branch on, so that `Effect.catchReason` narrows by the
 * errno's name. An errno without a class of its own is an {@link UnknownErrno} and keeps its number.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as Errno from "./Errno.ts"

const fields = { errno: Schema.Int }

/** Operation not permitted: a missing capability, or a memory lock limit of zero. @category errors @since 0.1.0 */
export class EPERM extends Schema.TaggedError<EPERM>("@effect-rdma/core/EPERM")("EPERM", fields) {}
/** No such file, device entry or address. @category errors @since 0.1.0 */
export class ENOENT extends Schema.TaggedError<ENOENT>("@effect-rdma/core/ENOENT")("ENOENT", fields) {}
/** A signal arrived before the call was done. @category errors @since 0.1.0 */
export class EINTR extends Schema.TaggedError<EINTR>("@effect-rdma/core/EINTR")("EINTR", fields) {}
/** The device was unplugged or reset; its kernel objects are gone. @category errors @since 0.1.0 */
export class EIO extends Schema.TaggedError<EIO>("@effect-rdma/core/EIO")("EIO", fields) {}
/** The file descriptor is closed or was never one. @category errors @since 0.1.0 */
export class EBADF extends Schema.TaggedError<EBADF>("@effect-rdma/core/EBADF")("EBADF", fields) {}
/** Nothing is ready yet on a non-blocking descriptor. @category errors @since 0.1.0 */
export class EAGAIN extends Schema.TaggedError<EAGAIN>("@effect-rdma/core/EAGAIN")("EAGAIN", fields) {}
/** Out of memory, of locked memory, or of a device resource. @category errors @since 0.1.0 */
export class ENOMEM extends Schema.TaggedError<ENOMEM>("@effect-rdma/core/ENOMEM")("ENOMEM", fields) {}
/** The file permissions of the device node refuse. @category errors @since 0.1.0 */
export class EACCES extends Schema.TaggedError<EACCES>("@effect-rdma/core/EACCES")("EACCES", fields) {}
/** An address outside the process. @category errors @since 0.1.0 */
export class EFAULT extends Schema.TaggedError<EFAULT>("@effect-rdma/core/EFAULT")("EFAULT", fields) {}
/** Something still uses the object. @category errors @since 0.1.0 */
export class EBUSY extends Schema.TaggedError<EBUSY>("@effect-rdma/core/EBUSY")("EBUSY", fields) {}
/** It exists already. @category errors @since 0.1.0 */
export class EEXIST extends Schema.TaggedError<EEXIST>("@effect-rdma/core/EEXIST")("EEXIST", fields) {}
/** No such device, or no RDMA device at all. @category errors @since 0.1.0 */
export class ENODEV extends Schema.TaggedError<ENODEV>("@effect-rdma/core/ENODEV")("ENODEV", fields) {}
/** The provider or the kernel refuses a value. @category errors @since 0.1.0 */
export class EINVAL extends Schema.TaggedError<EINVAL>("@effect-rdma/core/EINVAL")("EINVAL", fields) {}
/** The process has no file descriptor left. @category errors @since 0.1.0 */
export class EMFILE extends Schema.TaggedError<EMFILE>("@effect-rdma/core/EMFILE")("EMFILE", fields) {}
/** No room. @category errors @since 0.1.0 */
export class ENOSPC extends Schema.TaggedError<ENOSPC>("@effect-rdma/core/ENOSPC")("ENOSPC", fields) {}
/** Nothing is there, as at an empty place of a GID table. @category errors @since 0.1.0 */
export class ENODATA extends Schema.TaggedError<ENODATA>("@effect-rdma/core/ENODATA")("ENODATA", fields) {}
/** Out of range. @category errors @since 0.1.0 */
export class ERANGE extends Schema.TaggedError<ERANGE>("@effect-rdma/core/ERANGE")("ERANGE", fields) {}
/** The other end reads no more, or this one was shut down. @category errors @since 0.1.0 */
export class EPIPE extends Schema.TaggedError<EPIPE>("@effect-rdma/core/EPIPE")("EPIPE", fields) {}
/** A protocol error. @category errors @since 0.1.0 */
export class EPROTO extends Schema.TaggedError<EPROTO>("@effect-rdma/core/EPROTO")("EPROTO", fields) {}
/** The message does not fit. @category errors @since 0.1.0 */
export class EMSGSIZE extends Schema.TaggedError<EMSGSIZE>("@effect-rdma/core/EMSGSIZE")("EMSGSIZE", fields) {}
/** The protocol or port space is not supported. @category errors @since 0.1.0 */
export class EPROTONOSUPPORT
  extends Schema.TaggedError<EPROTONOSUPPORT>("@effect-rdma/core/EPROTONOSUPPORT")("EPROTONOSUPPORT", fields)
{}
/** The provider, the library or the kernel lacks the call: EOPNOTSUPP, ENOTSUP and ENOSYS. @category errors @since 0.1.0 */
export class EOPNOTSUPP extends Schema.TaggedError<EOPNOTSUPP>("@effect-rdma/core/EOPNOTSUPP")("EOPNOTSUPP", fields) {}
/** The address family is not supported. @category errors @since 0.1.0 */
export class EAFNOSUPPORT
  extends Schema.TaggedError<EAFNOSUPPORT>("@effect-rdma/core/EAFNOSUPPORT")("EAFNOSUPPORT", fields)
{}
/** The address is taken. @category errors @since 0.1.0 */
export class EADDRINUSE extends Schema.TaggedError<EADDRINUSE>("@effect-rdma/core/EADDRINUSE")("EADDRINUSE", fields) {}
/** No such local address. @category errors @since 0.1.0 */
export class EADDRNOTAVAIL
  extends Schema.TaggedError<EADDRNOTAVAIL>("@effect-rdma/core/EADDRNOTAVAIL")("EADDRNOTAVAIL", fields)
{}
/** The network is down. @category errors @since 0.1.0 */
export class ENETDOWN extends Schema.TaggedError<ENETDOWN>("@effect-rdma/core/ENETDOWN")("ENETDOWN", fields) {}
/** No route to the network. @category errors @since 0.1.0 */
export class ENETUNREACH
  extends Schema.TaggedError<ENETUNREACH>("@effect-rdma/core/ENETUNREACH")("ENETUNREACH", fields)
{}
/** No route to the host. @category errors @since 0.1.0 */
export class EHOSTUNREACH
  extends Schema.TaggedError<EHOSTUNREACH>("@effect-rdma/core/EHOSTUNREACH")("EHOSTUNREACH", fields)
{}
/** The peer reset the connection. @category errors @since 0.1.0 */
export class ECONNRESET extends Schema.TaggedError<ECONNRESET>("@effect-rdma/core/ECONNRESET")("ECONNRESET", fields) {}
/** The peer refused the connection. @category errors @since 0.1.0 */
export class ECONNREFUSED
  extends Schema.TaggedError<ECONNREFUSED>("@effect-rdma/core/ECONNREFUSED")("ECONNREFUSED", fields)
{}
/** Connected already. @category errors @since 0.1.0 */
export class EISCONN extends Schema.TaggedError<EISCONN>("@effect-rdma/core/EISCONN")("EISCONN", fields) {}
/** Not connected. @category errors @since 0.1.0 */
export class ENOTCONN extends Schema.TaggedError<ENOTCONN>("@effect-rdma/core/ENOTCONN")("ENOTCONN", fields) {}
/** What was asked for was dropped before it was done. @category errors @since 0.1.0 */
export class ECANCELED extends Schema.TaggedError<ECANCELED>("@effect-rdma/core/ECANCELED")("ECANCELED", fields) {}
/** No answer in time. @category errors @since 0.1.0 */
export class ETIMEDOUT extends Schema.TaggedError<ETIMEDOUT>("@effect-rdma/core/ETIMEDOUT")("ETIMEDOUT", fields) {}

/**
 * An errno without a class of its own, with its number. Number 0 means that the library failed without telling why:
 * some providers return NULL and leave errno untouched.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnknownErrno
  extends Schema.TaggedError<UnknownErrno>("@effect-rdma/core/UnknownErrno")("UnknownErrno", fields)
{
  override get message() {
    return this.errno === 0 ? "unknown cause (errno 0)" : Errno.format(this.errno)
  }
}

/**
 * The kernel has no RDMA stack loaded: told apart from a missing library and from a machine without devices.
 *
 * @category errors
 * @since 0.1.0
 */
export class RdmaUnavailable
  extends Schema.TaggedError<RdmaUnavailable>("@effect-rdma/core/RdmaUnavailable")("RdmaUnavailable", fields)
{
  override get message() {
    return `this kernel has no RDMA loaded (${Errno.format(this.errno)})`
  }
}

const classes = {
  EPERM,
  ENOENT,
  EINTR,
  EIO,
  EBADF,
  EAGAIN,
  ENOMEM,
  EACCES,
  EFAULT,
  EBUSY,
  EEXIST,
  ENODEV,
  EINVAL,
  EMFILE,
  ENOSPC,
  ENODATA,
  ERANGE,
  EPIPE,
  EPROTO,
  EMSGSIZE,
  EPROTONOSUPPORT,
  EOPNOTSUPP,
  EAFNOSUPPORT,
  EADDRINUSE,
  EADDRNOTAVAIL,
  ENETDOWN,
  ENETUNREACH,
  EHOSTUNREACH,
  ECONNRESET,
  ECONNREFUSED,
  EISCONN,
  ENOTCONN,
  ECANCELED,
  ETIMEDOUT
} as const

/**
 * Every reason that an errno can become, as one schema.
 *
 * @category schemas
 * @since 0.1.0
 */
export const NativeReason = Schema.Union([...Object.values(classes), UnknownErrno, RdmaUnavailable])

/**
 * The type of {@link NativeReason}.
 *
 * @category models
 * @since 0.1.0
 */
export type NativeReason = typeof NativeReason.Type

type ErrnoClass = (typeof classes)[keyof typeof classes]

const classByName: { readonly [Name in Errno.ErrnoName]?: ErrnoClass } = classes
const byErrno = new Map<number, ErrnoClass>()
for (const { name, number } of Errno.all) {
  const Reason = classByName[name]
  if (Reason === undefined) continue
  byErrno.set(number, Reason)
  Object.defineProperty(Reason.prototype, "message", {
    get(this: { readonly errno: number }) {
      return Errno.format(this.errno)
    }
  })
}
// The three spellings of "not supported" are one reason; the number that came is kept.
byErrno.set(Errno.numberOf("ENOSYS"), EOPNOTSUPP)

/**
 * The reason of an errno. ENOSYS and ENOTSUP are `EOPNOTSUPP`; an errno without a class is `UnknownErrno`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromErrno = (errno: number): NativeReason => {
  const Reason = byErrno.get(errno)
  return Reason === undefined ? new UnknownErrno({ errno }) : new Reason({ errno })
}
