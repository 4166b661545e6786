import type * as RSockets from "@effect-rdma/rdmacm/operations/RSockets"
import * as Effect from "effect/Effect"
import type * as Heap from "../heap.ts"
import type * as Host from "../host.ts"
import * as State from "./rsocketState.ts"

interface PollState extends Heap.Native {
  readonly members: Map<RSockets.RSocketNumber, ReadonlyArray<RSockets.Wanted>>
}

type Operations = Pick<RSockets.Operations, "repollCreate" | "repollCtl" | "repollWait" | "rclose">

/** Sets of rsockets, as rdma-core 65 has them. */
export const make = (host: Host.HostState, { rclose }: Pick<RSockets.Operations, "rclose">): Operations => {
  const polls = host.heap.store<"repoll", PollState>("repoll")
  return {
    repollCreate: Effect.sync(() => polls.alloc({ kind: "RSocketPoll", members: new Map() })),
    repollCtl: (poll, change, socket, wanted) =>
      Effect.suspend(() => {
        const call = "repoll_ctl"
        const { members } = polls.get(call, poll)
        if (change === "delete") return members.delete(socket) ? Effect.void : State.fail(call, "ENOENT", { change })
        host.rsockets.get(call, socket)
        if (members.has(socket)) return State.fail(call, "EEXIST", { change })
        members.set(socket, wanted)
        return Effect.void
      }),
    repollWait: (poll) =>
      Effect.sync(() =>
        Array.from(polls.get("repoll_wait", poll).members).flatMap(([socket, wanted]) => {
          const ready = State.readinessOf(host.rsockets.get("repoll_wait", socket))
          const found = {
            ...ready,
            isReadable: ready.isReadable && wanted.includes("readable"),
            isWritable: ready.isWritable && wanted.includes("writable")
          }
          return Object.values(found).includes(true) ? [{ ...found, socket }] : []
        })
      ),
    rclose: (number) =>
      Effect.suspend(() => {
        const poll = number as RSockets.PollNumber
        const self = polls.find(poll)
        if (self === undefined) return rclose(number)
        if (self.members.size > 0) return State.fail("rclose", "EBUSY")
        polls.free("rclose", poll)
        return Effect.void
      })
  }
}
