/** What a program does with ids, endpoints and management datagrams. */
import { Gid, Identifier, Lid, PKey } from "@effect-rdma/core"
import {
  AddressInfo,
  CmId,
  CmMemoryRegion,
  CmQueuePair,
  Connection,
  Endpoint,
  EventChannel,
  Listener,
  RdmaDevices
} from "@effect-rdma/rdmacm"
import {
  Discovery,
  McMemberRecord,
  NodeInfo,
  NodeRecord,
  PerformanceManagement,
  PortCounters,
  ServiceRecord,
  SubnetAdministration,
  SubnetManagement,
  UmadAgent,
  UmadCa,
  UmadLibrary,
  UmadPort
} from "@effect-rdma/umad"
import { Effect, Stream } from "effect"
import { atTheEnd, bytes, type Explored, together, whileNobodyWaits } from "./program.ts"

const server = "10.0.0.1:7471"

/** The release of the connection of a handler: what fails there is logged, and the other handlers go on. */
const loggedOfHandlers = [
  "ibv_destroy_qp",
  "ibv_destroy_cq",
  "ibv_destroy_comp_channel",
  "ibv_dereg_mr",
  "ibv_dealloc_pd",
  "rdma_destroy_id"
] as const

/** A request to a listener, on channels of their own. */
const requested = Effect.gen(function*() {
  const listener = yield* CmId.make(yield* EventChannel.make(), "tcp")
  yield* CmId.bind(listener, server)
  yield* CmId.listen(listener)
  const client = yield* CmId.make(yield* EventChannel.make(), "tcp")
  yield* CmId.resolveAddress(client, { destination: server })
  yield* CmId.resolveRoute(client)
  return { client, listener }
})

export const connections: Readonly<Record<string, Explored>> = {
  "ids with queue pairs of librdmacm connect, and one moves to another channel": {
    program: Effect.gen(function*() {
      const { client, listener } = yield* requested
      yield* CmQueuePair.make(client, { qpType: "rc" })
      const accepting = Effect.gen(function*() {
        const { id } = yield* CmId.nextRequest(listener)
        yield* CmQueuePair.make(id, { qpType: "rc" })
        yield* CmMemoryRegion.alloc(id, { length: 64, use: "messages" })
        yield* CmId.accept(id)
        return id
      })
      const [id] = yield* Effect.all([accepting, CmId.connect(client)], together)
      yield* CmId.migrate(client, yield* EventChannel.make())
      yield* Effect.all([CmId.disconnect(id), CmId.awaitDisconnected(client)], together)
    })
  },
  "endpoints connect": {
    program: Effect.gen(function*() {
      const passive = {
        node: "10.0.0.1",
        service: "7471",
        portSpace: "tcp",
        flags: ["passive", "numericHost"]
      } as const
      const [here] = yield* AddressInfo.get(passive)
      const [there] = yield* AddressInfo.get({ ...passive, flags: ["numericHost"] })
      if (here === undefined || there === undefined) return yield* Effect.die("no address")
      const listener = yield* Endpoint.listen(here, { queuePair: {} })
      const client = yield* Endpoint.make(yield* EventChannel.make(), there, { queuePair: {} })
      const accepting = Effect.gen(function*() {
        const { id } = yield* Endpoint.nextRequest(listener, yield* EventChannel.make())
        yield* CmId.accept(id)
      })
      yield* Effect.all([accepting, CmId.connect(client)], together)
    })
  },
  "the devices of librdmacm": { program: RdmaDevices.get() },
  "a listener serves, and memory of the other side is written and read": {
    program: Effect.gen(function*() {
      const listener = yield* Listener.make({ address: server })
      const serving = Effect.scoped(
        Listener.serve(listener, (incoming) =>
          Effect.flatMap(
            Listener.accept(incoming),
            (connection) =>
              Stream.runForEach(Connection.messages(connection), (message) => Connection.send(connection, message))
          ))
      )
      yield* Effect.forkScoped(serving)
      const connection = yield* Connection.connect({ address: server })
      yield* Connection.send(connection, bytes("hello"))
      yield* Connection.receive(connection)
    }),
    mayFail: [...atTheEnd, ...loggedOfHandlers]
  }
}

/** The own port, open, and what sysfs tells of it. */
const ownPort = Effect.gen(function*() {
  const library = yield* UmadLibrary.init()
  const { attributes } = yield* UmadPort.get(library)
  return {
    port: yield* UmadPort.open(library),
    attributes,
    gid: Gid.fromParts(attributes.gidPrefix, attributes.portGuid)
  }
})

const administration = Effect.gen(function*() {
  const { attributes, gid, port } = yield* ownPort
  return { gid, manager: yield* SubnetAdministration.of(port, attributes) }
})

export const subnets: Readonly<Record<string, Explored>> = {
  "requests to the own node, and to nobody": {
    program: Effect.gen(function*() {
      const { port } = yield* ownPort
      yield* SubnetManagement.get(port, { path: [] }, NodeInfo.NodeInfo)
      yield* Effect.catchTag(
        SubnetManagement.get(port, { lid: Lid.Lid.make(77) }, NodeInfo.NodeInfo),
        "MadTimeout",
        () => Effect.void
      )
    }),
    mayFail: whileNobodyWaits
  },
  "agents, and MADs that nobody sends": {
    program: Effect.gen(function*() {
      const { port } = yield* ownPort
      const agent = yield* UmadAgent.register(port, { mgmtClass: 0x04, methods: [1] })
      yield* Effect.timeoutOption(UmadAgent.next(agent), "1 second")
    })
  },
  "adapters and their ports": {
    program: Effect.gen(function*() {
      const library = yield* UmadLibrary.init()
      for (const name of yield* UmadLibrary.caNames(library)) yield* UmadCa.get(library, name)
    })
  },
  "counters are read and reset": {
    program: Effect.gen(function*() {
      const { attributes, port } = yield* ownPort
      const select = { portSelect: Identifier.AnyPortNumber.make(1) }
      const address = { lid: attributes.baseLid }
      yield* PerformanceManagement.get(port, address, PortCounters.PortCounters, select)
      yield* PerformanceManagement.set(port, address, PortCounters.PortCounters, { ...select, counterSelect: 0xffff })
    }),
    mayFail: whileNobodyWaits
  },
  "records of the subnet manager: a table, a service, a group": {
    program: Effect.gen(function*() {
      const { gid, manager } = yield* administration
      yield* SubnetAdministration.getTable(manager, NodeRecord.NodeRecord)
      const key = { serviceId: 0x1000_0000_0000_0042n, serviceGid: gid, servicePKey: PKey.defaultFull }
      yield* SubnetAdministration.set(manager, ServiceRecord.ServiceRecord, { ...key, serviceLease: 100 })
      yield* SubnetAdministration.remove(manager, ServiceRecord.ServiceRecord, key)
      yield* SubnetAdministration.getTable(manager, McMemberRecord.McMemberRecord)
    }),
    mayFail: whileNobodyWaits
  },
  "a walk over the subnet": {
    program: Effect.gen(function*() {
      const { port } = yield* ownPort
      yield* Discovery.walk(port, { concurrency: 4 })
    }),
    mayFail: whileNobodyWaits
  }
}
