/**
 * The guest's side of the lanes of Soft-RoCE: what is set up for them, and what its kernel holds.
 */
import { Effect } from "effect"
import { execFileSync, spawn } from "node:child_process"
import { createSocket } from "node:dgram"
import { readdirSync, readlinkSync } from "node:fs"
import { createInterface } from "node:readline"

/** The port of rxe0: in the guest on a veth pair, and its likeness on the fabric. */
export const roce = {
  sgidIndex: 1,
  ownAddress: "10.0.0.1",
  peerAddress: "10.0.0.2",
  silentAddress: "10.0.0.77"
} as const

// One `rdma` answers for all tests of a file: it would take longer to start it than most tests run.
const startRdma = () => {
  const child = spawn("rdma", ["--json", "--batch", "-"], { stdio: ["pipe", "pipe", "inherit"] })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  return async (command: string): Promise<unknown> => {
    child.stdin.write(`${command}\n`)
    const { done, value } = await lines.next()
    if (done) throw new Error(`rdma ended with status ${child.exitCode}`)
    return JSON.parse(value)
  }
}

let rdma: ReturnType<typeof startRdma> | undefined

/** What `rdma` of iproute2 answers, such as to `resource show cm_id`. */
export const askRdma = (command: string) => Effect.promise(() => (rdma ??= startRdma())(command))

/** How many objects the kernel holds, whoever made them, and which files this process has open, by what they are. */
export const kernelHolds = Effect.promise(async () => ({
  resources: await (rdma ??= startRdma())("resource show"),
  files: openFiles()
}))

export const openFiles = () => {
  const counts: Record<string, number> = {}
  for (const fd of readdirSync("/proc/self/fd")) {
    const kind = kindOfFile(fd)
    if (kind !== undefined) counts[kind] = (counts[kind] ?? 0) + 1
  }
  return counts
}

const kindOfFile = (fd: string) => {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`).replace(/:\[\d+\]$/, "")
  } catch {
    // The descriptor of the folder itself, which is closed again.
    return undefined
  }
}

/** An effect that runs once in the process, however often it is asked for. */
export const once = <E, R>(effect: Effect.Effect<void, E, R>): Effect.Effect<void, E, R> => {
  let isDone = false
  return Effect.suspend(() => {
    if (isDone) return Effect.void
    isDone = true
    return effect
  })
}

/** Runs `ip` of iproute2. */
export const ip = (...args: ReadonlyArray<string>) =>
  Effect.sync(() => {
    execFileSync("ip", args)
  })

/** Nobody is behind the veth pair; this entry stands for a peer that answered. */
export const addNeighbour = once(
  ip("neigh", "replace", roce.peerAddress, "lladdr", "02:00:00:00:00:02", "dev", "veth0", "nud", "permanent")
)

/** A group that the port of rxe0 hears. */
export const heardGroup = "224.1.2.3"

// rxe asks for the frames of a group only: IP drops its packets, and gives none back, unless somebody joined it.
export const joinGroup = once(Effect.callback<void>((resume) => {
  const socket = createSocket("udp4")
  socket.bind(() => {
    socket.addMembership(heardGroup, roce.ownAddress)
    socket.unref()
    resume(Effect.void)
  })
}))
