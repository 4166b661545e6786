/* Posts and polls: a section of echo.c. Each request of a chain is a report of its own, behind that of the call. */

static void report_pieces(const struct ibv_sge *pieces, int count, bool is_inline) {
  field("num_sge", "%d", count);
  for (int i = 0; i < count; i++) {
    char name[40];
    sprintf(name, is_inline ? "inline[%d]" : "sge[%d]", i);
    if (is_inline)
      bytes(name, (const void *)(uintptr_t)pieces[i].addr, pieces[i].length);
    else
      field(name, "%llu %u %u", (unsigned long long)pieces[i].addr, pieces[i].length, pieces[i].lkey);
  }
}

/* What an opcode and a type of queue pairs have no use for is undefined, and not read. */
static void report_send(const struct ibv_qp *qp, const struct ibv_send_wr *wr) {
  op("send_wr");
  U64("wr_id", wr->wr_id);
  NUMBER(wr, opcode);
  NUMBER(wr, send_flags);
  report_pieces(wr->sg_list, wr->num_sge, wr->send_flags & IBV_SEND_INLINE);
  switch (wr->opcode) {
  case IBV_WR_SEND_WITH_IMM:
  case IBV_WR_RDMA_WRITE_WITH_IMM:
    bytes("imm_data", &wr->imm_data, 4);
    break;
  case IBV_WR_SEND_WITH_INV:
  case IBV_WR_LOCAL_INV:
    NUMBER(wr, invalidate_rkey);
    break;
  default:
    break;
  }
  switch (wr->opcode) {
  case IBV_WR_RDMA_WRITE:
  case IBV_WR_RDMA_WRITE_WITH_IMM:
  case IBV_WR_RDMA_READ:
    report_remote(wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
    break;
  case IBV_WR_ATOMIC_CMP_AND_SWP:
  case IBV_WR_ATOMIC_FETCH_AND_ADD:
    report_remote(wr->wr.atomic.rkey, wr->wr.atomic.remote_addr);
    U64("compare_add", wr->wr.atomic.compare_add);
    U64("swap", wr->wr.atomic.swap);
    break;
  case IBV_WR_BIND_MW:
    // A provider refuses a bind with immediate data, and tells the device the key that the window has in its struct.
    bytes("imm_data", &wr->imm_data, 4);
    ADDRESS("mw", wr->bind_mw.mw);
    NUMBER(wr, bind_mw.mw->rkey);
    NUMBER(wr, bind_mw.rkey);
    ADDRESS("mr", wr->bind_mw.bind_info.mr);
    U64("addr", wr->bind_mw.bind_info.addr);
    U64("length", wr->bind_mw.bind_info.length);
    NUMBER(wr, bind_mw.bind_info.mw_access_flags);
    break;
  case IBV_WR_TSO:
    bytes("hdr", wr->tso.hdr, wr->tso.hdr_sz);
    NUMBER(wr, tso.hdr_sz);
    NUMBER(wr, tso.mss);
    break;
  default:
    break;
  }
  if (qp->qp_type == IBV_QPT_UD) {
    ADDRESS("ah", wr->wr.ud.ah);
    NUMBER(wr, wr.ud.remote_qpn);
    NUMBER(wr, wr.ud.remote_qkey);
  }
  if (qp->qp_type == IBV_QPT_XRC_SEND) NUMBER(wr, qp_type.xrc.remote_srqn);
}

/*
 * A scripted failure of the call names no request, as a provider that refuses before it looks at the first; one of
 * "send_wr" or "recv_wr" is of the request that it falls on.
 */
static int post_sends(const char *name, struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad) {
  int entry_errno = errno, result;
  op(name);
  ADDRESS("qp", qp);
  if (scripted(name, &result, entry_errno)) return result;
  for (; wr; wr = wr->next) {
    report_send(qp, wr);
    if (scripted("send_wr", &result, entry_errno)) {
      *bad = wr;
      return result;
    }
  }
  return 0;
}

static int post_receives(const char *name, const char *kind, const void *queue, struct ibv_recv_wr *wr,
                         struct ibv_recv_wr **bad) {
  int entry_errno = errno, result;
  op(name);
  ADDRESS(kind, queue);
  if (scripted(name, &result, entry_errno)) return result;
  for (; wr; wr = wr->next) {
    op("recv_wr");
    U64("wr_id", wr->wr_id);
    report_pieces(wr->sg_list, wr->num_sge, false);
    if (scripted("recv_wr", &result, entry_errno)) {
      *bad = wr;
      return result;
    }
  }
  return 0;
}

static struct ibv_wc ended[4096];
static size_t ended_count;

/*
 * For tests: a completion that the next poll of any queue gives, with a value of its own in every field. A failed one has
 * noise in what is undefined then.
 */
void echo_completion(uint64_t wr_id, int status, int opcode, unsigned int wc_flags) {
  if (ended_count == sizeof ended / sizeof *ended) abort();
  struct ibv_wc *wc = &ended[ended_count++];
  memset(wc, 0xff, sizeof *wc);
  wc->wr_id = wr_id;
  wc->status = status;
  wc->vendor_err = 0x8badf00d;
  wc->qp_num = 0xabcdef;
  if (status != IBV_WC_SUCCESS) return;
  wc->opcode = opcode;
  wc->byte_len = 0x80000001;
  if (wc_flags & IBV_WC_WITH_INV)
    wc->invalidated_rkey = 0xcafe0001;
  else
    memcpy(&wc->imm_data, "\x91\x22\x33\x44", 4);
  wc->src_qp = 0x123456;
  wc->wc_flags = wc_flags;
  wc->pkey_index = 0xfffe;
  wc->slid = 0xfffd;
  wc->sl = 15;
  wc->dlid_path_bits = 0xfe;
}

static int poll_completions(const char *name, struct ibv_cq *cq, int num_entries, struct ibv_wc *wc) {
  int entry_errno = errno, result;
  op(name);
  ADDRESS("cq", cq);
  field("num_entries", "%d", num_entries);
  if (scripted(name, &result, entry_errno)) return result;
  size_t count = (size_t)num_entries < ended_count ? (size_t)num_entries : ended_count;
  memcpy(wc, ended, count * sizeof *wc);
  memmove(ended, ended + count, (ended_count -= count) * sizeof *wc);
  return count;
}

/* The old contexts have functions of their own, as those of another provider. */
#define OPERATIONS(prefix, name)                                                                                 \
  static int prefix##post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad) {            \
    return post_sends(name "post_send", qp, wr, bad);                                                            \
  }                                                                                                              \
  static int prefix##post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad) {            \
    return post_receives(name "post_recv", "qp", qp, wr, bad);                                                   \
  }                                                                                                              \
  static int prefix##post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad) {      \
    return post_receives(name "post_srq_recv", "srq", srq, wr, bad);                                             \
  }                                                                                                              \
  static int prefix##poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc) {                            \
    return poll_completions(name "poll_cq", cq, num_entries, wc);                                                \
  }                                                                                                              \
  static void prefix##provide_data(struct ibv_context *context) {                                                \
    context->ops.post_send = prefix##post_send;                                                                  \
    context->ops.post_recv = prefix##post_recv;                                                                  \
    context->ops.post_srq_recv = prefix##post_srq_recv;                                                          \
    context->ops.poll_cq = prefix##poll_cq;                                                                      \
  }

OPERATIONS(echo_, "")
OPERATIONS(legacy_, "legacy_")
