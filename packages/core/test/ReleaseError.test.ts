import { ReleaseError } from "@effect-rdma/core/ReleaseError"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const failed = new ReleaseError({
  call: "ibv_dealloc_pd",
  resource: "ProtectionDomain#1",
  errno: 16,
  liveChildren: ["AddressHandle#2", "MemoryRegion#3"],
  cause: new Error("EBUSY")
})

describe("ReleaseError", () => {
  it("the message tells what was not released, why, and what is alive on it", () => {
    assert.strictEqual(
      failed.message,
      "ibv_dealloc_pd did not release ProtectionDomain#1: EBUSY; still alive on it: AddressHandle#2; MemoryRegion#3"
    )
    const other = new ReleaseError({ ...failed, errno: undefined, liveChildren: [], cause: "broken" })
    assert.strictEqual(other.message, "ibv_dealloc_pd did not release ProtectionDomain#1: broken")
  })

  it("travels as JSON, with its cause", () => {
    const codec = Schema.toCodecJson(ReleaseError)
    const back = Schema.decodeUnknownSync(codec)(JSON.parse(JSON.stringify(Schema.encodeSync(codec)(failed))))
    assert.instanceOf(back, ReleaseError)
    assert.strictEqual(back.message, failed.message)
    assert.strictEqual(back.errno, 16)
  })
})
