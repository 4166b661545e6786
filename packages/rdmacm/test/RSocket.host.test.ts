/** rsockets of the real library on a kernel without RDMA: what they say, and how the numbers of none are refused. */
import * as Pointer from "@effect-rdma/core/Pointer"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as NetAddress from "effect/net/NetAddress"
import { skipWithRdma } from "../../core/test/skip.ts"
import * as RdmaCm from "../src/RdmaCm.ts"
import type { RdmaCmError } from "../src/RdmaCmError.ts"
import * as RSocket from "../src/RSocket.ts"
import * as RSocketPoll from "../src/RSocketPoll.ts"

const address = NetAddress.inetAddressFromStringUnsafe("127.0.0.1:7471")

describe.skipIf(skipWithRdma())("rsockets on a kernel without RDMA", () => {
  it.layer(RdmaCm.RdmaCm.layer)((it) => {
    it.effect("say that the kernel lacks it, again and again", () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(Effect.scoped(RSocket.make()))
        assert(error._tag === "RdmaCmError")
        assert.deepStrictEqual([error.call, error.reason._tag], ["rsocket", "RdmaUnavailable"])
        yield* Effect.repeat(Effect.flip(Effect.scoped(RSocket.make("ipv6"))), { times: 100 })
      }))

    it.effect("a set is EOPNOTSUPP where the library is older than rdma-core 65", () =>
      Effect.gen(function*() {
        const cm = yield* RdmaCm.RdmaCm
        const exit = yield* Effect.exit(Effect.scoped(RSocketPoll.make()))
        if (exit._tag === "Success") return
        const error = yield* Effect.flip(cm.repollCreate)
        assert.strictEqual(error.reason._tag, "EOPNOTSUPP")
      }))

    // None of these looks a number up without a check, as rsend, rrecv, riomap, riounmap and riowrite do.
    it.effect("a number that is of no rsocket is EBADF, of which rclose has its own way to tell", () =>
      Effect.gen(function*() {
        const cm = yield* RdmaCm.RdmaCm
        const nobody = Pointer.make<"rsocket">(60_000n)
        const calls: ReadonlyArray<readonly [string, Effect.Effect<unknown, RdmaCmError>]> = [
          ["rclose", cm.rclose(nobody)],
          ["rbind", cm.rbind(nobody, address)],
          ["rlisten", cm.rlisten(nobody, 0)],
          ["raccept", cm.raccept(nobody)],
          ["rconnect", cm.rconnect(nobody, address)],
          ["rshutdown", cm.rshutdown(nobody, "both")],
          ["rgetsockname", cm.rgetsockname(nobody)],
          ["rgetpeername", cm.rgetpeername(nobody)],
          ["rgetsockopt", cm.rgetsockopt(nobody, "Error")],
          ["rsetsockopt", cm.rsetsockopt(nobody, "NoDelay", 1)]
        ]
        for (const [name, call] of calls) {
          const { call: failed, reason } = yield* Effect.flip(call)
          assert.deepStrictEqual([failed, reason._tag], [name, "EBADF"])
        }
      }))
  })
})
