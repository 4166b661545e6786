/**
 * Files under `/dev` that the libraries open, and why one does not let a process in.
 *
 * @since 0.1.0
 */
import { closeSync, constants, openSync, readFileSync, statSync } from "node:fs"
import { basename } from "node:path"
import * as Errno from "./Errno.ts"

/**
 * The errno with which the kernel refuses to open a device node for want of permission: EACCES by the node's mode, EPERM
 * by the device rules of a container. `undefined` when it opens, or fails for another reason.
 *
 * Ask before a library does: rdma-core takes any failure for a node that udev has yet to make, waits 5 s for it with the
 * JS thread blocked, and then reports another errno.
 *
 * @category getters
 * @since 0.1.0
 */
export const refusal = (path: string): number | undefined => {
  try {
    // access(2) would judge by the real user; the library opens as the effective one.
    closeSync(openSync(path, constants.O_RDWR | constants.O_NONBLOCK))
    return undefined
  } catch (error) {
    const code = codeOf(error)
    return code === "EACCES" || code === "EPERM" ? Errno.numberOf(code) : undefined
  }
}

/**
 * A device node as it is now, and how to get access to it: for the hint of an error.
 *
 * `/dev/infiniband/rdma_cm has mode 0600, owner root:root, and this process runs as nobody:nogroup. Until the next boot:
 * chmod 0666 /dev/infiniband/rdma_cm. For good, a udev rule: KERNEL=="rdma_cm", MODE="0660", GROUP="…", with the user in
 * that group`
 *
 * @category getters
 * @since 0.1.0
 */
export const describe = (path: string): string => {
  const node = statOf(path)
  if (typeof node === "string") {
    return node === "ENOENT" ? `${path} does not exist; a container needs --device ${path}` : `${path}: ${node}`
  }
  const mode = node.mode & 0o7777
  const state = `${path} has mode ${mode.toString(8).padStart(4, "0")}, owner ${ownerOf(node.uid, node.gid)}`
  if (letsIn(mode, node.uid, node.gid)) {
    return `${state}, which lets this process in: something else refuses. A container needs --device ${path}`
  }
  return `${state}, and this process runs as ${ownerOf(process.geteuid?.(), process.getegid?.())}. ` +
    `Until the next boot: chmod 0666 ${path}. For good, a udev rule: ` +
    `KERNEL=="${basename(path).replace(/\d+$/, "*")}", MODE="0660", GROUP="…", with the user in that group`
}

/**
 * {@link describe} when the errno of a failed open is one that the node can explain, else `undefined`. That includes
 * ENOENT, which rdma-core reports for a node that refuses on a machine without udev.
 *
 * @category getters
 * @since 0.1.0
 */
export const hint = (errno: number, path: string): string | undefined =>
  explained.has(errno) ? describe(path) : undefined

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const explained = new Set([Errno.numberOf("EACCES"), Errno.numberOf("EPERM"), Errno.numberOf("ENOENT")])

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : String(error)

const statOf = (path: string) => {
  try {
    return statSync(path)
  } catch (error) {
    return codeOf(error)
  }
}

const readAndWrite = 0o6

// Only the first class that fits counts: a group without access shuts its members out even where others may.
const letsIn = (mode: number, uid: number, gid: number): boolean => {
  const user = process.geteuid?.()
  if (user === 0) return true
  const shift = user === uid ? 6 : process.getegid?.() === gid || process.getgroups?.().includes(gid) ? 3 : 0
  return ((mode >> shift) & readAndWrite) === readAndWrite
}

const ownerOf = (uid: number | undefined, gid: number | undefined): string =>
  `${nameOf("/etc/passwd", uid)}:${nameOf("/etc/group", gid)}`

const nameOf = (database: string, id: number | undefined): string => {
  try {
    const entries = readFileSync(database, "utf8").split("\n").map((line) => line.split(":"))
    return entries.find((entry) => entry[2] === String(id))?.[0] ?? String(id)
  } catch {
    return String(id)
  }
}
