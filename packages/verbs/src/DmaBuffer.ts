/**
 * A buffer that the library allocates so that a device can reach it, in a confidential virtual machine too:
 * `ibv_alloc_buf(3)` and `ibv_free_buf`, of rdma-core 64 or newer.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as DeviceContext from "./DeviceContext.ts"
import * as OwnedMemory from "./internal/ownedMemory.ts"
import * as MemoryAttributes from "./MemoryAttributes.ts"
import type * as ProtectionDomain from "./ProtectionDomain.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * A buffer of the library. `bytes`, and every view of their buffer, are of length 0 after the release.
 *
 * @category models
 * @since 0.1.0
 */
export interface DmaBuffer extends Resource.Resource<"DmaBuffer", Pointer.Pointer<"ibv_buf">> {
  readonly context: DeviceContext.DeviceContext
  readonly domain: ProtectionDomain.AnyDomain
  readonly bytes: Uint8Array<ArrayBuffer>
}

/**
 * Allocates a buffer, owned by the scope. Regions on it are released before it; when one cannot be, the buffer is not freed
 * either. Fails with `EOPNOTSUPP` where the library or the provider has none, with `ENOMEM` without memory.
 *
 * @category constructors
 * @since 0.1.0
 */
export const alloc = (
  domain: ProtectionDomain.AnyDomain,
  length: number
): Effect.Effect<DmaBuffer, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(alloc)
  return Effect.flatMap(Schema.decodeEffect(MemoryAttributes.Length)(length), (length) =>
    Effect.suspend(() => {
      const { context } = domain
      const { allocBuf, freeBuf } = context.verbs
      let bytes = new Uint8Array(0)
      return Resource.make({
        kind: "DmaBuffer",
        pair: ["ibv_alloc_buf", "ibv_free_buf"],
        site,
        parents: [domain],
        cannotRefuse: true,
        acquire: Effect.map(Effect.suspend(() => allocBuf(Resource.raw(domain), length)), (made) => {
          bytes = made.bytes
          return made.buf
        }),
        release: (buf) =>
          Effect.suspend(() => {
            if (OwnedMemory.isPinned(bytes.buffer)) return Effect.void
            if (bytes.buffer.detached) throw new TypeError("the buffer was transferred away; it is not freed")
            bytes.buffer.transfer(0)
            return freeBuf(buf)
          }),
        fields: (_, self) => {
          OwnedMemory.own(bytes.buffer, self)
          return { context, domain, bytes }
        }
      })
    }))
}
