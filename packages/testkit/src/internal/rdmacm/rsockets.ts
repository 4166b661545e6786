import * as Errno from "@effect-rdma/core/Errno"
import * as Gid from "@effect-rdma/core/Gid"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import type * as CmAddress from "@effect-rdma/rdmacm/CmAddress"
import type * as RSockets from "@effect-rdma/rdmacm/operations/RSockets"
import type { RdmaCmError } from "@effect-rdma/rdmacm/RdmaCmError"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as NetAddress from "effect/net/NetAddress"
import { FabricMisuse } from "../../FabricMisuse.ts"
import * as Address from "./address.ts"
import * as Binding from "./binding.ts"
import { unavailable } from "./channel.ts"
import * as Ports from "./ports.ts"
import * as Options from "./rsocketOptions.ts"
import * as State from "./rsocketState.ts"
import * as Streams from "./rsocketStreams.ts"
import { type CmState, type IdState, makeId, managerOf, release } from "./state.ts"

/** rsockets of one host: streams between the hosts of the fabric, as librdmacm behaves. */
export const make = (
  state: CmState
): Omit<RSockets.Operations, "repollCreate" | "repollCtl" | "repollWait"> => {
  const { fabric, host } = state
  const { rsockets: sockets } = host
  const mappings = host.heap.store<"riomap", State.MappingState>("riomap")

  // An id that is no program's.
  const nobody = state.channels.make((pointer) => ({
    kind: undefined,
    pointer,
    fabric,
    host,
    pending: [],
    held: [],
    readable: Latch.makeUnsafe(false),
    ids: 1
  }))
  const idOfNobody = (): IdState => makeId(state.channels.get("rsocket", nobody), "tcp")

  host.onUnplug.push((device) => {
    for (const [, socket] of sockets.values()) {
      if (socket.id.place?.device === device) State.end(socket, "broken", "EIO")
    }
  })

  const withSocket = <A>(
    call: string,
    number: RSockets.RSocketNumber,
    run: (socket: State.RSocketState) => Effect.Effect<A, RdmaCmError>
    // A call of C cannot be interrupted.
  ) => Effect.uninterruptible(Effect.suspend(() => run(sockets.get(call, number))))

  /** C follows pointers that are NULL until an rsocket is connected. */
  const withConnection = <A>(
    call: string,
    number: RSockets.RSocketNumber,
    run: (socket: State.RSocketState) => Effect.Effect<A, RdmaCmError>
  ) =>
    withSocket(call, number, (socket) => {
      if (socket.peer === undefined) {
        throw new FabricMisuse({ call, problem: `would end the process: the rsocket is ${socket.step}` })
      }
      return run(socket)
    })

  /** The request has come to the other host, whose library accepts it at once. */
  const meet = (
    self: State.RSocketState,
    address: NetAddress.InetAddress,
    { status, route }: Address.Resolution
  ): void => {
    if (status !== 0) return refuse(self, status)
    const there = route?.to
    if (route === undefined || there === undefined || !Address.isOpen(fabric, route.from, there)) {
      return refuse(self, "ETIMEDOUT")
    }
    const remote = Address.at(there, address, address.port)
    const { rsockets } = managerOf(there.device)?.host ?? host
    const [, listener] = Array.from(rsockets.values()).find(([, other]) => hears(other, remote)) ?? []
    if (listener === undefined) return refuse(self, "ECONNREFUSED")
    const number = rsockets.make((number) => {
      const id = idOfNobody()
      Object.assign(id, { local: remote, place: there })
      const accepted = State.make(number, id, "ipv4")
      Object.assign(accepted.options, listener.options)
      return accepted
    })
    const accepted = rsockets.get("raccept", number)
    accepted.remote = State.localOf(self)
    State.join(self, accepted)
    listener.waiting.push(number)
    State.tell(self, listener)
  }

  return {
    rsocket: (family) =>
      Effect.suspend(() => {
        if (!host.rdma) return Effect.fail(unavailable("rsocket"))
        return host.devices.length === 0
          ? State.fail("rsocket", "ENODEV")
          : Effect.sync(() => sockets.make((number) => State.make(number, idOfNobody(), family)))
      }),
    rclose: (number) =>
      Effect.uninterruptible(Effect.suspend(() => {
        const call = "rclose"
        const self = sockets.get(call, number as RSockets.RSocketNumber)
        if (self.mappings.some((mapping) => mapping?.isMapped)) {
          throw new FabricMisuse({ call, problem: "would hang: memory is still mapped on the rsocket" })
        }
        self.stop()
        Streams.shutdown(self, "both")
        sockets.free(call, self.number)
        self.step = "closed"
        Ports.leave(state, self.id)
        state.onDevice.delete(self.id)
        return release(state, self.id)
      })),
    rbind: (number, address) =>
      withSocket("rbind", number, (self) => {
        const call = "rbind"
        if (self.step !== "open") return State.fail(call, "EINVAL", { address: NetAddress.formatInet(address) })
        return Effect.map(Binding.bind(state, call, self.id, address), () => {
          self.step = "bound"
        })
      }),
    rlisten: (number, backlog) =>
      withSocket("rlisten", number, (self) => {
        const call = "rlisten"
        const { id } = self
        if (self.step === "listening") return Effect.void
        if (self.step !== "open" && self.step !== "bound") return State.fail(call, "EINVAL", { backlog })
        const bound = self.step === "open" ? Binding.bind(state, call, id, self.nowhere) : Effect.void
        return Effect.flatMap(bound, () => {
          // One that listens shares its port with nobody.
          const refused = id.local && id.reuseAddress ? Ports.refuse(state, id, id.local, false) : undefined
          if (refused !== undefined) return State.fail(call, refused, { backlog })
          id.reuseAddress = false
          self.step = "listening"
          return Effect.void
        })
      }),
    raccept: (number) =>
      withSocket("raccept", number, (self) => {
        if (self.step !== "listening") return State.fail("raccept", "EBADF")
        const next = self.waiting.shift()
        return next === undefined ? State.fail("raccept", "EAGAIN") : Effect.succeed(next)
      }),
    rconnect: (number, address) =>
      withSocket("rconnect", number, (self): Effect.Effect<void, RdmaCmError> => {
        const call = "rconnect"
        const input = { address: NetAddress.formatInet(address) }
        if (self.step === "connected" || self.step === "connecting") return Effect.void
        if (self.step === "listening") return State.fail(call, "EINVAL", input)
        if (self.step !== "open" && self.step !== "bound") return State.fail(call, "ENOTCONN", input)
        const { id } = self
        const from = id.local ?? Address.anyLike(address)
        const found = from._tag === address._tag ? Address.resolve(fabric, host, from, address) : "EINVAL"
        if (typeof found === "string") {
          refuse(self, found)
          return State.fail(call, found, input)
        }
        const local = found.route === undefined ? from : Address.at(found.route.from, address, Address.portOf(from))
        return Effect.map(self.step === "open" ? Binding.bind(state, call, id, local) : Effect.void, () => {
          if (found.route !== undefined) {
            Object.assign(id, { local: Address.withPort(local, portOf(id)), place: found.route.from })
          }
          self.remote = address
          self.step = "connecting"
          self.stop = fabric.after(
            found.status === "ETIMEDOUT" ? patience : connecting,
            () => meet(self, address, found)
          )
        })
      }),
    rpoll: (number) => Effect.sync(() => State.readinessOf(sockets.get("rpoll", number))),
    awaitRSocket: (number, wanted) =>
      Effect.suspend(() => {
        const self = sockets.get("rpoll", number)
        return Effect.callback<void>((resume) => {
          const look = () => {
            const { isBroken, isHungUp, isReadable, isWritable } = State.readinessOf(self)
            if (!(isBroken || isHungUp || (wanted === "readable" ? isReadable : isWritable))) return
            self.watchers.delete(look)
            resume(Effect.void)
          }
          self.watchers.add(look)
          look()
          return Effect.sync(() => self.watchers.delete(look))
        })
      }),
    rsend: (number, bytes) =>
      withConnection("rsend", number, (self) => {
        const count = Streams.send(self, bytes)
        return typeof count === "string" ? State.fail("rsend", count, { length: bytes.length }) : Effect.succeed(count)
      }),
    rrecv: (number, into) =>
      withConnection("rrecv", number, (self) => {
        const count = Streams.receive(self, into)
        return typeof count === "string" ? State.fail("rrecv", count, { length: into.length }) : Effect.succeed(count)
      }),
    rshutdown: (number, how) =>
      withSocket("rshutdown", number, (self) => Effect.sync(() => Streams.shutdown(self, how))),
    rgetsockname: (number) => withSocket("rgetsockname", number, (self) => Effect.succeed(State.localOf(self))),
    rgetpeername: (number) => withSocket("rgetpeername", number, ({ remote }) => Effect.succeed(remote)),
    rgetsockopt: (number, name) =>
      withSocket("rgetsockopt", number, (self) => Effect.sync(() => Options.get(self, name))),
    rsetsockopt: (number, name, value) =>
      withSocket("rsetsockopt", number, (self) => {
        const errno = Options.set(self, name, value)
        return errno === undefined ? Effect.void : State.fail("rsetsockopt", errno, { option: name, value })
      }),

    riomap: (number, bytes, offset) =>
      withConnection("riomap", number, (self) => {
        const input = { length: bytes.length, ...(offset === undefined ? {} : { offset }) }
        const places = self.peer?.options.Mappings ?? 0
        const free = Array.from({ length: places }).findIndex((_, place) => !self.mappings[place]?.isMapped)
        if (free === -1) return State.fail("riomap", "ENOMEM", input)
        const at = offset ?? NativeMemory.addressOf(bytes)
        mappings.make((pointer) =>
          self.mappings[free] = {
            kind: "RSocketMapping",
            pointer,
            offset: at,
            bytes,
            length: bytes.length,
            isMapped: true
          }
        )
        return Effect.succeed(at)
      }),
    riounmap: (number, bytes) =>
      withConnection("riounmap", number, (self) => {
        const mapping = self.mappings.find((mapping) => mapping?.isMapped && mapping.bytes === bytes)
        if (mapping === undefined) return State.fail("riounmap", "EINVAL", { length: bytes.length })
        mapping.isMapped = false
        mappings.free("riounmap", mapping.pointer)
        return Effect.void
      }),
    riowrite: (number, bytes, offset) =>
      withConnection("riowrite", number, (self) => {
        const count = Streams.writeMapped(self, bytes, offset)
        return typeof count === "string"
          ? State.fail("riowrite", count, { length: bytes.length, offset })
          : Effect.succeed(count)
      })
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const portOf = ({ local }: IdState): number => local === undefined ? 0 : Address.portOf(local)

/** Whether one takes connections to an address. */
const hears = (self: State.RSocketState, address: CmAddress.CmAddress): boolean => {
  const local = State.localOf(self)
  if (self.step !== "listening" || local.port !== Address.portOf(address)) return false
  return Address.isAny(local)
    ? local._tag === address._tag || (local._tag === "InetAddressV6" && !self.id.familyOnly)
    : Gid.Equivalence(Address.gidOf(local), Address.gidOf(address))
}

/** How long the fabric takes to connect. */
const connecting = "1 millis"

/** librdmacm asks for an address seven times, each time twice as long as before. */
const patience = "127 seconds"

const refuse = (self: State.RSocketState, errno: Errno.ErrnoName): void => {
  self.step = "refused"
  self.errno = Errno.numberOf(errno)
  State.tell(self)
}
