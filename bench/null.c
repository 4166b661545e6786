/*
 * The null provider: stands in for libibverbs, with a device whose calls return at once, so that what is measured is what
 * stands before them. Posted sends that are signaled complete at the next poll, or so many later as `null_delay` was
 * told; receives never.
 *
 * Load it in place of libibverbs.so.1, or before it by LD_PRELOAD. Not thread safe.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/verbs.h>

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

struct null_cq {
  struct ibv_cq cq;
  uint32_t mask, head, tail;
  int polls; /* since the first of what is in the ring was posted */
  struct done {
    uint64_t wr_id;
    uint32_t qp_num;
    enum ibv_wc_opcode opcode;
  } *ring;
};

static const enum ibv_wc_opcode completes_as[] = {
  [IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
  [IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
  [IBV_WR_SEND] = IBV_WC_SEND,
  [IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND,
  [IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
  [IBV_WR_ATOMIC_CMP_AND_SWP] = IBV_WC_COMP_SWAP,
  [IBV_WR_ATOMIC_FETCH_AND_ADD] = IBV_WC_FETCH_ADD,
  [IBV_WR_LOCAL_INV] = IBV_WC_LOCAL_INV,
  [IBV_WR_BIND_MW] = IBV_WC_BIND_MW,
  [IBV_WR_SEND_WITH_INV] = IBV_WC_SEND,
  [IBV_WR_TSO] = IBV_WC_TSO,
};

/* The operations of a context. */

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad) {
  struct null_cq *cq = (struct null_cq *)qp->send_cq;
  for (; wr; wr = wr->next) {
    if (!(wr->send_flags & IBV_SEND_SIGNALED)) continue;
    if (cq->head - cq->tail > cq->mask) {
      *bad = wr;
      return ENOMEM;
    }
    struct done *done = &cq->ring[cq->head++ & cq->mask];
    done->wr_id = wr->wr_id;
    done->qp_num = qp->qp_num;
    done->opcode = completes_as[wr->opcode];
  }
  return 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad) {
  return 0;
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad) {
  return 0;
}

static int delay;

void null_delay(int polls) {
  delay = polls;
}

static int poll_cq(struct ibv_cq *of, int max, struct ibv_wc *wc) {
  struct null_cq *cq = (struct null_cq *)of;
  int count = 0;
  if (cq->tail == cq->head || cq->polls++ < delay) return 0;
  for (; count < max && cq->tail != cq->head; count++, wc++) {
    const struct done *done = &cq->ring[cq->tail++ & cq->mask];
    memset(wc, 0, sizeof *wc);
    wc->wr_id = done->wr_id;
    wc->status = IBV_WC_SUCCESS;
    wc->opcode = done->opcode;
    wc->qp_num = done->qp_num;
  }
  if (cq->tail == cq->head) cq->polls = 0;
  return count;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only) {
  return 0;
}

/* The exported functions that it takes to get there. */

static struct ibv_device device = {
  .node_type = IBV_NODE_CA,
  .transport_type = IBV_TRANSPORT_IB,
  .name = "null0",
  .dev_name = "nullverbs0",
};

struct ibv_device **ibv_get_device_list(int *count) {
  struct ibv_device **list = calloc(2, sizeof *list);
  list[0] = &device;
  if (count) *count = 1;
  return list;
}

void ibv_free_device_list(struct ibv_device **list) {
  free(list);
}

const char *ibv_get_device_name(struct ibv_device *of) {
  return of->name;
}

__be64 ibv_get_device_guid(struct ibv_device *of) {
  return 1;
}

struct ibv_context *ibv_open_device(struct ibv_device *of) {
  struct ibv_context *context = calloc(1, sizeof *context);
  context->device = of;
  context->cmd_fd = context->async_fd = -1;
  context->num_comp_vectors = 1;
  context->ops.post_send = post_send;
  context->ops.post_recv = post_recv;
  context->ops.post_srq_recv = post_srq_recv;
  context->ops.poll_cq = poll_cq;
  context->ops.req_notify_cq = req_notify_cq;
  return context;
}

int ibv_close_device(struct ibv_context *context) {
  free(context);
  return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr) {
  memset(attr, 0, sizeof *attr);
  attr->max_qp = attr->max_cq = attr->max_mr = attr->max_pd = 1024;
  attr->max_qp_wr = attr->max_cqe = 1 << 16;
  attr->max_sge = 32;
  attr->phys_port_cnt = 1;
  return 0;
}

int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *of) {
  struct ibv_port_attr *attr = (void *)of;
  memset(attr, 0, offsetof(struct ibv_port_attr, port_cap_flags2));
  attr->state = IBV_PORT_ACTIVE;
  attr->max_mtu = attr->active_mtu = IBV_MTU_4096;
  attr->lid = 1;
  attr->link_layer = IBV_LINK_LAYER_INFINIBAND;
  return 0;
}

int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid) {
  memset(gid, 0, sizeof *gid);
  return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max, uint32_t flags,
                             size_t size) {
  return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context) {
  struct ibv_pd *pd = calloc(1, sizeof *pd);
  pd->context = context;
  return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd) {
  free(pd);
  return 0;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access) {
  struct ibv_mr *mr = calloc(1, sizeof *mr);
  mr->context = pd->context;
  mr->pd = pd;
  mr->addr = addr;
  mr->length = length;
  mr->lkey = mr->rkey = 0x1234;
  return mr;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access) {
  return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, access);
}

int ibv_dereg_mr(struct ibv_mr *mr) {
  free(mr);
  return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context, struct ibv_comp_channel *channel,
                             int vector) {
  struct null_cq *cq = calloc(1, sizeof *cq);
  uint32_t room = 1;
  while (room < (uint32_t)cqe) room *= 2;
  cq->cq.context = context;
  cq->cq.channel = channel;
  cq->cq.cq_context = cq_context;
  cq->cq.cqe = room;
  cq->mask = room - 1;
  cq->ring = calloc(room, sizeof *cq->ring);
  return &cq->cq;
}

int ibv_destroy_cq(struct ibv_cq *cq) {
  free(((struct null_cq *)cq)->ring);
  free(cq);
  return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr) {
  static uint32_t last;
  struct ibv_qp *qp = calloc(1, sizeof *qp);
  qp->context = pd->context;
  qp->pd = pd;
  qp->send_cq = attr->send_cq;
  qp->recv_cq = attr->recv_cq;
  qp->qp_type = attr->qp_type;
  qp->qp_num = ++last;
  return qp;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask) {
  if (mask & IBV_QP_STATE) qp->state = attr->qp_state;
  return 0;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init) {
  memset(attr, 0, sizeof *attr);
  memset(init, 0, sizeof *init);
  attr->qp_state = qp->state;
  init->qp_type = qp->qp_type;
  return 0;
}

int ibv_destroy_qp(struct ibv_qp *qp) {
  free(qp);
  return 0;
}

/* What must be there to be bound, and is not called. */

#define UNSUPPORTED(name)           \
  int null_##name(void) __asm__("ibv_" #name); \
  int null_##name(void) {           \
    return EOPNOTSUPP;              \
  }

#define UNSUPPORTED_OBJECT(name)      \
  void *null_##name(void) __asm__("ibv_" #name); \
  void *null_##name(void) {           \
    errno = EOPNOTSUPP;               \
    return NULL;                      \
  }

UNSUPPORTED(ack_async_event)
UNSUPPORTED(ack_cq_events)
UNSUPPORTED(attach_mcast)
UNSUPPORTED(destroy_ah)
UNSUPPORTED(destroy_comp_channel)
UNSUPPORTED(destroy_srq)
UNSUPPORTED(detach_mcast)
UNSUPPORTED(fork_init)
UNSUPPORTED(get_async_event)
UNSUPPORTED(get_cq_event)
UNSUPPORTED(get_pkey_index)
UNSUPPORTED(init_ah_from_wc)
UNSUPPORTED(modify_srq)
UNSUPPORTED(query_pkey)
UNSUPPORTED(query_srq)
UNSUPPORTED(rereg_mr)
UNSUPPORTED(resize_cq)
UNSUPPORTED(resolve_eth_l2_from_gid)
UNSUPPORTED_OBJECT(create_ah)
UNSUPPORTED_OBJECT(create_ah_from_wc)
UNSUPPORTED_OBJECT(create_comp_channel)
UNSUPPORTED_OBJECT(create_srq)
