import { EventChannel } from "@effect-rdma/rdmacm"
import { describeLanes } from "@effect-rdma/testkit/vitest/Lanes"
import { it } from "@effect-rdma/testkit/vitest/LeakChecked"
import { UmadLibrary, UmadPort } from "@effect-rdma/umad"
import { DeviceContext, ProtectionDomain } from "@effect-rdma/verbs"
import { afterAll, assert } from "@effect/vitest"
import { Effect } from "effect"

const ran: Array<string> = []

describeLanes(({ layer, name }) => {
  it.live("each library is there", () =>
    Effect.gen(function*() {
      yield* ProtectionDomain.alloc(yield* DeviceContext.openByName("rxe0"))
      yield* EventChannel.make()
      yield* UmadPort.open(yield* UmadLibrary.init())
      ran.push(name)
    }).pipe(Effect.provide(layer)))
})

afterAll(() => assert.deepStrictEqual(ran, ["fabric", "softroce"]))
