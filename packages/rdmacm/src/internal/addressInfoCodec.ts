/**
 * `struct rdma_addrinfo` as values and back.
 *
 * @since 0.1.0
 */
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as QueuePairType from "@effect-rdma/verbs/QueuePairType"
import * as AddressInfoAttributes from "../AddressInfoAttributes.ts"
import type * as CmAddress from "../CmAddress.ts"
import * as PortSpace from "../PortSpace.ts"
import * as Codec from "./codec.ts"
import * as Layout from "./Layout.ts"
import * as Sockaddr from "./sockaddr.ts"

/** Memory outside of the JS heap, for a call that reads it on another thread. */
export interface Arena {
  /** Copies bytes there, and says where they are. */
  readonly put: (bytes: Uint8Array) => bigint
  /** What is there, as a view. */
  readonly view: (address: bigint, length: number) => DataView
  readonly free: () => void
}

export const makeArena = (size: number): Arena => {
  const { address, bytes, unmap } = NativeMemory.map(size)
  let used = 0
  return {
    put: (data) => {
      const at = used
      used = Math.ceil((at + data.length) / 8) * 8
      bytes.set(data, at)
      return address + BigInt(at)
    },
    view: (at, length) => new DataView(bytes.buffer, Number(at - address), length),
    free: unmap
  }
}

/** Room for the struct and all that it points to, but the route and the private data. */
export const roomOf = ({ connect, route }: Partial<AddressInfoAttributes.AddressInfo>): number =>
  4096 + (connect?.length ?? 0) + (route?.length ?? 0)

const bytesOf = (view: DataView): Uint8Array => new Uint8Array(view.buffer, view.byteOffset, view.byteLength)

export const text = (arena: Arena, value: string | undefined): bigint =>
  value === undefined ? 0n : arena.put(new TextEncoder().encode(`${value}\0`))

const address = (arena: Arena, value: CmAddress.CmAddress | undefined) => {
  if (value === undefined) return { length: 0, pointer: 0n, family: 0 }
  const encoded = Sockaddr.encode(value)
  return {
    length: encoded.byteLength,
    pointer: arena.put(bytesOf(encoded)),
    family: Layout.SockaddrIn.fields.sinFamily.get(encoded)
  }
}

/** Hints, or an address that was found. */
type Values = {
  readonly [Name in keyof (AddressInfoAttributes.Hints & AddressInfoAttributes.AddressInfo)]?:
    | (AddressInfoAttributes.Hints & AddressInfoAttributes.AddressInfo)[Name]
    | undefined
}

export const encode = (arena: Arena, values: Values): bigint => {
  const source = address(arena, values.source)
  const destination = address(arena, values.destination)
  const route = values.route ?? new Uint8Array()
  const connect = values.connect ?? new Uint8Array()
  const view = Layout.AddrInfo.allocate()
  Layout.AddrInfo.write(view, {
    aiFlags: AddressInfoAttributes.flagsToNative(values.flags ?? []),
    aiFamily: values.family === undefined ? destination.family || source.family : Sockaddr.families[values.family],
    aiQpType: values.qpType === undefined ? 0 : QueuePairType.toNative(values.qpType),
    aiPortSpace: values.portSpace === undefined ? 0 : PortSpace.toNative(values.portSpace),
    aiSrcLen: source.length,
    aiDstLen: destination.length,
    aiSrcAddr: source.pointer,
    aiDstAddr: destination.pointer,
    aiRouteLen: BigInt(route.length),
    aiRoute: route.length === 0 ? 0n : arena.put(route),
    aiConnectLen: BigInt(connect.length),
    aiConnect: connect.length === 0 ? 0n : arena.put(connect)
  })
  return arena.put(bytesOf(view))
}

/** A name of a host has at most 253 characters. */
const nameAt = (pointer: bigint): string | undefined =>
  pointer === 0n ? undefined : NativeMemory.readCString(pointer, 1025)

const addressAt = (pointer: bigint, length: number): CmAddress.CmAddress | undefined =>
  pointer === 0n || length === 0 ? undefined : Sockaddr.decode(NativeMemory.view(pointer, length))

/** Every address of the list that is of a port space and a type of queue pair which we know. */
export const decodeList = (head: bigint): ReadonlyArray<AddressInfoAttributes.AddressInfo> => {
  const found: Array<AddressInfoAttributes.AddressInfo> = []
  for (let at = head; at !== 0n;) {
    const info = Layout.AddrInfo.read(NativeMemory.view(at, Layout.AddrInfo.size))
    const portSpace = PortSpace.fromNative(info.aiPortSpace)
    const qpType = QueuePairType.fromNative(info.aiQpType)
    if (portSpace !== "unknown" && qpType !== "unknown") {
      found.push({
        flags: AddressInfoAttributes.flagsFromNative(info.aiFlags),
        portSpace,
        qpType,
        source: addressAt(info.aiSrcAddr, info.aiSrcLen),
        destination: addressAt(info.aiDstAddr, info.aiDstLen),
        sourceName: nameAt(info.aiSrcCanonname),
        destinationName: nameAt(info.aiDstCanonname),
        route: Codec.copy(info.aiRoute, Number(info.aiRouteLen)),
        connect: Codec.copy(info.aiConnect, Number(info.aiConnectLen))
      })
    }
    at = info.aiNext
  }
  return found
}
