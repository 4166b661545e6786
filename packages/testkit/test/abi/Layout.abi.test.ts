import * as Errno from "@effect-rdma/core/Errno"
import * as LinkLayer from "@effect-rdma/core/LinkLayer"
import * as Mtu from "@effect-rdma/core/Mtu"
import * as NodeType from "@effect-rdma/core/NodeType"
import * as PortState from "@effect-rdma/core/PortState"
import * as StaticRate from "@effect-rdma/core/StaticRate"
import * as Struct from "@effect-rdma/core/Struct"
import * as TransportType from "@effect-rdma/core/TransportType"
import * as AddressInfoAttributes from "@effect-rdma/rdmacm/AddressInfoAttributes"
import * as CmEvent from "@effect-rdma/rdmacm/CmEvent"
import * as PortSpace from "@effect-rdma/rdmacm/PortSpace"
import * as AccessFlags from "@effect-rdma/verbs/AccessFlags"
import * as QueuePairAttributes from "@effect-rdma/verbs/QueuePairAttributes"
import * as QueuePairInitAttributes from "@effect-rdma/verbs/QueuePairInitAttributes"
import * as QueuePairState from "@effect-rdma/verbs/QueuePairState"
import * as QueuePairType from "@effect-rdma/verbs/QueuePairType"
import { assert, describe, it } from "@effect/vitest"
import * as linux from "../../../core/src/internal/linux.ts"
import * as cmConnection from "../../../rdmacm/src/internal/ffi/connection.ts"
import * as cmIdentifier from "../../../rdmacm/src/internal/ffi/identifier.ts"
import * as cmMulticast from "../../../rdmacm/src/internal/ffi/multicast.ts"
import * as cmRSocket from "../../../rdmacm/src/internal/ffi/rsocket.ts"
import * as rsocketReadiness from "../../../rdmacm/src/internal/ffi/rsocketReadiness.ts"
import * as rdmacm from "../../../rdmacm/src/internal/Layout.ts"
import * as rsocket from "../../../rdmacm/src/internal/RSocketLayout.ts"
import { families } from "../../../rdmacm/src/internal/sockaddr.ts"
import * as umad from "../../../umad/src/internal/Layout.ts"
import * as address from "../../../verbs/src/internal/AddressLayout.ts"
import * as codec from "../../../verbs/src/internal/codec.ts"
import * as completion from "../../../verbs/src/internal/CompletionLayout.ts"
import * as deviceCodec from "../../../verbs/src/internal/deviceCodec.ts"
import * as device from "../../../verbs/src/internal/DeviceLayout.ts"
import * as domain from "../../../verbs/src/internal/DomainLayout.ts"
import * as extendedDevice from "../../../verbs/src/internal/ExtendedDeviceLayout.ts"
import * as memoryCodec from "../../../verbs/src/internal/memoryCodec.ts"
import * as memory from "../../../verbs/src/internal/MemoryLayout.ts"
import * as queues from "../../../verbs/src/internal/QueueLayout.ts"
import * as steeringCodec from "../../../verbs/src/internal/steeringCodec.ts"
import * as steering from "../../../verbs/src/internal/SteeringLayout.ts"
import * as Compiler from "./Compiler.ts"
import * as Expectation from "./Expectation.ts"

const isStruct = (value: unknown): value is Struct.Struct<Struct.Fields> =>
  typeof value === "object" && value !== null && "fields" in value && "size" in value

const layouts = [device, extendedDevice, address, domain, memory, completion, queues, steering, rdmacm, rsocket, umad]
  .flatMap((
    module
  ) => Object.values<unknown>(module).filter(isStruct))

const enumerations: { readonly [name: string]: { readonly [name: string]: number } } = {
  ibv_qp_type: Object.fromEntries(
    QueuePairType.all.map((type) => [`IBV_QPT_${QueuePairType.format(type)}`, QueuePairType.toNative(type)])
  ),
  ibv_qp_state: Object.fromEntries(
    QueuePairState.all.map((state) => [`IBV_QPS_${QueuePairState.format(state)}`, QueuePairState.toNative(state)])
  ),
  ibv_mig_state: {
    IBV_MIG_MIGRATED: QueuePairAttributes.migrationStateToNative("migrated"),
    IBV_MIG_REARM: QueuePairAttributes.migrationStateToNative("rearm"),
    IBV_MIG_ARMED: QueuePairAttributes.migrationStateToNative("armed")
  },
  ibv_qp_create_flags: {
    IBV_QP_CREATE_BLOCK_SELF_MCAST_LB: QueuePairInitAttributes.createFlagsToNative(["blockSelfMcastLb"]),
    IBV_QP_CREATE_SCATTER_FCS: QueuePairInitAttributes.createFlagsToNative(["scatterFcs"]),
    IBV_QP_CREATE_CVLAN_STRIPPING: QueuePairInitAttributes.createFlagsToNative(["cvlanStripping"]),
    IBV_QP_CREATE_SOURCE_QPN: QueuePairInitAttributes.createFlagsToNative(["sourceQpn"]),
    IBV_QP_CREATE_PCI_WRITE_END_PADDING: QueuePairInitAttributes.createFlagsToNative(["pciWriteEndPadding"])
  },
  ibv_qp_create_send_ops_flags: {
    IBV_QP_EX_WITH_RDMA_WRITE: QueuePairInitAttributes.sendOperationsToNative(["rdmaWrite"]),
    IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM: QueuePairInitAttributes.sendOperationsToNative(["rdmaWriteWithImm"]),
    IBV_QP_EX_WITH_SEND: QueuePairInitAttributes.sendOperationsToNative(["send"]),
    IBV_QP_EX_WITH_SEND_WITH_IMM: QueuePairInitAttributes.sendOperationsToNative(["sendWithImm"]),
    IBV_QP_EX_WITH_RDMA_READ: QueuePairInitAttributes.sendOperationsToNative(["rdmaRead"]),
    IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP: QueuePairInitAttributes.sendOperationsToNative(["atomicCmpAndSwp"]),
    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD: QueuePairInitAttributes.sendOperationsToNative(["atomicFetchAndAdd"]),
    IBV_QP_EX_WITH_LOCAL_INV: QueuePairInitAttributes.sendOperationsToNative(["localInv"]),
    IBV_QP_EX_WITH_BIND_MW: QueuePairInitAttributes.sendOperationsToNative(["bindMw"]),
    IBV_QP_EX_WITH_SEND_WITH_INV: QueuePairInitAttributes.sendOperationsToNative(["sendWithInv"]),
    IBV_QP_EX_WITH_TSO: QueuePairInitAttributes.sendOperationsToNative(["tso"]),
    IBV_QP_EX_WITH_ATOMIC_WRITE: QueuePairInitAttributes.sendOperationsToNative(["atomicWrite"])
  },
  ibv_rx_hash_fields: {
    IBV_RX_HASH_SRC_IPV4: QueuePairInitAttributes.hashFieldsToNative(["srcIpv4"]),
    IBV_RX_HASH_DST_IPV4: QueuePairInitAttributes.hashFieldsToNative(["dstIpv4"]),
    IBV_RX_HASH_SRC_IPV6: QueuePairInitAttributes.hashFieldsToNative(["srcIpv6"]),
    IBV_RX_HASH_DST_IPV6: QueuePairInitAttributes.hashFieldsToNative(["dstIpv6"]),
    IBV_RX_HASH_SRC_PORT_TCP: QueuePairInitAttributes.hashFieldsToNative(["srcPortTcp"]),
    IBV_RX_HASH_DST_PORT_TCP: QueuePairInitAttributes.hashFieldsToNative(["dstPortTcp"]),
    IBV_RX_HASH_SRC_PORT_UDP: QueuePairInitAttributes.hashFieldsToNative(["srcPortUdp"]),
    IBV_RX_HASH_DST_PORT_UDP: QueuePairInitAttributes.hashFieldsToNative(["dstPortUdp"]),
    IBV_RX_HASH_IPSEC_SPI: QueuePairInitAttributes.hashFieldsToNative(["ipsecSpi"])
  },
  ibv_qp_attr_mask: {
    IBV_QP_STATE: QueuePairAttributes.maskBits.qpState,
    IBV_QP_CUR_STATE: QueuePairAttributes.maskBits.curQpState,
    IBV_QP_EN_SQD_ASYNC_NOTIFY: QueuePairAttributes.maskBits.enSqdAsyncNotify,
    IBV_QP_ACCESS_FLAGS: QueuePairAttributes.maskBits.qpAccessFlags,
    IBV_QP_PKEY_INDEX: QueuePairAttributes.maskBits.pkeyIndex,
    IBV_QP_PORT: QueuePairAttributes.maskBits.portNum,
    IBV_QP_QKEY: QueuePairAttributes.maskBits.qkey,
    IBV_QP_AV: QueuePairAttributes.maskBits.ahAttr,
    IBV_QP_PATH_MTU: QueuePairAttributes.maskBits.pathMtu,
    IBV_QP_TIMEOUT: QueuePairAttributes.maskBits.timeout,
    IBV_QP_RETRY_CNT: QueuePairAttributes.maskBits.retryCnt,
    IBV_QP_RNR_RETRY: QueuePairAttributes.maskBits.rnrRetry,
    IBV_QP_RQ_PSN: QueuePairAttributes.maskBits.rqPsn,
    IBV_QP_MAX_QP_RD_ATOMIC: QueuePairAttributes.maskBits.maxRdAtomic,
    IBV_QP_ALT_PATH: QueuePairAttributes.maskBits.altPath,
    IBV_QP_MIN_RNR_TIMER: QueuePairAttributes.maskBits.minRnrTimer,
    IBV_QP_SQ_PSN: QueuePairAttributes.maskBits.sqPsn,
    IBV_QP_MAX_DEST_RD_ATOMIC: QueuePairAttributes.maskBits.maxDestRdAtomic,
    IBV_QP_PATH_MIG_STATE: QueuePairAttributes.maskBits.pathMigState,
    IBV_QP_CAP: QueuePairAttributes.maskBits.cap,
    IBV_QP_DEST_QPN: QueuePairAttributes.maskBits.destQpNum,
    IBV_QP_RATE_LIMIT: QueuePairAttributes.maskBits.rateLimit
  },
  ibv_mtu: {
    IBV_MTU_256: Mtu.toNative(256),
    IBV_MTU_512: Mtu.toNative(512),
    IBV_MTU_1024: Mtu.toNative(1024),
    IBV_MTU_2048: Mtu.toNative(2048),
    IBV_MTU_4096: Mtu.toNative(4096)
  },
  ibv_port_state: {
    IBV_PORT_NOP: PortState.toNative("nop"),
    IBV_PORT_DOWN: PortState.toNative("down"),
    IBV_PORT_INIT: PortState.toNative("init"),
    IBV_PORT_ARMED: PortState.toNative("armed"),
    IBV_PORT_ACTIVE: PortState.toNative("active"),
    IBV_PORT_ACTIVE_DEFER: PortState.toNative("activeDefer")
  },
  ibv_node_type: {
    IBV_NODE_UNKNOWN: NodeType.toNative("unknown"),
    IBV_NODE_CA: NodeType.toNative("ca"),
    IBV_NODE_SWITCH: NodeType.toNative("switch"),
    IBV_NODE_ROUTER: NodeType.toNative("router"),
    IBV_NODE_RNIC: NodeType.toNative("rnic"),
    IBV_NODE_USNIC: NodeType.toNative("usnic"),
    IBV_NODE_USNIC_UDP: NodeType.toNative("usnicUdp"),
    IBV_NODE_UNSPECIFIED: NodeType.toNative("unspecified")
  },
  ibv_transport_type: {
    IBV_TRANSPORT_UNKNOWN: TransportType.toNative("unknown"),
    IBV_TRANSPORT_IB: TransportType.toNative("ib"),
    IBV_TRANSPORT_IWARP: TransportType.toNative("iwarp"),
    IBV_TRANSPORT_USNIC: TransportType.toNative("usnic"),
    IBV_TRANSPORT_USNIC_UDP: TransportType.toNative("usnicUdp"),
    IBV_TRANSPORT_UNSPECIFIED: TransportType.toNative("unspecified")
  },
  // librdmacm prints the C names.
  rdma_cm_event_type: Object.fromEntries(
    Array.from({ length: 16 }, (_, native) => [CmEvent.formatType(CmEvent.typeFromNative(native)), native])
  ),
  rdma_port_space: {
    RDMA_PS_IPOIB: PortSpace.toNative("ipoib"),
    RDMA_PS_TCP: PortSpace.toNative("tcp"),
    RDMA_PS_UDP: PortSpace.toNative("udp"),
    RDMA_PS_IB: PortSpace.toNative("ib")
  },
  "rsocket.h": {
    SO_REUSEADDR: cmRSocket.options.ReuseAddress.name,
    SO_ERROR: cmRSocket.options.Error.name,
    SO_SNDBUF: cmRSocket.options.SendBuffer.name,
    SO_RCVBUF: cmRSocket.options.ReceiveBuffer.name,
    SO_KEEPALIVE: cmRSocket.options.KeepAlive.name,
    SOL_SOCKET: cmRSocket.options.KeepAlive.level,
    TCP_NODELAY: cmRSocket.options.NoDelay.name,
    TCP_MAXSEG: cmRSocket.options.MaxSegment.name,
    TCP_KEEPIDLE: cmRSocket.options.KeepIdle.name,
    IPPROTO_TCP: cmRSocket.options.KeepIdle.level,
    IPV6_V6ONLY: cmRSocket.options.Ipv6Only.name,
    IPPROTO_IPV6: cmRSocket.options.Ipv6Only.level,
    RDMA_SQSIZE: cmRSocket.options.SendQueue.name,
    RDMA_RQSIZE: cmRSocket.options.ReceiveQueue.name,
    RDMA_INLINE: cmRSocket.options.Inline.name,
    RDMA_IOMAPSIZE: cmRSocket.options.Mappings.name,
    SOL_RDMA: cmRSocket.options.Mappings.level,
    SHUT_RD: cmRSocket.directions.indexOf("receive"),
    SHUT_WR: cmRSocket.directions.indexOf("send"),
    SHUT_RDWR: cmRSocket.directions.indexOf("both"),
    POLLIN: rsocketReadiness.bits.in,
    POLLOUT: rsocketReadiness.bits.out,
    POLLERR: rsocketReadiness.bits.err,
    POLLHUP: rsocketReadiness.bits.hup,
    EPOLLIN: rsocketReadiness.bits.in,
    EPOLLOUT: rsocketReadiness.bits.out,
    EPOLLERR: rsocketReadiness.bits.err,
    EPOLLHUP: rsocketReadiness.bits.hup,
    EPOLL_CTL_ADD: cmRSocket.changes.add,
    EPOLL_CTL_DEL: cmRSocket.changes.delete
  },
  "verbs.h of notifications": {
    IBV_EVENT_COMM_EST: cmConnection.queuePairEvents.commEst,
    IBV_EVENT_PATH_MIG: cmConnection.queuePairEvents.pathMig
  },
  "rdma_addrinfo.ai_flags": {
    RAI_PASSIVE: AddressInfoAttributes.flagsToNative(["passive"]),
    RAI_NUMERICHOST: AddressInfoAttributes.flagsToNative(["numericHost"]),
    RAI_NOROUTE: AddressInfoAttributes.flagsToNative(["noRoute"]),
    RAI_FAMILY: AddressInfoAttributes.flagsToNative(["family"])
  },
  "rdma_cma.h of options and multicast": {
    RDMA_OPTION_ID: 0,
    RDMA_OPTION_ID_TOS: cmIdentifier.options.TypeOfService,
    RDMA_OPTION_ID_REUSEADDR: cmIdentifier.options.ReuseAddress,
    RDMA_OPTION_ID_AFONLY: cmIdentifier.options.AddressFamilyOnly,
    RDMA_OPTION_ID_ACK_TIMEOUT: cmIdentifier.options.AckTimeout,
    "RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS": cmMulticast.joinMask,
    RDMA_MC_JOIN_FLAG_FULLMEMBER: cmMulticast.joinFlagValues.indexOf("fullMember"),
    RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER: cmMulticast.joinFlagValues.indexOf("sendOnlyFullMember"),
    AF_INET: families.ipv4,
    AF_INET6: families.ipv6,
    AF_IB: families.ib
  },
  ibv_access_flags: {
    IBV_ACCESS_LOCAL_WRITE: AccessFlags.bits.localWrite,
    IBV_ACCESS_REMOTE_WRITE: AccessFlags.bits.remoteWrite,
    IBV_ACCESS_REMOTE_READ: AccessFlags.bits.remoteRead,
    IBV_ACCESS_REMOTE_ATOMIC: AccessFlags.bits.remoteAtomic,
    IBV_ACCESS_MW_BIND: AccessFlags.bits.mwBind,
    IBV_ACCESS_ZERO_BASED: AccessFlags.bits.zeroBased,
    IBV_ACCESS_ON_DEMAND: AccessFlags.bits.onDemand,
    IBV_ACCESS_HUGETLB: AccessFlags.bits.hugetlb,
    IBV_ACCESS_RELAXED_ORDERING: AccessFlags.bits.relaxedOrdering
  },
  ibv_rereg_mr_flags: {
    IBV_REREG_MR_CHANGE_TRANSLATION: memoryCodec.rereg.translation,
    IBV_REREG_MR_CHANGE_PD: memoryCodec.rereg.pd,
    IBV_REREG_MR_CHANGE_ACCESS: memoryCodec.rereg.access
  },
  ibv_rereg_mr_err_code: memoryCodec.reregCodes,
  ib_uverbs_advise_mr_advice: {
    IBV_ADVISE_MR_ADVICE_PREFETCH: memoryCodec.advices.prefetch,
    IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE: memoryCodec.advices.prefetchWrite,
    IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT: memoryCodec.advices.prefetchNoFault,
    IBV_ADVISE_MR_FLAG_FLUSH: memoryCodec.adviseFlush
  },
  "ibv_send_flags of a bind": {
    IBV_SEND_FENCE: memoryCodec.bindFlags.fence,
    IBV_SEND_SIGNALED: memoryCodec.bindFlags.signaled
  },
  ibv_mw_type: {
    IBV_MW_TYPE_1: 1,
    IBV_MW_TYPE_2: 2
  },
  ibv_link_layer: {
    IBV_LINK_LAYER_UNSPECIFIED: LinkLayer.toNative("unspecified"),
    IBV_LINK_LAYER_INFINIBAND: LinkLayer.toNative("infiniband"),
    IBV_LINK_LAYER_ETHERNET: LinkLayer.toNative("ethernet")
  },
  ibv_atomic_cap: {
    IBV_ATOMIC_NONE: codec.atomicCapabilities.indexOf("none"),
    IBV_ATOMIC_HCA: codec.atomicCapabilities.indexOf("hca"),
    IBV_ATOMIC_GLOB: codec.atomicCapabilities.indexOf("glob")
  },
  ibv_gid_type: {
    IBV_GID_TYPE_IB: codec.gidTypes.indexOf("ib"),
    IBV_GID_TYPE_ROCE_V1: codec.gidTypes.indexOf("roceV1"),
    IBV_GID_TYPE_ROCE_V2: codec.gidTypes.indexOf("roceV2")
  },
  ibv_fork_status: {
    IBV_FORK_DISABLED: deviceCodec.forkStatuses.indexOf("disabled"),
    IBV_FORK_ENABLED: deviceCodec.forkStatuses.indexOf("enabled"),
    IBV_FORK_UNNEEDED: deviceCodec.forkStatuses.indexOf("unneeded")
  },
  ibv_values_mask: { IBV_VALUES_MASK_RAW_CLOCK: deviceCodec.rawClock },
  ibv_wq: {
    IBV_WQT_RQ: 0,
    IBV_WQ_FLAGS_CVLAN_STRIPPING: steeringCodec.wqFlags.cvlanStripping,
    IBV_WQ_FLAGS_SCATTER_FCS: steeringCodec.wqFlags.scatterFcs,
    IBV_WQ_FLAGS_DELAY_DROP: steeringCodec.wqFlags.delayDrop,
    IBV_WQ_FLAGS_PCI_WRITE_END_PADDING: steeringCodec.wqFlags.pciWriteEndPadding,
    IBV_WQS_RESET: steeringCodec.wqStates.reset,
    IBV_WQS_RDY: steeringCodec.wqStates.rdy,
    IBV_WQS_ERR: steeringCodec.wqStates.err,
    IBV_WQ_INIT_ATTR_FLAGS: steeringCodec.wqInitMask.flags,
    IBV_WQ_ATTR_STATE: steeringCodec.wqMask.state,
    IBV_WQ_ATTR_CURR_STATE: steeringCodec.wqMask.currState,
    IBV_WQ_ATTR_FLAGS: steeringCodec.wqMask.flags
  },
  ibv_flow: {
    IBV_FLOW_ATTR_NORMAL: steeringCodec.flowTypes.indexOf("normal"),
    IBV_FLOW_ATTR_ALL_DEFAULT: steeringCodec.flowTypes.indexOf("allDefault"),
    IBV_FLOW_ATTR_MC_DEFAULT: steeringCodec.flowTypes.indexOf("mcDefault"),
    IBV_FLOW_ATTR_SNIFFER: steeringCodec.flowTypes.indexOf("sniffer"),
    IBV_FLOW_ATTR_FLAGS_DONT_TRAP: steeringCodec.flowFlags.dontTrap,
    IBV_FLOW_ATTR_FLAGS_EGRESS: steeringCodec.flowFlags.egress
  },
  ibv_flow_spec_type: {
    IBV_FLOW_SPEC_ETH: steeringCodec.specTypes.Eth,
    IBV_FLOW_SPEC_IPV4: steeringCodec.specTypes.Ipv4,
    IBV_FLOW_SPEC_IPV6: steeringCodec.specTypes.Ipv6,
    IBV_FLOW_SPEC_IPV4_EXT: steeringCodec.specTypes.Ipv4Ext,
    IBV_FLOW_SPEC_ESP: steeringCodec.specTypes.Esp,
    IBV_FLOW_SPEC_TCP: steeringCodec.specTypes.Tcp,
    IBV_FLOW_SPEC_UDP: steeringCodec.specTypes.Udp,
    IBV_FLOW_SPEC_VXLAN_TUNNEL: steeringCodec.specTypes.VxlanTunnel,
    IBV_FLOW_SPEC_GRE: steeringCodec.specTypes.Gre,
    IBV_FLOW_SPEC_MPLS: steeringCodec.specTypes.Mpls,
    IBV_FLOW_SPEC_INNER: steeringCodec.inner,
    IBV_FLOW_SPEC_ACTION_TAG: steeringCodec.specTypes.ActionTag,
    IBV_FLOW_SPEC_ACTION_DROP: steeringCodec.specTypes.ActionDrop,
    IBV_FLOW_SPEC_ACTION_HANDLE: steeringCodec.specTypes.ActionHandle,
    IBV_FLOW_SPEC_ACTION_COUNT: steeringCodec.specTypes.ActionCount
  },
  ibv_flow_action_esp: {
    IBV_FLOW_ACTION_ESP_KEYMAT_AES_GCM: steeringCodec.esp.keymatAesGcm,
    IBV_FLOW_ACTION_IV_ALGO_SEQ: steeringCodec.esp.ivAlgoSeq,
    IBV_FLOW_ACTION_ESP_REPLAY_BMP: steeringCodec.esp.replayBmp,
    IBV_FLOW_ACTION_ESP_MASK_ESN: steeringCodec.esp.maskEsn,
    IBV_FLOW_ACTION_ESP_FLAGS_INLINE_CRYPTO: 0,
    IBV_FLOW_ACTION_ESP_FLAGS_FULL_OFFLOAD: steeringCodec.espFlags.fullOffload,
    IBV_FLOW_ACTION_ESP_FLAGS_TUNNEL: 0,
    IBV_FLOW_ACTION_ESP_FLAGS_TRANSPORT: steeringCodec.espFlags.transport,
    IBV_FLOW_ACTION_ESP_FLAGS_DECRYPT: 0,
    IBV_FLOW_ACTION_ESP_FLAGS_ENCRYPT: steeringCodec.espFlags.encrypt,
    IBV_FLOW_ACTION_ESP_FLAGS_ESN_NEW_WINDOW: steeringCodec.espFlags.esnNewWindow
  },
  ibv_counter_description: {
    IBV_COUNTER_PACKETS: steeringCodec.counterDescriptions.indexOf("packets"),
    IBV_COUNTER_BYTES: steeringCodec.counterDescriptions.indexOf("bytes")
  },
  ibv_read_counters_flags: { IBV_READ_COUNTERS_ATTR_PREFER_CACHED: steeringCodec.preferCached },
  ibv_wc_flags: {
    IBV_WC_GRH: codec.wcWithGrh
  },
  ibv_rate: {
    IBV_RATE_MAX: StaticRate.toNative("max"),
    IBV_RATE_2_5_GBPS: StaticRate.toNative("2.5Gbps"),
    IBV_RATE_5_GBPS: StaticRate.toNative("5Gbps"),
    IBV_RATE_10_GBPS: StaticRate.toNative("10Gbps"),
    IBV_RATE_14_GBPS: StaticRate.toNative("14Gbps"),
    IBV_RATE_20_GBPS: StaticRate.toNative("20Gbps"),
    IBV_RATE_25_GBPS: StaticRate.toNative("25Gbps"),
    IBV_RATE_28_GBPS: StaticRate.toNative("28Gbps"),
    IBV_RATE_30_GBPS: StaticRate.toNative("30Gbps"),
    IBV_RATE_40_GBPS: StaticRate.toNative("40Gbps"),
    IBV_RATE_50_GBPS: StaticRate.toNative("50Gbps"),
    IBV_RATE_56_GBPS: StaticRate.toNative("56Gbps"),
    IBV_RATE_60_GBPS: StaticRate.toNative("60Gbps"),
    IBV_RATE_80_GBPS: StaticRate.toNative("80Gbps"),
    IBV_RATE_100_GBPS: StaticRate.toNative("100Gbps"),
    IBV_RATE_112_GBPS: StaticRate.toNative("112Gbps"),
    IBV_RATE_120_GBPS: StaticRate.toNative("120Gbps"),
    IBV_RATE_168_GBPS: StaticRate.toNative("168Gbps"),
    IBV_RATE_200_GBPS: StaticRate.toNative("200Gbps"),
    IBV_RATE_300_GBPS: StaticRate.toNative("300Gbps"),
    IBV_RATE_400_GBPS: StaticRate.toNative("400Gbps"),
    IBV_RATE_600_GBPS: StaticRate.toNative("600Gbps"),
    IBV_RATE_800_GBPS: StaticRate.toNative("800Gbps"),
    IBV_RATE_1200_GBPS: StaticRate.toNative("1200Gbps")
  }
}

if (Compiler.missing !== undefined) process.stderr.write(`abi: skipped: ${Compiler.missing}\n`)

it.runIf(process.env["CI"] === "true")("CI has a compiler and the headers", () => {
  assert.strictEqual(Compiler.missing, undefined)
})

describe.skipIf(Compiler.missing !== undefined)("the C compiler agrees", () => {
  it("with every layout", () => {
    assert.isAbove(layouts.length, 30)
    assert.deepStrictEqual(Expectation.refuted(layouts.flatMap(Expectation.layout)), [])
  })

  it("with the operations below a context", () => {
    assert.deepStrictEqual(Expectation.refuted(Expectation.below("struct verbs_context", device.contextOps)), [])
  })

  it.each(Object.entries(enumerations))("with enum %s", (_, values) => {
    assert.deepStrictEqual(Expectation.refuted(Expectation.constants(values)), [])
  })

  it("with every errno", () => {
    const errnos = Object.fromEntries(Errno.all.map(({ name, number }) => [name, number]))
    assert.deepStrictEqual(Expectation.refuted(Expectation.constants(errnos)), [])
  })

  it("with the constants of the C library", () => {
    assert.deepStrictEqual(Expectation.refuted(Expectation.constants({ ...linux })), [])
  })

  it("and not with what is wrong", () => {
    const wrong = Struct.make("struct ibv_ah_attr", 40, {
      dlid: Struct.u16(25, "dlid"),
      sl: Struct.u16(26, "sl"),
      hopLimit: Struct.u8(21, "grh.hop_limit")
    })
    assert.deepStrictEqual(Expectation.refuted(Expectation.layout(wrong)), [
      "sizeof(struct ibv_ah_attr) is 32, not 40",
      "offsetof(struct ibv_ah_attr, dlid) is 24, not 25",
      "sizeof(((struct ibv_ah_attr *)0)->sl) is 1, not 2"
    ])
    const number = Struct.make("struct ibv_pd", 16, { context: Struct.u64(0, "context") })
    assert.strictEqual(Expectation.refuted(Expectation.layout(number)).length, 1)
    assert.deepStrictEqual(Expectation.refuted(Expectation.constants({ IBV_MTU_256: 2, IBV_NODE_UNKNOWN: -1 })), [
      "IBV_MTU_256 is 1, not 2"
    ])
    assert.throws(() => Expectation.refuted(Expectation.constants({ IBV_NO_SUCH_NAME: 1 })), /IBV_NO_SUCH_NAME/)
  })
})
