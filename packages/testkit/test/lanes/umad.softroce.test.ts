import * as UmadConformance from "@effect-rdma/testkit/conformance/Umad"
import { Umad, UmadLibrary, UmadPort } from "@effect-rdma/umad"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { umadOnSoftRoce } from "./umad.ts"

describe("umad", () => {
  UmadConformance.suite(umadOnSoftRoce)

  it.live("an open port is not handed down to programs that are started", () =>
    Effect.gen(function*() {
      const fd = yield* UmadPort.fd(yield* UmadPort.open(yield* UmadLibrary.init()))
      const flags = /flags:\s+(\d+)/.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1] ?? ""
      assert.strictEqual(Number.parseInt(flags, 8) & 0o2000000, 0o2000000)
    }).pipe(Effect.scoped, Effect.provide(Umad.Umad.layer)))
})
