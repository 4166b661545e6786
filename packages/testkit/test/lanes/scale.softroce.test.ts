import { Verbs } from "@effect-rdma/verbs"
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { openAndClose } from "../scale.ts"

describe("scale", () => {
  it.live(
    "10,000 queue pairs opened and closed leave memory flat",
    () => Effect.provide(openAndClose(10_000, 500), Verbs.Verbs.layer),
    300_000
  )
})
