/*
 * The echo provider: it stands in for libibverbs and its drivers where no kernel can help. Compiled by the ABI test
 * against the real headers, it reports as JSON every field that it was given as the C compiler reads it, fills what it
 * gives back with known values, and fails as a test scripted it.
 *
 * Load it in place of libibverbs.so.1. Its devices echo0, echo1, … are the flavours below. Not thread safe.
 * With -DOLD_LIBRARY it lacks the exported functions that came to libibverbs last.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#undef ibv_query_port

enum flavour {
  RDMA_CORE,     /* as rdma-core of the headers: every operation of verbs_context */
  MLNX_OFED,     /* as MLNX_OFED 4: the experimental operations below a short verbs_context */
  OLD_RDMA_CORE, /* a verbs_context that ends above the thread domains */
  LEGACY,        /* no verbs_context at all */
  EMPTY_MLNX,    /* as MLNX_OFED 4, but the provider has no resource domains */
  FLAVOURS
};

/* What the headers of MLNX_OFED declare; its verbs_context has 104 bytes below the context. */
struct ibv_exp_res_domain {
  struct ibv_context *context;
};

struct ibv_exp_res_domain_init_attr {
  uint32_t comp_mask;
  enum { THREAD_SAFE, THREAD_UNSAFE, THREAD_SINGLE } thread_model;
  enum { MSG_DEFAULT, MSG_LOW_LATENCY, MSG_HIGH_BW, MSG_FORCE_LOW_LATENCY } msg_model;
};

struct ibv_exp_destroy_res_domain_attr {
  uint32_t comp_mask;
};

struct verbs_context_exp {
  void (*lower[27])(void);
  struct ibv_exp_res_domain *(*exp_create_res_domain)(struct ibv_context *, struct ibv_exp_res_domain_init_attr *);
  int (*exp_destroy_res_domain)(struct ibv_context *, struct ibv_exp_res_domain *,
                                struct ibv_exp_destroy_res_domain_attr *);
  void (*upper[50])(void);
  size_t sz;
};

struct mlnx_verbs_context {
  void (*operations[11])(void);
  uint64_t has_comp_mask;
  size_t sz;
  struct ibv_context context;
};

_Static_assert(sizeof(struct verbs_context_exp) == 640, "experimental context");
_Static_assert(offsetof(struct mlnx_verbs_context, context) == 104, "MLNX context");

#define HAS_EXPERIMENTAL (1ULL << 62)
#define NOISE 93 /* what a successful call may leave in errno */

/* The reports: an object of JSON in a line for each call, the last one at `start`. */

static char reports[1 << 20];
static size_t start, used;

static void vput(const char *format, va_list arguments) {
  int written = vsnprintf(reports + used, sizeof reports - used, format, arguments);
  if (written < 0 || (size_t)written >= sizeof reports - used) abort();
  used += written;
}

static void put(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vput(format, arguments);
  va_end(arguments);
}

static void op(const char *name) {
  if (used > sizeof reports - 4096) used = 0; /* nobody asks for them */
  if (used) put("\n");
  start = used;
  put("{\"op\":\"%s\"}", name);
}

static void field(const char *name, const char *format, ...) {
  va_list arguments;
  used--; /* the closing brace */
  put(",\"%s\":\"", name);
  va_start(arguments, format);
  vput(format, arguments);
  va_end(arguments);
  put("\"}");
}

/* 64-bit numbers do not fit into those of JSON: every value is a string. */
#define NUMBER(struct_pointer, member) field(#member, "%lld", (long long)(struct_pointer)->member)
#define ADDRESS(name, pointer) field(name, "%llu", (unsigned long long)(uintptr_t)(pointer))

static void bytes(const char *name, const void *data, size_t size) {
  char hex[2 * 64 + 1] = "";
  for (size_t i = 0; i < size && i < 64; i++) sprintf(hex + 2 * i, "%02x", ((const uint8_t *)data)[i]);
  field(name, "%s", hex);
}

/* The script: what the next call of an operation returns. */

static struct {
  char op[40];
  int result;
  int errnum;
  int after; /* so many calls succeed before */
  bool armed;
} script[64];

static int live;

static bool scripted(const char *name, int *result, int entry_errno) {
  errno = entry_errno;
  for (size_t i = 0; i < sizeof script / sizeof *script; i++) {
    if (script[i].armed && strcmp(script[i].op, name) == 0) {
      if (script[i].after-- > 0) break;
      script[i].armed = false;
      if (script[i].errnum) errno = script[i].errnum;
      *result = script[i].result;
      return true;
    }
  }
  errno = NOISE;
  return false;
}

static int number(const char *name, int entry_errno, int success) {
  int result;
  return scripted(name, &result, entry_errno) ? result : success;
}

static bool is_recycling;
static void *spare;

/* For tests: the next object that is made stands where the next one that is released stood; both are of one kind. */
void echo_recycle(void) {
  is_recycling = true;
}

static void *object(const char *name, int entry_errno, size_t size) {
  int result;
  if (scripted(name, &result, entry_errno)) return NULL;
  live++;
  if (!spare) return calloc(1, size);
  if (malloc_usable_size(spare) < size) abort();
  void *made = memset(spare, 0, size);
  spare = NULL;
  return made;
}

static int release(const char *name, int entry_errno, void *object) {
  int result;
  if (scripted(name, &result, entry_errno)) return result;
  live--;
  if (is_recycling)
    spare = object;
  else
    free(object);
  is_recycling = false;
  return 0;
}

/* What stands in every slot that must not be called. */
static void trap(void) {
  op("trap");
  fprintf(stderr, "echo: a slot that does not exist was called\n");
  abort();
}

/* What the provider writes. */

static void fill_ah_attr(struct ibv_ah_attr *attr, const struct ibv_wc *wc) {
  memset(attr, 0, sizeof *attr);
  for (int i = 0; i < 16; i++) attr->grh.dgid.raw[i] = 0xd0 + i;
  attr->grh.flow_label = 0xabcde;
  attr->grh.sgid_index = 253;
  attr->grh.hop_limit = 64;
  attr->grh.traffic_class = 5;
  attr->dlid = 0x1234;
  attr->sl = 6;
  attr->src_path_bits = 7;
  attr->static_rate = IBV_RATE_100_GBPS;
  attr->is_global = wc->wc_flags & IBV_WC_GRH ? 1 : 0;
  attr->port_num = 2;
}

static void fill_port(struct ibv_port_attr *attr) {
  attr->state = IBV_PORT_ACTIVE;
  attr->max_mtu = IBV_MTU_4096;
  attr->active_mtu = IBV_MTU_1024;
  attr->gid_tbl_len = 17;
  attr->port_cap_flags = 0x81234567;
  attr->max_msg_sz = 1u << 31;
  attr->bad_pkey_cntr = 19;
  attr->qkey_viol_cntr = 20;
  attr->pkey_tbl_len = 128;
  attr->lid = 0x1111;
  attr->sm_lid = 0x2222;
  attr->lmc = 7;
  attr->max_vl_num = 10;
  attr->sm_sl = 11;
  attr->subnet_timeout = 18;
  attr->init_type_reply = 6;
  attr->active_width = 2;
  attr->active_speed = 32;
  attr->phys_state = 5;
  attr->link_layer = IBV_LINK_LAYER_INFINIBAND;
  attr->flags = 9;
  attr->port_cap_flags2 = 0x8002;
}

static void fill_device(struct ibv_device_attr *attr) {
  static const uint8_t node[8] = {0, 2, 0xc9, 3, 0, 1, 2, 3}, image[8] = {0, 2, 0xc9, 3, 0, 1, 2, 6};
  memset(attr, 0, sizeof *attr);
  strcpy(attr->fw_ver, "20.31.1014");
  memcpy(&attr->node_guid, node, 8);
  memcpy(&attr->sys_image_guid, image, 8);
  attr->max_mr_size = ~0ULL;
  attr->page_size_cap = 0xfffffffffffff000ULL;
  attr->vendor_id = 0x2c9;
  attr->vendor_part_id = 4123;
  attr->hw_ver = 1000;
  attr->max_qp = 1001;
  attr->max_qp_wr = 1002;
  attr->device_cap_flags = 0xed721c36;
  attr->max_sge = 1003;
  attr->max_sge_rd = 1004;
  attr->max_cq = 1005;
  attr->max_cqe = 1006;
  attr->max_mr = 1007;
  attr->max_pd = 1008;
  attr->max_qp_rd_atom = 1009;
  attr->max_ee_rd_atom = 1010;
  attr->max_res_rd_atom = 1011;
  attr->max_qp_init_rd_atom = 1012;
  attr->max_ee_init_rd_atom = 1013;
  attr->atomic_cap = IBV_ATOMIC_HCA;
  attr->max_ee = 1014;
  attr->max_rdd = 1015;
  attr->max_mw = 1016;
  attr->max_raw_ipv6_qp = 1017;
  attr->max_raw_ethy_qp = 1018;
  attr->max_mcast_grp = 1019;
  attr->max_mcast_qp_attach = 1020;
  attr->max_total_mcast_qp_attach = 1021;
  attr->max_ah = 1022;
  attr->max_fmr = 1023;
  attr->max_map_per_fmr = 1024;
  attr->max_srq = 1025;
  attr->max_srq_wr = 1026;
  attr->max_srq_sge = 1027;
  attr->max_pkeys = 128;
  attr->local_ca_ack_delay = 15;
  attr->phys_port_cnt = 2;
}

static void fill_gid(struct ibv_gid_entry *entry, uint32_t port, uint32_t index, uint32_t type) {
  memset(entry, 0, sizeof *entry);
  for (int i = 0; i < 14; i++) entry->gid.raw[i] = 0xe0 + i;
  entry->gid.raw[14] = port;
  entry->gid.raw[15] = index;
  entry->gid_index = index;
  entry->port_num = port;
  entry->gid_type = type;
  entry->ndev_ifindex = 0x80000000u + port + index;
}

/* What the provider reads. */

static void report_ah_attr(const struct ibv_ah_attr *attr) {
  bytes("dgid", attr->grh.dgid.raw, 16);
  NUMBER(attr, grh.flow_label);
  NUMBER(attr, grh.sgid_index);
  NUMBER(attr, grh.hop_limit);
  NUMBER(attr, grh.traffic_class);
  NUMBER(attr, dlid);
  NUMBER(attr, sl);
  NUMBER(attr, src_path_bits);
  NUMBER(attr, static_rate);
  NUMBER(attr, is_global);
  NUMBER(attr, port_num);
}

static void report_received(uint8_t port_num, const struct ibv_wc *wc, const struct ibv_grh *grh) {
  field("port_num", "%u", port_num);
  field("wr_id", "%llu", (unsigned long long)wc->wr_id);
  NUMBER(wc, status);
  NUMBER(wc, opcode);
  NUMBER(wc, vendor_err);
  NUMBER(wc, byte_len);
  bytes("imm_data", &wc->imm_data, 4);
  NUMBER(wc, qp_num);
  NUMBER(wc, src_qp);
  NUMBER(wc, wc_flags);
  NUMBER(wc, pkey_index);
  NUMBER(wc, slid);
  NUMBER(wc, sl);
  NUMBER(wc, dlid_path_bits);
  if (grh) bytes("grh", grh, sizeof *grh);
}

/* The operations of a context. */

static struct ibv_td *alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr) {
  int entry_errno = errno;
  op("alloc_td");
  ADDRESS("context", context);
  NUMBER(attr, comp_mask);
  struct ibv_td *td = object("alloc_td", entry_errno, sizeof *td);
  if (td) td->context = context;
  return td;
}

static int dealloc_td(struct ibv_td *td) {
  int entry_errno = errno;
  op("dealloc_td");
  ADDRESS("td", td);
  ADDRESS("context", td->context);
  return release("dealloc_td", entry_errno, td);
}

static struct ibv_pd *alloc_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr) {
  int entry_errno = errno;
  op("alloc_parent_domain");
  ADDRESS("context", context);
  ADDRESS("pd", attr->pd);
  ADDRESS("td", attr->td);
  NUMBER(attr, comp_mask);
  ADDRESS("alloc", attr->alloc);
  ADDRESS("free", attr->free);
  ADDRESS("pd_context", attr->pd_context);
  struct ibv_pd *pd = object("alloc_parent_domain", entry_errno, sizeof *pd);
  if (pd) pd->context = context;
  return pd;
}

static int query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr, size_t length) {
  int entry_errno = errno;
  /* As the newest library: with active_speed_ex, which the headers may lack. */
  union {
    struct ibv_port_attr attr;
    struct {
      uint8_t old[52];
      uint32_t active_speed_ex;
    } wide;
  } full;
  op("query_port");
  ADDRESS("context", context);
  field("port_num", "%u", port_num);
  field("length", "%zu", length);
  memset(attr, 0, length);
  memset(&full, 0, sizeof full);
  fill_port(&full.attr);
  full.wide.active_speed_ex = 0x89abcdef;
  memcpy(attr, &full, length < sizeof full ? length : sizeof full);
  return number("query_port", entry_errno, 0);
}

static struct ibv_exp_res_domain *exp_create_res_domain(struct ibv_context *context,
                                                        struct ibv_exp_res_domain_init_attr *attr) {
  int entry_errno = errno;
  op("exp_create_res_domain");
  ADDRESS("context", context);
  NUMBER(attr, comp_mask);
  NUMBER(attr, thread_model);
  NUMBER(attr, msg_model);
  struct ibv_exp_res_domain *domain = object("exp_create_res_domain", entry_errno, sizeof *domain);
  if (domain) domain->context = context;
  return domain;
}

static int exp_destroy_res_domain(struct ibv_context *context, struct ibv_exp_res_domain *domain,
                                  struct ibv_exp_destroy_res_domain_attr *attr) {
  int entry_errno = errno;
  op("exp_destroy_res_domain");
  ADDRESS("context", context);
  ADDRESS("domain", domain);
  ADDRESS("attr", attr);
  if (attr) NUMBER(attr, comp_mask);
  return release("exp_destroy_res_domain", entry_errno, domain);
}

#include "echo_steering.h"

/* Memory. */

static struct ibv_device *device(enum flavour flavour);
static struct ibv_context *make_context(struct ibv_device *of);

#include "echo_memory.h"

#include "echo_queues.h"

#include "echo_completion.h"

#include "echo_data.h"

#include "echo_rdmacm.h"

#include "echo_umad.h"

/* Contexts. Below one is only what its flavour has, with traps in the slots that must not be called, and below that a
   page that cannot be read. */

#define OLD_SIZE (sizeof(struct verbs_context) - offsetof(struct verbs_context, modify_cq))

static const size_t below[FLAVOURS] = {
  [RDMA_CORE] = offsetof(struct verbs_context, context),
  [MLNX_OFED] = offsetof(struct mlnx_verbs_context, context) + sizeof(struct verbs_context_exp),
  [OLD_RDMA_CORE] = OLD_SIZE - sizeof(struct ibv_context),
  [LEGACY] = 0,
  [EMPTY_MLNX] = offsetof(struct mlnx_verbs_context, context) + sizeof(struct verbs_context_exp),
};

static struct ibv_device devices[FLAVOURS];

static struct ibv_device *device(enum flavour flavour) {
  static const enum ibv_node_type nodes[] = {IBV_NODE_CA, IBV_NODE_SWITCH, IBV_NODE_RNIC, IBV_NODE_USNIC_UDP,
                                             IBV_NODE_UNKNOWN};
  static const enum ibv_transport_type transports[] = {IBV_TRANSPORT_IB, IBV_TRANSPORT_UNSPECIFIED, IBV_TRANSPORT_IWARP,
                                                       IBV_TRANSPORT_USNIC_UDP, IBV_TRANSPORT_UNKNOWN};
  struct ibv_device *device = &devices[flavour];
  device->node_type = nodes[flavour];
  device->transport_type = transports[flavour];
  sprintf(device->name, "echo%d", flavour);
  sprintf(device->dev_name, "uverbs%d", flavour);
  sprintf(device->dev_path, "/sys/class/infiniband_verbs/uverbs%d", flavour);
  sprintf(device->ibdev_path, "/sys/class/infiniband/echo%d", flavour);
  return device;
}

static size_t page(void) {
  return sysconf(_SC_PAGESIZE);
}

static struct ibv_context *make_context(struct ibv_device *of) {
  enum flavour flavour = of - devices;
  char *pages = mmap(NULL, 2 * page(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || mprotect(pages, page(), PROT_NONE) != 0) abort();
  struct ibv_context *context = (void *)(pages + page() + below[flavour]);
  for (void (**slot)(void) = (void *)(pages + page()); (void *)slot < (void *)context; slot++) *slot = trap;
  context->device = of;
  context->cmd_fd = -1;
  context->async_fd = -1;
  context->num_comp_vectors = 4;
  context->ops.req_notify_cq = (void *)req_notify_cq;
  echo_provide_data(context);
  context->abi_compat = (void *)(uintptr_t)-1;

  struct verbs_context *core = (void *)((char *)context - offsetof(struct verbs_context, context));
  struct mlnx_verbs_context *mlnx = (void *)((char *)context - offsetof(struct mlnx_verbs_context, context));
  struct verbs_context_exp *experimental = (struct verbs_context_exp *)mlnx - 1;
  switch (flavour) {
  case RDMA_CORE:
    core->sz = sizeof *core;
    core->_ABI_placeholder3 = 0;
    core->alloc_td = alloc_td;
    core->dealloc_td = dealloc_td;
    core->alloc_parent_domain = alloc_parent_domain;
    core->query_port = query_port;
    provide_memory(core);
    provide_queues(core);
    set_steering(core);
    provide_completion(core);
    break;
  case OLD_RDMA_CORE:
    core->sz = OLD_SIZE;
    core->_ABI_placeholder3 = 0;
    break;
  case LEGACY:
    legacy_provide_data(context);
    context->abi_compat = NULL;
    break;
  default:
    mlnx->sz = sizeof *mlnx;
    mlnx->has_comp_mask = HAS_EXPERIMENTAL | 1;
    experimental->sz = sizeof *experimental;
    experimental->exp_create_res_domain = flavour == MLNX_OFED ? exp_create_res_domain : NULL;
    experimental->exp_destroy_res_domain = flavour == MLNX_OFED ? exp_destroy_res_domain : NULL;
  }
  return context;
}

static void free_context(struct ibv_context *context) {
  enum flavour flavour = context->device - devices;
  close_async(context);
  munmap((char *)context - below[flavour] - page(), 2 * page());
}

/* For tests. */

struct ibv_context *echo_open(int flavour) {
  return make_context(device(flavour));
}

void echo_close(struct ibv_context *context) {
  free_context(context);
}

/*
 * After `after` more calls, a call of an operation fails: one that makes an object returns NULL, the others `result`.
 * errno becomes `errnum`; 0 leaves it as it is. Operations are named as in C without "ibv_".
 */
int echo_script(const char *name, int result, int errnum, int after) {
  for (size_t i = 0; i < sizeof script / sizeof *script; i++) {
    if (script[i].armed) continue;
    snprintf(script[i].op, sizeof script[i].op, "%s", name);
    script[i].result = result;
    script[i].errnum = errnum;
    script[i].after = after;
    script[i].armed = true;
    return 0;
  }
  return -1;
}

/* How many scripted failures are still to come. */
int echo_armed(void) {
  int count = 0;
  for (size_t i = 0; i < sizeof script / sizeof *script; i++) count += script[i].armed;
  return count;
}

static int copy(char *text, size_t size, size_t from) {
  if (used - from > size) return -1;
  memcpy(text, reports + from, used - from);
  return used - from;
}

/* The last call as a JSON object of strings; returns its length, or -1 when it does not fit. */
int echo_last(char *text, size_t size) {
  return copy(text, size, start);
}

/* The calls since this was asked last, one in a line; returns their length, or -1 when they do not fit. */
int echo_calls(char *text, size_t size) {
  int length = copy(text, size, 0);
  start = used = 0;
  return length;
}

/* How many contexts, lists and objects are not released. */
int echo_live(void) {
  return live;
}

/* Forgets what is alive, what is scripted and what has completed, so that a failed test spoils no other. */
void echo_reset(void) {
  live = 0;
  ended_count = 0;
  memset(script, 0, sizeof script);
}

/* The exported functions of libibverbs. */

struct ibv_device **ibv_get_device_list(int *count) {
  int entry_errno = errno;
  op("get_device_list");
  struct ibv_device **list = object("get_device_list", entry_errno, (FLAVOURS + 1) * sizeof *list);
  for (int i = 0; list && i < FLAVOURS; i++) list[i] = device(i);
  if (count) *count = list ? FLAVOURS : 0;
  return list;
}

void ibv_free_device_list(struct ibv_device **list) {
  op("free_device_list");
  ADDRESS("list", list);
  live--;
  free(list);
}

const char *ibv_get_device_name(struct ibv_device *of) {
  return of->name;
}

__be64 ibv_get_device_guid(struct ibv_device *of) {
  struct ibv_device_attr attr;
  fill_device(&attr);
  ((uint8_t *)&attr.node_guid)[7] += of - devices;
  return attr.node_guid;
}

#ifndef OLD_LIBRARY
/* The kernel gives the last device none. */
int ibv_get_device_index(struct ibv_device *of) {
  return of == &devices[FLAVOURS - 1] ? -1 : 10 + (int)(of - devices);
}
#endif

struct ibv_context *ibv_open_device(struct ibv_device *of) {
  int entry_errno = errno, result;
  op("open_device");
  ADDRESS("device", of);
  if (scripted("open_device", &result, entry_errno)) return NULL;
  live++;
  return make_context(of);
}

int ibv_close_device(struct ibv_context *context) {
  int entry_errno = errno, result;
  op("close_device");
  ADDRESS("context", context);
  if (scripted("close_device", &result, entry_errno)) return result;
  if (context->cmd_fd >= 0) close(context->cmd_fd); /* an imported one */
  live--;
  free_context(context);
  return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr) {
  int entry_errno = errno;
  op("query_device");
  ADDRESS("context", context);
  fill_device(attr);
  return number("query_device", entry_errno, 0);
}

/* The exported function knows the old, shorter struct only. */
int ibv_query_port(struct ibv_context *context, uint8_t port_num, struct _compat_ibv_port_attr *attr) {
  int entry_errno = errno;
  struct ibv_port_attr full;
  op("exported_query_port");
  ADDRESS("context", context);
  field("port_num", "%u", port_num);
  fill_port(&full);
  memcpy(attr, &full, offsetof(struct ibv_port_attr, port_cap_flags2));
  return number("exported_query_port", entry_errno, 0);
}

#ifndef OLD_LIBRARY
int ibv_query_port_speed(struct ibv_context *context, uint32_t port_num, uint64_t *port_speed) {
  int entry_errno = errno;
  op("query_port_speed");
  ADDRESS("context", context);
  field("port_num", "%u", port_num);
  *port_speed = 0x8000000000000001;
  return number("query_port_speed", entry_errno, 0);
}
#endif

int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid) {
  int entry_errno = errno;
  struct ibv_gid_entry entry;
  op("query_gid");
  ADDRESS("context", context);
  field("port_num", "%u", port_num);
  field("index", "%d", index);
  fill_gid(&entry, port_num, index, IBV_GID_TYPE_IB);
  *gid = entry.gid;
  return number("query_gid", entry_errno, 0);
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index, struct ibv_gid_entry *entry,
                      uint32_t flags, size_t entry_size) {
  int entry_errno = errno;
  op("query_gid_ex");
  ADDRESS("context", context);
  field("port_num", "%u", port_num);
  field("gid_index", "%u", gid_index);
  field("flags", "%u", flags);
  field("entry_size", "%zu", entry_size);
  fill_gid(entry, port_num, gid_index, IBV_GID_TYPE_ROCE_V2);
  return number("query_gid_ex", entry_errno, 0);
}

#ifndef OLD_LIBRARY
ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max_entries,
                             uint32_t flags, size_t entry_size) {
  static const uint32_t types[] = {IBV_GID_TYPE_IB, IBV_GID_TYPE_ROCE_V1, IBV_GID_TYPE_ROCE_V2, 77};
  int entry_errno = errno;
  op("query_gid_table");
  ADDRESS("context", context);
  field("max_entries", "%zu", max_entries);
  field("flags", "%u", flags);
  field("entry_size", "%zu", entry_size);
  size_t count = max_entries < 4 ? max_entries : 4;
  for (size_t i = 0; i < count; i++) fill_gid(&entries[i], 11 + i, 40 + i, types[i]);
  return number("query_gid_table", entry_errno, count);
}
#endif

int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey) {
  static const uint8_t wire[2] = {0x80, 0x01};
  int entry_errno = errno;
  op("query_pkey");
  ADDRESS("context", context);
  field("port_num", "%u", port_num);
  field("index", "%d", index);
  memcpy(pkey, wire, 2);
  return number("query_pkey", entry_errno, 0);
}

int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey) {
  int entry_errno = errno;
  op("get_pkey_index");
  ADDRESS("context", context);
  field("port_num", "%u", port_num);
  bytes("pkey", &pkey, 2);
  return number("get_pkey_index", entry_errno, 9);
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context) {
  int entry_errno = errno;
  op("alloc_pd");
  ADDRESS("context", context);
  struct ibv_pd *pd = object("alloc_pd", entry_errno, sizeof *pd);
  if (pd) pd->context = context;
  return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd) {
  int entry_errno = errno;
  op("dealloc_pd");
  ADDRESS("pd", pd);
  ADDRESS("context", pd->context);
  return release("dealloc_pd", entry_errno, pd);
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr) {
  int entry_errno = errno;
  op("create_ah");
  ADDRESS("pd", pd);
  report_ah_attr(attr);
  struct ibv_ah *ah = object("create_ah", entry_errno, sizeof *ah);
  if (ah) {
    ah->context = pd->context;
    ah->pd = pd;
  }
  return ah;
}

int ibv_destroy_ah(struct ibv_ah *ah) {
  int entry_errno = errno;
  op("destroy_ah");
  ADDRESS("ah", ah);
  return release("destroy_ah", entry_errno, ah);
}

int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc, struct ibv_grh *grh,
                        struct ibv_ah_attr *attr) {
  int entry_errno = errno;
  op("init_ah_from_wc");
  ADDRESS("context", context);
  report_received(port_num, wc, grh);
  fill_ah_attr(attr, wc);
  return number("init_ah_from_wc", entry_errno, 0);
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port_num) {
  int entry_errno = errno;
  op("create_ah_from_wc");
  ADDRESS("pd", pd);
  report_received(port_num, wc, grh);
  struct ibv_ah *ah = object("create_ah_from_wc", entry_errno, sizeof *ah);
  if (ah) {
    ah->context = pd->context;
    ah->pd = pd;
  }
  return ah;
}

/* Port 1 is without a VLAN. */
int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr, uint8_t eth_mac[6],
                                uint16_t *vid) {
  int entry_errno = errno;
  op("resolve_eth_l2_from_gid");
  ADDRESS("context", context);
  report_ah_attr(attr);
  for (int i = 0; i < 6; i++) eth_mac[i] = 0xa0 + i;
  *vid = attr->port_num == 1 ? 0xffff : 0xffe;
  return number("resolve_eth_l2_from_gid", entry_errno, 0);
}
