/**
 * CM ids on the real library: what they are bound to, and their options.
 *
 * @since 0.1.0
 */
import type * as Library from "@effect-rdma/core/Library"
import * as Pointer from "@effect-rdma/core/Pointer"
import * as ReturnConvention from "@effect-rdma/core/ReturnConvention"
import * as NativeStruct from "@effect-rdma/verbs/NativeStruct"
import * as Effect from "effect/Effect"
import * as CmAddress from "../../CmAddress.ts"
import type * as CmOption from "../../CmOption.ts"
import * as PortSpace from "../../PortSpace.ts"
import type { RdmaCm } from "../../RdmaCm.ts"
import * as Codec from "../codec.ts"
import * as Sockaddr from "../sockaddr.ts"
import { done, errorOf, tooOld } from "./error.ts"

export const make = (library: Library.Library) => {
  const createId = library.bind("rdma_create_id", ["pointer", "buffer", "pointer", "int"], "int")
  const destroyId = library.bind("rdma_destroy_id", ["pointer"], "int")
  const bindAddr = library.bind("rdma_bind_addr", ["pointer", "buffer"], "int")
  const resolveAddr = library.bind("rdma_resolve_addr", ["pointer", "buffer", "buffer", "int"], "int")
  const resolveRoute = library.bind("rdma_resolve_route", ["pointer", "int"], "int")
  const migrateId = library.bind("rdma_migrate_id", ["pointer", "pointer"], "int")
  const setOption = library.bind("rdma_set_option", ["pointer", "int", "int", "buffer", "size"], "int")
  const setLocalEce = library.bindOptional("rdma_set_local_ece", ["pointer", "buffer"], "int")
  const getRemoteEce = library.bindOptional("rdma_get_remote_ece", ["pointer", "buffer"], "int")

  return {
    createId: (channel, portSpace) =>
      Effect.suspend(() => {
        const out = new BigUint64Array(1)
        return Effect.map(
          ReturnConvention.minusOneErrno(
            () => createId(channel, out, null, PortSpace.toNative(portSpace)),
            (errno) => errorOf("rdma_create_id", errno, { portSpace })
          ),
          () => Pointer.make<"rdma_cm_id">(out[0] ?? 0n)
        )
      }),
    destroyId: (id) => done("rdma_destroy_id", () => destroyId(id)),
    readId: (id) => Effect.sync(() => Codec.readIdState(id)),
    bindAddr: (id, address) =>
      done("rdma_bind_addr", () => bindAddr(id, Sockaddr.encode(address)), { address: CmAddress.format(address) }),
    resolveAddr: (id, source, destination, timeoutMillis) =>
      done(
        "rdma_resolve_addr",
        () =>
          resolveAddr(
            id,
            source === undefined ? null : Sockaddr.encode(source),
            Sockaddr.encode(destination),
            timeoutMillis
          ),
        {
          ...(source === undefined ? undefined : { source: CmAddress.format(source) }),
          destination: CmAddress.format(destination),
          timeoutMillis
        }
      ),
    resolveRoute: (id, timeoutMillis) =>
      done("rdma_resolve_route", () => resolveRoute(id, timeoutMillis), { timeoutMillis }),
    migrateId: (id, channel) => done("rdma_migrate_id", () => migrateId(id, channel)),
    setOption: (id, option) => {
      const { name, value } = encodeOption(option)
      return done("rdma_set_option", () => setOption(id, 0, name, value, value.byteLength), {
        option: option._tag,
        value: option.value
      })
    },
    setLocalEce: (id, ece) =>
      setLocalEce === undefined
        ? tooOld("rdma_set_local_ece", 31)
        : done("rdma_set_local_ece", () => setLocalEce(id, NativeStruct.ece(ece)), ece),
    getRemoteEce: (id) =>
      Effect.suspend(() => {
        if (getRemoteEce === undefined) return tooOld("rdma_get_remote_ece", 31)
        const view = NativeStruct.ece()
        return Effect.map(
          done("rdma_get_remote_ece", () => getRemoteEce(id, view)),
          () => NativeStruct.readEce(view)
        )
      })
  } satisfies Partial<RdmaCm["Service"]>
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** `RDMA_OPTION_ID_*`: two are a byte, two an `int`. */
export const options: { readonly [Tag in CmOption.CmOption["_tag"]]: number } = {
  TypeOfService: 0,
  ReuseAddress: 1,
  AddressFamilyOnly: 2,
  AckTimeout: 3
}

const encodeOption = (option: CmOption.CmOption): { readonly name: number; readonly value: ArrayBufferView } => ({
  name: options[option._tag],
  value: typeof option.value === "number" ? Uint8Array.of(option.value) : Int32Array.of(option.value ? 1 : 0)
})
