/* librdmacm: a section of echo.c. The port space of an id says of which kind its queue pair, events and address are. */

#include <infiniband/ib.h>
#include <rdma/rdma_cma.h>
#include <sys/eventfd.h>

static int next_event;

struct ibv_context **rdma_get_devices(int *num_devices) {
  *num_devices = 0;
  errno = ENODEV;
  return NULL;
}

void rdma_free_devices(struct ibv_context **list) { free(list); }

/* Readable from the start: an event is always there. */
struct rdma_event_channel *rdma_create_event_channel(void) {
  int entry_errno = errno;
  op("create_event_channel");
  struct rdma_event_channel *channel = object("create_event_channel", entry_errno, sizeof *channel);
  if (channel) channel->fd = eventfd(1, EFD_CLOEXEC);
  next_event = 0;
  return channel;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel) {
  op("destroy_event_channel");
  ADDRESS("channel", channel);
  live--;
  close(channel->fd);
  free(channel);
}

static void report_sockaddr(const char *name, const struct sockaddr *addr) {
  size_t size = !addr                           ? 0
                : addr->sa_family == AF_INET    ? sizeof(struct sockaddr_in)
                : addr->sa_family == AF_INET6   ? sizeof(struct sockaddr_in6)
                                                : sizeof(struct sockaddr_ib);
  bytes(name, addr, size);
}

static void fill_sockaddr_ib(struct sockaddr_ib *addr) {
  addr->sib_family = AF_IB;
  addr->sib_pkey = htobe16(0x8001);
  addr->sib_flowinfo = htobe32(0x12345);
  for (int i = 0; i < 16; i++) addr->sib_addr.sib_raw[i] = 0xc0 + i;
  addr->sib_sid = htobe64(0x0000000001061234ULL);
  addr->sib_sid_mask = htobe64(0xffffffffffff0000ULL);
  addr->sib_scope_id = 7;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
                   enum rdma_port_space ps) {
  int entry_errno = errno;
  op("create_id");
  ADDRESS("channel", channel);
  ADDRESS("context", context);
  field("ps", "%d", ps);
  struct rdma_cm_id *made = object("create_id", entry_errno, sizeof *made);
  if (!made) return -1;
  made->channel = channel;
  made->verbs = (struct ibv_context *)0x1110;
  made->ps = ps;
  made->qp_type = ps == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC;
  made->port_num = 2;
  made->route.num_paths = 3;
  made->pd = (struct ibv_pd *)0x2220;
  made->send_cq = (struct ibv_cq *)0x3330;
  made->recv_cq = (struct ibv_cq *)0x4440;
  if (ps == RDMA_PS_IB) {
    fill_sockaddr_ib((struct sockaddr_ib *)&made->route.addr.src_storage);
  } else {
    made->route.addr.src_sin.sin_family = AF_INET;
    made->route.addr.src_sin.sin_port = htobe16(0x1234);
    made->route.addr.src_sin.sin_addr.s_addr = htobe32(0x0a000001);
  }
  made->route.addr.dst_sin6.sin6_family = AF_INET6;
  made->route.addr.dst_sin6.sin6_port = htobe16(0x4321);
  made->route.addr.dst_sin6.sin6_addr.s6_addr[0] = 0xfe;
  made->route.addr.dst_sin6.sin6_addr.s6_addr[1] = 0x80;
  made->route.addr.dst_sin6.sin6_addr.s6_addr[15] = 9;
  made->route.addr.dst_sin6.sin6_scope_id = 5;
  *id = made;
  return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id) {
  int entry_errno = errno;
  op("destroy_id");
  ADDRESS("id", id);
  return release("destroy_id", entry_errno, id);
}

#define ON_ID(name)                                                                                                    \
  int entry_errno = errno;                                                                                             \
  op(name);                                                                                                            \
  ADDRESS("id", id);

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr) {
  ON_ID("bind_addr")
  report_sockaddr("addr", addr);
  return number("bind_addr", entry_errno, 0);
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src_addr, struct sockaddr *dst_addr, int timeout_ms) {
  ON_ID("resolve_addr")
  report_sockaddr("src_addr", src_addr);
  report_sockaddr("dst_addr", dst_addr);
  field("timeout_ms", "%d", timeout_ms);
  return number("resolve_addr", entry_errno, 0);
}

int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms) {
  ON_ID("resolve_route")
  field("timeout_ms", "%d", timeout_ms);
  return number("resolve_route", entry_errno, 0);
}

int rdma_listen(struct rdma_cm_id *id, int backlog) {
  ON_ID("listen")
  field("backlog", "%d", backlog);
  return number("listen", entry_errno, 0);
}

static void report_conn_param(const struct rdma_conn_param *param) {
  bytes("private_data", param->private_data, param->private_data_len);
  NUMBER(param, responder_resources);
  NUMBER(param, initiator_depth);
  NUMBER(param, flow_control);
  NUMBER(param, retry_count);
  NUMBER(param, rnr_retry_count);
  NUMBER(param, srq);
  NUMBER(param, qp_num);
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param) {
  ON_ID("connect")
  report_conn_param(param);
  return number("connect", entry_errno, 0);
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param) {
  ON_ID("accept")
  report_conn_param(param);
  return number("accept", entry_errno, 0);
}

int rdma_establish(struct rdma_cm_id *id) {
  ON_ID("establish")
  return number("establish", entry_errno, 0);
}

int rdma_reject(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len) {
  ON_ID("reject")
  bytes("private_data", private_data, private_data_len);
  return number("reject", entry_errno, 0);
}

int rdma_reject_ece(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len) {
  ON_ID("reject_ece")
  bytes("private_data", private_data, private_data_len);
  return number("reject_ece", entry_errno, 0);
}

int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event) {
  ON_ID("notify")
  field("event", "%d", event);
  return number("notify", entry_errno, 0);
}

int rdma_disconnect(struct rdma_cm_id *id) {
  ON_ID("disconnect")
  return number("disconnect", entry_errno, 0);
}

int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel) {
  ON_ID("migrate_id")
  ADDRESS("channel", channel);
  return number("migrate_id", entry_errno, 0);
}

/* Every attribute has a value; the mask says which count. */
int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask) {
  static const struct ibv_wc routed = {.wc_flags = IBV_WC_GRH};
  ON_ID("init_qp_attr")
  NUMBER(attr, qp_state);
  attr->path_mtu = IBV_MTU_2048;
  attr->qkey = 0x11223344;
  attr->rq_psn = 0xabcdef;
  attr->sq_psn = 0x123456;
  attr->dest_qp_num = 0x654321;
  attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  fill_ah_attr(&attr->ah_attr, &routed);
  attr->pkey_index = 0x102;
  attr->max_rd_atomic = 3;
  attr->max_dest_rd_atomic = 4;
  attr->min_rnr_timer = 5;
  attr->port_num = 2;
  attr->timeout = 14;
  attr->retry_cnt = 6;
  attr->rnr_retry = 7;
  *mask = attr->qp_state == IBV_QPS_INIT
              ? IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS
          : attr->qp_state == IBV_QPS_RTR
              ? IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER
              : IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                    IBV_QP_MAX_QP_RD_ATOMIC;
  return number("init_qp_attr", entry_errno, 0);
}

int rdma_set_option(struct rdma_cm_id *id, int level, int optname, void *optval, size_t optlen) {
  ON_ID("set_option")
  field("level", "%d", level);
  field("optname", "%d", optname);
  bytes("optval", optval, optlen);
  return number("set_option", entry_errno, 0);
}

int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece) {
  ON_ID("set_local_ece")
  NUMBER(ece, vendor_id);
  NUMBER(ece, options);
  NUMBER(ece, comp_mask);
  return number("set_local_ece", entry_errno, 0);
}

int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece) {
  ON_ID("get_remote_ece")
  ece->vendor_id = 0x15b3;
  ece->options = 0x80000001;
  ece->comp_mask = 3;
  return number("get_remote_ece", entry_errno, 0);
}

int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context) {
  ON_ID("join_multicast")
  report_sockaddr("addr", addr);
  ADDRESS("context", context);
  return number("join_multicast", entry_errno, 0);
}

int rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *attr, void *context) {
  ON_ID("join_multicast_ex")
  NUMBER(attr, comp_mask);
  NUMBER(attr, join_flags);
  report_sockaddr("addr", attr->addr);
  ADDRESS("context", context);
  return number("join_multicast_ex", entry_errno, 0);
}

int rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr) {
  ON_ID("leave_multicast")
  report_sockaddr("addr", addr);
  return number("leave_multicast", entry_errno, 0);
}

/* Events. Those of an id come in the order of the enum, all parts filled; `echo_event_of` says of which. */

static struct rdma_cm_id *event_id;
static uint8_t event_data[] = {1, 2, 3, 4, 5};

void echo_event_of(struct rdma_cm_id *id) { event_id = id; }

static struct rdma_cm_event *make_event(struct rdma_cm_id *id, int type) {
  static const struct ibv_wc routed = {.wc_flags = IBV_WC_GRH};
  struct rdma_cm_event *event = calloc(1, sizeof *event);
  live++;
  event->id = id;
  event->listen_id = (struct rdma_cm_id *)0x7770;
  event->event = type;
  event->status = -(100 + type);
  if (type == RDMA_CM_EVENT_MULTICAST_JOIN || type == RDMA_CM_EVENT_MULTICAST_ERROR || id->qp_type == IBV_QPT_UD) {
    event->param.ud.private_data = event_data;
    event->param.ud.private_data_len = sizeof event_data;
    fill_ah_attr(&event->param.ud.ah_attr, &routed);
    event->param.ud.qp_num = 0xabcdef;
    event->param.ud.qkey = 0x81234567;
  } else {
    event->param.conn.private_data = event_data;
    event->param.conn.private_data_len = sizeof event_data;
    event->param.conn.responder_resources = 11;
    event->param.conn.initiator_depth = 12;
    event->param.conn.flow_control = 1;
    event->param.conn.retry_count = 6;
    event->param.conn.rnr_retry_count = 7;
    event->param.conn.srq = 1;
    event->param.conn.qp_num = 0xfedcba;
  }
  return event;
}

/* The address that the events of a group carry in the place of private data. */
uint64_t echo_event_data(void) { return (uintptr_t)event_data; }

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event) {
  int entry_errno = errno;
  int result;
  op("get_cm_event");
  ADDRESS("channel", channel);
  if (scripted("get_cm_event", &result, entry_errno)) return -1;
  *event = make_event(event_id, next_event++);
  return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event) {
  op("ack_cm_event");
  NUMBER(event, event);
  live--;
  free(event);
  return 0;
}

/* Names. The list that is found has two entries: one with everything, and one with nothing but its kind. */

static void report_addrinfo(const struct rdma_addrinfo *info) {
  NUMBER(info, ai_flags);
  NUMBER(info, ai_family);
  NUMBER(info, ai_qp_type);
  NUMBER(info, ai_port_space);
  NUMBER(info, ai_src_len);
  NUMBER(info, ai_dst_len);
  report_sockaddr("ai_src_addr", info->ai_src_addr);
  report_sockaddr("ai_dst_addr", info->ai_dst_addr);
  bytes("ai_route", info->ai_route, info->ai_route_len);
  bytes("ai_connect", info->ai_connect, info->ai_connect_len);
}

int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
                     struct rdma_addrinfo **res) {
  static struct sockaddr_in source;
  static struct sockaddr_ib destination;
  static char source_name[] = "here", destination_name[] = "there";
  static uint8_t route[72];
  int entry_errno = errno, result;
  op("getaddrinfo");
  field("node", "%s", node ? node : "NULL");
  field("service", "%s", service ? service : "NULL");
  report_addrinfo(hints);
  if (scripted("getaddrinfo", &result, entry_errno)) return result;
  source.sin_family = AF_INET;
  source.sin_port = htobe16(1);
  source.sin_addr.s_addr = htobe32(0x0a000002);
  fill_sockaddr_ib(&destination);
  for (size_t i = 0; i < sizeof route; i++) route[i] = i;
  struct rdma_addrinfo *first = calloc(1, sizeof *first), *second = calloc(1, sizeof *second);
  live += 2;
  first->ai_flags = RAI_PASSIVE | RAI_NOROUTE;
  first->ai_family = AF_IB;
  first->ai_qp_type = IBV_QPT_UD;
  first->ai_port_space = RDMA_PS_UDP;
  first->ai_src_len = sizeof source;
  first->ai_dst_len = sizeof destination;
  first->ai_src_addr = (struct sockaddr *)&source;
  first->ai_dst_addr = (struct sockaddr *)&destination;
  first->ai_src_canonname = source_name;
  first->ai_dst_canonname = destination_name;
  first->ai_route = route;
  first->ai_route_len = sizeof route;
  first->ai_connect = event_data;
  first->ai_connect_len = sizeof event_data;
  first->ai_next = second;
  second->ai_qp_type = IBV_QPT_RC;
  second->ai_port_space = RDMA_PS_TCP;
  *res = first;
  return 0;
}

/* What the headers do not know yet. */
#ifndef OLD_LIBRARY

int rdma_write_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type event, int status, uint64_t arg) {
  ON_ID("write_cm_event")
  field("event", "%d", event);
  field("status", "%d", status);
  field("arg", "%llu", (unsigned long long)arg);
  return number("write_cm_event", entry_errno, 0);
}

int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node, const char *service,
                          const struct rdma_addrinfo *hints) {
  ON_ID("resolve_addrinfo")
  field("node", "%s", node ? node : "NULL");
  field("service", "%s", service ? service : "NULL");
  report_addrinfo(hints);
  return number("resolve_addrinfo", entry_errno, 0);
}

int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info) {
  static const struct rdma_addrinfo nothing;
  int result = rdma_getaddrinfo(NULL, NULL, &nothing, info);
  ON_ID("query_addrinfo")
  int failed = number("query_addrinfo", entry_errno, 0);
  if (failed) rdma_freeaddrinfo(*info);
  return failed ? failed : result;
}

#endif

void rdma_freeaddrinfo(struct rdma_addrinfo *res) {
  op("freeaddrinfo");
  while (res) {
    struct rdma_addrinfo *next = res->ai_next;
    live--;
    free(res);
    res = next;
  }
}

/* Queues and endpoints. */

static void report_init(const struct ibv_qp_init_attr *attr) {
  ADDRESS("send_cq", attr->send_cq);
  ADDRESS("recv_cq", attr->recv_cq);
  ADDRESS("srq", attr->srq);
  NUMBER(attr, cap.max_send_wr);
  NUMBER(attr, cap.max_recv_wr);
  NUMBER(attr, cap.max_send_sge);
  NUMBER(attr, cap.max_recv_sge);
  NUMBER(attr, cap.max_inline_data);
  NUMBER(attr, qp_type);
  NUMBER(attr, sq_sig_all);
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr) {
  ON_ID("rdma_create_qp")
  ADDRESS("pd", pd);
  report_init(attr);
  id->qp = object("rdma_create_qp", entry_errno, sizeof *id->qp);
  if (!id->qp) return -1;
  id->qp->qp_num = 0xff123456;
  attr->cap.max_send_wr += 1000;
  return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id) {
  op("rdma_destroy_qp");
  ADDRESS("id", id);
  live--;
  free(id->qp);
  id->qp = NULL;
}

int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_srq_init_attr *attr) {
  ON_ID("rdma_create_srq")
  ADDRESS("pd", pd);
  report_srq_attr(&attr->attr);
  id->srq = object("rdma_create_srq", entry_errno, sizeof *id->srq);
  if (!id->srq) return -1;
  attr->attr.max_wr += 1000;
  return 0;
}

void rdma_destroy_srq(struct rdma_cm_id *id) {
  op("rdma_destroy_srq");
  ADDRESS("id", id);
  live--;
  free(id->srq);
  id->srq = NULL;
}

static struct rdma_cm_id *synchronous(void) {
  struct rdma_cm_id *id = calloc(1, sizeof *id);
  id->channel = calloc(1, sizeof *id->channel);
  id->channel->fd = eventfd(1, EFD_CLOEXEC);
  id->qp_type = IBV_QPT_RC;
  return id;
}

int rdma_create_ep(struct rdma_cm_id **id, struct rdma_addrinfo *res, struct ibv_pd *pd,
                   struct ibv_qp_init_attr *attr) {
  int entry_errno = errno, result;
  op("create_ep");
  report_addrinfo(res);
  ADDRESS("pd", pd);
  if (attr) report_init(attr);
  if (scripted("create_ep", &result, entry_errno)) return -1;
  live++;
  *id = synchronous();
  return 0;
}

void rdma_destroy_ep(struct rdma_cm_id *id) {
  op("destroy_ep");
  field("blocking", "%d", fcntl(id->channel->fd, F_GETFL) & O_NONBLOCK ? 0 : 1);
  live--;
  free(id->event);
  close(id->channel->fd);
  free(id->channel);
  free(id);
}

int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id) {
  int entry_errno = errno, result;
  op("get_request");
  ADDRESS("listen", listen);
  if (scripted("get_request", &result, entry_errno)) return -1;
  live++;
  *id = synchronous();
  (*id)->event = make_event(*id, RDMA_CM_EVENT_CONNECT_REQUEST);
  live--; /* it goes with the id */
  return 0;
}
