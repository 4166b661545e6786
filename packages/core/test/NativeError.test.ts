import * as NativeError from "@effect-rdma/core/NativeError"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import { assert, describe, it } from "@effect/vitest"

const failure = { _tag: "TestError", call: "ibv_create_ah", reason: NativeReason.fromErrno(110) }

describe("NativeError", () => {
  it("the message names the call, its input, the reason and what to do", () => {
    assert.strictEqual(
      NativeError.message({ ...failure, input: { portNum: 1, iova: 2n, fd: undefined }, hint: "Wait" }),
      `ibv_create_ah (portNum 1, iova 2, fd undefined): ${failure.reason.message}. Wait`
    )
  })

  it("what is not known is left out of the message", () => {
    assert.strictEqual(NativeError.message({ ...failure, input: {} }), `ibv_create_ah: ${failure.reason.message}`)
  })
})
