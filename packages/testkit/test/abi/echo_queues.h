/* XRC domains, shared receive queues, queue pairs and batches of sends: a section of echo.c. */

static struct ibv_xrcd *open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr) {
  int entry_errno = errno;
  op("open_xrcd");
  ADDRESS("context", context);
  NUMBER(attr, comp_mask);
  NUMBER(attr, fd);
  NUMBER(attr, oflags);
  struct ibv_xrcd *xrcd = object("open_xrcd", entry_errno, sizeof *xrcd);
  if (xrcd) xrcd->context = context;
  return xrcd;
}

static int close_xrcd(struct ibv_xrcd *xrcd) {
  int entry_errno = errno;
  op("close_xrcd");
  ADDRESS("xrcd", xrcd);
  return release("close_xrcd", entry_errno, xrcd);
}

static void report_srq_attr(const struct ibv_srq_attr *attr) {
  NUMBER(attr, max_wr);
  NUMBER(attr, max_sge);
  NUMBER(attr, srq_limit);
}

/* The device gives more than was asked for. */
static struct ibv_srq *make_srq(const char *name, int entry_errno, struct ibv_pd *pd, struct ibv_srq_attr *attr) {
  struct ibv_srq *srq = object(name, entry_errno, sizeof *srq);
  if (srq) {
    srq->context = pd->context;
    srq->pd = pd;
    attr->max_wr += 1000;
    attr->max_sge += 100;
  }
  return srq;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr) {
  int entry_errno = errno;
  op("create_srq");
  ADDRESS("pd", pd);
  ADDRESS("srq_context", attr->srq_context);
  report_srq_attr(&attr->attr);
  return make_srq("create_srq", entry_errno, pd, &attr->attr);
}

static struct ibv_srq *create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr) {
  int entry_errno = errno;
  op("create_srq_ex");
  ADDRESS("context", context);
  ADDRESS("srq_context", attr->srq_context);
  report_srq_attr(&attr->attr);
  NUMBER(attr, comp_mask);
  NUMBER(attr, srq_type);
  ADDRESS("pd", attr->pd);
  ADDRESS("xrcd", attr->xrcd);
  ADDRESS("cq", attr->cq);
  NUMBER(attr, tm_cap.max_num_tags);
  NUMBER(attr, tm_cap.max_ops);
  return make_srq("create_srq_ex", entry_errno, attr->pd, &attr->attr);
}

static int get_srq_num(struct ibv_srq *srq, uint32_t *srq_num) {
  int entry_errno = errno;
  op("get_srq_num");
  ADDRESS("srq", srq);
  *srq_num = 0x89abcdef;
  return number("get_srq_num", entry_errno, 0);
}

int ibv_destroy_srq(struct ibv_srq *srq) {
  int entry_errno = errno;
  op("destroy_srq");
  ADDRESS("srq", srq);
  return release("destroy_srq", entry_errno, srq);
}

int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask) {
  int entry_errno = errno;
  op("modify_srq");
  ADDRESS("srq", srq);
  report_srq_attr(attr);
  field("mask", "%d", mask);
  return number("modify_srq", entry_errno, 0);
}

int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr) {
  int entry_errno = errno;
  op("query_srq");
  ADDRESS("srq", srq);
  attr->max_wr = 0x80000001;
  attr->max_sge = 0x80000002;
  attr->srq_limit = 0x80000003;
  return number("query_srq", entry_errno, 0);
}

/* Queue pairs. */

static void report_cap(const struct ibv_qp_cap *cap) {
  NUMBER(cap, max_send_wr);
  NUMBER(cap, max_recv_wr);
  NUMBER(cap, max_send_sge);
  NUMBER(cap, max_recv_sge);
  NUMBER(cap, max_inline_data);
}

static void report_qp_init(const struct ibv_qp_init_attr *attr) {
  ADDRESS("qp_context", attr->qp_context);
  ADDRESS("send_cq", attr->send_cq);
  ADDRESS("recv_cq", attr->recv_cq);
  ADDRESS("srq", attr->srq);
  report_cap(&attr->cap);
  NUMBER(attr, qp_type);
  NUMBER(attr, sq_sig_all);
}

/* As newer libraries have it. */
struct newer_qp_ex {
  struct ibv_qp_ex qp;
  void (*wr_flush)(struct ibv_qp_ex *, uint32_t, uint64_t, size_t, uint8_t, uint8_t);
};

/* Every queue pair has room for the extended struct; its comp_mask says whether it is one. */
static struct ibv_qp *make_qp(const char *name, int entry_errno, struct ibv_context *context, struct ibv_qp_cap *cap) {
  struct ibv_qp_ex *qp = object(name, entry_errno, sizeof(struct newer_qp_ex));
  if (!qp) return NULL;
  qp->qp_base.context = context;
  qp->qp_base.qp_num = 0xabcdef;
  if (cap) {
    cap->max_send_wr += 1;
    cap->max_recv_wr += 2;
    cap->max_send_sge += 3;
    cap->max_recv_sge += 4;
    cap->max_inline_data += 5;
  }
  return &qp->qp_base;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr) {
  int entry_errno = errno;
  op("create_qp");
  ADDRESS("pd", pd);
  report_qp_init(attr);
  struct ibv_qp *qp = make_qp("create_qp", entry_errno, pd->context, &attr->cap);
  if (qp) qp->qp_type = attr->qp_type;
  return qp;
}

/* Batches: each builder tells what it was given, and the request that it belongs to. */

static void report_request(const char *name, const struct ibv_qp_ex *qp) {
  op(name);
  field("wr_id", "%llu", (unsigned long long)qp->wr_id);
  field("wr_flags", "%u", qp->wr_flags);
}

static void report_remote(uint32_t rkey, uint64_t remote_addr) {
  field("rkey", "%u", rkey);
  field("remote_addr", "%llu", (unsigned long long)remote_addr);
}

#define U64(name, value) field(name, "%llu", (unsigned long long)(value))

static void wr_atomic_cmp_swp(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, uint64_t compare,
                              uint64_t swap) {
  report_request("wr_atomic_cmp_swp", qp);
  report_remote(rkey, remote_addr);
  U64("compare", compare);
  U64("swap", swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, uint64_t add) {
  report_request("wr_atomic_fetch_add", qp);
  report_remote(rkey, remote_addr);
  U64("add", add);
}

static void wr_bind_mw(struct ibv_qp_ex *qp, struct ibv_mw *mw, uint32_t rkey, const struct ibv_mw_bind_info *bind) {
  report_request("wr_bind_mw", qp);
  ADDRESS("mw", mw);
  field("rkey", "%u", rkey);
  ADDRESS("mr", bind->mr);
  U64("addr", bind->addr);
  U64("length", bind->length);
  NUMBER(bind, mw_access_flags);
}

static void wr_local_inv(struct ibv_qp_ex *qp, uint32_t invalidate_rkey) {
  report_request("wr_local_inv", qp);
  field("invalidate_rkey", "%u", invalidate_rkey);
}

static void wr_rdma_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr) {
  report_request("wr_rdma_read", qp);
  report_remote(rkey, remote_addr);
}

static void wr_rdma_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr) {
  report_request("wr_rdma_write", qp);
  report_remote(rkey, remote_addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, __be32 imm_data) {
  report_request("wr_rdma_write_imm", qp);
  report_remote(rkey, remote_addr);
  bytes("imm_data", &imm_data, 4);
}

static void wr_send(struct ibv_qp_ex *qp) {
  report_request("wr_send", qp);
}

static void wr_send_imm(struct ibv_qp_ex *qp, __be32 imm_data) {
  report_request("wr_send_imm", qp);
  bytes("imm_data", &imm_data, 4);
}

static void wr_send_inv(struct ibv_qp_ex *qp, uint32_t invalidate_rkey) {
  report_request("wr_send_inv", qp);
  field("invalidate_rkey", "%u", invalidate_rkey);
}

static void wr_send_tso(struct ibv_qp_ex *qp, void *hdr, uint16_t hdr_sz, uint16_t mss) {
  report_request("wr_send_tso", qp);
  bytes("hdr", hdr, hdr_sz);
  field("mss", "%u", mss);
}

static void wr_set_ud_addr(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t remote_qpn, uint32_t remote_qkey) {
  op("wr_set_ud_addr");
  ADDRESS("ah", ah);
  field("remote_qpn", "%u", remote_qpn);
  field("remote_qkey", "%u", remote_qkey);
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *qp, uint32_t remote_srqn) {
  op("wr_set_xrc_srqn");
  field("remote_srqn", "%u", remote_srqn);
}

static void wr_set_inline_data(struct ibv_qp_ex *qp, void *addr, size_t length) {
  op("wr_set_inline_data");
  bytes("data", addr, length);
  field("length", "%zu", length);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *qp, size_t num_buf, const struct ibv_data_buf *buf_list) {
  op("wr_set_inline_data_list");
  field("num_buf", "%zu", num_buf);
  for (size_t i = 0; i < num_buf; i++) {
    char name[40];
    sprintf(name, "buf[%zu]", i);
    bytes(name, buf_list[i].addr, buf_list[i].length);
  }
}

static void report_sge(const struct ibv_sge *sge) {
  NUMBER(sge, addr);
  NUMBER(sge, length);
  NUMBER(sge, lkey);
}

static void wr_set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length) {
  op("wr_set_sge");
  report_sge(&(struct ibv_sge){.addr = addr, .length = length, .lkey = lkey});
}

static void wr_set_sge_list(struct ibv_qp_ex *qp, size_t num_sge, const struct ibv_sge *sg_list) {
  op("wr_set_sge_list");
  field("num_sge", "%zu", num_sge);
  for (size_t i = 0; i < num_sge; i++) {
    char name[40];
    sprintf(name, "sge[%zu]", i);
    field(name, "%llu %u %u", (unsigned long long)sg_list[i].addr, sg_list[i].length, sg_list[i].lkey);
  }
}

static void wr_start(struct ibv_qp_ex *qp) {
  op("wr_start");
  ADDRESS("qp", qp);
}

static int wr_complete(struct ibv_qp_ex *qp) {
  int entry_errno = errno;
  op("wr_complete");
  ADDRESS("qp", qp);
  return number("wr_complete", entry_errno, 0);
}

static void wr_abort(struct ibv_qp_ex *qp) {
  op("wr_abort");
  ADDRESS("qp", qp);
}

static void wr_atomic_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, const void *atomic_wr) {
  report_request("wr_atomic_write", qp);
  report_remote(rkey, remote_addr);
  bytes("data", atomic_wr, 8);
}

static void wr_flush(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, size_t length, uint8_t type,
                     uint8_t level) {
  report_request("wr_flush", qp);
  report_remote(rkey, remote_addr);
  U64("length", length);
  field("type", "%u", type);
  field("level", "%u", level);
}

static void provide_batches(struct ibv_qp_ex *qp) {
  qp->comp_mask = 1;
  qp->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
  qp->wr_atomic_fetch_add = wr_atomic_fetch_add;
  qp->wr_bind_mw = wr_bind_mw;
  qp->wr_local_inv = wr_local_inv;
  qp->wr_rdma_read = wr_rdma_read;
  qp->wr_rdma_write = wr_rdma_write;
  qp->wr_rdma_write_imm = wr_rdma_write_imm;
  qp->wr_send = wr_send;
  qp->wr_send_imm = wr_send_imm;
  qp->wr_send_inv = wr_send_inv;
  qp->wr_send_tso = wr_send_tso;
  qp->wr_set_ud_addr = wr_set_ud_addr;
  qp->wr_set_inline_data = wr_set_inline_data;
  qp->wr_set_inline_data_list = wr_set_inline_data_list;
  qp->wr_set_sge = wr_set_sge;
  qp->wr_set_sge_list = wr_set_sge_list;
  qp->wr_start = wr_start;
  qp->wr_complete = wr_complete;
  qp->wr_abort = wr_abort;
  qp->wr_atomic_write = wr_atomic_write;
  if (qp->qp_base.qp_type == IBV_QPT_RC) ((struct newer_qp_ex *)qp)->wr_flush = wr_flush;
  /* Only the sending side of XRC names a shared receive queue. */
  if (qp->qp_base.qp_type == IBV_QPT_XRC_SEND) qp->wr_set_xrc_srqn = wr_set_xrc_srqn;
}

static struct ibv_qp *create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr) {
  int entry_errno = errno;
  op("create_qp_ex");
  ADDRESS("context", context);
  report_qp_init((const struct ibv_qp_init_attr *)attr);
  NUMBER(attr, comp_mask);
  ADDRESS("pd", attr->pd);
  ADDRESS("xrcd", attr->xrcd);
  NUMBER(attr, create_flags);
  NUMBER(attr, max_tso_header);
  ADDRESS("rwq_ind_tbl", attr->rwq_ind_tbl);
  NUMBER(attr, rx_hash_conf.rx_hash_function);
  NUMBER(attr, rx_hash_conf.rx_hash_key_len);
  if (attr->rx_hash_conf.rx_hash_key)
    bytes("rx_hash_key", attr->rx_hash_conf.rx_hash_key, attr->rx_hash_conf.rx_hash_key_len);
  NUMBER(attr, rx_hash_conf.rx_hash_fields_mask);
  NUMBER(attr, source_qpn);
  NUMBER(attr, send_ops_flags);
  struct ibv_qp *qp = make_qp("create_qp_ex", entry_errno, context, &attr->cap);
  if (qp) qp->qp_type = attr->qp_type;
  if (qp && attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) provide_batches((struct ibv_qp_ex *)qp);
  return qp;
}

static struct ibv_qp *open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr) {
  int entry_errno = errno;
  op("open_qp");
  ADDRESS("context", context);
  NUMBER(attr, comp_mask);
  NUMBER(attr, qp_num);
  ADDRESS("xrcd", attr->xrcd);
  ADDRESS("qp_context", attr->qp_context);
  NUMBER(attr, qp_type);
  return make_qp("open_qp", entry_errno, context, NULL);
}

int ibv_destroy_qp(struct ibv_qp *qp) {
  int entry_errno = errno;
  op("destroy_qp");
  ADDRESS("qp", qp);
  return release("destroy_qp", entry_errno, qp);
}

static void report_path(const char *prefix, const struct ibv_ah_attr *attr) {
  char name[32];
  sprintf(name, "%s.dgid", prefix);
  bytes(name, attr->grh.dgid.raw, 16);
  field(prefix, "%u %u %u %u %u %u %u %u %u %u", attr->grh.flow_label, attr->grh.sgid_index, attr->grh.hop_limit,
        attr->grh.traffic_class, attr->dlid, attr->sl, attr->src_path_bits, attr->static_rate, attr->is_global,
        attr->port_num);
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask) {
  int entry_errno = errno;
  op("modify_qp");
  ADDRESS("qp", qp);
  field("mask", "%d", mask);
  NUMBER(attr, qp_state);
  NUMBER(attr, cur_qp_state);
  NUMBER(attr, path_mtu);
  NUMBER(attr, path_mig_state);
  NUMBER(attr, qkey);
  NUMBER(attr, rq_psn);
  NUMBER(attr, sq_psn);
  NUMBER(attr, dest_qp_num);
  NUMBER(attr, qp_access_flags);
  report_cap(&attr->cap);
  report_path("ah_attr", &attr->ah_attr);
  report_path("alt_ah_attr", &attr->alt_ah_attr);
  NUMBER(attr, pkey_index);
  NUMBER(attr, alt_pkey_index);
  NUMBER(attr, en_sqd_async_notify);
  NUMBER(attr, max_rd_atomic);
  NUMBER(attr, max_dest_rd_atomic);
  NUMBER(attr, min_rnr_timer);
  NUMBER(attr, port_num);
  NUMBER(attr, timeout);
  NUMBER(attr, retry_cnt);
  NUMBER(attr, rnr_retry);
  NUMBER(attr, alt_port_num);
  NUMBER(attr, alt_timeout);
  NUMBER(attr, rate_limit);
  return number("modify_qp", entry_errno, 0);
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init) {
  static const struct ibv_wc with_grh = {.wc_flags = IBV_WC_GRH};
  int entry_errno = errno;
  op("query_qp");
  ADDRESS("qp", qp);
  field("mask", "%d", mask);
  attr->qp_state = IBV_QPS_SQE;
  attr->cur_qp_state = IBV_QPS_SQD;
  attr->path_mtu = IBV_MTU_2048;
  attr->path_mig_state = IBV_MIG_ARMED;
  attr->qkey = 0x80000001;
  attr->rq_psn = 0xfffffe;
  attr->sq_psn = 0xfffffd;
  attr->dest_qp_num = 0xfffffc;
  attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  fill_ah_attr(&attr->ah_attr, &with_grh);
  fill_ah_attr(&attr->alt_ah_attr, &(struct ibv_wc){0});
  attr->pkey_index = 0xffff;
  attr->alt_pkey_index = 0xfffe;
  attr->en_sqd_async_notify = 1;
  attr->sq_draining = 1;
  attr->max_rd_atomic = 16;
  attr->max_dest_rd_atomic = 32;
  attr->min_rnr_timer = 31;
  attr->port_num = 2;
  attr->timeout = 30;
  attr->retry_cnt = 6;
  attr->rnr_retry = 5;
  attr->alt_port_num = 1;
  attr->alt_timeout = 29;
  attr->rate_limit = 0x80000004;
  attr->cap = (struct ibv_qp_cap){1, 2, 3, 4, 5};
  init->cap = (struct ibv_qp_cap){11, 12, 13, 14, 15};
  return number("query_qp", entry_errno, 0);
}

static int modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr) {
  int entry_errno = errno;
  op("modify_qp_rate_limit");
  ADDRESS("qp", qp);
  NUMBER(attr, rate_limit);
  NUMBER(attr, max_burst_sz);
  NUMBER(attr, typical_pkt_sz);
  NUMBER(attr, comp_mask);
  return number("modify_qp_rate_limit", entry_errno, 0);
}

#ifndef OLD_LIBRARY
int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece) {
  int entry_errno = errno;
  op("query_ece");
  ADDRESS("qp", qp);
  *ece = (struct ibv_ece){.vendor_id = 0x15b3, .options = 0x80000001, .comp_mask = 0x80000002};
  return number("query_ece", entry_errno, 0);
}

int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece) {
  int entry_errno = errno;
  op("set_ece");
  ADDRESS("qp", qp);
  NUMBER(ece, vendor_id);
  NUMBER(ece, options);
  NUMBER(ece, comp_mask);
  return number("set_ece", entry_errno, 0);
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp) {
  struct ibv_qp_ex *extended = (struct ibv_qp_ex *)qp;
  return extended->comp_mask ? extended : NULL;
}
#endif

static int report_mcast(const char *name, struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid) {
  int entry_errno = errno;
  op(name);
  ADDRESS("qp", qp);
  bytes("gid", gid->raw, 16);
  field("lid", "%u", lid);
  return number(name, entry_errno, 0);
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid) {
  return report_mcast("attach_mcast", qp, gid, lid);
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid) {
  return report_mcast("detach_mcast", qp, gid, lid);
}

static void provide_queues(struct verbs_context *core) {
  core->open_xrcd = open_xrcd;
  core->close_xrcd = close_xrcd;
  core->create_srq_ex = create_srq_ex;
  core->get_srq_num = get_srq_num;
  core->create_qp_ex = create_qp_ex;
  core->open_qp = open_qp;
  core->modify_qp_rate_limit = modify_qp_rate_limit;
}
