import { NativeReason, Pointer } from "@effect-rdma/core"
import { AddressHandle, DeviceContext, ProtectionDomain, ReceivedDatagram, Verbs, VerbsError } from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"

/** A device on which every address handle is refused with an errno. */
const refusing = (errno: number) =>
  Layer.mock(Verbs.Verbs, {
    getDeviceName: () => Effect.succeed("mock0"),
    allocPd: () => Effect.succeed(Pointer.make<"ibv_pd">(2n)),
    deallocPd: () => Effect.void,
    createAh: (_pd, { portNum }) =>
      Effect.fail(
        new VerbsError.VerbsError({
          call: "ibv_create_ah",
          reason: NativeReason.fromErrno(errno),
          input: { portNum }
        })
      )
  })

const messageOf = (errno: number) =>
  Effect.gen(function*() {
    const context = yield* DeviceContext.borrow(Pointer.make(1n))
    const domain = yield* ProtectionDomain.alloc(context)
    const error = yield* Effect.flip(
      AddressHandle.make(domain, { portNum: 1, grh: { dgid: "::ffff:10.0.0.2", sgidIndex: 3 } })
    )
    return error.message
  }).pipe(Effect.scoped, Effect.provide(refusing(errno)))

describe("AddressHandle", () => {
  it.effect("a refusal says where the packets were to go and what to look at", () =>
    Effect.gen(function*() {
      const to = "ibv_create_ah (portNum 1, dgid ::ffff:10.0.0.2, sgidIndex 3): "
      assert.strictEqual(
        yield* messageOf(110),
        `${to}ETIMEDOUT (110): Connection timed out. No neighbour answers for the dgid on the network of the sgidIndex`
      )
      assert.strictEqual(
        yield* messageOf(0),
        `${to}unknown cause (errno 0). Some providers refuse a port that the device does not have so`
      )
      assert.match(yield* messageOf(22), /EINVAL \(22\): Invalid argument\. The port and the sgidIndex must be/)
      assert.strictEqual(yield* messageOf(12), `${to}ENOMEM (12): Cannot allocate memory`)
    }))

  it.effect("the routing header of a received datagram is copied when it is read", () =>
    Effect.gen(function*() {
      const grh = new Uint8Array(40)
      const decoded = yield* Schema.decodeEffect(ReceivedDatagram.ReceivedDatagram)({
        slid: 1,
        sl: 0,
        dlidPathBits: 0,
        grh
      })
      structuredClone(grh.buffer, { transfer: [grh.buffer] })
      assert.strictEqual(grh.length, 0)
      assert.strictEqual(decoded.grh?.length, 40)
    }))
})
