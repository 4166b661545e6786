/* libibumad: a section of echo.c. A MAD is filled from its header up: byte n of a block has the block's letter and n. */

#include <infiniband/umad.h>

/* What the headers before rdma-core 56 do not have. */
struct echo_ca_pair {
  char smi_name[UMAD_CA_NAME_LEN];
  uint32_t smi_preferred_port;
  char gsi_name[UMAD_CA_NAME_LEN];
  uint32_t gsi_preferred_port;
};

int umad_init(void) { return 0; }

int umad_done(void) { return 0; }

int umad_debug(int level) {
  op("debug");
  field("level", "%d", level);
  return level + 1;
}

static void report_name(const char *ca_name) { field("ca_name", "%s", ca_name ? ca_name : "NULL"); }

static void report_port(const char *ca_name, int portnum) {
  report_name(ca_name);
  field("portnum", "%d", portnum);
}

int umad_get_cas_names(char cas[][UMAD_CA_NAME_LEN], int max) {
  op("get_cas_names");
  field("max", "%d", max);
  strcpy(cas[0], "mlx5_1");
  strcpy(cas[1], "nineteen_characters");
  return number("get_cas_names", errno, 2);
}

static struct umad_device_node *node(const char *name, struct umad_device_node *next) {
  struct umad_device_node *made = calloc(1, sizeof *made);
  live++;
  made->ca_name = name;
  made->next = next;
  return made;
}

struct umad_device_node *umad_get_ca_device_list(void) {
  int entry_errno = errno, result;
  op("get_ca_device_list");
  if (scripted("get_ca_device_list", &result, entry_errno)) return NULL;
  return node("mlx5_1", node("mlx5_0", NULL));
}

int umad_sort_ca_device_list(struct umad_device_node **head, size_t size) {
  int entry_errno = errno, result;
  op("sort_ca_device_list");
  field("size", "%zu", size);
  if (scripted("sort_ca_device_list", &result, entry_errno)) return result;
  struct umad_device_node *second = (*head)->next;
  second->next = *head;
  (*head)->next = NULL;
  *head = second;
  return 0;
}

void umad_free_ca_device_list(struct umad_device_node *head) {
  op("free_ca_device_list");
  field("first", "%s", head->ca_name);
  for (struct umad_device_node *next; head; head = next) {
    next = head->next;
    live--;
    free(head);
  }
}

static void fill_umad_port(umad_port_t *port, int portnum) {
  strcpy(port->ca_name, "mlx5_1");
  port->portnum = portnum;
  port->base_lid = 0x12345;
  port->lmc = 3;
  port->sm_lid = 0x4321;
  port->sm_sl = 5;
  port->state = 4;
  port->phys_state = 5;
  port->rate = 200;
  port->capmask = htobe32(0x01020304);
  port->gid_prefix = htobe64(0xfe80000000000001ULL);
  port->port_guid = htobe64(0x0002c90300a1b2c3ULL);
  port->pkeys_size = 2;
  port->pkeys = calloc(2, sizeof *port->pkeys);
  port->pkeys[0] = 0xffff;
  port->pkeys[1] = 0x8001;
  strcpy(port->link_layer, "InfiniBand");
  live++;
}

int umad_get_ca(const char *ca_name, umad_ca_t *ca) {
  int entry_errno = errno, result;
  op("get_ca");
  report_name(ca_name);
  if (scripted("get_ca", &result, entry_errno)) return result;
  strcpy(ca->ca_name, "mlx5_1");
  ca->node_type = 1;
  ca->numports = 2;
  strcpy(ca->fw_ver, "20.31.1014");
  strcpy(ca->ca_type, "MT4123");
  strcpy(ca->hw_ver, "0");
  ca->node_guid = htobe64(0x0002c90300a1b2c0ULL);
  ca->system_guid = htobe64(0x0002c90300a1b2c1ULL);
  ca->ports[2] = calloc(1, sizeof *ca->ports[2]);
  fill_umad_port(ca->ports[2], 2);
  return 0;
}

int umad_release_port(umad_port_t *port) {
  live--;
  free(port->pkeys);
  return 0;
}

int umad_release_ca(umad_ca_t *ca) {
  umad_release_port(ca->ports[2]);
  free(ca->ports[2]);
  return 0;
}

int umad_get_port(const char *ca_name, int portnum, umad_port_t *port) {
  int entry_errno = errno, result;
  op("get_port");
  report_port(ca_name, portnum);
  if (scripted("get_port", &result, entry_errno)) return result;
  fill_umad_port(port, portnum);
  return 0;
}

int umad_get_ca_portguids(const char *ca_name, __be64 *portguids, int max) {
  int entry_errno = errno, result;
  op("get_ca_portguids");
  report_name(ca_name);
  field("max", "%d", max);
  if (scripted("get_ca_portguids", &result, entry_errno)) return result;
  portguids[0] = 0;
  portguids[1] = htobe64(0x0002c90300a1b2c3ULL);
  return 2;
}

int umad_get_issm_path(const char *ca_name, int portnum, char path[], int max) {
  int entry_errno = errno, result;
  op("get_issm_path");
  report_port(ca_name, portnum);
  if (scripted("get_issm_path", &result, entry_errno)) return result;
  snprintf(path, max, "/dev/infiniband/issm17");
  return 0;
}

static void fill_pair(struct echo_ca_pair *pair) {
  strcpy(pair->smi_name, "smi0");
  pair->smi_preferred_port = 0x01020304;
  strcpy(pair->gsi_name, "mlx5_1");
  pair->gsi_preferred_port = 0x05060708;
}

int umad_get_smi_gsi_pairs(struct echo_ca_pair cas[], size_t max) {
  int entry_errno = errno, result;
  op("get_smi_gsi_pairs");
  field("max", "%zu", max);
  if (scripted("get_smi_gsi_pairs", &result, entry_errno)) return result;
  fill_pair(&cas[0]);
  return 1;
}

int umad_get_smi_gsi_pair_by_ca_name(const char *devname, uint8_t portnum, struct echo_ca_pair *pair,
                                     unsigned enforce_smi) {
  int entry_errno = errno, result;
  op("get_smi_gsi_pair_by_ca_name");
  report_port(devname, portnum);
  field("enforce_smi", "%u", enforce_smi);
  if (scripted("get_smi_gsi_pair_by_ca_name", &result, entry_errno)) return result;
  fill_pair(pair);
  return 0;
}

/* No descriptor of this process. */
#define PORTID 1000

static int open_port(const char *name, const char *ca_name, int portnum) {
  int entry_errno = errno, result;
  op(name);
  report_port(ca_name, portnum);
  if (scripted(name, &result, entry_errno)) return result;
  live++;
  return PORTID;
}

int umad_open_port(const char *ca_name, int portnum) { return open_port("open_port", ca_name, portnum); }

int umad_open_smi_port(const char *ca_name, int portnum) { return open_port("open_smi_port", ca_name, portnum); }

int umad_close_port(int portid) {
  op("close_port");
  field("portid", "%d", portid);
  live--;
  return 0;
}

int umad_get_fd(int portid) { return portid + 1; }

size_t umad_size(void) { return number("size", errno, sizeof(struct ib_user_mad)); }

static int registered(const char *name, int entry_errno, int id) {
  int result;
  if (scripted(name, &result, entry_errno)) return result;
  live++;
  return id;
}

int umad_register(int portid, int mgmt_class, int mgmt_version, uint8_t rmpp_version,
                  long method_mask[16 / sizeof(long)]) {
  int entry_errno = errno;
  op("register");
  field("portid", "%d", portid);
  field("mgmt_class", "%d", mgmt_class);
  field("mgmt_version", "%d", mgmt_version);
  field("rmpp_version", "%d", rmpp_version);
  bytes("method_mask", method_mask, 16);
  return registered("register", entry_errno, 31);
}

int umad_register_oui(int portid, int mgmt_class, uint8_t rmpp_version, uint8_t oui[3],
                      long method_mask[16 / sizeof(long)]) {
  int entry_errno = errno;
  op("register_oui");
  field("portid", "%d", portid);
  field("mgmt_class", "%d", mgmt_class);
  field("rmpp_version", "%d", rmpp_version);
  bytes("oui", oui, 3);
  bytes("method_mask", method_mask, 16);
  return registered("register_oui", entry_errno, 30);
}

int umad_register2(int port_fd, struct umad_reg_attr *attr, uint32_t *agent_id) {
  int entry_errno = errno, result;
  op("register2");
  field("port_fd", "%d", port_fd);
  NUMBER(attr, mgmt_class);
  NUMBER(attr, mgmt_class_version);
  NUMBER(attr, flags);
  bytes("method_mask", attr->method_mask, sizeof attr->method_mask);
  NUMBER(attr, oui);
  NUMBER(attr, rmpp_version);
  if (scripted("register2", &result, entry_errno)) return result;
  live++;
  *agent_id = 29;
  return 0;
}

int umad_unregister(int portid, int agentid) {
  int entry_errno = errno, result;
  op("unregister");
  field("portid", "%d", portid);
  field("agentid", "%d", agentid);
  if (scripted("unregister", &result, entry_errno)) return result;
  live--;
  return 0;
}

ib_mad_addr_t *umad_get_mad_addr(void *umad) { return &((struct ib_user_mad *)umad)->addr; }

static void report_address(const ib_mad_addr_t *addr) {
  field("qpn", "%u", be32toh(addr->qpn));
  field("qkey", "%u", be32toh(addr->qkey));
  field("lid", "%u", be16toh(addr->lid));
  NUMBER(addr, sl);
  NUMBER(addr, path_bits);
  NUMBER(addr, grh_present);
  NUMBER(addr, gid_index);
  NUMBER(addr, hop_limit);
  NUMBER(addr, traffic_class);
  bytes("gid", addr->gid, 16);
  field("flow_label", "%u", be32toh(addr->flow_label));
  NUMBER(addr, pkey_index);
}

void umad_dump(void *umad) {
  op("dump");
  ADDRESS("umad", umad);
}

void umad_addr_dump(ib_mad_addr_t *addr) {
  op("addr_dump");
  ADDRESS("addr", addr);
}

int umad_send(int portid, int agentid, void *umad, int length, int timeout_ms, int retries) {
  int entry_errno = errno;
  struct ib_user_mad *mad = umad;
  op("send");
  field("portid", "%d", portid);
  field("agentid", "%d", agentid);
  field("length", "%d", length);
  field("timeout_ms", "%d", timeout_ms);
  field("retries", "%d", retries);
  report_address(&mad->addr);
  bytes("data", mad->data, length);
  return number("send", entry_errno, 0);
}

int umad_recv(int portid, void *umad, int *length, int timeout_ms) {
  int entry_errno = errno, result;
  struct ib_user_mad *mad = umad;
  op("recv");
  field("portid", "%d", portid);
  field("length", "%d", *length);
  field("timeout_ms", "%d", timeout_ms);
  if (scripted("recv", &result, entry_errno)) {
    *length = 5000;
    return result;
  }
  mad->agent_id = 7;
  mad->status = ETIMEDOUT;
  mad->addr.qpn = htobe32(0xabcdef);
  mad->addr.qkey = htobe32(0x80010000);
  mad->addr.lid = htobe16(0x1234);
  mad->addr.sl = 15;
  mad->addr.path_bits = 127;
  mad->addr.grh_present = 1;
  mad->addr.gid_index = 253;
  mad->addr.hop_limit = 64;
  mad->addr.traffic_class = 0x5a;
  for (int i = 0; i < 16; i++) mad->addr.gid[i] = 0xc0 + i;
  mad->addr.flow_label = htobe32(0xfedcb);
  mad->addr.pkey_index = 0x1234;
  for (int i = 0; i < 40; i++) mad->data[i] = i + 1;
  *length = 40;
  return mad->agent_id;
}

int umad_poll(int portid, int timeout_ms) {
  int entry_errno = errno;
  op("poll");
  field("portid", "%d", portid);
  field("timeout_ms", "%d", timeout_ms);
  return number("poll", entry_errno, 0);
}
