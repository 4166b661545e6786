import { assert, describe, it } from "@effect/vitest"
import * as LockedMemory from "../src/internal/lockedMemory.ts"

const limits = (soft: string) =>
  [
    "Limit                     Soft Limit           Hard Limit           Units     ",
    "Max processes             63451                63451                processes ",
    `Max locked memory         ${soft.padEnd(20)} unlimited            bytes     `,
    "Max address space         unlimited            unlimited            bytes     "
  ].join("\n")

describe("locked memory", () => {
  it("reads the soft limit and the pinned bytes as the kernel prints them", () => {
    assert.strictEqual(LockedMemory.limitIn(limits("8388608")), 8_388_608n)
    assert.strictEqual(LockedMemory.limitIn(limits("unlimited")), "unlimited")
    assert.isUndefined(LockedMemory.limitIn(""))
    assert.strictEqual(LockedMemory.pinnedIn("VmLck:\t       0 kB\nVmPin:\t      16 kB\nVmHWM:\t   10 kB"), 16_384n)
    assert.isUndefined(LockedMemory.pinnedIn(""))
  })

  it("tells the request, the limit, what is pinned and the fix", () => {
    const text = LockedMemory.describe(1_000_000n, 65_536n, 4096n)
    for (
      const part of [
        "1000000 bytes",
        "RLIMIT_MEMLOCK",
        "65536 bytes",
        "4096 are pinned",
        "ulimit -l unlimited",
        "LimitMEMLOCK"
      ]
    ) {
      assert.include(text, part)
    }
    assert.include(LockedMemory.describe(1n, "unlimited", undefined), "not limited")
    assert.include(LockedMemory.describe(1n, undefined, undefined), "ulimit -l")
    assert.notInclude(LockedMemory.describe(1n, 2n, undefined), "pinned already")
  })

  it("is told of for a queue too, where it is limited", () => {
    for (const part of ["the device has no more", "RLIMIT_MEMLOCK", "65536 bytes", "4096 are pinned", "ulimit -l"]) {
      assert.include(LockedMemory.describeQueue(65_536n, 4096n), part)
    }
    assert.isUndefined(LockedMemory.describeQueue("unlimited", 4096n))
    assert.isUndefined(LockedMemory.describeQueue(undefined, undefined))
    assert.isUndefined(LockedMemory.queueHint("EINVAL"))
  })

  it("speaks only where the limit can be the cause", () => {
    assert.isString(LockedMemory.hint("ENOMEM", 1n))
    assert.isString(LockedMemory.hint("EPERM", 1n))
    assert.isUndefined(LockedMemory.hint("EINVAL", 1n))
  })
})
