import * as SubnetTopology from "@effect-rdma/umad/SubnetTopology"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { execFileSync } from "node:child_process"

describe("SubnetTopology of a simulated fabric", () => {
  it.effect("prints what ibnetdiscover prints, byte for byte", () =>
    Effect.gen(function*() {
      const text = execFileSync("ibnetdiscover", { encoding: "utf8", env: { ...process.env, TZ: "UTC" } })
      const [, date] = /generated on (.*)$/m.exec(text) ?? []
      const generatedAt = DateTime.fromDateUnsafe(new Date(`${date} UTC`))
      const subnet = yield* SubnetTopology.parse(text)
      assert.isNotEmpty(subnet.nodes)
      assert.strictEqual(SubnetTopology.format(subnet, { generatedAt }), text)
    }))
})
