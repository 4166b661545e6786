/**
 * What the conformance suites of rsockets have in common: listeners, connections and bytes.
 *
 * @since 0.1.0
 */
import type * as RdmaCm from "@effect-rdma/rdmacm/RdmaCm"
import * as RSocket from "@effect-rdma/rdmacm/RSocket"
import type * as Verbs from "@effect-rdma/verbs/Verbs"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Lane from "../conformance/Lane.ts"
import type * as RdmaCmLane from "../conformance/RdmaCmLane.ts"

export const bytes = (text: string) => new TextEncoder().encode(text)

/** Everything that comes, to the end. */
export const everything = (socket: RSocket.RSocket) => Stream.mkString(Stream.decodeText(RSocket.stream(socket)))

/** The numbers 0 to 250, again and again. */
export const pattern = (length: number) => Uint8Array.from({ length }, (_, index) => index % 251)

/** Reads so many bytes. */
export const readExactly = Effect.fnUntraced(function*(socket: RSocket.RSocket, length: number) {
  const into = new Uint8Array(length)
  for (let at = 0; at < length;) {
    const piece = yield* RSocket.read(socket, { maxLength: length - at })
    if (piece.length === 0) return assert.fail(`the end after ${at} of ${length} bytes`)
    into.set(piece, at)
    at += piece.length
  }
  return into
})

/** Sets options, before there is a connection. */
export type Options = ReadonlyArray<Parameters<typeof RSocket.setOption>[1]>

export const rsocketSuite = <Others>(lane: RdmaCmLane.RdmaCmLane<Others>) => {
  const at = (port: number) => `${lane.ownAddress}:${port}`

  const withOptions = Effect.fnUntraced(function*(options: Options) {
    const socket = yield* RSocket.make()
    yield* Effect.forEach(options, (option) => RSocket.setOption(socket, option), { discard: true })
    return socket
  })

  /** One that listens on a free port, and where. */
  const listening = Effect.fnUntraced(function*(options: Options = []) {
    const listener = yield* withOptions(options)
    yield* RSocket.bind(listener, at(0))
    yield* RSocket.listen(listener)
    const local = yield* RSocket.localAddress(listener)
    return { listener, address: at(local?.port ?? assert.fail("the listener has no port")) }
  })

  /** Both ends of a connection. */
  const connected = Effect.fnUntraced(function*(options: Options = []) {
    const { address, listener } = yield* listening(options)
    const client = yield* withOptions(options)
    const [server] = yield* Effect.all([RSocket.accept(listener), RSocket.connect(client, address)], {
      concurrency: "unbounded"
    })
    return { listener, address, client, server }
  })

  return { it: Lane.test<RdmaCm.RdmaCm | Verbs.Verbs | Others>(lane), at, listening, connected }
}
