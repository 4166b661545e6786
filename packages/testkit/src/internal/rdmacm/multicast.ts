import * as Gid from "@effect-rdma/core/Gid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as CmAddress from "@effect-rdma/rdmacm/CmAddress"
import type { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import * as Effect from "effect/Effect"
import { FabricMisuse } from "../../FabricMisuse.ts"
import type * as Host from "../host.ts"
import * as Address from "./address.ts"
import { datagramKey } from "./queuePair.ts"
import { type AnyEvent, type CmState, fail, type Id, type IdState, type MembershipState, notify, on } from "./state.ts"

/** Memberships in multicast groups of one host. */
export const make = (state: CmState) => {
  const join = (
    call: string,
    id: Id,
    address: CmAddress.CmAddress,
    joinFlags: MembershipState["joinFlags"],
    multicastContext: bigint
  ) =>
    on(state, call, id, (self) => {
      const { place } = self
      const canJoin = self.qpType === "ud" && (self.step === "bound" || self.step === "addressResolved")
      if (place === undefined || !canJoin) return fail(call, "EINVAL", { address: CmAddress.format(address) })
      state.memberships.make((pointer) => {
        const membership: MembershipState = {
          kind: "MulticastMembership",
          pointer,
          id: self,
          address,
          joinFlags,
          attached: undefined,
          stop: state.fabric.after(joinMillis, () =>
            notify(
              self,
              joined(state, place, address, multicastContext),
              (event) => attach(state, membership, event),
              membership
            )),
          unacked: 0
        }
        self.memberships.add(membership)
        return membership
      })
      return Effect.void
    })

  return {
    joinMulticast: (id, address, context) => join("rdma_join_multicast", id, address, "fullMember", context),
    joinMulticastEx: (id, address, joinFlags, context) =>
      join("rdma_join_multicast_ex", id, address, joinFlags, context),
    leaveMulticast: (id, address) =>
      Effect.suspend(() => {
        const call = "rdma_leave_multicast"
        const self = state.ids.get(call, id)
        const text = CmAddress.format(address)
        // The last one that was joined is found first.
        const membership = Array.from(self.memberships).findLast((one) => CmAddress.format(one.address) === text)
        if (membership === undefined) return fail(call, "EADDRNOTAVAIL", { address: text })
        const { attached, pointer, unacked } = membership
        if (unacked > 0) throw new FabricMisuse({ call, problem: `would hang: ${unacked} event(s) are not acked` })
        membership.stop()
        self.memberships.delete(membership)
        state.memberships.free(call, pointer)
        drop(self, membership)
        // The record of the library is gone by then, whatever the kernel says.
        if (self.step === "removed") return fail(call, "ENXIO", { address: text })
        return attached === undefined ? Effect.void : Effect.ignore(state.verbs.detachMcast(...attached))
      })
  } satisfies Partial<RdmaCm["Service"]>
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const joinMillis = 1

/** Of RoCE, the group is the address itself; of IPoIB, RFC 4391 says how it is made. */
const groupOf = (place: Address.Interface, address: CmAddress.CmAddress): Gid.Gid => {
  const gid = Address.gidOf(address)
  if (place.source.type !== "ib" || address._tag === "IbAddress") return gid
  const isIpv4 = Gid.isIpv4Mapped(gid)
  const group = Uint8Array.from(gid)
  group.set([0xff, 0x12, isIpv4 ? 0x40 : 0x60, 0x1b, 0xff, 0xff])
  if (isIpv4) group.set([0, 0, 0, 0, 0, 0, (gid[12] ?? 0) & 0x0f], 6)
  return Gid.fromBytes(group)
}

const lids = new WeakMap<Host.FabricState, Map<string, Lid.Lid>>()

/** The LID that the subnet manager gives a group. */
const lidOf = (fabric: Host.FabricState, group: Gid.Gid): Lid.Lid => {
  const known = lids.get(fabric) ?? new Map<string, Lid.Lid>()
  lids.set(fabric, known)
  const name = Gid.format(group)
  const lid = known.get(name) ?? Lid.Lid.make(0xc001 + known.size)
  known.set(name, lid)
  return lid
}

const joined = (
  { fabric }: CmState,
  place: Address.Interface,
  address: CmAddress.CmAddress,
  multicastContext: bigint
): AnyEvent => {
  const isInfiniBand = place.source.type === "ib"
  const dgid = groupOf(place, address)
  return {
    event: "multicastJoin",
    status: 0,
    multicastContext,
    ud: {
      privateData: new Uint8Array(),
      ahAttr: {
        portNum: place.portNum,
        dlid: isInfiniBand ? lidOf(fabric, dgid) : Lid.Lid.make(0),
        sl: Identifier.ServiceLevel.make(0),
        srcPathBits: Identifier.PathBits.make(0),
        staticRate: "max",
        grh: {
          dgid,
          flowLabel: Identifier.FlowLabel.make(0),
          sgidIndex: place.source.index,
          hopLimit: Identifier.HopLimit.make(isInfiniBand ? 0 : 64),
          trafficClass: Identifier.TrafficClass.make(0)
        }
      },
      qpNum: Identifier.Qpn.make(0xffffff),
      qkey: datagramKey
    }
  }
}

/** librdmacm attaches the queue pair that it made, when the event is got. */
const attach = ({ verbs }: CmState, membership: MembershipState, event: AnyEvent): Effect.Effect<AnyEvent> => {
  const { id: { on: { qp } }, joinFlags } = membership
  const { ahAttr } = event.ud ?? {}
  if (qp === undefined || ahAttr?.grh === undefined || joinFlags === "sendOnlyFullMember") return Effect.succeed(event)
  const attached = [qp, ahAttr.grh.dgid, ahAttr.dlid] as const
  return Effect.match(verbs.attachMcast(...attached), {
    onSuccess: () => {
      membership.attached = [...attached]
      return event
    },
    onFailure: () => ({ event: "multicastError", status: -1, multicastContext: event.multicastContext ?? 0n })
  })
}

const drop = ({ channel }: IdState, membership: MembershipState): void => {
  channel.pending = channel.pending.filter((pending) => pending.membership !== membership)
  if (channel.pending.length === 0) channel.readable.closeUnsafe()
}
