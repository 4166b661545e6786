/**
 * Some messages go to each member of a multicast group, as with `mckey`, which can be the other side:
 *
 *     node examples/mckey.ts -m 239.1.2.3 -b 10.0.0.1        the receiver
 *     node examples/mckey.ts -m 239.1.2.3 -b 10.0.0.1 -s     the sender
 */
import { Gid } from "@effect-rdma/core"
import { MulticastMembership, RdmaCm } from "@effect-rdma/rdmacm"
import { AddressHandle, MulticastAttachment, Verbs } from "@effect-rdma/verbs"
import { Console, Effect, Layer } from "effect"
import { Command, Flag } from "effect/cli"
import { find, resolve } from "./connections.ts"
import { handler, number, ProgramError, run, string, toggle } from "./program.ts"
import { openDatagrams } from "./udaddy.ts"

const flags = {
  group: Flag.String("group").pipe(Flag.withAlias("m"), Flag.withDescription("address of the group")),
  sender: toggle("sender", "s", "send; without it, receive"),
  bind: string("bind", "b", "address of this side"),
  count: number("count", "C", 10, "messages"),
  size: number("size", "S", 100, "bytes of a message"),
  sendOnly: toggle("send-only", "o", "join to send only")
}

export type Options = Command.Command.Config.Infer<typeof flags>

export const mckey = Effect.fnUntraced(function*({ bind, count, group, sendOnly, sender, size }: Options) {
  yield* Console.log(`mckey: starting ${sender ? "client" : "server"}`)
  yield* Console.log("mckey: joining")
  const place = { host: group, port: 0, portSpace: "udp" } as const
  const id = yield* resolve(place, bind)
  const { domain, queuePair, receive, sendAll } = yield* openDatagrams(id, { count, size })
  const { group: { ahAttr, qkey, qpNum } } = yield* MulticastMembership.join(id, yield* find(place), {
    joinFlags: sendOnly ? "sendOnlyFullMember" : "fullMember"
  })
  if (ahAttr?.grh === undefined) return yield* new ProgramError({ problem: "the group has no address" })
  const { dlid, grh: { dgid }, sl } = ahAttr
  yield* Console.log(`mckey: joined dgid: ${Gid.formatCompressed(dgid)} mlid 0x${dlid.toString(16)} sl ${sl}`)
  yield* MulticastAttachment.attach(queuePair, { gid: dgid, mlid: dlid })

  // Others join at the same time, and a subnet manager tells the switches.
  yield* Effect.sleep("3 seconds")
  if (sender) {
    yield* Console.log("initiating data transfers")
    yield* sendAll({ ah: yield* AddressHandle.make(domain, ahAttr), remoteQpn: qpNum, remoteQkey: qkey })
  } else {
    yield* Console.log("receiving data transfers")
    yield* Effect.replicateEffect(receive, count)
  }
  yield* Console.log("data transfers complete")
  yield* Console.log("test complete")
})

if (import.meta.main) {
  run(Command.make("mckey", flags, handler(mckey)), Layer.merge(RdmaCm.RdmaCm.layer, Verbs.Verbs.layer))
}
