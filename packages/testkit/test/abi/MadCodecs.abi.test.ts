/**
 * Fields of MADs and attributes as libibmad writes and reads them, what it lacks as the structures of OpenSM's headers have
 * it, and the bits of component masks.
 */
import * as ClassPortInfo from "@effect-rdma/umad/ClassPortInfo"
import * as CmMad from "@effect-rdma/umad/CmMad"
import * as DirectedRouteSmp from "@effect-rdma/umad/DirectedRouteSmp"
import * as GuidInfo from "@effect-rdma/umad/GuidInfo"
import * as InformInfo from "@effect-rdma/umad/InformInfo"
import * as LinearForwardingTable from "@effect-rdma/umad/LinearForwardingTable"
import type * as MadAttribute from "@effect-rdma/umad/MadAttribute"
import * as MadHeader from "@effect-rdma/umad/MadHeader"
import type * as MadLayout from "@effect-rdma/umad/MadLayout"
import * as MadMethod from "@effect-rdma/umad/MadMethod"
import * as ManagementClass from "@effect-rdma/umad/ManagementClass"
import * as McMemberRecord from "@effect-rdma/umad/McMemberRecord"
import * as MulticastForwardingTable from "@effect-rdma/umad/MulticastForwardingTable"
import * as NodeDescription from "@effect-rdma/umad/NodeDescription"
import * as NodeInfo from "@effect-rdma/umad/NodeInfo"
import * as NodeRecord from "@effect-rdma/umad/NodeRecord"
import * as Notice from "@effect-rdma/umad/Notice"
import * as PathRecord from "@effect-rdma/umad/PathRecord"
import * as PKeyTable from "@effect-rdma/umad/PKeyTable"
import * as PortCounters from "@effect-rdma/umad/PortCounters"
import * as PortCountersExtended from "@effect-rdma/umad/PortCountersExtended"
import * as PortInfo from "@effect-rdma/umad/PortInfo"
import * as PortInfoRecord from "@effect-rdma/umad/PortInfoRecord"
import * as PortSamplesControl from "@effect-rdma/umad/PortSamplesControl"
import * as RmppHeader from "@effect-rdma/umad/RmppHeader"
import * as SaMad from "@effect-rdma/umad/SaMad"
import * as SaRecord from "@effect-rdma/umad/SaRecord"
import * as ServiceRecord from "@effect-rdma/umad/ServiceRecord"
import * as SlToVlMappingTable from "@effect-rdma/umad/SlToVlMappingTable"
import * as SmInfo from "@effect-rdma/umad/SmInfo"
import * as Smp from "@effect-rdma/umad/Smp"
import * as SmState from "@effect-rdma/umad/SmState"
import * as SwitchInfo from "@effect-rdma/umad/SwitchInfo"
import * as VendorMad from "@effect-rdma/umad/VendorMad"
import * as VlArbitrationTable from "@effect-rdma/umad/VlArbitrationTable"
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Compiler from "./Compiler.ts"

type Any = MadLayout.MadLayout<MadLayout.Fields>

/** A layout, and the C name of each of its fields: of libibmad's enum, or of a member in OpenSM's headers. */
interface Golden {
  readonly layout: Any
  readonly names: { readonly [field: string]: string }
}

const golden = <F extends MadLayout.Fields>(
  layout: MadLayout.MadLayout<F>,
  names: { readonly [K in keyof F]?: string }
): Golden => ({ layout, names: names as { readonly [field: string]: string } })

const header = {
  mgmtClass: "IB_MAD_MGMTCLASS_F",
  baseVersion: "IB_MAD_BASEVER_F",
  classVersion: "IB_MAD_CLASSVER_F",
  transactionId: "IB_MAD_TRID_F",
  attributeId: "IB_MAD_ATTRID_F",
  attributeModifier: "IB_MAD_ATTRMOD_F"
}

const rmpp = {
  rmppVersion: "IB_SA_RMPP_VERS_F",
  rmppType: "IB_SA_RMPP_TYPE_F",
  rmppResponseTime: "IB_SA_RMPP_RESP_F",
  rmppFlags: "IB_SA_RMPP_FLAGS_F",
  rmppStatus: "IB_SA_RMPP_STATUS_F",
  rmppData1: "IB_SA_RMPP_D1_F",
  rmppData2: "IB_SA_RMPP_D2_F"
}

/** What libibmad knows. It has the response bit of the method as a field of its own: see below. */
const libibmad: ReadonlyArray<Golden> = [
  golden(MadHeader.MadHeader, { ...header, status: "IB_MAD_STATUS_F" }),
  golden(RmppHeader.RmppHeader, rmpp),
  golden(Smp.Smp, { ...header, status: "IB_MAD_STATUS_F", mKey: "IB_MAD_MKEY_F" }),
  golden(DirectedRouteSmp.DirectedRouteSmp, {
    ...header,
    direction: "IB_DRSMP_DIRECTION_F",
    status: "IB_DRSMP_STATUS_F",
    hopPointer: "IB_DRSMP_HOPPTR_F",
    hopCount: "IB_DRSMP_HOPCNT_F",
    mKey: "IB_MAD_MKEY_F",
    drSlid: "IB_DRSMP_DRSLID_F",
    drDlid: "IB_DRSMP_DRDLID_F",
    initialPath: "IB_DRSMP_PATH_F",
    returnPath: "IB_DRSMP_RPATH_F"
  }),
  golden(SaMad.SaMad, {
    ...header,
    ...rmpp,
    smKey: "IB_SA_MKEY_F",
    attributeOffset: "IB_SA_ATTROFFS_F",
    componentMask: "IB_SA_COMPMASK_F",
    data: "IB_SA_DATA_F"
  }),
  golden(VendorMad.VendorMad, { ...header, ...rmpp, data: "IB_VEND2_DATA_F" }),
  golden(VendorMad.VendorMad1, header),
  golden(CmMad.CmMad, header),
  golden(NodeInfo.NodeInfo, {
    baseVersion: "IB_NODE_BASE_VERS_F",
    classVersion: "IB_NODE_CLASS_VERS_F",
    nodeType: "IB_NODE_TYPE_F",
    numPorts: "IB_NODE_NPORTS_F",
    systemImageGuid: "IB_NODE_SYSTEM_GUID_F",
    nodeGuid: "IB_NODE_GUID_F",
    portGuid: "IB_NODE_PORT_GUID_F",
    partitionCap: "IB_NODE_PARTITION_CAP_F",
    deviceId: "IB_NODE_DEVID_F",
    revision: "IB_NODE_REVISION_F",
    localPortNum: "IB_NODE_LOCAL_PORT_F",
    vendorId: "IB_NODE_VENDORID_F"
  }),
  golden(NodeDescription.NodeDescription, { nodeDescription: "IB_NODE_DESC_F" }),
  golden(PortInfo.PortInfo, {
    mKey: "IB_PORT_MKEY_F",
    gidPrefix: "IB_PORT_GID_PREFIX_F",
    lid: "IB_PORT_LID_F",
    masterSmLid: "IB_PORT_SMLID_F",
    capabilityMask: "IB_PORT_CAPMASK_F",
    diagCode: "IB_PORT_DIAG_F",
    mKeyLeasePeriod: "IB_PORT_MKEY_LEASE_F",
    localPortNum: "IB_PORT_LOCAL_PORT_F",
    linkWidthEnabled: "IB_PORT_LINK_WIDTH_ENABLED_F",
    linkWidthSupported: "IB_PORT_LINK_WIDTH_SUPPORTED_F",
    linkWidthActive: "IB_PORT_LINK_WIDTH_ACTIVE_F",
    linkSpeedSupported: "IB_PORT_LINK_SPEED_SUPPORTED_F",
    portState: "IB_PORT_STATE_F",
    portPhysicalState: "IB_PORT_PHYS_STATE_F",
    linkDownDefaultState: "IB_PORT_LINK_DOWN_DEF_F",
    mKeyProtectBits: "IB_PORT_MKEY_PROT_BITS_F",
    lmc: "IB_PORT_LMC_F",
    linkSpeedActive: "IB_PORT_LINK_SPEED_ACTIVE_F",
    linkSpeedEnabled: "IB_PORT_LINK_SPEED_ENABLED_F",
    neighborMtu: "IB_PORT_NEIGHBOR_MTU_F",
    masterSmSl: "IB_PORT_SMSL_F",
    vlCap: "IB_PORT_VL_CAP_F",
    initType: "IB_PORT_INIT_TYPE_F",
    vlHighLimit: "IB_PORT_VL_HIGH_LIMIT_F",
    vlArbitrationHighCap: "IB_PORT_VL_ARBITRATION_HIGH_CAP_F",
    vlArbitrationLowCap: "IB_PORT_VL_ARBITRATION_LOW_CAP_F",
    initTypeReply: "IB_PORT_INIT_TYPE_REPLY_F",
    mtuCap: "IB_PORT_MTU_CAP_F",
    vlStallCount: "IB_PORT_VL_STALL_COUNT_F",
    hoqLife: "IB_PORT_HOQ_LIFE_F",
    operationalVls: "IB_PORT_OPER_VLS_F",
    partitionEnforcementInbound: "IB_PORT_PART_EN_INB_F",
    partitionEnforcementOutbound: "IB_PORT_PART_EN_OUTB_F",
    filterRawInbound: "IB_PORT_FILTER_RAW_INB_F",
    filterRawOutbound: "IB_PORT_FILTER_RAW_OUTB_F",
    mKeyViolations: "IB_PORT_MKEY_VIOL_F",
    pKeyViolations: "IB_PORT_PKEY_VIOL_F",
    qKeyViolations: "IB_PORT_QKEY_VIOL_F",
    guidCap: "IB_PORT_GUID_CAP_F",
    clientReregister: "IB_PORT_CLIENT_REREG_F",
    multicastPKeyTrapSuppressionEnabled: "IB_PORT_MCAST_PKEY_SUPR_ENAB_F",
    subnetTimeout: "IB_PORT_SUBN_TIMEOUT_F",
    respTimeValue: "IB_PORT_RESP_TIME_VAL_F",
    localPhyErrors: "IB_PORT_LOCAL_PHYS_ERR_F",
    overrunErrors: "IB_PORT_OVERRUN_ERR_F",
    maxCreditHint: "IB_PORT_MAX_CREDIT_HINT_F",
    linkRoundTripLatency: "IB_PORT_LINK_ROUND_TRIP_F",
    capabilityMask2: "IB_PORT_CAPMASK2_F",
    linkSpeedExtActive: "IB_PORT_LINK_SPEED_EXT_ACTIVE_F",
    linkSpeedExtSupported: "IB_PORT_LINK_SPEED_EXT_SUPPORTED_F",
    linkSpeedExtEnabled: "IB_PORT_LINK_SPEED_EXT_ENABLED_F"
  }),
  golden(SwitchInfo.SwitchInfo, {
    linearFdbCap: "IB_SW_LINEAR_FDB_CAP_F",
    randomFdbCap: "IB_SW_RANDOM_FDB_CAP_F",
    multicastFdbCap: "IB_SW_MCAST_FDB_CAP_F",
    linearFdbTop: "IB_SW_LINEAR_FDB_TOP_F",
    defaultPort: "IB_SW_DEF_PORT_F",
    defaultMulticastPrimaryPort: "IB_SW_DEF_MCAST_PRIM_F",
    defaultMulticastNotPrimaryPort: "IB_SW_DEF_MCAST_NOT_PRIM_F",
    lifeTimeValue: "IB_SW_LIFE_TIME_F",
    portStateChange: "IB_SW_STATE_CHANGE_F",
    optimizedSlToVlMappingProgramming: "IB_SW_OPT_SLTOVL_MAPPING_F",
    lidsPerPort: "IB_SW_LIDS_PER_PORT_F",
    partitionEnforcementCap: "IB_SW_PARTITION_ENFORCE_CAP_F",
    inboundEnforcementCap: "IB_SW_PARTITION_ENF_INB_F",
    outboundEnforcementCap: "IB_SW_PARTITION_ENF_OUTB_F",
    filterRawInboundCap: "IB_SW_FILTER_RAW_INB_F",
    filterRawOutboundCap: "IB_SW_FILTER_RAW_OUTB_F",
    enhancedPort0: "IB_SW_ENHANCED_PORT0_F",
    multicastFdbTop: "IB_SW_MCAST_FDB_TOP_F"
  }),
  golden(LinearForwardingTable.LinearForwardingTable, { ports: "IB_LINEAR_FORW_TBL_F" }),
  golden(SmInfo.SmInfo, {
    guid: "IB_SMINFO_GUID_F",
    smKey: "IB_SMINFO_KEY_F",
    actCount: "IB_SMINFO_ACT_F",
    priority: "IB_SMINFO_PRIO_F",
    smState: "IB_SMINFO_STATE_F"
  }),
  golden(Notice.Notice, {
    isGeneric: "IB_NOTICE_IS_GENERIC_F",
    type: "IB_NOTICE_TYPE_F",
    producerType: "IB_NOTICE_PRODUCER_F",
    trapNumber: "IB_NOTICE_TRAP_NUMBER_F",
    issuerLid: "IB_NOTICE_ISSUER_LID_F",
    noticeToggle: "IB_NOTICE_TOGGLE_F",
    noticeCount: "IB_NOTICE_COUNT_F",
    dataDetails: "IB_NOTICE_DATA_DETAILS_F"
  }),
  golden(ClassPortInfo.ClassPortInfo, {
    baseVersion: "IB_CPI_BASEVER_F",
    classVersion: "IB_CPI_CLASSVER_F",
    capabilityMask: "IB_CPI_CAPMASK_F",
    capabilityMask2: "IB_CPI_CAPMASK2_F",
    respTimeValue: "IB_CPI_RESP_TIME_VALUE_F",
    redirectGid: "IB_CPI_REDIRECT_GID_F",
    redirectTrafficClass: "IB_CPI_REDIRECT_TC_F",
    redirectSl: "IB_CPI_REDIRECT_SL_F",
    redirectFlowLabel: "IB_CPI_REDIRECT_FL_F",
    redirectLid: "IB_CPI_REDIRECT_LID_F",
    redirectPKey: "IB_CPI_REDIRECT_PKEY_F",
    redirectQp: "IB_CPI_REDIRECT_QP_F",
    redirectQKey: "IB_CPI_REDIRECT_QKEY_F",
    trapGid: "IB_CPI_TRAP_GID_F",
    trapTrafficClass: "IB_CPI_TRAP_TC_F",
    trapSl: "IB_CPI_TRAP_SL_F",
    trapFlowLabel: "IB_CPI_TRAP_FL_F",
    trapLid: "IB_CPI_TRAP_LID_F",
    trapPKey: "IB_CPI_TRAP_PKEY_F",
    trapHopLimit: "IB_CPI_TRAP_HL_F",
    trapQp: "IB_CPI_TRAP_QP_F",
    trapQKey: "IB_CPI_TRAP_QKEY_F"
  }),
  golden(PortCounters.PortCounters, {
    portSelect: "IB_PC_PORT_SELECT_F",
    counterSelect: "IB_PC_COUNTER_SELECT_F",
    symbolErrorCounter: "IB_PC_ERR_SYM_F",
    linkErrorRecoveryCounter: "IB_PC_LINK_RECOVERS_F",
    linkDownedCounter: "IB_PC_LINK_DOWNED_F",
    portRcvErrors: "IB_PC_ERR_RCV_F",
    portRcvRemotePhysicalErrors: "IB_PC_ERR_PHYSRCV_F",
    portRcvSwitchRelayErrors: "IB_PC_ERR_SWITCH_REL_F",
    portXmitDiscards: "IB_PC_XMT_DISCARDS_F",
    portXmitConstraintErrors: "IB_PC_ERR_XMTCONSTR_F",
    portRcvConstraintErrors: "IB_PC_ERR_RCVCONSTR_F",
    counterSelect2: "IB_PC_COUNTER_SELECT2_F",
    localLinkIntegrityErrors: "IB_PC_ERR_LOCALINTEG_F",
    excessiveBufferOverrunErrors: "IB_PC_ERR_EXCESS_OVR_F",
    vl15Dropped: "IB_PC_VL15_DROPPED_F",
    portXmitData: "IB_PC_XMT_BYTES_F",
    portRcvData: "IB_PC_RCV_BYTES_F",
    portXmitPkts: "IB_PC_XMT_PKTS_F",
    portRcvPkts: "IB_PC_RCV_PKTS_F",
    portXmitWait: "IB_PC_XMT_WAIT_F"
  }),
  golden(PortCountersExtended.PortCountersExtended, {
    portSelect: "IB_PC_EXT_PORT_SELECT_F",
    counterSelect: "IB_PC_EXT_COUNTER_SELECT_F",
    counterSelect2: "IB_PC_EXT_COUNTER_SELECT2_F",
    portXmitData: "IB_PC_EXT_XMT_BYTES_F",
    portRcvData: "IB_PC_EXT_RCV_BYTES_F",
    portXmitPkts: "IB_PC_EXT_XMT_PKTS_F",
    portRcvPkts: "IB_PC_EXT_RCV_PKTS_F",
    portUnicastXmitPkts: "IB_PC_EXT_XMT_UPKTS_F",
    portUnicastRcvPkts: "IB_PC_EXT_RCV_UPKTS_F",
    portMulticastXmitPkts: "IB_PC_EXT_XMT_MPKTS_F",
    portMulticastRcvPkts: "IB_PC_EXT_RCV_MPKTS_F",
    symbolErrorCounter: "IB_PC_EXT_ERR_SYM_F",
    linkErrorRecoveryCounter: "IB_PC_EXT_LINK_RECOVERS_F",
    linkDownedCounter: "IB_PC_EXT_LINK_DOWNED_F",
    portRcvErrors: "IB_PC_EXT_ERR_RCV_F",
    portRcvRemotePhysicalErrors: "IB_PC_EXT_ERR_PHYSRCV_F",
    portRcvSwitchRelayErrors: "IB_PC_EXT_ERR_SWITCH_REL_F",
    portXmitDiscards: "IB_PC_EXT_XMT_DISCARDS_F",
    portXmitConstraintErrors: "IB_PC_EXT_ERR_XMTCONSTR_F",
    portRcvConstraintErrors: "IB_PC_EXT_ERR_RCVCONSTR_F",
    localLinkIntegrityErrors: "IB_PC_EXT_ERR_LOCALINTEG_F",
    excessiveBufferOverrunErrors: "IB_PC_EXT_ERR_EXCESS_OVR_F",
    vl15Dropped: "IB_PC_EXT_VL15_DROPPED_F",
    portXmitWait: "IB_PC_EXT_XMT_WAIT_F",
    qp1Dropped: "IB_PC_EXT_QP1_DROP_F"
  }),
  golden(PortSamplesControl.PortSamplesControl, {
    opCode: "IB_PSC_OPCODE_F",
    portSelect: "IB_PSC_PORT_SELECT_F",
    tick: "IB_PSC_TICK_F",
    counterWidth: "IB_PSC_COUNTER_WIDTH_F",
    counterMask0: "IB_PSC_COUNTER_MASK0_F",
    counterMasks1to9: "IB_PSC_COUNTER_MASKS1TO9_F",
    counterMasks10to14: "IB_PSC_COUNTER_MASKS10TO14_F",
    sampleMechanisms: "IB_PSC_SAMPLE_MECHS_F",
    sampleStatus: "IB_PSC_SAMPLE_STATUS_F",
    optionMask: "IB_PSC_OPTION_MASK_F",
    vendorMask: "IB_PSC_VENDOR_MASK_F",
    sampleStart: "IB_PSC_SAMPLE_START_F",
    sampleInterval: "IB_PSC_SAMPLE_INTVL_F",
    tag: "IB_PSC_TAG_F",
    samplesOnlyOptionMask: "IB_PSC_SAMPLES_ONLY_OPT_MASK_F"
  }),
  golden(PathRecord.PathRecord, {
    dgid: "IB_SA_PR_DGID_F",
    sgid: "IB_SA_PR_SGID_F",
    dlid: "IB_SA_PR_DLID_F",
    slid: "IB_SA_PR_SLID_F",
    numbPath: "IB_SA_PR_NPATH_F",
    sl: "IB_SA_PR_SL_F"
  }),
  golden(McMemberRecord.McMemberRecord, {
    mgid: "IB_SA_MCM_MGID_F",
    portGid: "IB_SA_MCM_PORTGID_F",
    qKey: "IB_SA_MCM_QKEY_F",
    mlid: "IB_SA_MCM_MLID_F",
    sl: "IB_SA_MCM_SL_F",
    mtu: "IB_SA_MCM_MTU_F",
    rate: "IB_SA_MCM_RATE_F",
    trafficClass: "IB_SA_MCM_TCLASS_F",
    pKey: "IB_SA_MCM_PKEY_F",
    flowLabel: "IB_SA_MCM_FLOW_LABEL_F",
    joinState: "IB_SA_MCM_JOIN_STATE_F",
    proxyJoin: "IB_SA_MCM_PROXY_JOIN_F"
  }),
  golden(ServiceRecord.ServiceRecord, {
    serviceId: "IB_SA_SR_ID_F",
    serviceGid: "IB_SA_SR_GID_F",
    servicePKey: "IB_SA_SR_PKEY_F",
    serviceLease: "IB_SA_SR_LEASE_F",
    serviceKey: "IB_SA_SR_KEY_F",
    serviceName: "IB_SA_SR_NAME_F"
  }),
  golden(NodeRecord.NodeRecord, {
    lid: "IB_SA_NR_LID_F",
    baseVersion: "IB_SA_NR_BASEVER_F",
    classVersion: "IB_SA_NR_CLASSVER_F",
    nodeType: "IB_SA_NR_TYPE_F",
    numPorts: "IB_SA_NR_NPORTS_F",
    systemImageGuid: "IB_SA_NR_SYSTEM_GUID_F",
    nodeGuid: "IB_SA_NR_GUID_F",
    portGuid: "IB_SA_NR_PORT_GUID_F",
    partitionCap: "IB_SA_NR_PARTITION_CAP_F",
    deviceId: "IB_SA_NR_DEVID_F",
    revision: "IB_SA_NR_REVISION_F",
    localPortNum: "IB_SA_NR_LOCAL_PORT_F",
    vendorId: "IB_SA_NR_VENDORID_F",
    nodeDescription: "IB_SA_NR_NODEDESC_F"
  })
]

const openSmMad = {
  baseVersion: "base_ver",
  mgmtClass: "mgmt_class",
  classVersion: "class_ver",
  method: "method",
  transactionId: "trans_id",
  attributeId: "attr_id",
  attributeModifier: "attr_mod"
}

/** Whole members of OpenSM's packed structures: what libibmad lacks. */
const openSm: ReadonlyArray<Golden & { readonly struct: string; readonly size?: string }> = [
  {
    struct: "ib_mad_t",
    ...golden(MadHeader.MadHeader, { ...openSmMad, status: "status", classSpecific: "class_spec" })
  },
  { struct: "ib_smp_t", ...golden(Smp.Smp, { ...openSmMad, mKey: "m_key", data: "data" }) },
  {
    struct: "ib_smp_t",
    ...golden(DirectedRouteSmp.DirectedRouteSmp, {
      ...openSmMad,
      hopPointer: "hop_ptr",
      hopCount: "hop_count",
      mKey: "m_key",
      drSlid: "dr_slid",
      drDlid: "dr_dlid",
      data: "data",
      initialPath: "initial_path",
      returnPath: "return_path"
    })
  },
  { struct: "ib_sa_mad_t", ...golden(SaMad.SaMad, { ...openSmMad, data: "data", attributeOffset: "attr_offset" }) },
  {
    struct: "ib_guid_info_t",
    ...golden(GuidInfo.GuidInfo, { guids: "guid" })
  },
  { struct: "ib_pkey_table_t", ...golden(PKeyTable.PKeyTable, { pKeys: "pkey_entry" }) },
  { struct: "ib_slvl_table_t", ...golden(SlToVlMappingTable.SlToVlMappingTable, { vls: "raw_vl_by_sl" }) },
  { struct: "ib_vl_arb_table_t", ...golden(VlArbitrationTable.VlArbitrationTable, { entries: "vl_entry" }) },
  {
    struct: "ib_mad_notice_attr_t",
    ...golden(Notice.Notice, {
      trapNumber: "g_or_v.generic.trap_num",
      issuerLid: "issuer_lid",
      dataDetails: "data_details",
      issuerGid: "issuer_gid"
    })
  },
  {
    struct: "ib_path_rec_t",
    ...golden(PathRecord.PathRecord, {
      serviceId: "service_id",
      dgid: "dgid",
      sgid: "sgid",
      dlid: "dlid",
      slid: "slid",
      trafficClass: "tclass",
      pKey: "pkey",
      preference: "preference"
    })
  },
  {
    struct: "ib_inform_info_t",
    ...golden(InformInfo.InformInfo, {
      gid: "gid",
      lidRangeBegin: "lid_range_begin",
      lidRangeEnd: "lid_range_end",
      isGeneric: "is_generic",
      subscribe: "subscribe",
      type: "trap_type",
      trapNumber: "g_or_v.generic.trap_num"
    })
  },
  {
    struct: "ib_member_rec_t",
    size: "offsetof(ib_member_rec_t, pad)",
    ...golden(McMemberRecord.McMemberRecord, {
      mgid: "mgid",
      portGid: "port_gid",
      qKey: "qkey",
      mlid: "mlid",
      trafficClass: "tclass",
      pKey: "pkey"
    })
  },
  {
    struct: "ib_service_record_t",
    ...golden(ServiceRecord.ServiceRecord, {
      serviceId: "service_id",
      serviceGid: "service_gid",
      servicePKey: "service_pkey",
      serviceLease: "service_lease",
      serviceKey: "service_key",
      serviceName: "service_name",
      serviceData8: "service_data8",
      serviceData16: "service_data16",
      serviceData32: "service_data32",
      serviceData64: "service_data64"
    })
  },
  {
    struct: "ib_node_record_t",
    size: "offsetof(ib_node_record_t, pad)",
    ...golden(NodeRecord.NodeRecord, { lid: "lid", nodeGuid: "node_info.node_guid", nodeDescription: "node_desc" })
  },
  {
    struct: "ib_portinfo_record_t",
    // OpenSM pads it to a multiple of 8 bytes.
    size: "offsetof(ib_portinfo_record_t, pad)",
    ...golden(PortInfoRecord.PortInfoRecord, {
      endPortLid: "lid",
      portNum: "port_num",
      options: "options",
      mKey: "port_info.m_key",
      lid: "port_info.base_lid",
      capabilityMask2: "port_info.capability_mask2"
    })
  },
  {
    struct: "ib_port_info_t",
    ...golden(PortInfo.PortInfo, { maxCreditHint: "max_credit_hint", capabilityMask2: "capability_mask2" })
  },
  { struct: "ib_node_info_t", ...golden(NodeInfo.NodeInfo, { systemImageGuid: "sys_guid", revision: "revision" }) },
  {
    struct: "ib_switch_info_t",
    ...golden(SwitchInfo.SwitchInfo, { linearFdbCap: "lin_cap", multicastFdbTop: "mcast_top" })
  },
  { struct: "ib_sm_info_t", ...golden(SmInfo.SmInfo, { guid: "guid", actCount: "act_count" }) },
  { struct: "ib_class_port_info_t", ...golden(ClassPortInfo.ClassPortInfo, { trapQKey: "trap_qkey" }) },
  {
    struct: "ib_port_counters_t",
    ...golden(PortCounters.PortCounters, {
      portSelect: "port_select",
      counterSelect: "counter_select",
      qp1Dropped: "qp1_dropped",
      vl15Dropped: "vl15_dropped",
      portXmitWait: "xmit_wait"
    })
  }
]

/** Bits that C's inline functions set, in the place where ours has them. */
const byFunction: ReadonlyArray<
  { readonly statement: string; readonly struct: string; readonly bytes: () => Uint8Array }
> = [
  {
    struct: "ib_path_rec_t",
    statement: "ib_path_rec_set_sl(&it, 0xb); ib_path_rec_set_qos_class(&it, 0xabc);",
    bytes: () => ours(PathRecord.PathRecord, { sl: 11, qosClass: 0xabc })
  },
  {
    struct: "ib_path_rec_t",
    statement:
      "it.mtu = 2 << 6 | IB_MTU_LEN_4096; it.rate = 1 << 6 | IB_PATH_RECORD_RATE_100_GBS; it.pkt_life = 3 << 6 | 18;",
    bytes: () =>
      ours(PathRecord.PathRecord, {
        mtuSelector: 2,
        mtu: 4096,
        rateSelector: 1,
        rate: "100Gbps",
        packetLifeTimeSelector: 3,
        packetLifeTime: 18
      })
  },
  {
    struct: "ib_member_rec_t",
    statement:
      "it.sl_flow_hop = ib_member_set_sl_flow_hop(0x9, 0xfedcb, 0x7f); it.scope_state = ib_member_set_scope_state(0xe, 0x5);",
    bytes: () =>
      ours(McMemberRecord.McMemberRecord, { sl: 9, flowLabel: 0xfedcb, hopLimit: 0x7f, scope: 0xe, joinState: 5 })
  },
  {
    struct: "ib_inform_info_t",
    statement: "ib_inform_info_set_qpn(&it, cl_hton32(0xabcdef)); it.g_or_v.generic.node_type_lsb = cl_hton16(2);",
    bytes: () => ours(InformInfo.InformInfo, { qpn: 0xabcdef, producerType: 2 })
  },
  {
    struct: "ib_mad_notice_attr_t",
    statement: "ib_notice_set_prod_type_ho(&it, 0x123456);",
    bytes: () => ours(Notice.Notice, { producerType: 0x123456 })
  },
  {
    struct: "ib_slvl_table_t",
    statement: "ib_slvl_table_set(&it, 0, 1); ib_slvl_table_set(&it, 5, 0xd); ib_slvl_table_set(&it, 15, 0xe);",
    bytes: () =>
      ours(SlToVlMappingTable.SlToVlMappingTable, {
        vls: Array.from({ length: 16 }, (_, sl) => ({ 0: 1, 5: 0xd, 15: 0xe })[sl] ?? 0)
      })
  },
  {
    struct: "ib_vl_arb_table_t",
    statement: "it.vl_entry[3].vl = 7; it.vl_entry[3].weight = 200;",
    bytes: () =>
      ours(VlArbitrationTable.VlArbitrationTable, {
        entries: Array.from({ length: 32 }, (_, index) => index === 3 ? { vl: 7, weight: 200 } : { vl: 0, weight: 0 })
      })
  }
]

/** Numbers are without their brands here. */
const ours = <F extends MadLayout.Fields>(
  layout: MadLayout.MadLayout<F>,
  values: { readonly [K in keyof F]?: unknown }
): Uint8Array => Result.getOrThrow(layout.encode(values as Partial<MadLayout.Record<F>>))

const components: ReadonlyArray<
  readonly [constant: string, record: SaRecord.SaRecord<MadLayout.Fields>, field: string]
> = [
  ...named("IB_PR_COMPMASK", PathRecord.PathRecord, {
    serviceId: "SERVICEID",
    dgid: "DGID",
    sgid: "SGID",
    dlid: "DLID",
    slid: "SLID",
    rawTraffic: "RAWTRAFFIC",
    flowLabel: "FLOWLABEL",
    hopLimit: "HOPLIMIT",
    trafficClass: "TCLASS",
    reversible: "REVERSIBLE",
    numbPath: "NUMBPATH",
    pKey: "PKEY",
    qosClass: "QOS_CLASS",
    sl: "SL",
    mtuSelector: "MTUSELEC",
    mtu: "MTU",
    rateSelector: "RATESELEC",
    rate: "RATE",
    packetLifeTimeSelector: "PKTLIFETIMESELEC",
    packetLifeTime: "PKTLIFETIME"
  }),
  ...named("IB_NR_COMPMASK", NodeRecord.NodeRecord, {
    lid: "LID",
    baseVersion: "BASEVERSION",
    classVersion: "CLASSVERSION",
    nodeType: "NODETYPE",
    numPorts: "NUMPORTS",
    systemImageGuid: "SYSIMAGEGUID",
    nodeGuid: "NODEGUID",
    portGuid: "PORTGUID",
    partitionCap: "PARTCAP",
    deviceId: "DEVID",
    revision: "REV",
    localPortNum: "PORTNUM",
    vendorId: "VENDID",
    nodeDescription: "NODEDESC"
  }),
  ...named("IB_PIR_COMPMASK", PortInfoRecord.PortInfoRecord, {
    endPortLid: "LID",
    portNum: "PORTNUM",
    options: "OPTIONS",
    mKey: "MKEY",
    gidPrefix: "GIDPRE",
    lid: "BASELID",
    masterSmLid: "SMLID",
    capabilityMask: "CAPMASK",
    portState: "PORTSTATE",
    mKeyProtectBits: "MKEYPROTBITS",
    lmc: "LMC",
    operationalVls: "OPVLS",
    clientReregister: "CLIENTREREG",
    subnetTimeout: "SUBNTO",
    respTimeValue: "RESPTIME",
    maxCreditHint: "MAXCREDHINT",
    linkRoundTripLatency: "LINKRTLAT",
    capabilityMask2: "CAPMASK2",
    linkSpeedExtActive: "LINKSPDEXTACT",
    linkSpeedExtEnabled: "LINKSPDEXTENAB"
  }),
  ...named("IB_MCR_COMPMASK", McMemberRecord.McMemberRecord, {
    mgid: "MGID",
    portGid: "PORT_GID",
    qKey: "QKEY",
    mlid: "MLID",
    mtuSelector: "MTU_SEL",
    mtu: "MTU",
    trafficClass: "TCLASS",
    pKey: "PKEY",
    rateSelector: "RATE_SEL",
    rate: "RATE",
    packetLifeTimeSelector: "LIFE_SEL",
    packetLifeTime: "LIFE",
    sl: "SL",
    flowLabel: "FLOW",
    hopLimit: "HOP",
    scope: "SCOPE",
    joinState: "JOIN_STATE",
    proxyJoin: "PROXY"
  }),
  ...named("IB_SR_COMPMASK", ServiceRecord.ServiceRecord, {
    serviceId: "SID",
    serviceGid: "SGID",
    servicePKey: "SPKEY",
    serviceLease: "SLEASE",
    serviceKey: "SKEY",
    serviceName: "SNAME"
  })
]

function named<F extends MadLayout.Fields>(
  prefix: string,
  record: SaRecord.SaRecord<F>,
  names: { readonly [K in keyof F & string]?: string }
): ReadonlyArray<readonly [string, SaRecord.SaRecord<MadLayout.Fields>, string]> {
  return Object.entries<string | undefined>(names).map(([field, name]) =>
    [`${prefix}_${name}`, record as unknown as SaRecord.SaRecord<MadLayout.Fields>, field] as const
  )
}

const attributes: ReadonlyArray<readonly [constant: string, attribute: MadAttribute.MadAttribute<MadLayout.Fields>]> = [
  ["CLASS_PORT_INFO", ClassPortInfo.ClassPortInfo],
  ["NOTICE", Notice.Notice],
  ["INFORM_INFO", InformInfo.InformInfo],
  ["NODE_DESC", NodeDescription.NodeDescription],
  ["NODE_INFO", NodeInfo.NodeInfo],
  ["SWITCH_INFO", SwitchInfo.SwitchInfo],
  ["GUID_INFO", GuidInfo.GuidInfo],
  ["PORT_INFO", PortInfo.PortInfo],
  ["P_KEY_TABLE", PKeyTable.PKeyTable],
  ["SLVL_TABLE", SlToVlMappingTable.SlToVlMappingTable],
  ["VL_ARBITRATION", VlArbitrationTable.VlArbitrationTable],
  ["LIN_FWD_TBL", LinearForwardingTable.LinearForwardingTable],
  ["MCAST_FWD_TBL", MulticastForwardingTable.MulticastForwardingTable],
  ["SM_INFO", SmInfo.SmInfo],
  ["PORT_SMPL_CTRL", PortSamplesControl.PortSamplesControl],
  ["PORT_CNTRS", PortCounters.PortCounters],
  ["PORT_CNTRS_EXT", PortCountersExtended.PortCountersExtended],
  ["NODE_RECORD", NodeRecord.NodeRecord],
  ["PORTINFO_RECORD", PortInfoRecord.PortInfoRecord],
  ["SERVICE_RECORD", ServiceRecord.ServiceRecord],
  ["PATH_RECORD", PathRecord.PathRecord],
  ["MCMEMBER_RECORD", McMemberRecord.McMemberRecord]
]

// -----------------------------------------------------------------------------
// The program in C
// -----------------------------------------------------------------------------

/** Values for a field: its highest one first, then some others. */
const bitsOf = (width: number): ReadonlyArray<bigint> => {
  const all = (1n << BigInt(width)) - 1n
  return [all, 0xa5c3_96e1_0f5a_3c78n & all, 1n]
}

const fieldsOf = ({ layout, names }: Golden) =>
  Object.entries(names).map(([field, name]) => Object.assign({ name, field }, layout.fields[field]!))

const isArray = (width: number) => width > 64

/** One line of hexadecimal digits for every value of every field: what libibmad makes of it in zeroed bytes. */
const madLines = libibmad.flatMap((one) =>
  fieldsOf(one).flatMap(({ name, width }) => {
    const zero = "memset(b, 0, sizeof b);"
    const print = `dump(b, ${one.layout.size});`
    if (isArray(width)) return [`${zero} mad_set_array(b, 0, ${name}, pattern); ${print}`]
    const set = width === 64 ? "mad_set_field64" : "mad_set_field"
    return bitsOf(width).map((value) => `${zero} ${set}(b, 0, ${name}, ${value}ULL); ${print}`)
  })
)

const structLines = openSm.flatMap((one) =>
  fieldsOf(one).map(({ name }) =>
    `{ ${one.struct} it; memset(&it, 0, sizeof it); memset(&it.${name}, 0xff, sizeof it.${name}); dump(&it, ${one.layout.size}); }`
  )
)

const program = `
#include <stdio.h>
#include <string.h>
#include <stddef.h>
#include <infiniband/mad.h>
#include <infiniband/umad_types.h>
#include <infiniband/umad_sa.h>
#include <infiniband/umad_cm.h>
static void dump(const void *p, int n) { const unsigned char *b = p; for (int i = 0; i < n; i++) printf("%02x", b[i]); puts(""); }
int main(void) {
  unsigned char b[512], pattern[512];
  for (int i = 0; i < 512; i++) pattern[i] = 0x21 + i * 7 % 0x5e;
  ${madLines.join("\n  ")}
  return 0;
}
`

const structProgram = (statements: ReadonlyArray<string>) => `
#include <stdio.h>
#include <string.h>
#include <stddef.h>
#include <iba/ib_types.h>
static void dump(const void *p, int n) { const unsigned char *b = p; for (int i = 0; i < n; i++) printf("%02x", b[i]); puts(""); }
int main(void) {
  ${statements.join("\n  ")}
  return 0;
}
`

const run = (text: string, flags: ReadonlyArray<string>): ReadonlyArray<string> =>
  Compiler.withDirectory((directory) => {
    const source = join(directory, "mad.c")
    const output = join(directory, "mad")
    writeFileSync(source, text)
    execFileSync("gcc", ["-w", "-o", output, source, "-I/usr/include/infiniband", ...flags], { stdio: "pipe" })
    return execFileSync(output, { encoding: "utf8" }).trim().split("\n")
  })

const missing = ((): string | undefined => {
  try {
    run("#include <infiniband/mad.h>\n#include <iba/ib_types.h>\nint main(void) { return 0; }", ["-libmad", "-libumad"])
    return undefined
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    return `${
      text.split("\n").find((line) => line.includes("error")) ?? text
    } (apt-get install libibmad-dev libopensm-dev)`
  }
})()

if (missing !== undefined) process.stderr.write(`skipped: ${missing}\n`)

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

const pattern = Uint8Array.from({ length: 512 }, (_, index) => 0x21 + index * 7 % 0x5e)

describe.skipIf(missing !== undefined)("MADs and attributes", () => {
  it("every field is where libibmad has it, both ways", () => {
    const lines = run(program, ["-libmad", "-libumad"])
    let line = 0
    const differences: Array<string> = []
    for (const one of libibmad) {
      for (const { field, get, set, width } of fieldsOf(one)) {
        const values = isArray(width) ? [undefined] : bitsOf(width)
        for (const value of values) {
          const theirs = Buffer.from(lines[line++]!, "hex")
          const view = new DataView(new ArrayBuffer(one.layout.size))
          // What ours reads of their bytes, written by ours, are their bytes.
          const read = get(new DataView(theirs.buffer, theirs.byteOffset, theirs.length), 0)
          set(view, 0, read)
          if (hex(new Uint8Array(view.buffer)) !== theirs.toString("hex")) {
            differences.push(`${one.layout.name}.${field}`)
          }
          if (value === undefined) {
            if (read instanceof Uint8Array) assert.deepStrictEqual(read, pattern.subarray(0, width / 8))
            else if (typeof read === "string") {
              assert.strictEqual(read, Buffer.from(pattern.subarray(0, width / 8)).toString())
            }
          } else if (typeof read === "number" || typeof read === "bigint" || typeof read === "boolean") {
            // A number of an enumeration with a word may be another (an MTU in bytes): only written bytes count then.
            if (!/mtu|rate/i.test(field)) assert.strictEqual(BigInt(read), value, `${one.layout.name}.${field}`)
          }
        }
      }
    }
    assert.deepStrictEqual(differences, [])
    assert.isAbove(line, 700)
  })

  it("a method is libibmad's method and response bit together", () => {
    const [method, response] = run(
      program.replace(
        /int main[^]*/,
        `int main(void) { unsigned char b[24] = {0}; mad_set_field(b, 0, IB_MAD_METHOD_F, 0x7f); dump(b, 24);
         memset(b, 0, 24); mad_set_field(b, 0, IB_MAD_RESPONSE_F, 1); dump(b, 24); return 0; }`
      ),
      ["-libmad", "-libumad"]
    )
    assert.strictEqual(method, hex(ours(MadHeader.MadHeader, { method: 0x7f })))
    assert.strictEqual(response, hex(ours(MadHeader.MadHeader, { method: 0x80 })))
  })

  it("sizes and members are those of OpenSM's headers", () => {
    const lines = run(
      structProgram([
        ...structLines,
        ...openSm.map(({ layout, size, struct }) =>
          `printf("%d\\n", (int)(${struct === "ib_mad_t" ? layout.size : size ?? `sizeof(${struct})`}));`
        )
      ]),
      []
    )
    const mine = [
      ...openSm.flatMap((one) =>
        fieldsOf(one).map(({ bit, width }) => {
          const bytes = new Uint8Array(one.layout.size)
          return hex(bytes.fill(0xff, bit / 8, (bit + width) / 8))
        })
      ),
      ...openSm.map(({ layout }) => String(layout.size))
    ]
    const names = [
      ...openSm.flatMap((one) => fieldsOf(one).map(({ name }) => `${one.struct}.${name}`)),
      ...openSm.map(({ struct }) => struct)
    ]
    assert.deepStrictEqual(
      lines.map((line, index) => `${names[index]} ${line}`),
      mine.map((line, index) => `${names[index]} ${line}`)
    )
  })

  it("bits that OpenSM's functions set are ours", () => {
    const lines = run(
      structProgram(
        byFunction.map(({ bytes, statement, struct }) =>
          `{ ${struct} it; memset(&it, 0, sizeof it); ${statement} dump(&it, ${bytes().length}); }`
        )
      ),
      []
    )
    assert.deepStrictEqual(lines, byFunction.map(({ bytes }) => hex(bytes())))
  })

  it("OpenSM's functions read a path record of ours", () => {
    const bytes = ours(PathRecord.PathRecord, {
      reversible: true,
      numbPath: 0x15,
      flowLabel: 0xabcde,
      hopLimit: 0x5a,
      sl: 0xb,
      qosClass: 0xabc,
      mtuSelector: 2,
      mtu: 2048,
      rateSelector: 1,
      rate: "40Gbps",
      packetLifeTimeSelector: 3,
      packetLifeTime: 18
    })
    const getters = [
      "num_path",
      "flow_lbl",
      "hop_limit",
      "sl",
      "qos_class",
      "mtu_sel",
      "mtu",
      "rate_sel",
      "rate",
      "pkt_life_sel",
      "pkt_life"
    ]
    const lines = run(
      structProgram([
        `unsigned char b[] = {${bytes.join(",")}}; ib_path_rec_t it; memcpy(&it, b, sizeof it);`,
        ...getters.map((name) => `printf("%d\\n", (int)ib_path_rec_${name}(&it));`)
      ]),
      []
    )
    assert.deepStrictEqual(lines.map(Number), [0x15, 0xabcde, 0x5a, 0xb, 0xabc, 2, 4, 1, 7, 3, 18])
  })

  it("component masks and attribute numbers are OpenSM's", () => {
    const lines = run(
      structProgram([
        ...components.map(([constant]) => `printf("%llx\\n", (unsigned long long)cl_ntoh64(${constant}));`),
        ...attributes.map(([constant]) => `printf("%x\\n", cl_ntoh16(IB_MAD_ATTR_${constant}));`)
      ]),
      []
    )
    assert.deepStrictEqual(lines, [
      ...components.map(([, record, field]) => SaRecord.componentMask(record, { [field]: 0 }).toString(16)),
      ...attributes.map(([, { attributeId }]) => attributeId.toString(16))
    ])
  })

  it("numbers of classes, methods, messages and states are those of the headers", () => {
    const constants: ReadonlyArray<readonly [string, number]> = [
      ...ManagementClass.enumeration.values.map((value) =>
        [
          `UMAD_CLASS_${value.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`,
          ManagementClass.toNative(value)
        ] as const
      ),
      ...(["get", "set", "getResp", "send", "trap", "report", "reportResp", "trapRepress"] as const).map((value) =>
        [
          `UMAD_METHOD_${value.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`,
          MadMethod.enumeration.toNative(value)
        ] as const
      ),
      ["UMAD_SA_METHOD_GET_TABLE", MadMethod.enumeration.toNative("getTable")],
      ["UMAD_SA_METHOD_GET_TABLE_RESP", MadMethod.enumeration.toNative("getTableResp")],
      ["UMAD_SA_METHOD_DELETE", MadMethod.enumeration.toNative("delete")],
      ["UMAD_SA_METHOD_DELETE_RESP", MadMethod.enumeration.toNative("deleteResp")],
      ["UMAD_SA_METHOD_GET_MULTI", MadMethod.enumeration.toNative("getMulti")],
      ["UMAD_SA_METHOD_GET_MULTI_RESP", MadMethod.enumeration.toNative("getMultiResp")],
      ["UMAD_SA_METHOD_GET_TRACE_TABLE", MadMethod.enumeration.toNative("getTraceTable")],
      ["UMAD_CM_ATTR_REQ", CmMad.messages.connectRequest],
      ["UMAD_CM_ATTR_MRA", CmMad.messages.messageReceiptAcknowledgement],
      ["UMAD_CM_ATTR_REJ", CmMad.messages.connectReject],
      ["UMAD_CM_ATTR_REP", CmMad.messages.connectReply],
      ["UMAD_CM_ATTR_RTU", CmMad.messages.readyToUse],
      ["UMAD_CM_ATTR_DREQ", CmMad.messages.disconnectRequest],
      ["UMAD_CM_ATTR_DREP", CmMad.messages.disconnectReply],
      ["UMAD_CM_ATTR_SIDR_REQ", CmMad.messages.serviceIdResolutionRequest],
      ["UMAD_CM_ATTR_SIDR_REP", CmMad.messages.serviceIdResolutionReply],
      ["UMAD_CM_ATTR_LAP", CmMad.messages.loadAlternatePath],
      ["UMAD_CM_ATTR_APR", CmMad.messages.alternatePathResponse]
    ]
    const lines = run(
      program.replace(
        /int main[^]*/,
        `int main(void) { ${constants.map(([name]) => `printf("%d\\n", ${name});`).join(" ")} return 0; }`
      ),
      ["-libmad", "-libumad"]
    )
    assert.deepStrictEqual(lines, constants.map(([, value]) => String(value)))
    assert.deepStrictEqual(SmState.enumeration.values.map(SmState.enumeration.toNative), [0, 1, 2, 3])
  })
})
