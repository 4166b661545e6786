import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as MadAddress from "../src/MadAddress.ts"

const destination = Schema.decodeSync(MadAddress.Destination)

const queueOf = ({ qkey, qpn }: MadAddress.MadAddress): ReadonlyArray<number> => [qpn, qkey]

describe("MadAddress", () => {
  it("goes to the queue pair of its class", () => {
    const address = destination({ lid: 3 })
    for (const mgmtClass of [0x01, 0x81]) {
      assert.deepStrictEqual(queueOf(MadAddress.complete(address, mgmtClass)), [0, 0])
    }
    for (const mgmtClass of [0x03, 0x04, 0x07, 0x32]) {
      assert.deepStrictEqual(queueOf(MadAddress.complete(address, mgmtClass)), [1, 0x8001_0000])
    }
    const given = destination({ lid: 3, qpn: 9, qkey: 7 })
    assert.deepStrictEqual(queueOf(MadAddress.complete(given, 0x81)), [9, 7])
  })

  it("a reply goes back with the Q_Key that received addresses lack", () => {
    const received = MadAddress.complete(destination({ lid: 3, qpn: 1, qkey: 0, sl: 2, pkeyIndex: 5 }), 4)
    assert.deepStrictEqual(MadAddress.replyTo(received), { ...received, qkey: MadAddress.generalServicesQKey })
    const subnet = MadAddress.complete(destination({ lid: 3, qpn: 0 }), 0x81)
    assert.strictEqual(Number(MadAddress.replyTo(subnet).qkey), 0)
  })

  it("refuses what no header can hold", () => {
    const is = Schema.decodeUnknownResult(MadAddress.Destination)
    const gid = "fe80::1"
    for (
      const bad of [
        { lid: -1 },
        { lid: 0x1_0000 },
        { lid: 1, qpn: 0x100_0000 },
        { lid: 1, qkey: 2 ** 32 },
        { lid: 1, sl: 16 },
        { lid: 1, pathBits: 128 },
        { lid: 1, pkeyIndex: 0x1_0000 },
        { lid: 1, grh: { gid: "no GID" } },
        { lid: 1, grh: { gid, flowLabel: 2 ** 20 } },
        { lid: 1, grh: { gid, hopLimit: 256 } },
        {}
      ]
    ) assert.strictEqual(is(bad)._tag, "Failure", JSON.stringify(bad))
  })
})
