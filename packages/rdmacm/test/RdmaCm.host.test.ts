import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { skipWithRdma } from "../../core/test/skip.ts"
import * as RdmaCm from "../src/RdmaCm.ts"
import type { RdmaCmError } from "../src/RdmaCmError.ts"

describe.skipIf(skipWithRdma())("librdmacm on a kernel without RDMA", () => {
  it.layer(RdmaCm.RdmaCm.layer)((it) => {
    it.effect("says that the kernel lacks it, and what to load", () =>
      Effect.gen(function*() {
        const cm = yield* RdmaCm.RdmaCm
        const calls = [["rdma_get_devices", cm.getDevices], [
          "rdma_create_event_channel",
          cm.createEventChannel
        ]] as const
        for (const [call, effect] of calls) {
          const error = yield* Effect.flip<unknown, RdmaCmError, never>(effect)
          assert.strictEqual(error.reason._tag, "RdmaUnavailable")
          assert.strictEqual(
            error.message,
            `${call}: this kernel has no RDMA loaded (ENODEV (19): No such device). ` +
              "Load it with: modprobe rdma_ucm, and the driver of the adapter, such as mlx5_ib or rdma_rxe"
          )
        }
      }))

    it.effect("can be asked again", () =>
      Effect.gen(function*() {
        const cm = yield* RdmaCm.RdmaCm
        yield* Effect.repeat(Effect.flip(cm.getDevices), { times: 100 })
        yield* Effect.repeat(Effect.flip(cm.createEventChannel), { times: 100 })
      }))
  })
})

describe("librdmacm that is not there", () => {
  it.effect("says what is missing when the library is not found", () =>
    Effect.gen(function*() {
      const path = "/nowhere/librdmacm.so.1"
      const byPath = yield* Effect.flip(Layer.build(RdmaCm.RdmaCm.layerFromPath(path)))
      assert.strictEqual(byPath._tag, "LibraryNotFound")
      assert.include(byPath.message, path)
      assert.include(byPath.message, "apt-get install librdmacm1, or set EFFECT_RDMA_LIBRDMACM to its path")
      const byVariable = yield* Layer.build(Layer.fresh(RdmaCm.RdmaCm.layer)).pipe(
        Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord({ EFFECT_RDMA_LIBRDMACM: path }))),
        Effect.flip
      )
      assert.include(byVariable.message, path)
    }))
})
