/**
 * The membership of a queue pair in a multicast group: `ibv_attach_mcast(3)` and `ibv_detach_mcast`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import * as Gid from "@effect-rdma/core/Gid"
import * as Lid from "@effect-rdma/core/Lid"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type * as QueuePair from "./QueuePair.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * What a queue pair is attached to. `mlid` counts on InfiniBand only.
 *
 * @category models
 * @since 0.1.0
 */
export interface MulticastAttachment
  extends Resource.Resource<"MulticastAttachment", { readonly qp: Pointer.Pointer<"ibv_qp"> }>
{
  readonly queuePair: QueuePair.QueuePair<"ud">
  readonly gid: Gid.Gid
  readonly mlid: Lid.Lid
}

/**
 * Attaches a datagram queue pair to a group; datagrams to the group arrive until the scope closes. On InfiniBand the port
 * must have joined the group with the subnet manager before. Attaching twice is one membership: the last scope to close
 * ends it. Blocks for a system call.
 *
 * `EINVAL` for a GID that is no group, for a LID that is none on InfiniBand, and for a queue pair of another type; `ENOMEM`
 * when the device has no more.
 *
 * @category constructors
 * @since 0.1.0
 */
export const attach = (
  queuePair: QueuePair.QueuePair<"ud">,
  group: { readonly gid: Gid.GidInput; readonly mlid?: number }
): Effect.Effect<MulticastAttachment, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(attach)
  const { context } = queuePair
  const memberships = membershipsOf(queuePair)
  return Effect.flatMap(decodeGroup(group), ({ gid, mlid }) => {
    const key = `${Gid.format(gid)} ${mlid}`
    return Resource.make({
      kind: "MulticastAttachment",
      pair: ["ibv_attach_mcast", "ibv_detach_mcast"],
      site,
      parents: [queuePair],
      goneWithDevice: true,
      // One at a time: the library knows a membership or none, and never how many want it.
      acquire: memberships.lock.withPermit(Effect.suspend(() => {
        const qp = Resource.raw(queuePair)
        return Effect.map(context.verbs.attachMcast(qp, gid, mlid), () => {
          memberships.counts.set(key, (memberships.counts.get(key) ?? 0) + 1)
          return { qp }
        })
      })),
      release: ({ qp }) =>
        memberships.lock.withPermit(Effect.suspend(() => {
          const others = (memberships.counts.get(key) ?? 1) - 1
          memberships.counts.set(key, others)
          return others > 0 ? Effect.void : context.verbs.detachMcast(qp, gid, mlid)
        })),
      fields: () => ({ queuePair, gid, mlid })
    })
  })
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

interface Memberships {
  readonly lock: Semaphore.Semaphore
  /** How many scopes hold the membership of a group. */
  readonly counts: Map<string, number>
}

const all = new WeakMap<Resource.Any, Memberships>()

const membershipsOf = (queuePair: Resource.Any): Memberships => {
  const known = all.get(queuePair)
  if (known !== undefined) return known
  const made = { lock: Semaphore.makeUnsafe(1), counts: new Map<string, number>() }
  all.set(queuePair, made)
  return made
}

const decodeGroup = Schema.decodeEffect(
  Schema.Struct({ gid: Gid.GidInput, mlid: Lid.Lid.pipe(Schema.withDecodingDefault(Effect.succeed(0))) })
)
