/* Work queues, flows, flow actions, counters and the extended queries of the echo provider; part of echo.c. */

static void report_specification(const char *name, const struct ibv_flow_spec *spec) {
  char key[64];
#define SPEC(format, member) (snprintf(key, sizeof key, "%s.%s", name, #member), field(key, format, spec->member))
#define SPEC_BYTES(member) (snprintf(key, sizeof key, "%s.%s", name, #member), bytes(key, spec->member, sizeof spec->member))
#define PAIR(format, filter, member)                                                                                 \
  (snprintf(key, sizeof key, "%s.val." #member, name), field(key, format, spec->filter.val.member),                  \
   snprintf(key, sizeof key, "%s.mask." #member, name), field(key, format, spec->filter.mask.member))
#define PAIR_BYTES(filter, member)                                                                                   \
  (snprintf(key, sizeof key, "%s.val." #member, name),                                                               \
   bytes(key, &spec->filter.val.member, sizeof spec->filter.val.member),                                             \
   snprintf(key, sizeof key, "%s.mask." #member, name),                                                              \
   bytes(key, &spec->filter.mask.member, sizeof spec->filter.mask.member))
  snprintf(key, sizeof key, "%s.type", name);
  field(key, "%x", spec->hdr.type);
  snprintf(key, sizeof key, "%s.size", name);
  field(key, "%u", spec->hdr.size);
  switch ((unsigned)spec->hdr.type & ~IBV_FLOW_SPEC_INNER) {
  case IBV_FLOW_SPEC_ETH:
    PAIR_BYTES(eth, dst_mac);
    PAIR_BYTES(eth, src_mac);
    PAIR_BYTES(eth, ether_type);
    PAIR_BYTES(eth, vlan_tag);
    break;
  case IBV_FLOW_SPEC_IPV4:
    PAIR_BYTES(ipv4, src_ip);
    PAIR_BYTES(ipv4, dst_ip);
    break;
  case IBV_FLOW_SPEC_IPV4_EXT:
    PAIR_BYTES(ipv4_ext, src_ip);
    PAIR_BYTES(ipv4_ext, dst_ip);
    PAIR("%u", ipv4_ext, proto);
    PAIR("%u", ipv4_ext, tos);
    PAIR("%u", ipv4_ext, ttl);
    PAIR("%u", ipv4_ext, flags);
    break;
  case IBV_FLOW_SPEC_IPV6:
    PAIR_BYTES(ipv6, src_ip);
    PAIR_BYTES(ipv6, dst_ip);
    PAIR_BYTES(ipv6, flow_label);
    PAIR("%u", ipv6, next_hdr);
    PAIR("%u", ipv6, traffic_class);
    PAIR("%u", ipv6, hop_limit);
    break;
  case IBV_FLOW_SPEC_ESP:
    PAIR_BYTES(esp, spi);
    PAIR_BYTES(esp, seq);
    break;
  case IBV_FLOW_SPEC_TCP:
  case IBV_FLOW_SPEC_UDP:
    PAIR_BYTES(tcp_udp, dst_port);
    PAIR_BYTES(tcp_udp, src_port);
    break;
  case IBV_FLOW_SPEC_VXLAN_TUNNEL:
    PAIR_BYTES(tunnel, tunnel_id);
    break;
  case IBV_FLOW_SPEC_GRE:
    PAIR_BYTES(gre, c_ks_res0_ver);
    PAIR_BYTES(gre, protocol);
    PAIR_BYTES(gre, key);
    break;
  case IBV_FLOW_SPEC_MPLS:
    PAIR_BYTES(mpls, label);
    break;
  case IBV_FLOW_SPEC_ACTION_TAG:
    SPEC("%u", flow_tag.tag_id);
    break;
  case IBV_FLOW_SPEC_ACTION_HANDLE:
    snprintf(key, sizeof key, "%s.action", name);
    ADDRESS(key, spec->handle.action);
    break;
  case IBV_FLOW_SPEC_ACTION_COUNT:
    snprintf(key, sizeof key, "%s.counters", name);
    ADDRESS(key, spec->flow_count.counters);
    break;
  }
#undef SPEC
#undef SPEC_BYTES
#undef PAIR
#undef PAIR_BYTES
}

static struct ibv_wq *create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr) {
  int entry_errno = errno;
  op("create_wq");
  ADDRESS("context", context);
  ADDRESS("wq_context", attr->wq_context);
  NUMBER(attr, wq_type);
  NUMBER(attr, max_wr);
  NUMBER(attr, max_sge);
  ADDRESS("pd", attr->pd);
  ADDRESS("cq", attr->cq);
  NUMBER(attr, comp_mask);
  NUMBER(attr, create_flags);
  struct ibv_wq *wq = object("create_wq", entry_errno, sizeof *wq);
  if (wq) {
    /* As of malloc: whoever called has to initialise the rest. */
    memset(wq, 0xa5, sizeof *wq);
    wq->context = context;
    wq->pd = attr->pd;
    wq->cq = attr->cq;
    wq->wq_num = 0x00abcdef;
    wq->state = IBV_WQS_RESET;
    wq->comp_mask = 0;
    attr->max_wr *= 2;
    attr->max_sge += 3;
  }
  return wq;
}

static int modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *attr) {
  int entry_errno = errno;
  op("modify_wq");
  ADDRESS("wq", wq);
  NUMBER(attr, attr_mask);
  NUMBER(attr, wq_state);
  NUMBER(attr, curr_wq_state);
  NUMBER(attr, flags);
  NUMBER(attr, flags_mask);
  return number("modify_wq", entry_errno, 0);
}

static int destroy_wq(struct ibv_wq *wq) {
  int entry_errno = errno;
  op("destroy_wq");
  ADDRESS("wq", wq);
  ADDRESS("context", wq->context);
  ADDRESS("wq_context", wq->wq_context);
  NUMBER(wq, events_completed);
  /* What the library waits on: it would hang or crash on what nobody initialised. */
  int locked = pthread_mutex_trylock(&wq->mutex);
  field("mutex", "%d", locked);
  field("cond", "%d", pthread_cond_signal(&wq->cond));
  if (locked == 0) pthread_mutex_unlock(&wq->mutex);
  return release("destroy_wq", entry_errno, wq);
}

static struct ibv_rwq_ind_table *create_rwq_ind_table(struct ibv_context *context,
                                                      struct ibv_rwq_ind_table_init_attr *attr) {
  int entry_errno = errno;
  op("create_rwq_ind_table");
  ADDRESS("context", context);
  NUMBER(attr, log_ind_tbl_size);
  NUMBER(attr, comp_mask);
  for (int i = 0; i < 1 << attr->log_ind_tbl_size; i++) {
    char key[32];
    snprintf(key, sizeof key, "ind_tbl%d", i);
    ADDRESS(key, attr->ind_tbl[i]);
  }
  struct ibv_rwq_ind_table *table = object("create_rwq_ind_table", entry_errno, sizeof *table);
  if (table) table->context = context;
  return table;
}

static int destroy_rwq_ind_table(struct ibv_rwq_ind_table *table) {
  int entry_errno = errno;
  op("destroy_rwq_ind_table");
  ADDRESS("table", table);
  ADDRESS("context", table->context);
  return release("destroy_rwq_ind_table", entry_errno, table);
}

static struct ibv_flow *create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr) {
  int entry_errno = errno;
  op("create_flow");
  ADDRESS("qp", qp);
  NUMBER(attr, comp_mask);
  NUMBER(attr, type);
  NUMBER(attr, size);
  NUMBER(attr, priority);
  NUMBER(attr, num_of_specs);
  NUMBER(attr, port);
  NUMBER(attr, flags);
  const char *at = (const char *)(attr + 1);
  for (int i = 0; i < attr->num_of_specs; i++) {
    char name[32];
    /* The specifications are not aligned. */
    struct ibv_flow_spec spec;
    uint16_t size;
    memcpy(&size, at + offsetof(struct ibv_flow_spec, hdr.size), sizeof size);
    memset(&spec, 0, sizeof spec);
    memcpy(&spec, at, size);
    snprintf(name, sizeof name, "spec%d", i);
    report_specification(name, &spec);
    at += size;
  }
  field("end", "%d", (int)(at - (const char *)attr));
  struct ibv_flow *flow = object("create_flow", entry_errno, sizeof *flow);
  if (flow) flow->context = qp->context;
  return flow;
}

static int destroy_flow(struct ibv_flow *flow) {
  int entry_errno = errno;
  op("destroy_flow");
  ADDRESS("flow", flow);
  ADDRESS("context", flow->context);
  return release("destroy_flow", entry_errno, flow);
}

static void report_esp(const struct ibv_flow_action_esp_attr *attr) {
  NUMBER(attr, keymat_proto);
  NUMBER(attr, keymat_len);
  NUMBER(attr, replay_proto);
  NUMBER(attr, replay_len);
  ADDRESS("esp_encap", attr->esp_encap);
  NUMBER(attr, comp_mask);
  NUMBER(attr, esn);
  if (attr->esp_attr) {
    NUMBER(attr, esp_attr->spi);
    NUMBER(attr, esp_attr->seq);
    NUMBER(attr, esp_attr->tfc_pad);
    NUMBER(attr, esp_attr->flags);
    field("esp_attr->hard_limit_pkts", "%llu", (unsigned long long)attr->esp_attr->hard_limit_pkts);
  }
  if (attr->keymat_ptr) {
    const struct ibv_flow_action_esp_keymat_aes_gcm *keymat = attr->keymat_ptr;
    field("iv", "%llu", (unsigned long long)keymat->iv);
    NUMBER(keymat, iv_algo);
    NUMBER(keymat, salt);
    NUMBER(keymat, icv_len);
    NUMBER(keymat, key_len);
    bytes("aes_key", keymat->aes_key, sizeof keymat->aes_key);
  }
  if (attr->replay_ptr) {
    const struct ibv_flow_action_esp_replay_bmp *replay = attr->replay_ptr;
    field("replay.size", "%u", replay->size);
  }
}

static struct ibv_flow_action *create_flow_action_esp(struct ibv_context *context,
                                                      struct ibv_flow_action_esp_attr *attr) {
  int entry_errno = errno;
  op("create_flow_action_esp");
  ADDRESS("context", context);
  report_esp(attr);
  struct ibv_flow_action *action = object("create_flow_action_esp", entry_errno, sizeof *action);
  if (action) action->context = context;
  return action;
}

static int modify_flow_action_esp(struct ibv_flow_action *action, struct ibv_flow_action_esp_attr *attr) {
  int entry_errno = errno;
  op("modify_flow_action_esp");
  ADDRESS("action", action);
  report_esp(attr);
  return number("modify_flow_action_esp", entry_errno, 0);
}

static int destroy_flow_action(struct ibv_flow_action *action) {
  int entry_errno = errno;
  op("destroy_flow_action");
  ADDRESS("action", action);
  ADDRESS("context", action->context);
  return release("destroy_flow_action", entry_errno, action);
}

static struct ibv_counters *create_counters(struct ibv_context *context, struct ibv_counters_init_attr *attr) {
  int entry_errno = errno;
  op("create_counters");
  ADDRESS("context", context);
  NUMBER(attr, comp_mask);
  struct ibv_counters *counters = object("create_counters", entry_errno, sizeof *counters);
  if (counters) counters->context = context;
  return counters;
}

static int destroy_counters(struct ibv_counters *counters) {
  int entry_errno = errno;
  op("destroy_counters");
  ADDRESS("counters", counters);
  ADDRESS("context", counters->context);
  return release("destroy_counters", entry_errno, counters);
}

static int attach_counters_point_flow(struct ibv_counters *counters, struct ibv_counter_attach_attr *attr,
                                      struct ibv_flow *flow) {
  int entry_errno = errno;
  op("attach_counters_point_flow");
  ADDRESS("counters", counters);
  NUMBER(attr, counter_desc);
  NUMBER(attr, index);
  NUMBER(attr, comp_mask);
  ADDRESS("flow", flow);
  return number("attach_counters_point_flow", entry_errno, 0);
}

static int read_counters(struct ibv_counters *counters, uint64_t *values, uint32_t count, uint32_t flags) {
  int entry_errno = errno;
  op("read_counters");
  ADDRESS("counters", counters);
  field("ncounters", "%u", count);
  field("flags", "%u", flags);
  for (uint32_t i = 0; i < count; i++) values[i] = 0xfedcba9876543210ULL + i;
  return number("read_counters", entry_errno, 0);
}

static int query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
                           struct ibv_device_attr_ex *attr, size_t length) {
  int entry_errno = errno;
  op("query_device_ex");
  ADDRESS("context", context);
  ADDRESS("input", input);
  field("length", "%zu", length);
  memset(attr, 0, length);
  fill_device(&attr->orig_attr);
  attr->comp_mask = 1;
  attr->odp_caps.general_caps = 0x8000000000000003ULL;
  attr->odp_caps.per_transport_caps.rc_odp_caps = 2001;
  attr->odp_caps.per_transport_caps.uc_odp_caps = 2002;
  attr->odp_caps.per_transport_caps.ud_odp_caps = 2003;
  attr->completion_timestamp_mask = 0x7fffffffffffffffULL;
  attr->hca_core_clock = 156250;
  attr->device_cap_flags_ex = 0xffff000000002004ULL;
  attr->tso_caps.max_tso = 2005;
  attr->tso_caps.supported_qpts = 2006;
  attr->rss_caps.supported_qpts = 2007;
  attr->rss_caps.max_rwq_indirection_tables = 2008;
  attr->rss_caps.max_rwq_indirection_table_size = 2009;
  attr->rss_caps.rx_hash_fields_mask = 0x80000000000001ffULL;
  attr->rss_caps.rx_hash_function = 201;
  attr->max_wq_type_rq = 2010;
  attr->packet_pacing_caps.qp_rate_limit_min = 2011;
  attr->packet_pacing_caps.qp_rate_limit_max = 2012;
  attr->packet_pacing_caps.supported_qpts = 2013;
  attr->raw_packet_caps = 2014;
  attr->tm_caps.max_rndv_hdr_size = 2015;
  attr->tm_caps.max_num_tags = 2016;
  attr->tm_caps.flags = 2017;
  attr->tm_caps.max_ops = 2018;
  attr->tm_caps.max_sge = 2019;
  attr->cq_mod_caps.max_cq_count = 2020;
  attr->cq_mod_caps.max_cq_period = 2021;
  attr->max_dm_size = 0x8000000000002022ULL;
  attr->pci_atomic_caps.fetch_add = 2023;
  attr->pci_atomic_caps.swap = 2024;
  attr->pci_atomic_caps.compare_swap = 2025;
  attr->xrc_odp_caps = 2026;
  attr->phys_port_cnt_ex = 2027;
  return number("query_device_ex", entry_errno, 0);
}

static int query_rt_values(struct ibv_context *context, struct ibv_values_ex *values) {
  int entry_errno = errno;
  op("query_rt_values");
  ADDRESS("context", context);
  NUMBER(values, comp_mask);
  values->raw_clock.tv_sec = -2;
  values->raw_clock.tv_nsec = 0x7edcba9876543210LL;
  /* An odd result says that the clock was not read. */
  int result = number("query_rt_values", entry_errno, 0);
  if (result == -7) values->comp_mask = result = 0;
  return result;
}

static void set_steering(struct verbs_context *core) {
  core->create_wq = create_wq;
  core->modify_wq = modify_wq;
  core->destroy_wq = destroy_wq;
  core->create_rwq_ind_table = create_rwq_ind_table;
  core->destroy_rwq_ind_table = destroy_rwq_ind_table;
  core->ibv_create_flow = create_flow;
  core->ibv_destroy_flow = destroy_flow;
  core->create_flow_action_esp = create_flow_action_esp;
  core->modify_flow_action_esp = modify_flow_action_esp;
  core->destroy_flow_action = destroy_flow_action;
  core->create_counters = create_counters;
  core->destroy_counters = destroy_counters;
  core->attach_counters_point_flow = attach_counters_point_flow;
  core->read_counters = read_counters;
  core->query_device_ex = query_device_ex;
  core->query_rt_values = query_rt_values;
}

/* A queue pair of nobody, for flows. */
struct ibv_qp *echo_qp(struct ibv_context *context) {
  struct ibv_qp *qp = calloc(1, sizeof *qp);
  qp->context = context;
  return qp;
}

void echo_free(void *object) {
  free(object);
}

static enum ibv_fork_status fork_status;

int ibv_fork_init(void) {
  int entry_errno = errno;
  op("fork_init");
  int result = number("fork_init", entry_errno, 0);
  if (result == 0) fork_status = IBV_FORK_ENABLED;
  return result;
}

#ifndef OLD_LIBRARY
int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode opcode, uint32_t flags) {
  int entry_errno = errno;
  op("query_qp_data_in_order");
  ADDRESS("qp", qp);
  field("opcode", "%d", opcode);
  field("flags", "%u", flags);
  return number("query_qp_data_in_order", entry_errno, 1);
}

enum ibv_fork_status ibv_is_fork_initialized(void) {
  int entry_errno = errno;
  op("is_fork_initialized");
  return number("is_fork_initialized", entry_errno, fork_status);
}
#endif
