/**
 * Changing a memory region in place.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import type * as Types from "effect/Types"
import * as AccessFlags from "../AccessFlags.ts"
import * as DeviceContext from "../DeviceContext.ts"
import type { MemoryRegion } from "../MemoryRegion.ts"
import type * as ProtectionDomain from "../ProtectionDomain.ts"
import type { VerbsError } from "../VerbsError.ts"
import { stateOf } from "./memoryRegion.ts"
import * as OwnedMemory from "./ownedMemory.ts"
import { refused } from "./refused.ts"

/**
 * Calls `ibv_rereg_mr` and lets the handle tell what came of it. One after the other: where a region is, is known only
 * after a change.
 */
export const change = (
  self: MemoryRegion,
  domain: ProtectionDomain.AnyDomain | undefined,
  bytes: Uint8Array<ArrayBuffer> | undefined,
  access: AccessFlags.AccessFlags | undefined
): Effect.Effect<void, VerbsError> =>
  Effect.suspend(() =>
    Resource.raw(self).changes.withPermit(Effect.suspend(() => changeAlone(self, domain ?? self.domain, bytes, access)))
  )

const changeAlone = Effect.fnUntraced(function*(
  self: MemoryRegion,
  domain: ProtectionDomain.AnyDomain,
  bytes: Uint8Array<ArrayBuffer> | undefined,
  access: AccessFlags.AccessFlags | undefined
): Effect.fn.Return<void, VerbsError> {
  const call = "ibv_rereg_mr"
  const from = self.domain
  if (!self.usable) {
    return yield* refused(call, "EINVAL", "An earlier ibv_rereg_mr left the region broken: make another one")
  }
  if (bytes === undefined && access === undefined && domain === from) {
    return yield* refused(call, "EINVAL", "Nothing to change: give a domain, bytes or access")
  }
  if (bytes !== undefined && OwnedMemory.ownerOf(bytes.buffer) !== undefined) {
    return yield* refused(call, "EINVAL", "The bytes go with another handle: register them as a region of their own")
  }
  yield* AccessFlags.ensureAllowed(call, access ?? self.access)
  yield* DeviceContext.ensureSame(call, self, domain)
  const raw = Resource.raw(self)
  const writable: Types.Mutable<MemoryRegion> = self
  const run = Effect.tapError(
    Effect.suspend(() =>
      self.context.verbs.reregMr(raw.mr, {
        ...(domain === from ? {} : { pd: Resource.raw(domain) }),
        ...(bytes === undefined ? {} : { bytes }),
        ...(access === undefined ? {} : { access })
      })
    ),
    (error) =>
      Effect.sync(() => {
        // A provider without the call has touched nothing, whatever the code says.
        if (error.reason._tag === "EOPNOTSUPP" || unchanged.has(String(error.input["code"]))) return
        // The device may use either memory from now on.
        if (bytes !== undefined) raw.lent = [...raw.lent, bytes]
        writable.usable = false
      })
  )
  yield* Resource.withLease(
    self,
    Resource.withLease(
      from,
      Resource.withLease(
        domain,
        Effect.map(run, (registration) => {
          if (domain !== from) Resource.move(self, from, domain)
          writable.domain = domain
          if (access !== undefined) writable.access = access
          Object.assign(writable, {
            ...stateOf(registration, self.access, undefined),
            ...(bytes === undefined ? { address: self.address } : { bytes })
          })
          if (bytes !== undefined) raw.lent = [bytes]
        })
      )
    )
  )
})

// A failure without a code is one that never reached C.
const unchanged = new Set(["undefined", "IBV_REREG_MR_ERR_INPUT", "IBV_REREG_MR_ERR_DONT_FORK_NEW"])
