/**
 * The seam of librdmacm on the real library.
 *
 * @since 0.1.0
 */
import * as DeviceNode from "@effect-rdma/core/DeviceNode"
import * as Errno from "@effect-rdma/core/Errno"
import * as Library from "@effect-rdma/core/Library"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as Pointer from "@effect-rdma/core/Pointer"
import * as Readiness from "@effect-rdma/core/Readiness"
import * as ReturnConvention from "@effect-rdma/core/ReturnConvention"
import * as Effect from "effect/Effect"
import type { ContextArray, RdmaCm } from "../RdmaCm.ts"
import type { RdmaCmError } from "../RdmaCmError.ts"
import * as Codec from "./codec.ts"
import * as AddressInfo from "./ffi/addressInfo.ts"
import * as Connection from "./ffi/connection.ts"
import * as Endpoint from "./ffi/endpoint.ts"
import { adapters, entries, errorOf, notPollable } from "./ffi/error.ts"
import * as Identifier from "./ffi/identifier.ts"
import * as Manager from "./ffi/managerNode.ts"
import * as Multicast from "./ffi/multicast.ts"
import * as RSocket from "./ffi/rsocket.ts"
import * as Layout from "./Layout.ts"

export const make = Effect.fnUntraced(function*(
  options: { readonly path?: string }
): Effect.fn.Return<RdmaCm["Service"], Library.LibraryNotFound | Library.SymbolNotFound> {
  const library = yield* Library.open({
    name: "librdmacm",
    soname: ["librdmacm.so.1"],
    environment: "EFFECT_RDMA_LIBRDMACM",
    debianPackage: "librdmacm1",
    path: options.path
  })
  return yield* Library.bindAll(() => operationsOf(library))
})

const operationsOf = (library: Library.Library): RdmaCm["Service"] => {
  const getDevices = library.bind("rdma_get_devices", ["buffer"], "pointer")
  const freeDevices = library.bind("rdma_free_devices", ["pointer"], "void")
  const createEventChannel = library.bind("rdma_create_event_channel", [], "pointer")
  const destroyEventChannel = library.bind("rdma_destroy_event_channel", ["pointer"], "void")
  const getCmEvent = library.bind("rdma_get_cm_event", ["pointer", "buffer"], "int")
  const ackCmEvent = library.bind("rdma_ack_cm_event", ["pointer"], "int")

  const operations: RdmaCm["Service"] = {
    getDevices: Effect.uninterruptible(Effect.suspend(() => {
      const refused = refusedByAll(verbsNodes())
      if (refused !== undefined) return Effect.fail(refused)
      const count = new Int32Array(1)
      return Effect.matchEffect(
        ReturnConvention.pointerOrErrno<"ibv_context *", number>(() => getDevices(count), (errno) => errno),
        {
          onFailure: (errno): Effect.Effect<ContextArray, RdmaCmError> =>
            errno === ENODEV && adapters()?.length === 0
              ? Effect.succeed({ list: undefined, contexts: [] })
              : Effect.fail(errorOf("rdma_get_devices", errno, {}, cannotOpen)),
          onSuccess: (list) => {
            const contexts = readPointers<"ibv_context">(list, count[0] ?? 0)
            if (contexts.length > 0 || !adapters()?.length) return Effect.succeed({ list, contexts })
            // The library leaves out what it could not open, and says nothing.
            freeDevices(list)
            return Effect.fail(errorOf("rdma_get_devices", ENODEV, {}, cannotOpen))
          }
        }
      )
    })),
    freeDevices: (list) => Effect.sync(() => freeDevices(list)),

    createEventChannel: Effect.uninterruptible(Effect.suspend(() => {
      const refusal = Manager.refusal()
      if (refusal !== undefined) return Effect.fail(Manager.errorOf("rdma_create_event_channel", refusal))
      return Effect.tap(
        ReturnConvention.pointerOrErrno<"rdma_event_channel", RdmaCmError>(
          createEventChannel,
          (errno) => Manager.errorOf("rdma_create_event_channel", errno)
        ),
        (channel) =>
          Readiness.setNonBlocking(descriptor(channel)).pipe(
            Effect.mapError((error) => notPollable("rdma_create_event_channel", error)),
            Effect.tapError(() => Effect.sync(() => destroyEventChannel(channel)))
          )
      )
    })),
    destroyEventChannel: (channel) => Effect.sync(() => destroyEventChannel(channel)),

    getCmEvent: (channel) =>
      Effect.suspend(() => {
        const out = new BigUint64Array(1)
        return Effect.map(
          ReturnConvention.minusOneErrno(
            () => getCmEvent(channel, out),
            (errno) => errno === EAGAIN ? noEvent : errorOf("rdma_get_cm_event", errno, {})
          ),
          () => {
            const pointer = pointerIn<"rdma_cm_event">(out)
            return { pointer, event: Codec.readEvent(pointer) }
          }
        )
      }),
    ackCmEvent: (event) => Effect.sync(() => void ackCmEvent(event)),
    awaitCmEvent: (channel) =>
      Effect.suspend(() =>
        Effect.mapError(
          Readiness.readable(descriptor(channel)),
          (error) => notPollable("rdma_get_cm_event", error)
        )
      ),

    ...Identifier.make(library),
    ...Connection.make(library),
    ...Multicast.make(library),
    ...AddressInfo.make(library),
    ...Endpoint.make(library),
    ...RSocket.make(library)
  }
  return operations
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const ENODEV = Errno.numberOf("ENODEV")

const EAGAIN = Errno.numberOf("EAGAIN")

// One for all: who drains a channel ends with it each time, and never looks at its stack.
const noEvent = errorOf("rdma_get_cm_event", EAGAIN, {})

const nodes = "/dev/infiniband"

const verbsNodes = () =>
  (entries(nodes) ?? []).filter((name) => name.startsWith("uverbs")).map((name) => `${nodes}/${name}`)

// The library would wait 5 s for each and then count the devices as gone for as long as the process lives.
const refusedByAll = (paths: ReadonlyArray<string>): RdmaCmError | undefined => {
  const refusals = paths.map(DeviceNode.refusal)
  const [path] = paths
  const [refusal] = refusals
  return path === undefined || refusal === undefined || refusals.includes(undefined)
    ? undefined
    : errorOf("rdma_get_devices", refusal, {}, DeviceNode.describe(path))
}

const descriptor = (channel: bigint): number =>
  Layout.EventChannel.get("fd", NativeMemory.view(channel, Layout.EventChannel.size))

const pointerIn = <S extends string>(out: BigUint64Array): Pointer.Pointer<S> => Pointer.make<S>(out[0] ?? 0n)

const readPointers = <S extends string>(list: bigint, count: number): ReadonlyArray<Pointer.Pointer<S>> =>
  Array.from(new BigUint64Array(NativeMemory.view(list, count * 8).buffer), (address) => Pointer.make<S>(address))

const cannotOpen = "An adapter is there, but librdmacm could open none: is its driver in user space installed " +
  "(apt-get install ibverbs-providers) and ib_uverbs loaded?"
