/**
 * A set of rsockets that are waited for together: `repoll_create` of `rsocket(7)`, from rdma-core 65 on, and `rclose`. To wait
 * for a few, a fiber for each is simpler.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import * as Resource from "@effect-rdma/core/Resource"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as RSockets from "./operations/RSockets.ts"
import * as RdmaCm from "./RdmaCm.ts"
import type { RdmaCmError } from "./RdmaCmError.ts"
import type * as RSocket from "./RSocket.ts"

/**
 * A set of rsockets.
 *
 * @category models
 * @since 0.1.0
 */
export interface RSocketPoll extends Resource.Resource<"RSocketPoll", RSockets.PollNumber> {
  /** @internal */
  readonly cm: RdmaCm.RdmaCm["Service"]
  /** @internal */
  readonly members: Map<RSockets.RSocketNumber, Member>
  /** @internal */
  readonly added: Set<() => void>
}

/**
 * An rsocket in a set, until the scope ends that it was added in.
 *
 * @category models
 * @since 0.1.0
 */
export interface Member extends
  Resource.Resource<
    "RSocketPollMember",
    { readonly poll: RSockets.PollNumber; readonly number: RSockets.RSocketNumber }
  >
{
  readonly socket: RSocket.RSocket
  readonly wanted: ReadonlyArray<RSockets.Wanted>
}

/**
 * What has become of an rsocket of a set.
 *
 * @category models
 * @since 0.1.0
 */
export interface Ready extends RSockets.Readiness {
  readonly socket: RSocket.RSocket
}

/**
 * Makes an empty set, owned by the scope; what was added to it is taken out before. Fails with `EOPNOTSUPP` where the library is
 * older than rdma-core 65, and with `EMFILE` without descriptors.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (): Effect.Effect<RSocketPoll, RdmaCmError, RdmaCm.RdmaCm | Scope.Scope> => {
  const site = CreationSite.capture(make)
  return Effect.flatMap(RdmaCm.RdmaCm, (cm) =>
    Resource.make({
      kind: "RSocketPoll",
      pair: ["repoll_create", "rclose"],
      site,
      parents: [],
      acquire: cm.repollCreate,
      release: (poll: RSockets.PollNumber) => cm.rclose(poll),
      fields: (): Pick<RSocketPoll, "cm" | "members" | "added"> => ({ cm, members: new Map(), added: new Set() })
    }))
}

/**
 * Puts an rsocket into the set, until the scope ends, or the set or the rsocket is released. Fails with `EEXIST` when it is in
 * the set already.
 *
 * @category constructors
 * @since 0.1.0
 */
export const add = (
  self: RSocketPoll,
  socket: RSocket.RSocket,
  wanted: typeof Wanted.Encoded
): Effect.Effect<Member, RdmaCmError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(add)
  const { cm } = self
  return Effect.flatMap(decode(wanted), (wanted) =>
    Effect.map(
      Resource.make({
        kind: "RSocketPollMember",
        pair: ["EPOLL_CTL_ADD", "EPOLL_CTL_DEL"],
        site,
        parents: [self, socket],
        acquire: Effect.suspend(() => {
          const raw = { poll: Resource.raw(self), number: Resource.raw(socket) }
          return Effect.as(cm.repollCtl(raw.poll, "add", raw.number, wanted), raw)
        }),
        release: ({ number, poll }) => {
          self.members.delete(number)
          return cm.repollCtl(poll, "delete", number, [])
        },
        fields: (): Pick<Member, "socket" | "wanted"> => ({ socket, wanted })
      }),
      (member) => {
        self.members.set(Resource.raw(socket), member)
        for (const tell of self.added) tell()
        return member
      }
    ))
}

/**
 * What an rsocket of a set is waited for.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Wanted = Schema.NonEmptyArray(Schema.Literals(["readable", "writable"]))

/**
 * Waits until one rsocket of the set or more are as wanted, hung up or broken, and gives those. It waits without a thread and
 * can be interrupted. What is added or released meanwhile counts.
 *
 * @category queries
 * @since 0.1.0
 */
export const wait = (self: RSocketPoll): Effect.Effect<ReadonlyArray<Ready>, RdmaCmError> =>
  Effect.flatMap(Resource.use(self, self.cm.repollWait), (found) => {
    const ready = found.flatMap(({ socket, ...readiness }) => {
      const member = self.members.get(socket)
      return member === undefined ? [] : [{ ...readiness, socket: member.socket }]
    })
    return ready.length > 0
      ? Effect.succeed(ready)
      : Effect.andThen(Resource.whileLive(self, somethingHappens(self)), wait(self))
  })

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const decode = Schema.decodeEffect(Wanted)

const somethingHappens = (self: RSocketPoll): Effect.Effect<void> =>
  Effect.suspend(() =>
    Effect.raceAllFirst([
      Effect.callback<void>((resume) => {
        const tell = () => resume(Effect.void)
        self.added.add(tell)
        return Effect.sync(() => self.added.delete(tell))
      }),
      ...Array.from(self.members.values()).filter(Resource.isLive).flatMap((member) =>
        member.wanted.map((wanted) => untilReleased(member, self.cm.awaitRSocket(Resource.raw(member).number, wanted)))
      )
    ])
  )

/** The rsocket is not released while it is looked at. */
const untilReleased = (member: Member, wait: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const released = Deferred.makeUnsafe<void>()
      return { released, leave: Resource.holdUnsafe(member, () => Deferred.doneUnsafe(released, Exit.void)) }
    }),
    ({ released }) => Effect.raceFirst(wait, Deferred.await(released)),
    ({ leave }) => Effect.sync(leave)
  )
