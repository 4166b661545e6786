/**
 * Flows, work queues and flow actions as bytes and back, pure.
 *
 * @since 0.1.0
 */
import * as Gid from "@effect-rdma/core/Gid"
import * as Pointer from "@effect-rdma/core/Pointer"
import type * as Struct from "@effect-rdma/core/Struct"
import type * as FlowActionAttributes from "../FlowActionAttributes.ts"
import type * as FlowSpecification from "../FlowSpecification.ts"
import type * as Steering from "../operations/Steering.ts"
import type * as WorkQueueAttributes from "../WorkQueueAttributes.ts"
import * as Layout from "./SteeringLayout.ts"

const bitsOf = <Flag extends string>(table: { readonly [F in Flag]: number }, flags: ReadonlyArray<Flag>): number =>
  flags.reduce((bits, flag) => bits | table[flag], 0)

/** Where a buffer is, for the pointers within it. */
export type AddressOf = (view: DataView<ArrayBuffer>) => bigint

// -----------------------------------------------------------------------------
// Work queues
// -----------------------------------------------------------------------------

/** `enum ibv_wq_flags`. */
export const wqFlags = { cvlanStripping: 1, scatterFcs: 2, delayDrop: 4, pciWriteEndPadding: 8 } as const

/** `enum ibv_wq_state`. */
export const wqStates = { reset: 0, rdy: 1, err: 2 } as const

/** `enum ibv_wq_init_attr_mask`. */
export const wqInitMask = { flags: 1 } as const

/** `enum ibv_wq_attr_mask`. */
export const wqMask = { state: 1, currState: 2, flags: 4 } as const

export const encodeQueueAttributes = ({ cq, createFlags, maxSge, maxWr, pd }: Steering.QueueAttributes): DataView => {
  const view = Layout.WqInitAttr.allocate()
  Layout.WqInitAttr.write(view, {
    maxWr,
    maxSge,
    pd,
    cq,
    compMask: createFlags.length === 0 ? 0 : wqInitMask.flags,
    createFlags: bitsOf(wqFlags, createFlags)
  })
  return view
}

export const encodeQueueChanges = (
  { currWqState, flags, wqState }: WorkQueueAttributes.WorkQueueChanges
): DataView => {
  const named = (wanted: (value: boolean) => boolean): number =>
    Object.entries(wqFlags).reduce((bits, [flag, bit]) => {
      const value = flags?.[flag as keyof typeof wqFlags]
      return value !== undefined && wanted(value) ? bits | bit : bits
    }, 0)
  const view = Layout.WqAttr.allocate()
  Layout.WqAttr.write(view, {
    attrMask: (wqState === undefined ? 0 : wqMask.state) | (currWqState === undefined ? 0 : wqMask.currState) |
      (flags === undefined ? 0 : wqMask.flags),
    wqState: wqStates[wqState ?? "reset"],
    currWqState: wqStates[currWqState ?? "reset"],
    flags: named((value) => value),
    flagsMask: named(() => true)
  })
  return view
}

/** The attributes of a table, and behind them the pointers to its work queues, as many as a power of two. */
export const encodeTable = (
  table: ReadonlyArray<Pointer.Pointer<"ibv_wq">>,
  addressOf: AddressOf
): DataView<ArrayBuffer> => {
  const { size } = Layout.RwqIndTableInitAttr
  const view = new DataView(new ArrayBuffer(size + table.length * 8))
  Layout.RwqIndTableInitAttr.write(view, {
    logIndTblSize: Math.log2(table.length),
    indTbl: addressOf(view) + BigInt(size)
  })
  table.forEach((wq, index) => view.setBigUint64(size + index * 8, wq, true))
  return view
}

// -----------------------------------------------------------------------------
// Flows
// -----------------------------------------------------------------------------

/** `enum ibv_flow_attr_type` in its order. */
export const flowTypes = ["normal", "allDefault", "mcDefault", "sniffer"] as const

/** `enum ibv_flow_flags`; its first bit is not used any more. */
export const flowFlags = { dontTrap: 2, egress: 4 } as const

/** `IBV_FLOW_SPEC_INNER`. */
export const inner = 0x100

/** `enum ibv_flow_spec_type`. */
export const specTypes = {
  Eth: 0x20,
  Ipv4: 0x30,
  Ipv6: 0x31,
  Ipv4Ext: 0x32,
  Esp: 0x34,
  Tcp: 0x40,
  Udp: 0x41,
  VxlanTunnel: 0x50,
  Gre: 0x51,
  Mpls: 0x60,
  ActionTag: 0x1000,
  ActionDrop: 0x1001,
  ActionHandle: 0x1002,
  ActionCount: 0x1003
} as const

// Fields with fewer bits than their C type: a mask that says "in full" must not say more.
const narrow: { readonly [field: string]: number } = { tunnelId: 0xff_ffff, flowLabel: 0xf_ffff }

type Filter<F extends Struct.Fields> = { readonly [K in keyof F]?: Struct.Value<F[K]> }

const encodeMatch = <F extends Struct.Fields>(
  layout: Layout.Matching<F>,
  filter: Struct.Struct<F>,
  spec: {
    readonly _tag: keyof typeof specTypes
    readonly inner: boolean
    readonly val: Filter<F>
    readonly mask?: Filter<F>
  }
): DataView<ArrayBuffer> => {
  const view = layout.allocate()
  const mask = layout.fields.mask.offset
  layout.set("type", view, spec.inner ? specTypes[spec._tag] | inner : specTypes[spec._tag])
  layout.set("size", view, layout.size)
  filter.write(view, spec.val, layout.fields.val.offset)
  for (const [key, field] of Object.entries(filter.fields)) {
    if (spec.val[key] === undefined) continue
    const full = narrow[key]
    if (full === undefined) new Uint8Array(view.buffer, mask + field.offset, field.size).fill(0xff)
    else view.setUint32(mask + field.offset, full)
  }
  if (spec.mask !== undefined) filter.write(view, spec.mask, mask)
  return view
}

/** One `struct ibv_flow_spec_…`. */
export const encodeSpecification = (spec: FlowSpecification.Raw): DataView<ArrayBuffer> => {
  switch (spec._tag) {
    case "Eth":
      return encodeMatch(Layout.FlowSpecEth, Layout.FlowEthFilter, spec)
    case "Ipv4":
      return encodeMatch(Layout.FlowSpecIpv4, Layout.FlowIpv4Filter, spec)
    case "Ipv4Ext":
      return encodeMatch(Layout.FlowSpecIpv4Ext, Layout.FlowIpv4ExtFilter, spec)
    case "Ipv6":
      return encodeMatch(Layout.FlowSpecIpv6, Layout.FlowIpv6Filter, spec)
    case "Esp":
      return encodeMatch(Layout.FlowSpecEsp, Layout.FlowEspFilter, spec)
    case "Tcp":
    case "Udp":
      return encodeMatch(Layout.FlowSpecTcpUdp, Layout.FlowTcpUdpFilter, spec)
    case "VxlanTunnel":
      return encodeMatch(Layout.FlowSpecTunnel, Layout.FlowTunnelFilter, spec)
    case "Gre":
      return encodeMatch(Layout.FlowSpecGre, Layout.FlowGreFilter, spec)
    case "Mpls":
      return encodeMatch(Layout.FlowSpecMpls, Layout.FlowMplsFilter, spec)
    case "ActionTag":
      return encodeAction(Layout.FlowSpecActionTag, spec._tag, { tagId: spec.tagId })
    case "ActionDrop":
      return encodeAction(Layout.FlowSpecActionDrop, spec._tag, {})
    case "ActionHandle":
      return encodeAction(Layout.FlowSpecActionHandle, spec._tag, { action: spec.action })
    case "ActionCount":
      return encodeAction(Layout.FlowSpecActionCount, spec._tag, { counters: spec.counters })
  }
}

const encodeAction = <F extends Struct.Fields>(
  layout: Struct.Struct<F>,
  tag: keyof typeof specTypes,
  values: Partial<Struct.Record<F>>
): DataView<ArrayBuffer> => {
  const view = layout.allocate()
  layout.write(view, values)
  Layout.FlowSpecActionDrop.write(view, { type: specTypes[tag], size: layout.size })
  return view
}

/** `struct ibv_flow_attr` and behind it the specifications, one at the end of the other. */
export const encodeFlow = (
  { flags, port, priority, specs, type }: Steering.RawFlowAttributes
): DataView<ArrayBuffer> => {
  const encoded = specs.map(encodeSpecification)
  const size = encoded.reduce((sum, spec) => sum + spec.byteLength, Layout.FlowAttr.size)
  const view = new DataView(new ArrayBuffer(size))
  Layout.FlowAttr.write(view, {
    type: flowTypes.indexOf(type),
    size,
    priority,
    numOfSpecs: specs.length,
    port,
    flags: bitsOf(flowFlags, flags)
  })
  let at = Layout.FlowAttr.size
  for (const spec of encoded) {
    new Uint8Array(view.buffer).set(new Uint8Array(spec.buffer), at)
    at += spec.byteLength
  }
  return view
}

const decodeMatch = <F extends Struct.Fields>(layout: Layout.Matching<F>, view: DataView, base: number) => ({
  inner: (layout.get("type", view, base) & inner) !== 0,
  val: layout.get("val", view, base),
  mask: layout.get("mask", view, base)
})

/** One specification at an offset; its mask is whole. `undefined` for a type that this does not know. */
export const decodeSpecification = (view: DataView, base: number): FlowSpecification.Raw | undefined => {
  switch (Layout.FlowSpecActionDrop.get("type", view, base) & ~inner) {
    case specTypes.Eth:
      return { _tag: "Eth", ...decodeMatch(Layout.FlowSpecEth, view, base) }
    case specTypes.Ipv4:
      return { _tag: "Ipv4", ...decodeMatch(Layout.FlowSpecIpv4, view, base) }
    case specTypes.Ipv4Ext:
      return { _tag: "Ipv4Ext", ...decodeMatch(Layout.FlowSpecIpv4Ext, view, base) }
    case specTypes.Ipv6: {
      const { mask, val, ...rest } = decodeMatch(Layout.FlowSpecIpv6, view, base)
      return { _tag: "Ipv6", ...rest, val: withGids(val), mask: withGids(mask) }
    }
    case specTypes.Esp:
      return { _tag: "Esp", ...decodeMatch(Layout.FlowSpecEsp, view, base) }
    case specTypes.Tcp:
      return { _tag: "Tcp", ...decodeMatch(Layout.FlowSpecTcpUdp, view, base) }
    case specTypes.Udp:
      return { _tag: "Udp", ...decodeMatch(Layout.FlowSpecTcpUdp, view, base) }
    case specTypes.VxlanTunnel:
      return { _tag: "VxlanTunnel", ...decodeMatch(Layout.FlowSpecTunnel, view, base) }
    case specTypes.Gre:
      return { _tag: "Gre", ...decodeMatch(Layout.FlowSpecGre, view, base) }
    case specTypes.Mpls:
      return { _tag: "Mpls", ...decodeMatch(Layout.FlowSpecMpls, view, base) }
    case specTypes.ActionTag:
      return { _tag: "ActionTag", tagId: Layout.FlowSpecActionTag.get("tagId", view, base) }
    case specTypes.ActionDrop:
      return { _tag: "ActionDrop" }
    case specTypes.ActionHandle:
      return { _tag: "ActionHandle", action: Pointer.make(Layout.FlowSpecActionHandle.get("action", view, base)) }
    case specTypes.ActionCount:
      return { _tag: "ActionCount", counters: Pointer.make(Layout.FlowSpecActionCount.get("counters", view, base)) }
    default:
      return undefined
  }
}

const withGids = <F extends { readonly srcIp: Uint8Array; readonly dstIp: Uint8Array }>(filter: F) => ({
  ...filter,
  srcIp: Gid.fromBytes(filter.srcIp),
  dstIp: Gid.fromBytes(filter.dstIp)
})

// -----------------------------------------------------------------------------
// Flow actions
// -----------------------------------------------------------------------------

/** `enum ibv_flow_action_esp_flags`; the other value of each pair is 0. */
export const espFlags = { fullOffload: 1, transport: 2, encrypt: 4, esnNewWindow: 8 } as const

/** `enum ibv_flow_action_esp_keymat`, `…_replay` and `…_mask`. */
export const esp = { keymatAesGcm: 0, ivAlgoSeq: 0, replayNone: 0, replayBmp: 1, maskEsn: 1 } as const

/** The attributes, and behind them the structs that they point to. */
export const encodeEsp = (
  { esn, espAttr, keymat, replay }: FlowActionAttributes.FlowActionChanges,
  addressOf: AddressOf
): DataView<ArrayBuffer> => {
  const view = new DataView(new ArrayBuffer(espBytes))
  const address = addressOf(view)
  let at = Layout.FlowActionEspAttr.size
  const place = <F extends Struct.Fields>(struct: Struct.Struct<F>, values: Partial<Struct.Record<F>>): bigint => {
    struct.write(view, values, at)
    const placed = address + BigInt(at)
    at += struct.size
    return placed
  }
  if (espAttr !== undefined) {
    const { direction, esnNewWindow, mode, offload, ...numbers } = espAttr
    const flags = (offload === "fullOffload" ? espFlags.fullOffload : 0) |
      (mode === "transport" ? espFlags.transport : 0) | (direction === "encrypt" ? espFlags.encrypt : 0) |
      (esnNewWindow ? espFlags.esnNewWindow : 0)
    Layout.FlowActionEspAttr.set("espAttr", view, place(Layout.FlowActionEsp, { ...numbers, flags }))
  }
  if (keymat !== undefined) {
    const { aesKey, icvLen, iv, salt } = keymat
    const padded = new Uint8Array(32)
    padded.set(aesKey)
    Layout.FlowActionEspAttr.write(view, {
      keymatProto: esp.keymatAesGcm,
      keymatLen: Layout.FlowActionEspKeymatAesGcm.size,
      keymatPtr: place(Layout.FlowActionEspKeymatAesGcm, {
        iv,
        ivAlgo: esp.ivAlgoSeq,
        salt,
        icvLen,
        keyLen: aesKey.length,
        aesKey: padded
      })
    })
  }
  if (replay !== undefined) {
    Layout.FlowActionEspAttr.write(view, {
      replayProto: esp.replayBmp,
      replayLen: Layout.FlowActionEspReplayBmp.size,
      replayPtr: place(Layout.FlowActionEspReplayBmp, replay)
    })
  }
  if (esn !== undefined) Layout.FlowActionEspAttr.write(view, { compMask: esp.maskEsn, esn })
  return view
}

const espBytes = Layout.FlowActionEspAttr.size + Layout.FlowActionEsp.size + Layout.FlowActionEspKeymatAesGcm.size +
  Layout.FlowActionEspReplayBmp.size

// -----------------------------------------------------------------------------
// Counters
// -----------------------------------------------------------------------------

/** `enum ibv_counter_description` in its order. */
export const counterDescriptions = ["packets", "bytes"] as const

/** `IBV_READ_COUNTERS_ATTR_PREFER_CACHED`. */
export const preferCached = 1
