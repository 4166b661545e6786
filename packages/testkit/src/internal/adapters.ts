import * as Gid from "@effect-rdma/core/Gid"
import * as LinkSpeed from "@effect-rdma/core/LinkSpeed"
import * as LinkWidth from "@effect-rdma/core/LinkWidth"
import type * as SubnetTopology from "@effect-rdma/umad/SubnetTopology"
import type { Device, GidRow } from "../Topology.ts"

/**
 * A Soft-RoCE device of host number 1 to 254, with the GIDs of its link-local address and of `10.0.0.<number>`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const softRoce = (name: string, hostNumber: number): typeof Device.Encoded => ({
  name,
  provider: "rxe",
  guid: 0x5054_00ff_fe0a_0000n + BigInt(hostNumber),
  ports: [{
    number: 1,
    linkLayer: "ethernet",
    gids: [
      { gid: `fe80::5054:ff:fe0a:${hostNumber.toString(16)}`, type: "roceV2", ndevIfindex: 3 },
      { gid: `::ffff:10.0.0.${hostNumber}`, type: "roceV2", ndevIfindex: 3 }
    ],
    flags: 1
  }]
})

const connectXAttributes = {
  fwVer: "20.31.1014",
  vendorId: 0x02c9,
  vendorPartId: 4123,
  maxQp: 262144,
  maxQpWr: 32768,
  maxCq: 16777216,
  maxCqe: 4194303,
  maxMr: 16777216,
  maxPd: 16777216,
  maxQpRdAtom: 16,
  maxResRdAtom: 4194304,
  maxQpInitRdAtom: 16,
  maxSge: 30,
  maxSgeRd: 30,
  maxMw: 16777216,
  maxMcastGrp: 2097152,
  maxMcastQpAttach: 240,
  maxTotalMcastQpAttach: 503316480,
  maxAh: 2147483647,
  maxSrq: 8388608,
  maxSrqWr: 32767,
  maxSrqSge: 31,
  maxPkeys: 128,
  localCaAckDelay: 16
} as const

/**
 * An InfiniBand adapter of host number 1 to 254 like a ConnectX-6: port 1 active with the host number as LID and
 * `10.0.1.<number>` on IPoIB, port 2 without a cable. The subnet manager is at LID 1.
 *
 * @category constructors
 * @since 0.1.0
 */
export const connectX = (name: string, hostNumber: number): typeof Device.Encoded => {
  const guid = 0x0002_c903_00a0_0000n + BigInt(hostNumber << 8)
  const port = {
    linkLayer: "infiniband",
    gidTblLen: 8,
    pkeys: [0xffff, 0x7fff],
    rate: 200,
    activeMtu: 4096,
    maxMsgSz: 0x4000_0000,
    portCapFlags: 0xa651_e848,
    maxVlNum: 4,
    subnetTimeout: 18,
    activeWidth: 2,
    activeSpeed: 64
  } as const
  const gid = (number: number): typeof GidRow.Encoded => ({
    gid: Gid.fromParts(0xfe80_0000_0000_0000n, guid + BigInt(number)),
    type: "ib"
  })
  return {
    name,
    provider: "mlx5",
    guid,
    caType: "MT4123",
    hwVer: "0",
    attributes: connectXAttributes,
    ports: [
      {
        ...port,
        number: 1,
        lid: hostNumber,
        smLid: 1,
        gids: [gid(1)],
        ipoibAddresses: [{ address: `::ffff:10.0.1.${hostNumber}`, ndevIfindex: 4 }]
      },
      { ...port, number: 2, state: "down", physState: "polling", lid: 0xffff, gids: [gid(2)] }
    ]
  }
}

/** The adapter of a node, as ibsim has it. */
export const adapter = (node: SubnetTopology.Node): typeof Device.Encoded => ({
  name: "mlx5_0",
  provider: "mlx5",
  guid: node.guid,
  caType: "simulator",
  hwVer: "0",
  attributes: {
    ...connectXAttributes,
    fwVer: "0",
    vendorId: node.vendorId,
    vendorPartId: node.deviceId,
    hwVer: 0xa1,
    maxPkeys: 64
  },
  ports: Array.from({ length: node.numPorts }, (_, index) => {
    const port = node.ports.find(({ number }) => number === index + 1)
    const guid = port?.guid ?? node.guid + BigInt(index + 1)
    const { speed, width }: Pick<SubnetTopology.Link, "speed" | "width"> = port?.link ?? { speed: "sdr", width: "4x" }
    return {
      number: index + 1,
      linkLayer: "infiniband",
      ...(port?.link === undefined ? { state: "down", physState: "polling" } : { state: "init", physState: "linkUp" }),
      lid: port?.lid ?? 0,
      lmc: port?.lmc ?? 0,
      gids: [{ gid: Gid.fromParts(0xfe80_0000_0000_0000n, guid), type: "ib" }],
      gidTblLen: 32,
      pkeys: [0xffff, ...Array.from({ length: 63 }, () => 0)],
      rate: Math.floor(LinkWidth.lanes(width) * LinkSpeed.gigabitsPerLane(speed)),
      maxMtu: 2048,
      activeMtu: 2048,
      maxMsgSz: 0x4000_0000,
      portCapFlags: port?.link === undefined ? 0x0010_c048 : 0x0050_c048,
      maxVlNum: 4,
      subnetTimeout: 31,
      activeWidth: width === "unknown" ? 0 : LinkWidth.toNative(width),
      activeSpeed: speed === "unknown" ? 0 : LinkSpeed.toNative(speed)
    }
  })
})
