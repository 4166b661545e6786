/**
 * Work requests as plain data: what `ibv_post_send(3)` and `ibv_post_recv(3)` take.
 *
 * @since 0.1.0
 */
import type * as AccessFlags from "./AccessFlags.ts"
import type * as AddressHandle from "./AddressHandle.ts"
import type * as MemoryRegion from "./MemoryRegion.ts"
import type * as MemoryWindow from "./MemoryWindow.ts"
import type * as SendBatch from "./operations/SendBatch.ts"

/**
 * A piece of memory: a part of a region, by default all from `offset` to its end, or an address and a key by themselves.
 * `offset` and `length` are bytes.
 *
 * @category models
 * @since 0.1.0
 */
export type Sge =
  | { readonly region: MemoryRegion.MemoryRegion; readonly offset?: number; readonly length?: number }
  | SendBatch.Piece

/**
 * Where the message lies that goes out: pieces, one after the other, or up to `cap.maxInlineData` bytes that are copied
 * when they are posted and may be reused at once. Neither is an empty message.
 *
 * @category models
 * @since 0.1.0
 */
export type Payload =
  | { readonly sgList?: ReadonlyArray<Sge>; readonly inlineData?: never }
  | { readonly inlineData: Uint8Array; readonly sgList?: never }

/**
 * Where pieces of memory are filled.
 *
 * @category models
 * @since 0.1.0
 */
export interface Target {
  readonly sgList: ReadonlyArray<Sge>
}

/**
 * The receiver of a datagram: a `ud` queue pair needs it with each send.
 *
 * @category models
 * @since 0.1.0
 */
export interface Datagram {
  readonly ah: AddressHandle.AddressHandle
  readonly remoteQpn: number
  readonly remoteQkey: number
}

/**
 * What every request can have. `wrId` comes back in the completion, 0 unless given. Without `signaled` among the flags a
 * request that succeeds has no completion, unless the queue pair was made with `sqSigAll`. `to` is for datagrams alone,
 * `remoteSrqn` for the sending side of XRC, which needs it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Common {
  readonly wrId?: bigint
  readonly flags?: ReadonlyArray<SendBatch.SendFlag>
  readonly to?: Datagram
  readonly remoteSrqn?: number
}

/**
 * What a window of type 2 is bound to, and the key that it has then: its lowest byte is free to choose, see
 * `RemoteKey.increment`. A `length` of 0 unbinds it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Bind {
  readonly window: MemoryWindow.MemoryWindow
  readonly rkey: number
  readonly region: MemoryRegion.MemoryRegion
  readonly offset?: number
  readonly length?: number
  readonly access: AccessFlags.AccessFlags
}

/**
 * A request to send. `immData` and `add`, `compare` and `swap` are numbers without a sign, of 32 and 64 bits. Atomics work
 * on eight bytes at an address that is a multiple of eight, and put what was there before into their piece.
 *
 * @category models
 * @since 0.1.0
 */
export type SendRequest =
  & Common
  & (
    | { readonly opcode: "send" } & Payload
    | { readonly opcode: "sendWithImm"; readonly immData: number } & Payload
    | { readonly opcode: "sendWithInv"; readonly invalidateRkey: number } & Payload
    | { readonly opcode: "rdmaWrite"; readonly remote: SendBatch.Remote } & Payload
    | { readonly opcode: "rdmaWriteWithImm"; readonly remote: SendBatch.Remote; readonly immData: number } & Payload
    | { readonly opcode: "rdmaRead"; readonly remote: SendBatch.Remote } & Target
    | {
      readonly opcode: "atomicCmpAndSwp"
      readonly remote: SendBatch.Remote
      readonly compare: bigint
      readonly swap: bigint
    } & Target
    | { readonly opcode: "atomicFetchAndAdd"; readonly remote: SendBatch.Remote; readonly add: bigint } & Target
    | { readonly opcode: "localInv"; readonly invalidateRkey: number }
    | { readonly opcode: "bindMw"; readonly bind: Bind }
    | { readonly opcode: "tso"; readonly header: Uint8Array; readonly mss: number } & Target
  )

/**
 * A request to receive. On a `ud` queue pair the first 40 bytes are for the routing header.
 *
 * @category models
 * @since 0.1.0
 */
export interface ReceiveRequest extends Target {
  readonly wrId?: bigint
}
