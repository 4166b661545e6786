/**
 * Binding a memory window, and what goes with what from then on.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import * as DeviceContext from "../DeviceContext.ts"
import type * as MemoryAttributes from "../MemoryAttributes.ts"
import type { MemoryRegion } from "../MemoryRegion.ts"
import type { MemoryWindow } from "../MemoryWindow.ts"
import type * as QueuePair from "../QueuePair.ts"
import * as SendBatch from "../SendBatch.ts"
import type { VerbsError } from "../VerbsError.ts"
import { refused } from "./refused.ts"

type Binding = typeof MemoryAttributes.Binding.Type
type Mutable<A> = { -readonly [K in keyof A]: A[K] }

/**
 * Calls `ibv_bind_mw` and puts the window under its region. One after the other: each key follows from the one before.
 */
export const bind = (
  self: MemoryWindow,
  queuePair: QueuePair.QueuePair,
  region: MemoryRegion,
  binding: Binding
): Effect.Effect<void, VerbsError> =>
  Effect.suspend(() => {
    const state = stateOf(self)
    return state.turn.withPermit(Effect.uninterruptible(bindAlone(self, state, queuePair, region, binding)))
  })

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const call = "ibv_bind_mw"

interface State {
  readonly turn: Semaphore.Semaphore
  region: MemoryRegion | undefined
}

const states = new WeakMap<MemoryWindow, State>()

const stateOf = (self: MemoryWindow): State => {
  const found = states.get(self)
  if (found !== undefined) return found
  const made: State = { turn: Semaphore.makeUnsafe(1), region: undefined }
  states.set(self, made)
  return made
}

const bindAlone = Effect.fnUntraced(function*(
  self: MemoryWindow,
  state: State,
  queuePair: QueuePair.QueuePair,
  region: MemoryRegion,
  { access, flags, length: asked, offset, wrId }: Binding
): Effect.fn.Return<void, VerbsError> {
  if (self.type !== 1) {
    return yield* refused(call, "EINVAL", "Only windows of type 1 are bound this way", { type: self.type })
  }
  yield* DeviceContext.ensureSame(call, self, queuePair)
  yield* DeviceContext.ensureSame(call, self, region)
  const rest = region.length - BigInt(offset)
  const length = asked === undefined ? rest : BigInt(asked)
  if (rest < 0n || length > rest) {
    return yield* refused(call, "EINVAL", `The region has ${region.length} bytes`, { offset, length })
  }
  // The device would tell by a failed completion only, and the queue pair would be in ERR.
  if (length > 0n && !region.access.includes("mwBind")) {
    return yield* refused(call, "EINVAL", "The region must be registered with mwBind", {
      access: region.access.join(" ")
    })
  }
  const isWritten = access.some((flag) => flag === "remoteWrite" || flag === "remoteAtomic")
  if (length > 0n && isWritten && !region.access.includes("localWrite")) {
    const input = { access: region.access.join(" ") }
    return yield* refused(call, "EINVAL", "remoteWrite and remoteAtomic need a region with localWrite", input)
  }
  const posted = (rkey: number): void => {
    const writable: Mutable<MemoryWindow> = self
    writable.rkey = rkey
    // The window itself keeps the region that it leaves: that cannot go before it, and so not meanwhile.
    if (state.region !== undefined) Resource.removeParent(self, state.region)
    state.region = length === 0n ? undefined : region
    if (state.region !== undefined) Resource.addParent(self, state.region)
  }
  yield* Resource.use(self, (mw) =>
    Resource.use(queuePair, (qp) =>
      Resource.use(region, ({ mr }) => {
        if (Resource.raw(self.domain) !== Resource.raw(region.domain)) {
          const input = { window: Resource.nameOf(self.domain), region: Resource.nameOf(region.domain) }
          return Effect.fail(refused(call, "EPERM", "The window and the region must be of one domain", input))
        }
        if (SendBatch.isBuilding(queuePair)) {
          return Effect.fail(refused(call, "EBUSY", "A batch of the queue pair is being built: C would wait for ever"))
        }
        const addr = region.address + BigInt(offset)
        return Effect.map(self.context.verbs.bindMw(qp, mw, { wrId, flags, mr, addr, length, access }), posted)
      })))
})
