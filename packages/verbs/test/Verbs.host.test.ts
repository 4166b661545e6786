import { Library } from "@effect-rdma/core"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer } from "effect"
import { execFileSync } from "node:child_process"
import { skipWithRdma } from "../../core/test/skip.ts"
import * as DeviceContext from "../src/DeviceContext.ts"
import * as DeviceList from "../src/DeviceList.ts"
import * as Verbs from "../src/Verbs.ts"

describe.skipIf(skipWithRdma())("libibverbs on a kernel without RDMA", () => {
  it.effect("says that the kernel lacks it, and what to load", () =>
    Effect.gen(function*() {
      const listed = yield* Effect.flip(DeviceList.get())
      const opened = yield* Effect.flip(DeviceContext.openByName("rxe0"))
      for (const error of [listed, opened]) {
        assert.strictEqual(error._tag, "VerbsError")
        assert.strictEqual(error.call, "ibv_get_device_list")
        assert.strictEqual(error.reason._tag, "RdmaUnavailable")
        assert.include(error.message, "this kernel has no RDMA loaded")
        assert.include(error.message, "modprobe -a ib_uverbs")
      }
    }).pipe(Effect.provide(Verbs.Verbs.layer)))

  it.effect("tells it apart from other failures by its reason", () =>
    Effect.gen(function*() {
      const names = Effect.scoped(Effect.map(DeviceList.get(), ({ devices }) => devices.map(({ name }) => name)))
      const outcome = yield* names.pipe(
        Effect.catchReason("VerbsError", "RdmaUnavailable", ({ errno }) => Effect.succeed(errno))
      )
      assert.strictEqual(outcome, 38)
    }).pipe(Effect.provide(Verbs.Verbs.layer)))
})

describe("libibverbs that is not there", () => {
  const path = "/nowhere/libibverbs.so.1"

  it.effect("is LibraryNotFound with what was tried and the package that has it", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Layer.build(Verbs.Verbs.layerFromPath(path)))
      assert.instanceOf(error, Library.LibraryNotFound)
      assert.strictEqual(error.library, "libibverbs")
      assert.deepStrictEqual(error.tried.map(({ name }) => name), [path])
      assert.strictEqual(error.package, "libibverbs1")
      assert.include(error.message, path)
      assert.include(error.message, "apt-get install libibverbs1")
    }))

  it.effect("is not replaced by another one when the environment names it", () =>
    Effect.gen(function*() {
      const provider = ConfigProvider.fromEnvRecord({ EFFECT_RDMA_LIBIBVERBS: path })
      const error = yield* Layer.build(Layer.fresh(Verbs.Verbs.layer)).pipe(
        Effect.provide(ConfigProvider.layer(provider)),
        Effect.flip
      )
      assert.instanceOf(error, Library.LibraryNotFound)
      assert.deepStrictEqual(error.tried.map(({ name }) => name), [path])
    }))
})

describe("importing the packages", () => {
  it("loads no library, whatever the environment says", () => {
    const nowhere = {
      EFFECT_RDMA_LIBIBVERBS: "/nowhere",
      EFFECT_RDMA_LIBRDMACM: "/nowhere",
      EFFECT_RDMA_LIBIBUMAD: "/nowhere"
    }
    const program = [
      "import { readFileSync } from \"node:fs\"",
      "for (const name of [\"core\", \"verbs\", \"rdmacm\", \"umad\"]) await import(`@effect-rdma/${name}`)",
      "const mapped = readFileSync(\"/proc/self/maps\", \"utf8\").match(/lib(ibverbs|rdmacm|ibumad)/g) ?? []",
      "process.stdout.write(`${mapped.length} mapped`)"
    ].join("\n")
    const said = execFileSync(process.execPath, ["--input-type=module", "--eval", program], {
      cwd: `${import.meta.dirname}/../../testkit`,
      env: { ...process.env, ...nowhere },
      encoding: "utf8"
    })
    assert.strictEqual(said, "0 mapped")
  })
})
