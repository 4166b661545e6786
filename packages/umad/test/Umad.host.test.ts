import * as Identifier from "@effect-rdma/core/Identifier"
import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { skipWithRdma } from "../../core/test/skip.ts"
import * as CaName from "../src/CaName.ts"
import * as Umad from "../src/Umad.ts"
import type { UmadError } from "../src/UmadError.ts"
import { heapGrowth } from "./heapGrowth.ts"

const anyPort = Identifier.AnyPortNumber.make(0)
const firstPort = Identifier.AnyPortNumber.make(1)
const nope = CaName.CaName.make("nope")

describe.skipIf(skipWithRdma())("libibumad on a kernel without RDMA", () => {
  it.layer(Umad.Umad.layer)((it) => {
    it.effect("has no adapter, and invents none", () =>
      Effect.gen(function*() {
        const umad = yield* Umad.Umad
        yield* umad.init
        assert.deepStrictEqual(yield* umad.getCasNames, [])
        assert.deepStrictEqual(yield* umad.getCaDeviceList, { list: undefined, names: [] })
        yield* umad.done
      }))

    it.effect("says that the kernel lacks RDMA, what to load, and with which errno the library failed", () =>
      Effect.gen(function*() {
        const umad = yield* Umad.Umad
        const failures = [
          [umad.getPort(undefined, anyPort), 19, { portNum: 0 }],
          [umad.getPort(nope, anyPort), 19, { caName: "nope", portNum: 0 }],
          [umad.getPort(nope, firstPort), 5, { caName: "nope", portNum: 1 }],
          [umad.getCa(undefined), 19, {}],
          [umad.getCa(nope), 2, { caName: "nope" }]
        ] as const
        for (const [call, errno, input] of failures) {
          const error = yield* Effect.flip<unknown, UmadError, never>(call)
          assert.strictEqual(error.reason._tag, "RdmaUnavailable")
          assert.strictEqual(error.reason.errno, errno)
          assert.deepStrictEqual(error.input, input)
        }
        const { message } = yield* Effect.flip(umad.getCa(nope))
        assert.strictEqual(
          message,
          "umad_get_ca (caName nope): this kernel has no RDMA loaded (ENOENT (2): No such file or directory). " +
            "Load it with: modprobe ib_umad, and the driver of the adapter, such as mlx5_ib or rdma_rxe"
        )
      }))
  })

  it("keeps nothing of a call that failed", { timeout: 60_000 }, () => {
    const grown = heapGrowth(`
      yield* Effect.exit(umad.getPort("nope", 1))
      yield* Effect.exit(umad.getCa("nope"))
      yield* umad.getCasNames`)
    // The structs of these calls have 330 kB together.
    assert.isBelow(grown, 60_000)
  })
})

describe("libibumad that is not there", () => {
  it.effect("says what is missing when the library is not found", () =>
    Effect.gen(function*() {
      const path = "/nowhere/libibumad.so.3"
      const byPath = yield* Effect.flip(Layer.build(Umad.Umad.layerFromPath(path)))
      assert.strictEqual(byPath._tag, "LibraryNotFound")
      assert.include(byPath.message, path)
      assert.include(byPath.message, "apt-get install libibumad3, or set EFFECT_RDMA_LIBIBUMAD to its path")
      const byVariable = yield* Layer.build(Layer.fresh(Umad.Umad.layer)).pipe(
        Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord({ EFFECT_RDMA_LIBIBUMAD: path }))),
        Effect.flip
      )
      assert.include(byVariable.message, path)
    }))
})
