/*
 * Completion channels, completion queues, completion counters and asynchronous events of the echo provider. Part of
 * echo.c. Events are those that a test raised, each behind a descriptor that can be waited for.
 */
#include <fcntl.h>
#include <sys/eventfd.h>

/* Events. */

static struct {
  struct ibv_comp_channel *channel;
  struct ibv_cq *cq;
} cq_events[16];
static size_t cq_event_count;

static struct {
  struct ibv_context *context;
  struct ibv_async_event event;
} async_events[16];
static size_t async_event_count;

static void signal_fd(int fd) {
  uint64_t one = 1;
  if (write(fd, &one, sizeof one) != sizeof one) abort();
}

/* As the library: blocks unless O_NONBLOCK is set. */
static int wait_fd(int fd) {
  uint64_t one;
  return read(fd, &one, sizeof one) == sizeof one ? 0 : -1;
}

/* For tests: an event of a queue on its channel. */
void echo_cq_event(struct ibv_cq *cq) {
  cq_events[cq_event_count].channel = cq->channel;
  cq_events[cq_event_count++].cq = cq;
  signal_fd(cq->channel->fd);
}

/* For tests: the descriptor of asynchronous events, which a context has none of otherwise. */
void echo_open_async(struct ibv_context *context) {
  context->async_fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
}

/* For tests: an asynchronous event. */
void echo_async_event(struct ibv_context *context, int type, uint64_t element) {
  async_events[async_event_count].context = context;
  async_events[async_event_count].event.event_type = type;
  memcpy(&async_events[async_event_count++].event.element, &element, sizeof element);
  signal_fd(context->async_fd);
}

static void close_async(struct ibv_context *context) {
  if (context->async_fd >= 0) close(context->async_fd);
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event) {
  int entry_errno = errno, result;
  op("get_async_event");
  ADDRESS("context", context);
  if (scripted("get_async_event", &result, entry_errno)) return result;
  errno = entry_errno;
  if (wait_fd(context->async_fd) != 0) return -1;
  for (size_t i = 0; i < async_event_count; i++) {
    if (async_events[i].context != context) continue;
    *event = async_events[i].event;
    async_events[i] = async_events[--async_event_count];
    errno = NOISE;
    return 0;
  }
  abort();
}

void ibv_ack_async_event(struct ibv_async_event *event) {
  op("ack_async_event");
  NUMBER(event, event_type);
  ADDRESS("element", event->element.cq);
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context) {
  int entry_errno = errno, result;
  op("get_cq_event");
  ADDRESS("channel", channel);
  if (scripted("get_cq_event", &result, entry_errno)) return result;
  errno = entry_errno;
  if (wait_fd(channel->fd) != 0) return -1;
  for (size_t i = 0; i < cq_event_count; i++) {
    if (cq_events[i].channel != channel) continue;
    *cq = cq_events[i].cq;
    *cq_context = (*cq)->cq_context;
    cq_events[i] = cq_events[--cq_event_count];
    errno = NOISE;
    return 0;
  }
  abort();
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents) {
  op("ack_cq_events");
  ADDRESS("cq", cq);
  field("nevents", "%u", nevents);
}

/* Channels and queues. */

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context) {
  int entry_errno = errno;
  op("create_comp_channel");
  ADDRESS("context", context);
  struct ibv_comp_channel *channel = object("create_comp_channel", entry_errno, sizeof *channel);
  if (channel) {
    channel->context = context;
    channel->fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
  }
  return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel) {
  int entry_errno = errno, fd = channel->fd;
  op("destroy_comp_channel");
  ADDRESS("channel", channel);
  field("non_blocking", "%d", (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
  NUMBER(channel, refcnt);
  if (channel->refcnt > 0) return EBUSY;
  int result = release("destroy_comp_channel", entry_errno, channel);
  if (result == 0) close(fd);
  return result;
}

static void fill_cq(struct ibv_cq *cq, struct ibv_context *context, void *cq_context, struct ibv_comp_channel *channel,
                    int cqe) {
  cq->context = context;
  cq->channel = channel;
  cq->cq_context = cq_context;
  cq->cqe = cqe;
  if (channel) channel->refcnt++;
}

/* Room is given in pieces of 16. */
static int room(int cqe) {
  return (cqe + 15) / 16 * 16;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context, struct ibv_comp_channel *channel,
                             int comp_vector) {
  int entry_errno = errno;
  op("create_cq");
  ADDRESS("context", context);
  field("cqe", "%d", cqe);
  ADDRESS("cq_context", cq_context);
  ADDRESS("channel", channel);
  field("comp_vector", "%d", comp_vector);
  struct ibv_cq *cq = object("create_cq", entry_errno, sizeof *cq);
  if (cq) fill_cq(cq, context, cq_context, channel, room(cqe));
  return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq) {
  int entry_errno = errno;
  struct ibv_comp_channel *channel = cq->channel;
  op("destroy_cq");
  ADDRESS("cq", cq);
  int result = release("destroy_cq", entry_errno, cq);
  if (result == 0 && channel) channel->refcnt--;
  if (result == EIO) live--; /* the device is gone: kept for ever */
  return result;
}

int ibv_resize_cq(struct ibv_cq *cq, int cqe) {
  int entry_errno = errno;
  op("resize_cq");
  ADDRESS("cq", cq);
  field("cqe", "%d", cqe);
  int result = number("resize_cq", entry_errno, 0);
  if (result == 0) cq->cqe = room(cqe);
  return result;
}

static int modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr) {
  int entry_errno = errno;
  op("modify_cq");
  ADDRESS("cq", cq);
  NUMBER(attr, attr_mask);
  NUMBER(attr, moderate.cq_count);
  NUMBER(attr, moderate.cq_period);
  return number("modify_cq", entry_errno, 0);
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only) {
  int entry_errno = errno;
  op("req_notify_cq");
  ADDRESS("cq", cq);
  field("solicited_only", "%d", solicited_only);
  return number("req_notify_cq", entry_errno, 0);
}

/* Extended queues: `completions` of them wait, every other one has failed. */

static int completions, at;
static bool polling;

/* For tests: so many completions are in every extended queue. */
void echo_completions(int count) {
  completions = count;
  at = 0;
}

static int start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr) {
  int entry_errno = errno;
  op("start_poll");
  ADDRESS("cq", cq);
  NUMBER(attr, comp_mask);
  if (polling) abort();
  int result = number("start_poll", entry_errno, at < completions ? 0 : ENOENT);
  if (result != 0) return result;
  polling = true;
  cq->wr_id = 0xfedcba9876543210ULL + at;
  cq->status = at % 2 ? IBV_WC_REM_ACCESS_ERR : IBV_WC_SUCCESS;
  return 0;
}

static void end_poll(struct ibv_cq_ex *cq) {
  op("end_poll");
  ADDRESS("cq", cq);
  if (!polling) abort();
  polling = false;
  at++;
}

#define READ(type, name, value)                         \
  static type read_##name(struct ibv_cq_ex *cq) {       \
    if (!polling || (cq->status && !is_valid(#name))) { \
      fprintf(stderr, "echo: " #name " was read\n");    \
      abort();                                          \
    }                                                   \
    return value;                                       \
  }

/* Of a completion that failed. */
static bool is_valid(const char *name) {
  return strcmp(name, "vendor_err") == 0 || strcmp(name, "qp_num") == 0;
}

static __be32 wire(uint8_t first) {
  uint8_t network[4] = {first, 0x22, 0x33, 0x44};
  __be32 word;
  memcpy(&word, network, 4);
  return word;
}

READ(enum ibv_wc_opcode, opcode, at == 0 ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV)
READ(uint32_t, vendor_err, 0x8badf00d)
READ(uint32_t, byte_len, 0x80000001)
READ(__be32, imm_data, at == 0 ? wire(0x91) : (__be32)0xcafe0001)
READ(uint32_t, qp_num, 0xabcdef)
READ(uint32_t, src_qp, 0x123456)
READ(unsigned int, wc_flags, at == 0 ? IBV_WC_GRH | IBV_WC_WITH_IMM : at == 2 ? IBV_WC_WITH_INV : 0)
READ(uint32_t, slid, 0x80001)
READ(uint8_t, sl, 15)
READ(uint8_t, dlid_path_bits, 0xfe)
READ(uint64_t, completion_ts, at == 0 ? 0x8123456789abcdefULL : 7)
READ(uint16_t, cvlan, 0xfedc)
READ(uint32_t, flow_tag, 0xdeadbeef)
READ(uint64_t, completion_wallclock_ns, 1700000000123456789ULL)

static void read_tm_info(struct ibv_cq_ex *cq, struct ibv_wc_tm_info *info) {
  if (!polling || cq->status) abort();
  info->tag = 0xf123456789abcdefULL;
  info->priv = 0x87654321;
}

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr) {
  int entry_errno = errno;
  uint64_t flags = attr->wc_flags;
  op("create_cq_ex");
  ADDRESS("context", context);
  NUMBER(attr, cqe);
  ADDRESS("cq_context", attr->cq_context);
  ADDRESS("channel", attr->channel);
  NUMBER(attr, comp_vector);
  NUMBER(attr, wc_flags);
  NUMBER(attr, comp_mask);
  NUMBER(attr, flags);
  ADDRESS("parent_domain", attr->parent_domain);
  struct ibv_cq_ex *cq = object("create_cq_ex", entry_errno, sizeof *cq);
  if (!cq) return NULL;
  fill_cq(ibv_cq_ex_to_cq(cq), context, attr->cq_context, attr->channel, room(attr->cqe));
  cq->start_poll = start_poll;
  cq->next_poll = (void *)trap; /* providers differ in what is to be ended after its ENOENT */
  cq->end_poll = end_poll;
  cq->read_opcode = read_opcode;
  cq->read_vendor_err = read_vendor_err;
  cq->read_wc_flags = read_wc_flags;
  /* What the flags do not ask for is NULL. */
  if (flags & IBV_WC_EX_WITH_BYTE_LEN) cq->read_byte_len = read_byte_len;
  if (flags & IBV_WC_EX_WITH_IMM) cq->read_imm_data = read_imm_data;
  if (flags & IBV_WC_EX_WITH_QP_NUM) cq->read_qp_num = read_qp_num;
  if (flags & IBV_WC_EX_WITH_SRC_QP) cq->read_src_qp = read_src_qp;
  if (flags & IBV_WC_EX_WITH_SLID) cq->read_slid = read_slid;
  if (flags & IBV_WC_EX_WITH_SL) cq->read_sl = read_sl;
  if (flags & IBV_WC_EX_WITH_DLID_PATH_BITS) cq->read_dlid_path_bits = read_dlid_path_bits;
  if (flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP) cq->read_completion_ts = read_completion_ts;
  if (flags & IBV_WC_EX_WITH_CVLAN) cq->read_cvlan = read_cvlan;
  if (flags & IBV_WC_EX_WITH_FLOW_TAG) cq->read_flow_tag = read_flow_tag;
  if (flags & IBV_WC_EX_WITH_TM_INFO) cq->read_tm_info = read_tm_info;
  if (flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK) {
    cq->read_completion_wallclock_ns = read_completion_wallclock_ns;
  }
  return cq;
}

static void provide_completion(struct verbs_context *core) {
  core->create_cq_ex = create_cq_ex;
  core->modify_cq = modify_cq;
}

/* Completion counters, which came after version 44 of rdma-core: declared here, in the names of the library. */

#ifndef OLD_LIBRARY
struct counter {
  struct ibv_context *context;
  uint32_t handle;
  uint64_t value, errors;
};

struct counter_attr {
  uint32_t comp_mask;
  uint32_t type;
  uint32_t flags;
};

struct counter_caps {
  uint64_t max_value;
  uint32_t max_counters;
  uint32_t supported_qp_attach_ops;
};

struct attach_attr {
  uint32_t comp_mask;
  uint32_t op_mask;
};

int echo_counter_caps(struct ibv_context *, struct counter_caps *, size_t) __asm__("_ibv_query_comp_cntr_caps");
struct counter *echo_counter(struct ibv_context *, struct counter_attr *) __asm__("ibv_create_comp_cntr");
int echo_counter_destroy(struct counter *) __asm__("ibv_destroy_comp_cntr");
int echo_counter_set(struct counter *, uint64_t) __asm__("ibv_set_comp_cntr");
int echo_counter_set_err(struct counter *, uint64_t) __asm__("ibv_set_err_comp_cntr");
int echo_counter_inc(struct counter *, uint64_t) __asm__("ibv_inc_comp_cntr");
int echo_counter_inc_err(struct counter *, uint64_t) __asm__("ibv_inc_err_comp_cntr");
int echo_counter_read(struct counter *, uint64_t *) __asm__("ibv_read_comp_cntr");
int echo_counter_read_err(struct counter *, uint64_t *) __asm__("ibv_read_err_comp_cntr");
int echo_counter_attach(struct ibv_qp *, struct counter *, struct attach_attr *) __asm__("ibv_qp_attach_comp_cntr");

int echo_counter_caps(struct ibv_context *context, struct counter_caps *caps, size_t size) {
  int entry_errno = errno;
  op("query_comp_cntr_caps");
  ADDRESS("context", context);
  field("size", "%zu", size);
  caps->max_value = 0xfffffffffffffffeULL;
  caps->max_counters = 0x80000003;
  caps->supported_qp_attach_ops = 0x3f;
  return number("query_comp_cntr_caps", entry_errno, 0);
}

struct counter *echo_counter(struct ibv_context *context, struct counter_attr *attr) {
  int entry_errno = errno;
  op("create_comp_cntr");
  ADDRESS("context", context);
  NUMBER(attr, comp_mask);
  NUMBER(attr, type);
  NUMBER(attr, flags);
  struct counter *counter = object("create_comp_cntr", entry_errno, sizeof *counter);
  if (counter) counter->context = context;
  return counter;
}

int echo_counter_destroy(struct counter *counter) {
  int entry_errno = errno;
  op("destroy_comp_cntr");
  ADDRESS("counter", counter);
  return release("destroy_comp_cntr", entry_errno, counter);
}

#define CHANGE(function, name, statement)                        \
  int function(struct counter *counter, uint64_t amount) {       \
    int entry_errno = errno;                                     \
    op(name);                                                    \
    ADDRESS("counter", counter);                                 \
    field("amount", "%llu", (unsigned long long)amount);         \
    int result = number(name, entry_errno, 0);                   \
    if (result == 0) statement;                                  \
    return result;                                               \
  }

CHANGE(echo_counter_set, "set_comp_cntr", counter->value = amount)
CHANGE(echo_counter_set_err, "set_err_comp_cntr", counter->errors = amount)
CHANGE(echo_counter_inc, "inc_comp_cntr", counter->value += amount)
CHANGE(echo_counter_inc_err, "inc_err_comp_cntr", counter->errors += amount)

int echo_counter_read(struct counter *counter, uint64_t *value) {
  int entry_errno = errno;
  op("read_comp_cntr");
  ADDRESS("counter", counter);
  *value = counter->value;
  return number("read_comp_cntr", entry_errno, 0);
}

int echo_counter_read_err(struct counter *counter, uint64_t *value) {
  int entry_errno = errno;
  op("read_err_comp_cntr");
  ADDRESS("counter", counter);
  *value = counter->errors;
  return number("read_err_comp_cntr", entry_errno, 0);
}

int echo_counter_attach(struct ibv_qp *qp, struct counter *counter, struct attach_attr *attr) {
  int entry_errno = errno;
  op("qp_attach_comp_cntr");
  ADDRESS("qp", qp);
  ADDRESS("counter", counter);
  NUMBER(attr, comp_mask);
  NUMBER(attr, op_mask);
  return number("qp_attach_comp_cntr", entry_errno, 0);
}
#endif
