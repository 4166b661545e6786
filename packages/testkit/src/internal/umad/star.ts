import * as Gid from "@effect-rdma/core/Gid"
import * as Guid from "@effect-rdma/core/Guid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as LinkSpeed from "@effect-rdma/core/LinkSpeed"
import * as LinkWidth from "@effect-rdma/core/LinkWidth"
import type * as SubnetTopology from "@effect-rdma/umad/SubnetTopology"
import type * as Topology from "../../Topology.ts"

/** The subnet of hosts of which nothing is said: one switch for all ports; where that has not ports enough, several in a row. */
export const of = ({ hosts }: Topology.Topology): SubnetTopology.SubnetTopology => {
  const adapters = hosts.flatMap((host) =>
    host.devices
      .filter((device) => device.nodeType === "ca" && device.ports.some(isInfiniband))
      .map((device) => ({ name: `${host.name} ${device.name}`, device }))
  )
  const places = adapters.flatMap(({ device }) => device.ports.filter(isInfiniband).map((port) => ({ device, port })))
  const count = Math.ceil(places.length / hostPorts)
  const switches = Array.from({ length: count }, (_, index) => {
    const guid = switchGuid(index)
    const own = places.slice(index * hostPorts, (index + 1) * hostPorts)
    return described("switch", guid, `switch-${index + 1}`, count === 1 ? own.length : towardsNext, [
      switchPort(guid, 0),
      ...own.map(({ device, port }, place) =>
        switchPort(guid, place + 1, {
          node: device.guid,
          port: Identifier.PortNumber.make(port.number),
          ...runs(port)
        })
      ),
      ...(index === 0 ? [] : [switchPort(guid, towardsPrevious, trunk(index - 1, towardsNext))]),
      ...(index === count - 1 ? [] : [switchPort(guid, towardsNext, trunk(index + 1, towardsPrevious))])
    ])
  })
  const nodes = adapters.map(({ device, name }) =>
    described(
      "ca",
      device.guid,
      name,
      Math.max(...device.ports.map(({ number }) => number)),
      device.ports.filter(isInfiniband).map((port) => {
        const place = places.findIndex((place) => place.port === port)
        const gid = port.gids.find(({ type }) => type === "ib")?.gid
        return {
          number: port.number,
          guid: gid === undefined
            ? Guid.Guid.make(device.guid + BigInt(port.number))
            : Guid.Guid.make(Gid.interfaceId(gid)),
          lid: port.lid,
          lmc: port.lmc,
          link: {
            node: switchGuid(Math.floor(place / hostPorts)),
            port: Identifier.PortNumber.make(place % hostPorts + 1),
            ...runs(port)
          }
        }
      }),
      device.attributes
    )
  )
  return { nodes: [...switches, ...nodes] }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const hostPorts = 252
const towardsPrevious = 253
const towardsNext = 254
const firstSwitch = 0x5357_0000_0000_0001n

const noLid = Lid.Lid.make(0)

const switchGuid = (index: number) => Guid.Guid.make(firstSwitch + BigInt(index))
const switchPort = (guid: Guid.Guid, number: number, link?: SubnetTopology.Link): SubnetTopology.Port => ({
  number: Identifier.AnyPortNumber.make(number),
  guid,
  lid: noLid,
  lmc: 0,
  ...(link === undefined ? undefined : { link })
})
const trunk = (index: number, port: number): SubnetTopology.Link => ({
  node: switchGuid(index),
  port: Identifier.PortNumber.make(port),
  width: "12x",
  speed: "hdr"
})

const isInfiniband = ({ linkLayer, number }: Topology.Port): boolean => linkLayer === "infiniband" && number > 0

const runs = ({ activeSpeed, activeWidth }: Topology.Port): Pick<SubnetTopology.Link, "width" | "speed"> => ({
  width: LinkWidth.fromNative(activeWidth),
  speed: LinkSpeed.fromNative(activeSpeed)
})

const described = (
  kind: SubnetTopology.Node["kind"],
  guid: Guid.Guid,
  name: string,
  numPorts: number,
  ports: ReadonlyArray<SubnetTopology.Port>,
  attributes?: Topology.Device["attributes"]
): SubnetTopology.Node => ({
  kind,
  guid,
  systemGuid: guid,
  name,
  description: name,
  vendorId: (attributes?.vendorId ?? 0) & 0xff_ffff,
  deviceId: (attributes?.vendorPartId ?? 0) & 0xffff,
  numPorts,
  enhancedPort0: false,
  ports
})
