/**
 * What the conformance suites of the data path have in common: the requests that they post.
 *
 * @since 0.1.0
 */
import type * as AccessFlags from "@effect-rdma/verbs/AccessFlags"
import type * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import type * as MemoryWindow from "@effect-rdma/verbs/MemoryWindow"
import type * as Batch from "@effect-rdma/verbs/operations/SendBatch"
import * as RemoteKey from "@effect-rdma/verbs/RemoteKey"
import type * as WorkRequest from "@effect-rdma/verbs/WorkRequest"
import type { End } from "./conformanceDataPath.ts"

/** The requests that name memory of a peer, and the right that each needs there. */
export const rightFor = {
  rdmaWrite: "remoteWrite",
  rdmaRead: "remoteRead",
  atomicFetchAndAdd: "remoteAtomic",
  atomicCmpAndSwp: "remoteAtomic"
} as const

export type RemoteOpcode = keyof typeof rightFor

export const remoteOpcodes: ReadonlyArray<RemoteOpcode> = [
  "rdmaWrite",
  "rdmaRead",
  "atomicFetchAndAdd",
  "atomicCmpAndSwp"
]

/** A request number 1 on eight bytes here and there: an atomic one makes 1 of 0. */
export const requestOf = (
  opcode: RemoteOpcode,
  piece: WorkRequest.Sge,
  remote: Batch.Remote,
  flags: ReadonlyArray<Batch.SendFlag> = ["signaled"]
): WorkRequest.SendRequest => {
  const common = { wrId: 1n, flags, sgList: [piece], remote }
  switch (opcode) {
    case "rdmaWrite":
    case "rdmaRead":
      return { opcode, ...common }
    case "atomicFetchAndAdd":
      return { opcode, add: 1n, ...common }
    case "atomicCmpAndSwp":
      return { opcode, compare: 0n, swap: 1n, ...common }
  }
}

/** A bind to the region of an end, by the next key unless told otherwise. */
export const bindOf = (
  window: MemoryWindow.MemoryWindow,
  { region }: End,
  part: { readonly offset?: number; readonly length?: number; readonly access: AccessFlags.AccessFlags },
  rkey = RemoteKey.increment(window.rkey)
) => ({ opcode: "bindMw", wrId: 5n, flags: ["signaled"], bind: { window, region, rkey, ...part } } as const)

/** An address and a key for peers, which may be out of bounds. */
export const remoteOf = (
  { address, rkey }: { readonly address: bigint; readonly rkey: number },
  offset = 0
): Batch.Remote => ({ remoteAddr: address + BigInt(offset), rkey })

/** A piece with the key of a region, which may be out of its bounds. */
export const pieceOf = (
  { address, lkey }: MemoryRegion.MemoryRegion,
  offset: number,
  length: number
): Batch.Piece => ({ addr: address + BigInt(offset), length, lkey })

/** Posts messages that tell of their end. */
export const postSends = (self: End, ...wrIds: ReadonlyArray<bigint>) =>
  self.postSend(...wrIds.map((wrId) => ({ opcode: "send", wrId, flags: ["signaled"], sgList: [self.part()] } as const)))

/** Posts receives, all with the same memory. */
export const postReceives = (self: End, ...wrIds: ReadonlyArray<bigint>) =>
  self.postRecv(...wrIds.map((wrId) => ({ wrId, sgList: [self.part()] })))
