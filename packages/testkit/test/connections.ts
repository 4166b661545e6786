/** Raw connections on the fabric, for tests of what only it can show. */
import * as Identifier from "@effect-rdma/core/Identifier"
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as CmAddress from "@effect-rdma/rdmacm/CmAddress"
import type * as CmEvent from "@effect-rdma/rdmacm/CmEvent"
import type * as ConnectionParameters from "@effect-rdma/rdmacm/ConnectionParameters"
import type * as PortSpace from "@effect-rdma/rdmacm/PortSpace"
import { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import * as Fabric from "@effect-rdma/testkit/Fabric"
import { assert } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as NetAddress from "effect/net/NetAddress"
import { TestClock } from "effect/testing"

type Channel = Pointer.Pointer<"rdma_event_channel">

export const to = NetAddress.inetAddressFromStringUnsafe

export const parametersOf = (
  qpNum: number,
  privateData = new Uint8Array()
): ConnectionParameters.ConnectionParameters => ({
  privateData,
  responderResources: 4,
  initiatorDepth: 2,
  flowControl: true,
  retryCount: 7,
  rnrRetryCount: 7,
  srq: false,
  qpNum: Identifier.Qpn.make(qpNum)
})

/** librdmacm of one host, with a channel. */
export const side = Effect.fnUntraced(function*(host: string) {
  const fabric = yield* Fabric.Fabric
  const cm = Context.get(yield* fabric.seams(host), RdmaCm)
  const channel = yield* cm.createEventChannel

  /** The next event, which must be there. */
  const next = (from: Channel = channel): Effect.Effect<CmEvent.CmEvent> =>
    Effect.orDie(Effect.flatMap(cm.getCmEvent(from), ({ event, pointer }) => Effect.as(cm.ackCmEvent(pointer), event)))

  const expect = (event: CmEvent.CmEventType, status = 0) =>
    Effect.map(next(), (found) => {
      assert.deepStrictEqual({ event: found.event, status: found.status }, { event, status })
      return found
    })

  const nothing = Effect.map(
    Effect.flip(cm.getCmEvent(channel)),
    ({ reason }) => assert.strictEqual(reason._tag, "EAGAIN")
  )

  const listening = Effect.fnUntraced(function*(address: string, portSpace: PortSpace.PortSpace = "tcp", backlog = 0) {
    const id = yield* cm.createId(channel, portSpace)
    yield* cm.bindAddr(id, to(address))
    yield* cm.listen(id, backlog)
    return id
  })

  const resolvedTo = Effect.fnUntraced(function*(address: CmAddress.CmAddress, portSpace: PortSpace.PortSpace = "tcp") {
    const id = yield* cm.createId(channel, portSpace)
    yield* cm.resolveAddr(id, undefined, address, 2000)
    yield* TestClock.adjust(1)
    yield* expect("addrResolved")
    return id
  })

  const routedTo = Effect.fnUntraced(function*(address: CmAddress.CmAddress, portSpace: PortSpace.PortSpace = "tcp") {
    const id = yield* resolvedTo(address, portSpace)
    yield* cm.resolveRoute(id, 2000)
    yield* TestClock.adjust(1)
    yield* expect("routeResolved")
    return id
  })

  const resolved = (address: string, portSpace?: PortSpace.PortSpace) => resolvedTo(to(address), portSpace)
  const routed = (address: string, portSpace?: PortSpace.PortSpace) => routedTo(to(address), portSpace)

  return { cm, channel, next, expect, nothing, listening, resolved, routed, routedTo }
})

/** A client on host-a and a server on host-b that are connected, each with a number for a queue pair. */
export const connected = Effect.fnUntraced(function*(address = "10.0.0.2:7471") {
  const server = yield* side("host-b")
  const client = yield* side("host-a")
  const listener = yield* server.listening(address)
  const id = yield* client.routed(address)
  yield* client.cm.connect(id, parametersOf(0x21))
  const { id: request } = yield* server.expect("connectRequest")
  yield* server.cm.accept(request, parametersOf(0x31))
  yield* client.expect("connectResponse")
  yield* client.cm.establish(id)
  yield* server.expect("established")
  const destroy = Effect.all([
    client.cm.destroyId(id),
    server.cm.destroyId(request),
    server.cm.destroyId(listener),
    client.cm.destroyEventChannel(client.channel),
    server.cm.destroyEventChannel(server.channel)
  ], { discard: true })
  return { server, client, listener, id, request, destroy }
})

export const objects = Effect.flatMap(
  Fabric.Fabric,
  ({ objects }) => Effect.map(objects, (all) => all.map(({ kind }) => kind))
)

export const cut = (host: string, link: "up" | "down" = "down", device = "rxe0") =>
  Effect.flatMap(Fabric.Fabric, (fabric) => fabric.setLink(host, device, 1, link))
