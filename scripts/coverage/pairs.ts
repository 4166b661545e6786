/**
 * Every acquire/release pair of the three libraries: what it takes to call the coverage complete. Several names in one
 * place are functions that acquire or release the same object. `since` names the rdma-core release for what version 44
 * lacks.
 */
export interface PairRow {
  readonly id: string
  readonly acquire: ReadonlyArray<string>
  readonly release: ReadonlyArray<string>
  readonly since?: number
}

const row = (id: string, acquire: string, release: string, since?: number): PairRow => ({
  id,
  acquire: acquire.split(" "),
  release: release.split(" "),
  ...(since === undefined ? {} : { since })
})

export const pairs: ReadonlyArray<PairRow> = [
  row("V1", "ibv_get_device_list", "ibv_free_device_list"),
  row("V2", "ibv_open_device", "ibv_close_device"),
  row("V3", "ibv_import_device", "ibv_close_device"),
  row("V4", "ibv_alloc_pd", "ibv_dealloc_pd"),
  row("V5", "ibv_import_pd", "ibv_unimport_pd ibv_dealloc_pd"),
  row("V6", "ibv_alloc_parent_domain", "ibv_dealloc_pd"),
  row("V7", "ibv_alloc_td", "ibv_dealloc_td"),
  row("V8", "ibv_open_xrcd", "ibv_close_xrcd"),
  row("V9", "ibv_reg_mr ibv_reg_mr_iova ibv_reg_mr_iova2", "ibv_dereg_mr"),
  row("V10", "ibv_reg_dmabuf_mr", "ibv_dereg_mr"),
  row("V11", "ibv_reg_dm_mr", "ibv_dereg_mr"),
  row("V12", "ibv_alloc_null_mr", "ibv_dereg_mr"),
  row("V13", "ibv_import_mr", "ibv_unimport_mr ibv_dereg_mr"),
  row("V14", "ibv_reg_mr_ex ibv_reg_buf_mr", "ibv_dereg_mr", 59),
  row("V15", "ibv_alloc_mw", "ibv_dealloc_mw"),
  row("V16", "ibv_alloc_dm", "ibv_free_dm"),
  row("V17", "ibv_import_dm", "ibv_unimport_dm ibv_free_dm"),
  row("V18", "ibv_alloc_dmah", "ibv_dealloc_dmah", 59),
  row("V19", "ibv_alloc_buf", "ibv_free_buf", 64),
  row("V20", "ibv_dm_export_dmabuf_fd ibv_export_buf_dmabuf_fd", "close", 62),
  row("V21", "ibv_create_comp_channel", "ibv_destroy_comp_channel"),
  row("V22", "ibv_create_cq", "ibv_destroy_cq"),
  row("V23", "ibv_create_cq_ex", "ibv_destroy_cq"),
  row("V24", "ibv_get_cq_event", "ibv_ack_cq_events"),
  row("V25", "ibv_get_async_event", "ibv_ack_async_event"),
  row("V26", "ibv_create_srq", "ibv_destroy_srq"),
  row("V27", "ibv_create_srq_ex", "ibv_destroy_srq"),
  row("V28", "ibv_create_qp", "ibv_destroy_qp"),
  row("V29", "ibv_create_qp_ex", "ibv_destroy_qp"),
  row("V30", "ibv_open_qp", "ibv_destroy_qp"),
  row("V31", "ibv_create_wq", "ibv_destroy_wq"),
  row("V32", "ibv_create_rwq_ind_table", "ibv_destroy_rwq_ind_table"),
  row("V33", "ibv_create_ah", "ibv_destroy_ah"),
  row("V34", "ibv_create_ah_from_wc", "ibv_destroy_ah"),
  row("V35", "ibv_attach_mcast", "ibv_detach_mcast"),
  row("V36", "ibv_create_flow", "ibv_destroy_flow"),
  row("V37", "ibv_create_flow_action_esp", "ibv_destroy_flow_action"),
  row("V38", "ibv_create_counters", "ibv_destroy_counters"),
  row("V39", "ibv_create_comp_cntr", "ibv_destroy_comp_cntr", 65),
  row("V40", "ibv_start_poll", "ibv_end_poll"),
  row("V41", "ibv_wr_start", "ibv_wr_complete ibv_wr_abort"),
  row("C1", "rdma_create_event_channel", "rdma_destroy_event_channel"),
  row("C2", "rdma_create_id", "rdma_destroy_id"),
  row("C3", "RDMA_CM_EVENT_CONNECT_REQUEST", "rdma_destroy_id rdma_destroy_ep"),
  row("C4", "rdma_get_request", "rdma_destroy_id rdma_destroy_ep"),
  row("C5", "rdma_create_ep", "rdma_destroy_ep"),
  row("C6", "rdma_create_qp rdma_create_qp_ex", "rdma_destroy_qp"),
  row("C7", "rdma_create_srq rdma_create_srq_ex", "rdma_destroy_srq"),
  row("C8", "rdma_get_cm_event", "rdma_ack_cm_event"),
  row("C9", "rdma_get_devices", "rdma_free_devices"),
  row("C10", "rdma_getaddrinfo", "rdma_freeaddrinfo"),
  row("C11", "rdma_query_addrinfo", "rdma_freeaddrinfo", 60),
  row("C12", "rdma_join_multicast rdma_join_multicast_ex", "rdma_leave_multicast"),
  row("C13", "rdma_reg_msgs rdma_reg_read rdma_reg_write", "rdma_dereg_mr"),
  row("C14", "rdma_connect rdma_accept", "rdma_disconnect"),
  row("C15", "rsocket", "rclose"),
  row("C16", "raccept", "rclose"),
  row("C17", "riomap", "riounmap"),
  row("C18", "repoll_create", "rclose", 65),
  row("U1", "umad_init", "umad_done"),
  row("U2", "umad_get_ca", "umad_release_ca"),
  row("U3", "umad_get_port", "umad_release_port"),
  row("U4", "umad_open_port", "umad_close_port"),
  row("U5", "umad_open_smi_port", "umad_close_port", 53),
  row("U6", "umad_register umad_register_oui umad_register2", "umad_unregister"),
  row("U7", "umad_get_ca_device_list", "umad_free_ca_device_list"),
  row("U8", "umad_alloc", "umad_free")
]

/** Not in any rdma-core, but where the resource domain comes from. */
export const experimentalPairs: ReadonlyArray<PairRow> = [
  row("E1", "ibv_exp_create_res_domain", "ibv_exp_destroy_res_domain")
]
