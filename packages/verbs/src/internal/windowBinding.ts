/**
 * Binding a memory window, and what goes with what from then on.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import type * as Types from "effect/Types"
import type * as AccessFlags from "../AccessFlags.ts"
import * as DeviceContext from "../DeviceContext.ts"
import type * as MemoryAttributes from "../MemoryAttributes.ts"
import type { MemoryRegion } from "../MemoryRegion.ts"
import type { MemoryWindow } from "../MemoryWindow.ts"
import type * as QueuePair from "../QueuePair.ts"
import type { VerbsError } from "../VerbsError.ts"
import * as Work from "./queuePairWork.ts"
import { orRefused, refused } from "./refused.ts"

type Binding = typeof MemoryAttributes.Binding.Type
/**
 * Calls `ibv_bind_mw` and puts the window under its region. One after the other: each key follows from the one before.
 */
export const bind = (
  self: MemoryWindow,
  queuePair: QueuePair.QueuePair,
  region: MemoryRegion,
  binding: Binding
): Effect.Effect<void, VerbsError> =>
  Effect.suspend(() =>
    stateOf(self).turn.withPermit(Effect.uninterruptible(bindAlone(self, queuePair, region, binding)))
  )

/** The bytes of a region that a window may be bound to. Throws what is refused. */
export const ensurePart = (
  call: string,
  { access, length: asked, offset = 0, region }: {
    readonly region: MemoryRegion
    readonly access: AccessFlags.AccessFlags
    readonly offset?: number | undefined
    readonly length?: number | undefined
  }
): { readonly addr: bigint; readonly length: bigint } => {
  const rest = Number(region.length) - offset
  const length = asked ?? rest
  if (!Number.isInteger(offset) || !Number.isInteger(length) || offset < 0 || length < 0 || length > rest) {
    throw refused(call, "EINVAL", `The region has ${region.length} bytes`, { offset, length })
  }
  const input = { access: region.access.join(" ") }
  // The device would tell by a failed completion only, and the queue pair would be in ERR.
  if (length > 0 && !region.access.includes("mwBind")) {
    throw refused(call, "EINVAL", "The region must be registered with mwBind", input)
  }
  const isWritten = access.some((flag) => flag === "remoteWrite" || flag === "remoteAtomic")
  if (length > 0 && isWritten && !region.access.includes("localWrite")) {
    throw refused(call, "EINVAL", "remoteWrite and remoteAtomic need a region with localWrite", input)
  }
  return { addr: region.address + BigInt(offset), length: BigInt(length) }
}

/**
 * A bind was posted: the window has another key, and goes before the region that it is on. One of type 2 belongs to the
 * queue pair that bound it, and goes before that one too: the kernel of rxe waits for it for 50 s, and frees what the window
 * still points to.
 */
export const bound = (queuePair: QueuePair.QueuePair, { length, region, rkey, window }: {
  readonly window: MemoryWindow
  readonly region: MemoryRegion
  readonly rkey: number
  readonly length?: number | undefined
}): void => {
  const writable: Types.Mutable<MemoryWindow> = window
  writable.rkey = rkey
  const state = stateOf(window)
  // The window itself keeps what it leaves: that cannot go before it, and so not meanwhile.
  for (const owner of state.owners) Resource.removeParent(window, owner)
  state.owners = length === 0 ? [] : window.type === 2 ? [region, queuePair] : [region]
  for (const owner of state.owners) Resource.addParent(window, owner)
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const call = "ibv_bind_mw"

interface State {
  readonly turn: Semaphore.Semaphore
  /** What the window goes before, because of its last bind. */
  owners: ReadonlyArray<Resource.Any>
}

const states = new WeakMap<MemoryWindow, State>()

const stateOf = (self: MemoryWindow): State => {
  const found = states.get(self)
  if (found !== undefined) return found
  const made: State = { turn: Semaphore.makeUnsafe(1), owners: [] }
  states.set(self, made)
  return made
}

const bindAlone = Effect.fnUntraced(function*(
  self: MemoryWindow,
  queuePair: QueuePair.QueuePair,
  region: MemoryRegion,
  { access, flags, length, offset, wrId }: Binding
): Effect.fn.Return<void, VerbsError> {
  if (self.type !== 1) {
    return yield* refused(call, "EINVAL", "Only windows of type 1 are bound this way", { type: self.type })
  }
  yield* DeviceContext.ensureSame(call, self, queuePair)
  yield* DeviceContext.ensureSame(call, self, region)
  yield* Resource.use(self, (mw) =>
    Resource.use(queuePair, (qp) =>
      Resource.use(region, ({ mr }) => {
        if (Resource.raw(self.domain) !== Resource.raw(region.domain)) {
          const input = { window: Resource.nameOf(self.domain), region: Resource.nameOf(region.domain) }
          return Effect.fail(refused(call, "EPERM", "The window and the region must be of one domain", input))
        }
        return orRefused(() => {
          const part = ensurePart(call, { region, access, offset, length })
          return Effect.map(
            Work.postOne(
              call,
              queuePair,
              { wrId, flags },
              (wrId) => self.context.verbs.bindMw(qp, mw, { wrId, flags, mr, ...part, access })
            ),
            (rkey) => bound(queuePair, { window: self, region, length, rkey })
          )
        })
      })))
})
