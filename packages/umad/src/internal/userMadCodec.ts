/**
 * From a MAD and its address to `struct ib_user_mad` and back: what `umad_set_addr`, `umad_set_grh`, `umad_set_pkey`,
 * `umad_get_mad_addr`, `umad_get_mad` and `umad_status` do, in one step.
 *
 * @since 0.1.0
 */
import type * as Gid from "@effect-rdma/core/Gid"
import type * as Identifier from "@effect-rdma/core/Identifier"
import type * as Lid from "@effect-rdma/core/Lid"
import * as Brand from "effect/Brand"
import type * as MadAddress from "../MadAddress.ts"
import type * as Umad from "../Umad.ts"
import * as Layout from "./Layout.ts"

// Unchecked: each fits by the width of its C field, or is cut to that of the wire.
const lid = Brand.nominal<Lid.Lid>()
const qpn = Brand.nominal<Identifier.Qpn>()
const qkey = Brand.nominal<Identifier.QKey>()
const serviceLevel = Brand.nominal<Identifier.ServiceLevel>()
const pathBits = Brand.nominal<Identifier.PathBits>()
const pkeyIndex = Brand.nominal<Identifier.PKeyIndex>()
const gid = Brand.nominal<Gid.Gid>()
const gidIndex = Brand.nominal<Identifier.GidIndex>()
const hopLimit = Brand.nominal<Identifier.HopLimit>()
const trafficClass = Brand.nominal<Identifier.TrafficClass>()
const flowLabel = Brand.nominal<Identifier.FlowLabel>()
const agentId = Brand.nominal<Umad.AgentId>()

const noGid = new Uint8Array(16)

/** The view takes the header and the MAD; what is left behind the MAD stays as it was. */
export const write = (view: DataView, { address, mad }: Umad.MadToSend): void => {
  const { grh } = address
  Layout.UserMad.write(view, {
    agentId: 0,
    status: 0,
    timeoutMs: 0,
    retries: 0,
    length: 0,
    qpn: address.qpn,
    qkey: address.qkey,
    lid: address.lid,
    sl: address.sl,
    pathBits: address.pathBits,
    grhPresent: grh === undefined ? 0 : 1,
    gidIndex: grh?.gidIndex ?? 0,
    hopLimit: grh?.hopLimit ?? 0,
    trafficClass: grh?.trafficClass ?? 0,
    gid: grh?.gid ?? noGid,
    flowLabel: grh?.flowLabel ?? 0,
    pkeyIndex: address.pkeyIndex
  })
  new Uint8Array(view.buffer, view.byteOffset + Layout.UserMad.size, mad.length).set(mad)
}

export const readAddress = (view: DataView): MadAddress.MadAddress => {
  const address = {
    lid: lid(Layout.UserMad.get("lid", view)),
    qpn: qpn(Layout.UserMad.get("qpn", view) & 0xff_ffff),
    qkey: qkey(Layout.UserMad.get("qkey", view)),
    sl: serviceLevel(Layout.UserMad.get("sl", view) & 0xf),
    pathBits: pathBits(Layout.UserMad.get("pathBits", view) & 0x7f),
    pkeyIndex: pkeyIndex(Layout.UserMad.get("pkeyIndex", view))
  }
  if (Layout.UserMad.get("grhPresent", view) === 0) return address
  const header = Layout.UserMad.read(view)
  return {
    ...address,
    grh: {
      gid: gid(header.gid),
      gidIndex: gidIndex(header.gidIndex),
      hopLimit: hopLimit(header.hopLimit),
      trafficClass: trafficClass(header.trafficClass),
      flowLabel: flowLabel(header.flowLabel & 0xf_ffff)
    }
  }
}

/** `length` is what `umad_recv` told; the view is at least as long. */
export const read = (view: DataView, length: number): Umad.ReceivedMad => ({
  agentId: agentId(Layout.UserMad.get("agentId", view)),
  status: Layout.UserMad.get("status", view),
  address: readAddress(view),
  mad: new Uint8Array(view.buffer, view.byteOffset + Layout.UserMad.size, length).slice() as Uint8Array<ArrayBuffer>
})
