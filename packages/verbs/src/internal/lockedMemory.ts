/**
 * Why the kernel does not pin memory, and what to do about it.
 *
 * @since 0.1.0
 */
import { readFileSync } from "node:fs"

/** The hint for `ENOMEM` or `EPERM` of a registration of so many bytes; `undefined` for another errno. */
export const hint = (reason: string, requested: bigint): string | undefined =>
  reason === "ENOMEM" || reason === "EPERM" ? describe(requested, limitHere(), pinnedHere()) : undefined

/** The hint for `ENOMEM` of a queue, whose memory is pinned too; `undefined` for another errno, or where nothing limits that. */
export const queueHint = (reason: string): string | undefined =>
  reason === "ENOMEM" ? describeQueue(limitHere(), pinnedHere()) : undefined

/** The text of {@link queueHint} for a limit and an amount in bytes that are known, or not. */
export const describeQueue = (
  limit: bigint | "unlimited" | undefined,
  pinned: bigint | undefined
): string | undefined =>
  typeof limit === "bigint"
    ? `Unless the device has no more of them, memory for it could not be pinned. ${limitText(limit, pinned)}`
    : undefined

/** The text of {@link hint} for a limit and an amount in bytes that are known, or not. */
export const describe = (
  requested: bigint,
  limit: bigint | "unlimited" | undefined,
  pinned: bigint | undefined
): string => {
  const asked = `Pinning ${requested} bytes failed`
  if (limit === undefined) return `${asked}: look at the limit of locked memory (ulimit -l)`
  if (limit === "unlimited") {
    return `${asked} although locked memory is not limited: the host or the device has no more to give`
  }
  return `${asked}. ${limitText(limit, pinned)}`
}

const limitText = (limit: bigint, pinned: bigint | undefined): string => {
  const already = pinned === undefined ? "" : `, of which ${pinned} are pinned already`
  return `RLIMIT_MEMLOCK of this process is ${limit} bytes${already}. Raise it where the process starts: ` +
    `ulimit -l unlimited, LimitMEMLOCK=infinity for a systemd unit, --ulimit memlock=-1 for a container, or memlock in ` +
    `/etc/security/limits.conf; or grant CAP_IPC_LOCK`
}

/** The soft limit in the text of `/proc/self/limits`. */
export const limitIn = (limits: string): bigint | "unlimited" | undefined => {
  const soft = /^Max locked memory\s+(\d+|unlimited)\s/m.exec(limits)?.[1]
  return soft === undefined ? undefined : soft === "unlimited" ? soft : BigInt(soft)
}

/** The pinned bytes in the text of `/proc/self/status`. */
export const pinnedIn = (status: string): bigint | undefined => {
  const kibibytes = /^VmPin:\s+(\d+) kB/m.exec(status)?.[1]
  return kibibytes === undefined ? undefined : BigInt(kibibytes) * 1024n
}

const limitHere = () => limitIn(textOf("/proc/self/limits"))
const pinnedHere = () => pinnedIn(textOf("/proc/self/status"))

const textOf = (path: string): string => {
  try {
    return readFileSync(path, "utf8")
  } catch {
    // Without /proc the hint says less.
    return ""
  }
}
