import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import * as Library from "../src/Library.ts"

const options: Library.Options = {
  name: "libc",
  soname: ["libc.so.6", "libc.musl-x86_64.so.1"],
  environment: "EFFECT_RDMA_TEST_LIBC",
  debianPackage: "libc6"
}

const environment = (variables: Record<string, string>) =>
  Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord(variables)))

describe("Library", () => {
  it.effect("opens the first SONAME that loads", () =>
    Effect.gen(function*() {
      const library = yield* Library.open({ ...options, soname: ["libnothing.so.9", ...options.soname] })
      assert.include(options.soname, library.path)
      assert.isTrue(library.has("getpid"))
      assert.isFalse(library.has("no_such_function"))
    }).pipe(environment({ [options.environment]: "" })))

  it.effect("says what it tried and which package has the library", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(
        Library.open({
          name: "libnothing",
          soname: ["libnothing.so.8", "libnothing.so.9"],
          environment: "UNSET",
          debianPackage: "libnothing9"
        })
      )
      assert.strictEqual(error._tag, "LibraryNotFound")
      assert.deepStrictEqual(error.tried.map(({ name }) => name), ["libnothing.so.8", "libnothing.so.9"])
      assert.include(error.tried[0]?.message, "No such file")
      assert.include(error.message, "libnothing.so.9")
      assert.include(error.message, "apt-get install libnothing9")
    }))

  it.effect("never replaces what was asked for explicitly", () =>
    Effect.gen(function*() {
      const byPath = yield* Effect.flip(Library.open({ ...options, path: "/nowhere/libc.so" }))
      assert.deepStrictEqual(byPath.tried.map(({ name }) => name), ["/nowhere/libc.so"])
      const byVariable = yield* Effect.flip(Library.open(options))
      assert.deepStrictEqual(byVariable.tried.map(({ name }) => name), ["/elsewhere/libc.so"])
    }).pipe(environment({ [options.environment]: "/elsewhere/libc.so" })))

  it.effect("binds functions by type", () =>
    Effect.gen(function*() {
      const libc = yield* Library.open(options)
      const strlen = libc.bind("strlen", ["buffer"], "size")
      const bytes = Uint8Array.of(9, 65, 66, 0)
      assert.strictEqual(strlen(bytes), 3)
      assert.strictEqual(strlen(bytes.subarray(1)), 2)
      assert.strictEqual(libc.bind("abs", ["int"], "int")(-7), 7)
      assert.strictEqual(libc.bind("strtoull", ["string", "pointer", "int"], "u64")("12", null, 10), 12n)
      assert.strictEqual(
        libc.bind("strtoull", ["string", "pointer", "int"], "u64")("0xffffffffffffffff", null, 16),
        2n ** 64n - 1n
      )
      assert.strictEqual(libc.bind("getenv", ["string"], "string")("NO_SUCH_VARIABLE"), null)
      assert.strictEqual(libc.bind("getenv", ["string"], "pointer")("NO_SUCH_VARIABLE"), null)
    }))

  it.effect("refuses what C would take for another library", () =>
    Effect.gen(function*() {
      for (const path of ["", "libc.so.6\0junk"]) {
        const error = yield* Effect.flip(Library.open({ ...options, path }))
        assert.strictEqual(error.tried[0]?.message, "not the name of a library")
      }
    }))

  it.effect("tells a missing symbol from a missing library", () =>
    Effect.gen(function*() {
      const libc = yield* Library.open(options)
      assert.strictEqual(libc.bindOptional("no_such_function", ["int"], "int"), undefined)
      assert.throws(() => libc.bind("no_such_function", ["int"], "int"), Library.SymbolNotFound, /no_such_function/)
    }))

  it.effect("makes a function of an address", () =>
    Effect.gen(function*() {
      const libc = yield* Library.open(options)
      const dlsym = libc.bind("dlsym", ["pointer", "string"], "pointer")
      const address = dlsym(null, "labs") ?? 0n
      const labs = Library.fromAddress(address, ["u64"], "u64")
      assert.strictEqual(labs(12n), 12n)
      assert.throws(() => Library.fromAddress(0n, ["u64"], "u64"), RangeError)
    }))

  it.live("runs long calls on a thread", () =>
    Effect.gen(function*() {
      const libc = yield* Library.open(options)
      const done = yield* Deferred.make<bigint>()
      libc.bind("strtoull", ["string", "pointer", "int"], "u64").async("13", null, 10, (error, result) => {
        Deferred.doneUnsafe(done, error ? Exit.die(error) : Exit.succeed(result))
      })
      assert.strictEqual(yield* Deferred.await(done), 13n)
    }))

  it.live("keeps the library when its handle is collected", () =>
    Effect.sync(() => {
      const url = new URL("../src/Library.ts", import.meta.url)
      const program = `
        import * as Effect from "effect/Effect"
        import { readFileSync } from "node:fs"
        const Library = await import(${JSON.stringify(url.href)})
        const open = () => Effect.runSync(Library.open({ name: "libresolv", soname: ["libresolv.so.2"], environment: "X", debianPackage: "libc6" })).path
        open()
        for (let i = 0; i < 5; i++) { gc(); await new Promise((resolve) => setTimeout(resolve, 10)) }
        process.stdout.write(String(readFileSync("/proc/self/maps", "utf8").includes("libresolv")))`
      const output = execFileSync(process.execPath, ["--expose-gc", "--input-type=module", "--eval", program], {
        cwd: fileURLToPath(new URL("..", import.meta.url)),
        encoding: "utf8"
      })
      assert.strictEqual(output, "true")
    }))
})
