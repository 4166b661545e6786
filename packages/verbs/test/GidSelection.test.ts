import * as Gid from "@effect-rdma/core/Gid"
import * as Identifier from "@effect-rdma/core/Identifier"
import type * as GidEntry from "@effect-rdma/verbs/GidEntry"
import * as GidSelection from "@effect-rdma/verbs/GidSelection"
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"

const gid = Schema.decodeSync(Gid.GidFromString)

const types = { v1: "roceV1", v2: "roceV2", ib: "ib" } as const

// A row is "index port type address [interface]", as show_gids prints it.
const listing = (text: string): ReadonlyArray<GidEntry.GidEntry> =>
  text.trim().split("\n").map((line) => {
    const [index, port, type, address = "", ndev = "2"] = line.trim().split(/\s+/)
    return {
      gid: gid(address),
      gidIndex: Number(index),
      portNum: Identifier.PortNumber.make(Number(port)),
      gidType: types[type as keyof typeof types],
      ndevIfindex: Number(ndev)
    }
  })

const address = (text: string): Pick<GidSelection.Wish, "address"> => ({ address: gid(text) })

const listings: ReadonlyArray<
  readonly [name: string, rows: string, ...wishes: ReadonlyArray<readonly [GidSelection.Wish, number | undefined]>]
> = [
  [
    "an Ethernet port of a ConnectX with one IPv4 address",
    `
      0 1 v1 fe80::ba59:9fff:fe01:203
      1 1 v2 fe80::ba59:9fff:fe01:203
      2 1 v1 ::ffff:192.168.1.5
      3 1 v2 ::ffff:192.168.1.5`,
    [{ portNum: 1 }, 3],
    [{ portNum: 1, ...address("::ffff:192.168.1.5") }, 3],
    [{ portNum: 1, ...address("fe80::ba59:9fff:fe01:203") }, 1],
    [{ portNum: 1, gidType: "roceV1" }, 2],
    [{ portNum: 1, ...address("::ffff:192.168.1.6") }, undefined]
  ],
  [
    "the same after the link was down: the address came first",
    `
      0 1 v1 ::ffff:192.168.1.5
      1 1 v2 ::ffff:192.168.1.5
      2 1 v1 fe80::ba59:9fff:fe01:203
      3 1 v2 fe80::ba59:9fff:fe01:203`,
    [{ portNum: 1 }, 1],
    [{ portNum: 1, ...address("fe80::ba59:9fff:fe01:203") }, 3]
  ],
  [
    "Soft-RoCE",
    `
      0 1 v2 fe80::5054:ff:fe0a:1 3
      1 1 v2 ::ffff:10.0.0.1 3`,
    [{ portNum: 1 }, 1],
    [{ portNum: 2 }, undefined]
  ],
  [
    "an InfiniBand adapter with two ports",
    `
      0 1 ib fe80::2:c903:a0:101 0
      0 2 ib fe80::2:c903:a0:102 0`,
    [{ portNum: 1 }, 0],
    [{ portNum: 2, ...address("fe80::2:c903:a0:102") }, 0],
    [{ portNum: 2, ...address("fe80::2:c903:a0:101") }, undefined]
  ],
  [
    "InfiniBand with a subnet prefix and an alias",
    `
      0 1 ib fec0:0:0:1:2:c903:a0:101 0
      1 1 ib fe80::2:c903:a0:101 0`,
    [{ portNum: 1 }, 0],
    [{ portNum: 1, ...address("fe80::2:c903:a0:101") }, 1]
  ],
  [
    "VLANs: the same link-local address on two interfaces, and an address on each",
    `
      0 1 v1 fe80::ba59:9fff:fe01:203 4
      1 1 v2 fe80::ba59:9fff:fe01:203 4
      2 1 v2 fe80::ba59:9fff:fe01:203 9
      3 1 v1 ::ffff:10.9.0.1 9
      4 1 v2 ::ffff:10.9.0.1 9
      5 1 v1 ::ffff:10.4.0.1 4
      6 1 v2 ::ffff:10.4.0.1 4`,
    [{ portNum: 1, ...address("::ffff:10.9.0.1") }, 4],
    [{ portNum: 1, ndevIfindex: 4 }, 6],
    [{ portNum: 1, ndevIfindex: 9 }, 4],
    [{ portNum: 1 }, 6],
    [{ portNum: 1, ndevIfindex: 9, ...address("fe80::ba59:9fff:fe01:203") }, 2]
  ],
  [
    "IPv6 only: the routable address",
    `
      0 1 v2 fe80::1
      1 1 v1 2001:db8::7
      2 1 v2 2001:db8::7`,
    [{ portNum: 1 }, 2],
    [{ portNum: 1, ...address("2001:db8::7") }, 2]
  ],
  [
    "an old adapter of RoCE v1 beside empty places",
    `
      0 1 v1 fe80::202:c9ff:fe00:1
      1 1 v1 ::
      2 1 v1 ::ffff:172.16.0.9
      3 1 v1 ff0e::ffff:e000:1`,
    [{ portNum: 1 }, 2],
    [{ portNum: 1, gidType: "roceV2" }, undefined],
    [{ portNum: 1, ...address("::") }, undefined],
    [{ portNum: 1, ...address("ff0e::ffff:e000:1") }, undefined]
  ]
]

describe("GidSelection", () => {
  for (const [name, rows, ...wishes] of listings) {
    it(name, () => {
      const table = listing(rows)
      for (const [wish, index] of wishes) {
        assert.strictEqual(GidSelection.select(table, wish)?.gidIndex, index, JSON.stringify(wish))
      }
    })

    it(`${name}, in any order`, () => {
      const table = listing(rows)
      for (let turn = 1; turn < table.length; turn++) {
        const turned = [...table.slice(turn), ...table.slice(0, turn)]
        for (const [wish, index] of wishes) {
          assert.strictEqual(GidSelection.select(turned, wish)?.gidIndex, index, JSON.stringify(wish))
          assert.strictEqual(GidSelection.select(turned.toReversed(), wish)?.gidIndex, index, JSON.stringify(wish))
        }
      }
    })
  }

  it("never takes RoCE v1 when RoCE v2 has the same address", () => {
    for (const [, rows] of listings) {
      const table = listing(rows)
      for (const { gid, portNum } of table) {
        const chosen = GidSelection.select(table, { portNum, address: gid })
        const isThere = table.some((row) =>
          row.gidType === "roceV2" && row.portNum === portNum && Gid.Equivalence(row.gid, gid)
        )
        if (chosen !== undefined && isThere) assert.strictEqual(chosen.gidType, "roceV2")
      }
    }
  })
})
