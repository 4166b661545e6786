import { Fabric } from "@effect-rdma/testkit"
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { openAndClose } from "./scale.ts"

describe("scale", () => {
  it.live(
    "10,000 queue pairs opened and closed leave memory flat",
    () => Effect.provide(openAndClose(10_000, 10_000), Fabric.layer),
    60_000
  )
})
