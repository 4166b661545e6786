import * as Errno from "@effect-rdma/core/Errno"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import type * as RSockets from "@effect-rdma/rdmacm/operations/RSockets"
import type { RdmaCmError } from "@effect-rdma/rdmacm/RdmaCmError"
import * as Effect from "effect/Effect"
import * as NetAddress from "effect/net/NetAddress"
import { FabricMisuse } from "../../FabricMisuse.ts"
import type * as Host from "../host.ts"
import * as Address from "./rsocketAddress.ts"
import * as Options from "./rsocketOptions.ts"
import * as State from "./rsocketState.ts"
import * as Streams from "./rsocketStreams.ts"

/** A call that first loads the list of devices, and gives up when it is empty. */
type WithDevices = <A>(call: string, run: () => Effect.Effect<A, RdmaCmError>) => Effect.Effect<A, RdmaCmError>

/** rsockets of one host: streams between the hosts of the fabric, as librdmacm behaves. */
export const make = (
  fabric: Host.FabricState,
  host: Host.HostState,
  withDevices: WithDevices
): Omit<RSockets.Operations, "repollCreate" | "repollCtl" | "repollWait"> => {
  const { rsockets: sockets } = host
  const mappings = host.heap.store<"riomap", State.MappingState>("riomap")
  const all = () => Array.from(sockets.values(), ([, socket]) => socket)

  host.onUnplug.push((device) => {
    for (const socket of all()) if (socket.on === device) State.end(socket, "broken", "EIO")
  })

  const withSocket = <A>(
    call: string,
    number: RSockets.RSocketNumber,
    run: (socket: State.RSocketState) => Effect.Effect<A, RdmaCmError>
  ) => Effect.suspend(() => run(sockets.get(call, number)))

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

  const isTaken = (self: State.RSocketState, address: NetAddress.InetAddress): boolean =>
    all().some((other) =>
      other !== self && other.step !== "open" && !other.isAccepted && other.local.port === address.port &&
      Address.isSame(other.local, address) &&
      !(self.options.ReuseAddress === 1 && other.options.ReuseAddress === 1 && other.step !== "listening")
    )

  let nextPort = firstFreePort
  const freePort = (self: State.RSocketState, address: NetAddress.InetAddress): NetAddress.InetAddress => {
    let free: NetAddress.InetAddress
    do {
      free = Address.withPort(address, nextPort)
      nextPort = nextPort === lastFreePort ? firstFreePort : nextPort + 1
    } while (isTaken(self, free))
    return free
  }

  const refuse = (self: State.RSocketState, errno: Errno.ErrnoName): void => {
    self.step = "refused"
    self.errno = Errno.numberOf(errno)
    State.tell(self)
  }

  /** The request has come to the other host, whose library accepts it at once. */
  const meet = (self: State.RSocketState, { device, remote, to }: Address.Route): void => {
    if (!device.plugged) return refuse(self, "ENODEV")
    const [, listener] = Array.from(to?.rsockets.values() ?? [])
      .find(([, other]) => Address.hears(other, remote)) ?? []
    if (to === undefined || listener === undefined) return refuse(self, "ECONNREFUSED")
    const number = to.rsockets.make((number) => {
      const accepted = State.make(number, remote)
      Object.assign(accepted.options, listener.options)
      return Object.assign(accepted, { isAccepted: true, on: listener.on ?? to.devices[0] })
    })
    const accepted = to.rsockets.get("raccept", number)
    accepted.remote = self.local
    State.join(self, accepted)
    listener.waiting.push(number)
    State.tell(self, listener)
  }

  return {
    rsocket: (family) =>
      withDevices(
        "rsocket",
        () => Effect.sync(() => sockets.make((number) => State.make(number, Address.nowhere[family])))
      ),
    rclose: (number) =>
      Effect.sync(() => {
        const call = "rclose"
        const self = sockets.get(call, number as RSockets.RSocketNumber)
        if (self.mappings.some((mapping) => mapping?.isMapped)) {
          throw new FabricMisuse({ call, problem: "would hang: memory is still mapped on the rsocket" })
        }
        self.stop()
        Streams.shutdown(self, "both")
        sockets.free(call, self.number)
        self.step = "closed"
      }),
    rbind: (number, address) =>
      withSocket("rbind", number, (self) => {
        const call = "rbind"
        const input = { address: NetAddress.formatInet(address) }
        if (self.step !== "open") return State.fail(call, "EINVAL", input)
        const device = Address.deviceOf(host, address)
        if (typeof device === "string") return State.fail(call, device, input)
        if (address.port !== 0 && isTaken(self, address)) return State.fail(call, "EADDRINUSE", input)
        self.on = device
        self.local = address.port === 0 ? freePort(self, address) : address
        self.step = "bound"
        return Effect.void
      }),
    rlisten: (number, backlog) =>
      withSocket("rlisten", number, (self) => {
        const call = "rlisten"
        if (self.step === "listening") return Effect.void
        if (self.step !== "open" && self.step !== "bound") return State.fail(call, "EINVAL", { backlog })
        if (self.step === "open") self.local = freePort(self, self.local)
        const isHeard = all().some((other) =>
          other !== self && other.step === "listening" && other.local.port === self.local.port &&
          Address.isSame(other.local, self.local)
        )
        if (isHeard) return State.fail(call, "EADDRINUSE", { backlog })
        self.step = "listening"
        return Effect.void
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
        const route = self.step === "bound" && self.local._tag !== address._tag
          ? "EINVAL"
          : Address.routeOf(fabric, host, self.local, address)
        if (typeof route === "string") {
          refuse(self, route)
          return State.fail(call, route, input)
        }
        self.on = route.device
        self.local = route.local.port === 0 ? freePort(self, route.local) : route.local
        self.remote = route.remote
        self.step = "connecting"
        self.stop = route.to === undefined
          ? fabric.after(patience, () => refuse(self, "ETIMEDOUT"))
          : fabric.after(connecting, () => meet(self, route))
        return Effect.void
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
    rgetsockname: (number) => withSocket("rgetsockname", number, ({ local }) => Effect.succeed(local)),
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

/** The range that Linux takes free ports from. */
const firstFreePort = 32768
const lastFreePort = 60999

/** How long the fabric takes to connect. */
const connecting = "1 millis"

/** librdmacm asks for an address seven times, each time twice as long as before. */
const patience = "127 seconds"
