/**
 * rsockets on the real library.
 *
 * @since 0.1.0
 */
import * as Errno from "@effect-rdma/core/Errno"
import type * as Library from "@effect-rdma/core/Library"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as Pointer from "@effect-rdma/core/Pointer"
import * as ReturnConvention from "@effect-rdma/core/ReturnConvention"
import * as Effect from "effect/Effect"
import * as NetAddress from "effect/net/NetAddress"
import { networkInterfaces } from "node:os"
import type * as RSockets from "../../operations/RSockets.ts"
import type { RdmaCmError } from "../../RdmaCmError.ts"
import type * as RSocketOption from "../../RSocketOption.ts"
import * as Layout from "../RSocketLayout.ts"
import * as Sockaddr from "../sockaddr.ts"
import { onThread, withArena } from "./addressInfo.ts"
import { done, errorOf, tooOld } from "./error.ts"
import * as Manager from "./managerNode.ts"
import * as Readiness from "./rsocketReadiness.ts"
import * as Threads from "./rsocketThreads.ts"

export const make = (library: Library.Library): RSockets.Operations => {
  const rsocket = library.bind("rsocket", ["int", "int", "int"], "int")
  const rclose = library.bind("rclose", ["int"], "int")
  const rbind = library.bind("rbind", ["int", "buffer", "uint"], "int")
  const rlisten = library.bind("rlisten", ["int", "int"], "int")
  const raccept = library.bind("raccept", ["int", "pointer", "pointer"], "int")
  const rconnect = library.bind("rconnect", ["int", "pointer", "uint"], "int")
  const rpoll = library.bind("rpoll", ["buffer", "size", "int"], "int")
  const rsend = library.bind("rsend", ["int", "buffer", "size", "int"], "ssize")
  const rrecv = library.bind("rrecv", ["int", "buffer", "size", "int"], "ssize")
  const rshutdown = library.bind("rshutdown", ["int", "int"], "int")
  const rgetsockname = library.bind("rgetsockname", ["int", "buffer", "buffer"], "int")
  const rgetpeername = library.bind("rgetpeername", ["int", "buffer", "buffer"], "int")
  const rgetsockopt = library.bind("rgetsockopt", ["int", "int", "int", "buffer", "buffer"], "int")
  const rsetsockopt = library.bind("rsetsockopt", ["int", "int", "int", "pointer", "uint"], "int")
  const rfcntl = library.bind("rfcntl", ["int", "int", "int"], "int")
  const riomap = library.bind("riomap", ["int", "pointer", "size", "int", "int", "u64"], "ssize")
  const riounmap = library.bind("riounmap", ["int", "pointer", "size"], "int")
  const riowrite = library.bind("riowrite", ["int", "buffer", "size", "u64", "int"], "ssize")
  const repollCreate = library.bindOptional("repoll_create", ["int"], "int")
  const repollCtl = library.bindOptional("repoll_ctl", ["int", "int", "int", "buffer"], "int")
  const repollWait = library.bindOptional("repoll_wait", ["int", "buffer", "int", "int"], "int")

  const closeOnThread = (number: number) => onThread<number>((done) => rclose.async(number, done))

  const startToConnect = (number: number, address: NetAddress.InetAddress) => {
    const encoded = Sockaddr.encode(address)
    return withArena(sizeofStorage, (arena) => {
      const at = arena.put(new Uint8Array(encoded.buffer))
      return ReturnConvention.onWorker<number>((done) => rconnect.async(number, at, encoded.byteLength, done))
    })
  }

  const threads = threadsOf(library, (name) =>
    Effect.suspend(() => {
      const stranger = Threads.stranger(networkInterfaces())
      const number = rsocket(Sockaddr.families[stranger._tag === "InetAddressV6" ? "ipv6" : "ipv4"], SOCK_STREAM, 0)
      if (number < 0) return Effect.succeed<Threads.Visit>("failed")
      const enter = rfcntl(number, F_SETFL, O_NONBLOCK) !== 0
        ? Effect.succeed(false)
        : name === "listening"
        ? Effect.map(onThread<number>((done) => rlisten.async(number, 0, done)), ({ result }) => result === 0)
        : Effect.map(startToConnect(number, stranger), ({ errno, result }) => result < 0 && errno === EINPROGRESS)
      return enter.pipe(
        Effect.tap(closeOnThread(number)),
        Effect.map((was): Threads.Visit => was ? "entered" : "missed")
      )
    }))

  const close = (socket: RSockets.RSocketNumber | RSockets.PollNumber) =>
    threads.leaving(
      Number(socket),
      Effect.flatMap(
        closeOnThread(Number(socket)),
        // Its errno is what it returns.
        ({ result }) => result === 0 ? Effect.void : Effect.fail(errorOf("rclose", result, {}))
      )
    )

  /** One that cannot be set otherwise would block, so it is closed. */
  const withoutBlocking = (call: string, number: number) => {
    const socket = Pointer.make<"rsocket">(BigInt(number))
    return done(call, () => rfcntl(number, F_SETFL, O_NONBLOCK)).pipe(
      Effect.tapError(() => Effect.ignore(close(socket))),
      Effect.as(socket)
    )
  }

  const name = (call: string, get: typeof rgetsockname) => (socket: RSockets.RSocketNumber) =>
    Effect.suspend(() => {
      const address = new DataView(new ArrayBuffer(sizeofStorage))
      return Effect.map(
        done(call, () => get(Number(socket), address, Uint32Array.of(sizeofStorage))),
        () => {
          const decoded = Sockaddr.decode(address)
          return decoded === undefined || decoded._tag === "IbAddress" ? undefined : decoded
        }
      )
    })

  return {
    rsocket: (family) =>
      Effect.uninterruptible(Effect.suspend(() => {
        const refusal = Manager.refusal()
        if (refusal !== undefined) return Effect.fail(Manager.errorOf("rsocket", refusal))
        return threads.prepare.pipe(
          Effect.andThen(ReturnConvention.minusOneErrno(
            () => rsocket(Sockaddr.families[family], SOCK_STREAM, 0),
            (errno) => Manager.errorOf("rsocket", errno)
          )),
          Effect.flatMap((number) => withoutBlocking("rsocket", number))
        )
      })),
    rclose: close,
    rbind: (socket, address) =>
      Effect.suspend(() => {
        const encoded = Sockaddr.encode(address)
        return done("rbind", () => rbind(Number(socket), encoded, encoded.byteLength), {
          address: NetAddress.formatInet(address)
        })
      }),
    rlisten: (socket, backlog) =>
      threads.entering(
        "listening",
        "rlisten",
        Effect.asVoid(
          onThreadOrErrno("rlisten", (done) => rlisten.async(Number(socket), backlog, done), { backlog })
        ),
        () => Number(socket)
      ),
    raccept: (listener) =>
      Effect.uninterruptible(Effect.flatMap(
        threads.entering(
          "connecting",
          "raccept",
          Effect.flatMap(
            onThreadOrErrno("raccept", (done) => raccept.async(Number(listener), null, null, done)),
            // A short read gives its length, which is no number of an rsocket.
            (number) =>
              number < sizeofPointer && rfcntl(number, F_GETFL, 0) === -1
                ? Effect.fail(errorOf("raccept", EPROTO, { read: number }))
                : Effect.succeed(number)
          ),
          (number) => number
        ),
        (number) => withoutBlocking("raccept", number)
      )),
    rconnect: (socket, address) =>
      threads.entering(
        "connecting",
        "rconnect",
        Effect.flatMap(
          startToConnect(Number(socket), address),
          (returned) =>
            returned.errno === EINPROGRESS
              ? Effect.void
              : Effect.asVoid(orErrno("rconnect", { address: NetAddress.formatInet(address) })(returned))
        ),
        () => Number(socket)
      ),
    rpoll: (socket) =>
      Effect.sync(() => {
        const [mask = 0] = Readiness.look(rpoll, [{
          socket: Number(socket),
          mask: Readiness.maskOf(["readable", "writable"])
        }])
        return Readiness.readinessOf(mask)
      }),
    awaitRSocket: (() => {
      const wait = Readiness.make(rpoll)
      return (socket, wanted) => wait(Number(socket), wanted)
    })(),
    rsend: (socket, bytes) =>
      ReturnConvention.minusOneErrno(
        () => rsend(Number(socket), bytes, bytes.length, 0),
        (errno) => errorOf("rsend", errno, { length: bytes.length })
      ),
    rrecv: (socket, into) =>
      ReturnConvention.minusOneErrno(
        () => rrecv(Number(socket), into, into.length, 0),
        (errno) => errorOf("rrecv", errno, { length: into.length })
      ),
    rshutdown: (socket, how) =>
      Effect.asVoid(
        onThreadOrErrno("rshutdown", (done) => rshutdown.async(Number(socket), directions.indexOf(how), done), { how })
      ),
    rgetsockname: name("rgetsockname", rgetsockname),
    rgetpeername: name("rgetpeername", rgetpeername),
    rgetsockopt: (socket, option) =>
      Effect.suspend(() => {
        const { level, name } = options[option]
        const value = new Int32Array(1)
        return Effect.map(
          done(
            "rgetsockopt",
            () => rgetsockopt(Number(socket), level, name, value, Uint32Array.of(value.byteLength)),
            { option }
          ),
          () => value[0] ?? 0
        )
      }),
    rsetsockopt: (socket, option, value) =>
      // Some are told to a thread of the library.
      withArena(4, (arena) => {
        const { level, name } = options[option]
        const at = arena.put(new Uint8Array(Int32Array.of(value).buffer))
        return Effect.flatMap(
          ReturnConvention.onWorker<number>((done) => rsetsockopt.async(Number(socket), level, name, at, 4, done)),
          (returned) => Effect.asVoid(orErrno("rsetsockopt", { option, value })(returned))
        )
      }),

    riomap: (socket, bytes, offset) =>
      Effect.suspend(() => {
        const address = NativeMemory.addressOf(bytes)
        return Effect.as(
          ReturnConvention.minusOneErrno(
            () => riomap(Number(socket), address, bytes.length, PROT_WRITE, 0, offset ?? atAddress),
            (errno) => errorOf("riomap", errno, { length: bytes.length, ...(offset === undefined ? {} : { offset }) })
          ),
          offset ?? address
        )
      }),
    riounmap: (socket, bytes) =>
      done("riounmap", () => riounmap(Number(socket), NativeMemory.addressOf(bytes), bytes.length), {
        length: bytes.length
      }),
    riowrite: (socket, bytes, offset) =>
      ReturnConvention.minusOneErrno(
        () => riowrite(Number(socket), bytes, bytes.length, offset, 0),
        (errno) => errorOf("riowrite", errno, { length: bytes.length, offset })
      ),

    repollCreate: Effect.suspend(() =>
      repollCreate === undefined
        ? tooOld("repoll_create", 65)
        : Effect.map(
          ReturnConvention.minusOneErrno(
            () => repollCreate(O_CLOEXEC),
            (errno) => errorOf("repoll_create", errno, {})
          ),
          (number) => Pointer.make<"repoll">(BigInt(number))
        )
    ),
    repollCtl: (poll, change, socket, wanted) =>
      Effect.suspend(() => {
        if (repollCtl === undefined) return tooOld("repoll_ctl", 65)
        const event = Layout.EpollEvent.allocate()
        Layout.EpollEvent.write(event, { events: Readiness.maskOf(wanted), data: socket })
        return ReturnConvention.returnedErrno(
          () => repollCtl(Number(poll), changes[change], Number(socket), event),
          (errno) => errorOf("repoll_ctl", errno, { change })
        )
      }),
    repollWait: (poll) =>
      Effect.suspend(() => {
        if (repollWait === undefined) return tooOld("repoll_wait", 65)
        const { size } = Layout.EpollEvent
        const events = new DataView(new ArrayBuffer(size * mostEvents))
        const result = repollWait(Number(poll), events, mostEvents, 0)
        // An errno is returned as if it were a count.
        if (result < 0 || result > mostEvents) return Effect.fail(errorOf("repoll_wait", Math.abs(result), {}))
        return Effect.succeed(Array.from({ length: result }, (_, index) => {
          const event = Layout.EpollEvent.read(events, index * size)
          return { ...Readiness.readinessOf(event.events), socket: Pointer.make<"rsocket">(event.data) }
        }))
      })
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** The threads are one for all layers of a library, and so is what is known of them. */
const threadsOfLibraries = new Map<string, Threads.Threads>()

const threadsOf = ({ path }: Library.Library, visit: Parameters<typeof Threads.make>[1]): Threads.Threads => {
  const known = threadsOfLibraries.get(path) ?? Threads.make(() => Threads.growsWrongly(Threads.filesOf(path)), visit)
  threadsOfLibraries.set(path, known)
  return known
}

const SOCK_STREAM = 1
const F_GETFL = 3
const F_SETFL = 4
const O_NONBLOCK = 0o4000
const O_CLOEXEC = 0o2000000
const PROT_WRITE = 2

const EINPROGRESS = Errno.numberOf("EINPROGRESS")
const EPROTO = Errno.numberOf("EPROTO")

/** -1 as an `off_t`: the offset of a mapping is its address. */
const atAddress = 0xffff_ffff_ffff_ffffn

/** What `raccept` reads. */
const sizeofPointer = 8

const sizeofStorage = 128

/** `SHUT_RD`, `SHUT_WR` and `SHUT_RDWR`. */
export const directions = ["receive", "send", "both"]

/** `EPOLL_CTL_ADD` and `EPOLL_CTL_DEL`. */
export const changes = { add: 1, delete: 2 } as const

/** Fewer than the smallest errno that can come in the place of a count, which is `EFAULT`. */
const mostEvents = 8

const SOL_SOCKET = 1
const IPPROTO_TCP = 6
const IPPROTO_IPV6 = 41
const SOL_RDMA = 0x10000

/** Where the options are; each is an `int`. */
export const options: { readonly [N in RSocketOption.Name]: { readonly level: number; readonly name: number } } = {
  ReuseAddress: { level: SOL_SOCKET, name: 2 },
  Error: { level: SOL_SOCKET, name: 4 },
  SendBuffer: { level: SOL_SOCKET, name: 7 },
  ReceiveBuffer: { level: SOL_SOCKET, name: 8 },
  KeepAlive: { level: SOL_SOCKET, name: 9 },
  NoDelay: { level: IPPROTO_TCP, name: 1 },
  MaxSegment: { level: IPPROTO_TCP, name: 2 },
  KeepIdle: { level: IPPROTO_TCP, name: 4 },
  Ipv6Only: { level: IPPROTO_IPV6, name: 26 },
  SendQueue: { level: SOL_RDMA, name: 0 },
  ReceiveQueue: { level: SOL_RDMA, name: 1 },
  Inline: { level: SOL_RDMA, name: 2 },
  Mappings: { level: SOL_RDMA, name: 3 }
}

const orErrno = (call: string, input: RdmaCmError["input"]) =>
(
  { errno, result }: { readonly result: number; readonly errno: number }
): Effect.Effect<number, RdmaCmError> => result < 0 ? Effect.fail(errorOf(call, errno, input)) : Effect.succeed(result)

/** A call on a worker thread that returns -1 and errno, else a value. */
const onThreadOrErrno = (
  call: string,
  start: (done: (error: unknown, result: number) => void) => void,
  input: RdmaCmError["input"] = {}
) => Effect.flatMap(onThread(start), orErrno(call, input))
