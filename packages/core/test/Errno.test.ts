import * as Errno from "@effect-rdma/core/Errno"
import { assert, describe, it } from "@effect/vitest"
import koffi from "koffi"
import * as Fs from "node:fs"
import * as Os from "node:os"
import { skipIf } from "./skip.ts"

const headers = ["/usr/include/asm-generic/errno-base.h", "/usr/include/asm-generic/errno.h"]
const glibc = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6"]

const withoutHeaders = skipIf(
  !headers.every((path) => Fs.existsSync(path)),
  `the kernel's headers are not there (apt-get install linux-libc-dev): ${headers.join(", ")}`
)
const withoutGlibc = skipIf(!glibc.some((path) => Fs.existsSync(path)), `there is no glibc: ${glibc.join(", ")}`)

describe("Errno", () => {
  it("agrees with every errno that node:os knows", () => {
    const known = Object.entries(Os.constants.errno)
    assert.isAbove(known.length, 70)
    const byName = new Map<string, number>(Errno.all.map((row) => [row.name, row.number]))
    const alias = new Map([["EWOULDBLOCK", "EAGAIN"], ["EDEADLOCK", "EDEADLK"], ["ENOTSUP", "EOPNOTSUPP"]])
    assert.deepStrictEqual(
      known.map(([name]) => [name, byName.get(alias.get(name) ?? name)]),
      known.map(([name, number]) => [name, number])
    )
  })

  it.skipIf(withoutHeaders)("is the whole table of the kernel's headers", () => {
    const source = headers.map((path) => Fs.readFileSync(path, "utf8")).join("\n")
    const defined = [...source.matchAll(/^#define\s+(E[A-Z0-9]+)\s+(\d+)/gm)].map(([, name, value]) =>
      `${value} ${name}`
    )
    assert.deepStrictEqual(Errno.all.map((row) => `${row.number} ${row.name}`).toSorted(), defined.toSorted())
  })

  it.skipIf(withoutGlibc)(
    "says what strerror says",
    () => {
      const strerror = koffi.load("libc.so.6").func("const char *strerror(int errnum)")
      for (let errno = 1; errno <= 140; errno++) {
        assert.strictEqual(Errno.textOf(errno) ?? `Unknown error ${errno}`, strerror(errno))
      }
    }
  )

  it("is ordered by number, each number and each name once", () => {
    const numbers = Errno.all.map((row) => row.number)
    assert.deepStrictEqual(numbers, numbers.toSorted((a, b) => a - b))
    assert.strictEqual(new Set(numbers).size, 131)
    assert.strictEqual(new Set(Errno.all.map((row) => row.name)).size, 131)
  })

  it("goes from number to name and back", () => {
    for (const row of Errno.all) {
      assert.strictEqual(Errno.nameOf(row.number), row.name)
      assert.strictEqual(Errno.numberOf(row.name), row.number)
    }
  })

  it("knows an alias by its number but never shows it", () => {
    assert.strictEqual(Errno.numberOf("ENOTSUP"), 95)
    assert.strictEqual(Errno.numberOf("EWOULDBLOCK"), 11)
    assert.strictEqual(Errno.numberOf("EDEADLOCK"), 35)
    assert.strictEqual(Errno.nameOf(95), "EOPNOTSUPP")
    assert.strictEqual(Errno.nameOf(11), "EAGAIN")
    assert.strictEqual(Errno.nameOf(35), "EDEADLK")
  })

  it("has nothing for a number that is no errno", () => {
    for (const errno of [0, -16, 41, 58, 134, 4711, 16.5, Number.NaN]) {
      assert.isUndefined(Errno.nameOf(errno))
      assert.isUndefined(Errno.textOf(errno))
    }
  })

  it("refuses a name that is no errno, also one that every object has", () => {
    // @ts-expect-error the name is not in the union
    assert.throws(() => Errno.numberOf("EMADEUP"), RangeError, "Linux has no errno named EMADEUP")
    // @ts-expect-error the name is not in the union
    assert.throws(() => Errno.numberOf("toString"), RangeError, "Linux has no errno named toString")
  })

  it("formats for a message", () => {
    assert.strictEqual(Errno.format(16), "EBUSY (16): Device or resource busy")
    assert.strictEqual(Errno.format(95), "EOPNOTSUPP (95): Operation not supported")
    assert.strictEqual(Errno.format(4711), "errno 4711")
    assert.strictEqual(Errno.format(0), "errno 0")
  })
})
