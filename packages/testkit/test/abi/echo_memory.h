/*
 * Memory of the echo provider: regions, windows, device memory, and what came after version 44 of rdma-core with
 * declarations of our own. Part of echo.c. What it makes tells numbers that a test can know: see the fields below.
 */

/* What the headers of rdma-core 44 lack. */
struct ibv_dmah {
  struct ibv_context *context;
};

struct ibv_dmah_init_attr {
  uint32_t comp_mask;
  uint32_t cpu_id;
  uint8_t ph;
  uint8_t tph_mem_type;
};

struct ibv_buf {
  struct ibv_context *context;
  void *mapping;
  size_t size;
};

struct ibv_mr_init_attr {
  size_t length;
  int access;
  uint64_t comp_mask;
  uint64_t iova;
  void *addr;
  int fd;
  uint64_t fd_offset;
  struct ibv_dmah *dmah;
  struct ibv_buf *buf;
};

_Static_assert(sizeof(struct ibv_mr_init_attr) == 72, "attributes of a region");
_Static_assert(sizeof(struct ibv_dmah_init_attr) == 12, "attributes of a DMA handle");

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

static struct ibv_mr *make_mr(const char *name, int entry_errno, struct ibv_pd *pd, void *addr, size_t length) {
  struct ibv_mr *mr = object(name, entry_errno, sizeof *mr);
  if (!mr) return NULL;
  mr->context = pd->context;
  mr->pd = pd;
  mr->addr = addr;
  mr->length = length;
  mr->handle = 0x80000001;
  mr->lkey = 0x80000002;
  mr->rkey = 0xfffffffe;
  return mr;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access) {
  int entry_errno = errno;
  op("reg_mr");
  ADDRESS("pd", pd);
  ADDRESS("addr", addr);
  field("length", "%zu", length);
  field("access", "%d", access);
  bytes("bytes", addr, length);
  return make_mr("reg_mr", entry_errno, pd, addr, length);
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access) {
  int entry_errno = errno;
  op("reg_mr_iova");
  ADDRESS("pd", pd);
  ADDRESS("addr", addr);
  field("length", "%zu", length);
  field("iova", "%llu", (unsigned long long)iova);
  field("access", "%d", access);
  return make_mr("reg_mr_iova", entry_errno, pd, addr, length);
}

int ibv_dereg_mr(struct ibv_mr *mr) {
  int entry_errno = errno;
  op("dereg_mr");
  ADDRESS("mr", mr);
  /* The memory is still there: it is read. */
  if (mr->addr && mr->length < 4096) field("first", "%u", *(volatile uint8_t *)mr->addr);
  return release("dereg_mr", entry_errno, mr);
}

int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length, int access) {
  int entry_errno = errno;
  op("rereg_mr");
  ADDRESS("mr", mr);
  field("flags", "%d", flags);
  ADDRESS("pd", pd);
  ADDRESS("addr", addr);
  field("length", "%zu", length);
  field("access", "%d", access);
  int result = number("rereg_mr", entry_errno, 0);
  if (result) return result;
  if (flags & IBV_REREG_MR_CHANGE_PD) mr->pd = pd;
  if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
    mr->addr = addr;
    mr->length = length;
  }
  mr->lkey++;
  mr->rkey--;
  return 0;
}

static struct ibv_mw *echo_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type) {
  int entry_errno = errno;
  op("alloc_mw");
  ADDRESS("pd", pd);
  field("type", "%d", type);
  struct ibv_mw *mw = object("alloc_mw", entry_errno, sizeof *mw);
  if (!mw) return NULL;
  mw->context = pd->context;
  mw->pd = pd;
  mw->rkey = 0x87654321;
  mw->handle = 0x80000003;
  mw->type = type;
  return mw;
}

static int echo_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind) {
  int entry_errno = errno;
  op("bind_mw");
  ADDRESS("qp", qp);
  ADDRESS("mw", mw);
  field("wr_id", "%llu", (unsigned long long)bind->wr_id);
  field("send_flags", "%u", bind->send_flags);
  ADDRESS("mr", bind->bind_info.mr);
  field("addr", "%llu", (unsigned long long)bind->bind_info.addr);
  field("length", "%llu", (unsigned long long)bind->bind_info.length);
  field("mw_access_flags", "%u", bind->bind_info.mw_access_flags);
  int result = number("bind_mw", entry_errno, 0);
  if (!result) mw->rkey++;
  return result;
}

static int echo_dealloc_mw(struct ibv_mw *mw) {
  int entry_errno = errno;
  op("dealloc_mw");
  ADDRESS("mw", mw);
  return release("dealloc_mw", entry_errno, mw);
}

#ifndef OLD_LIBRARY
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access) {
  int entry_errno = errno;
  op("reg_mr_iova2");
  ADDRESS("pd", pd);
  ADDRESS("addr", addr);
  field("length", "%zu", length);
  field("iova", "%llu", (unsigned long long)iova);
  field("access", "%u", access);
  bytes("bytes", addr, length);
  return make_mr("reg_mr_iova2", entry_errno, pd, addr, length);
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access) {
  int entry_errno = errno;
  op("reg_dmabuf_mr");
  ADDRESS("pd", pd);
  field("offset", "%llu", (unsigned long long)offset);
  field("length", "%zu", length);
  field("iova", "%llu", (unsigned long long)iova);
  field("fd", "%d", fd);
  field("access", "%d", access);
  struct ibv_mr *mr = make_mr("reg_dmabuf_mr", entry_errno, pd, NULL, length);
  return mr;
}

struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr) {
  int entry_errno = errno;
  op("reg_mr_ex");
  ADDRESS("pd", pd);
  NUMBER(attr, length);
  NUMBER(attr, access);
  NUMBER(attr, comp_mask);
  NUMBER(attr, iova);
  ADDRESS("addr", attr->addr);
  NUMBER(attr, fd);
  NUMBER(attr, fd_offset);
  ADDRESS("dmah", attr->dmah);
  ADDRESS("buf", attr->buf);
  return make_mr("reg_mr_ex", entry_errno, pd, attr->addr, attr->length);
}

struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length, int access) {
  int entry_errno = errno;
  op("reg_buf_mr");
  ADDRESS("pd", pd);
  ADDRESS("buf", buf);
  field("offset", "%td", (char *)addr - (char *)buf->mapping);
  field("length", "%zu", length);
  field("access", "%d", access);
  return make_mr("reg_buf_mr", entry_errno, pd, addr, length);
}

void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf) {
  int entry_errno = errno;
  op("alloc_buf");
  ADDRESS("pd", pd);
  field("size", "%zu", size);
  *buf = object("alloc_buf", entry_errno, sizeof **buf);
  if (!*buf) return NULL;
  (*buf)->context = pd->context;
  (*buf)->mapping = calloc(1, size);
  (*buf)->size = size;
  return (*buf)->mapping;
}

void ibv_free_buf(struct ibv_buf *buf) {
  op("free_buf");
  ADDRESS("buf", buf);
  bytes("bytes", buf->mapping, buf->size);
  live--;
  free(buf->mapping);
  free(buf);
}

static int export_fd(const char *name, int entry_errno) {
  int fd = number(name, entry_errno, 0);
  return fd ? fd : dup(0);
}

int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf) {
  int entry_errno = errno;
  op("export_buf_dmabuf_fd");
  ADDRESS("buf", buf);
  return export_fd("export_buf_dmabuf_fd", entry_errno);
}

int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm) {
  int entry_errno = errno;
  op("dm_export_dmabuf_fd");
  ADDRESS("dm", dm);
  return export_fd("dm_export_dmabuf_fd", entry_errno);
}

struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *context, struct ibv_dmah_init_attr *attr) {
  int entry_errno = errno;
  op("alloc_dmah");
  ADDRESS("context", context);
  NUMBER(attr, comp_mask);
  NUMBER(attr, cpu_id);
  NUMBER(attr, ph);
  NUMBER(attr, tph_mem_type);
  struct ibv_dmah *dmah = object("alloc_dmah", entry_errno, sizeof *dmah);
  if (dmah) dmah->context = context;
  return dmah;
}

int ibv_dealloc_dmah(struct ibv_dmah *dmah) {
  int entry_errno = errno;
  op("dealloc_dmah");
  ADDRESS("dmah", dmah);
  return release("dealloc_dmah", entry_errno, dmah);
}

struct ibv_context *ibv_import_device(int cmd_fd) {
  int entry_errno = errno, result;
  op("import_device");
  field("usable", "%d", fcntl(cmd_fd, F_GETFD) >= 0);
  if (scripted("import_device", &result, entry_errno)) {
    /* A provider that fails may have closed it or not. */
    if (result) close(cmd_fd);
    return NULL;
  }
  live++;
  struct ibv_context *context = make_context(device(RDMA_CORE));
  context->cmd_fd = cmd_fd;
  return context;
}

struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t handle) {
  int entry_errno = errno;
  op("import_pd");
  ADDRESS("context", context);
  field("handle", "%u", handle);
  struct ibv_pd *pd = object("import_pd", entry_errno, sizeof *pd);
  if (!pd) return NULL;
  pd->context = context;
  pd->handle = handle;
  return pd;
}

void ibv_unimport_pd(struct ibv_pd *pd) {
  op("unimport_pd");
  ADDRESS("pd", pd);
  live--;
  free(pd);
}

struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t handle) {
  int entry_errno = errno;
  op("import_mr");
  ADDRESS("pd", pd);
  field("handle", "%u", handle);
  struct ibv_mr *mr = make_mr("import_mr", entry_errno, pd, NULL, 77);
  if (mr) mr->handle = handle;
  return mr;
}

void ibv_unimport_mr(struct ibv_mr *mr) {
  op("unimport_mr");
  ADDRESS("mr", mr);
  live--;
  free(mr);
}
#endif

/* Device memory: the bytes are behind the struct. */

struct echo_dm {
  struct ibv_dm dm;
  uint8_t bytes[256];
};

static int memcpy_to_dm(struct ibv_dm *dm, uint64_t offset, const void *from, size_t length) {
  int entry_errno = errno;
  op("memcpy_to_dm");
  ADDRESS("dm", dm);
  field("offset", "%llu", (unsigned long long)offset);
  bytes("bytes", from, length);
  memcpy(((struct echo_dm *)dm)->bytes + offset, from, length);
  return number("memcpy_to_dm", entry_errno, 0);
}

static int memcpy_from_dm(void *to, struct ibv_dm *dm, uint64_t offset, size_t length) {
  int entry_errno = errno;
  op("memcpy_from_dm");
  ADDRESS("dm", dm);
  field("offset", "%llu", (unsigned long long)offset);
  field("length", "%zu", length);
  memcpy(to, ((struct echo_dm *)dm)->bytes + offset, length);
  return number("memcpy_from_dm", entry_errno, 0);
}

static struct ibv_dm *make_dm(const char *name, int entry_errno, struct ibv_context *context, uint32_t handle) {
  struct echo_dm *dm = object(name, entry_errno, sizeof *dm);
  if (!dm) return NULL;
  dm->dm.context = context;
  dm->dm.memcpy_to_dm = memcpy_to_dm;
  dm->dm.memcpy_from_dm = memcpy_from_dm;
  dm->dm.handle = handle;
  return &dm->dm;
}

static struct ibv_dm *echo_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr) {
  int entry_errno = errno;
  op("alloc_dm");
  ADDRESS("context", context);
  NUMBER(attr, length);
  NUMBER(attr, log_align_req);
  NUMBER(attr, comp_mask);
  return make_dm("alloc_dm", entry_errno, context, 0x80000004);
}

static int echo_free_dm(struct ibv_dm *dm) {
  int entry_errno = errno;
  op("free_dm");
  ADDRESS("dm", dm);
  return release("free_dm", entry_errno, dm);
}

static struct ibv_mr *echo_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset, size_t length,
                                     unsigned int access) {
  int entry_errno = errno;
  op("reg_dm_mr");
  ADDRESS("pd", pd);
  ADDRESS("dm", dm);
  field("offset", "%llu", (unsigned long long)offset);
  field("length", "%zu", length);
  field("access", "%u", access);
  return make_mr("reg_dm_mr", entry_errno, pd, NULL, length);
}

static struct ibv_mr *echo_alloc_null_mr(struct ibv_pd *pd) {
  int entry_errno = errno;
  op("alloc_null_mr");
  ADDRESS("pd", pd);
  return make_mr("alloc_null_mr", entry_errno, pd, NULL, SIZE_MAX);
}

static int echo_advise_mr(struct ibv_pd *pd, enum ib_uverbs_advise_mr_advice advice, uint32_t flags,
                          struct ibv_sge *list, uint32_t count) {
  int entry_errno = errno;
  op("advise_mr");
  ADDRESS("pd", pd);
  field("advice", "%d", advice);
  field("flags", "%u", flags);
  field("num_sge", "%u", count);
  for (uint32_t i = 0; i < count; i++) {
    char name[16];
    snprintf(name, sizeof name, "sge%u", i);
    field(name, "%llu %u %u", (unsigned long long)list[i].addr, list[i].length, list[i].lkey);
  }
  return number("advise_mr", entry_errno, 0);
}

#ifndef OLD_LIBRARY
struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t handle) {
  int entry_errno = errno;
  op("import_dm");
  ADDRESS("context", context);
  field("handle", "%u", handle);
  return make_dm("import_dm", entry_errno, context, handle);
}

void ibv_unimport_dm(struct ibv_dm *dm) {
  op("unimport_dm");
  ADDRESS("dm", dm);
  live--;
  free(dm);
}
#endif

static void provide_memory(struct verbs_context *core) {
  core->context.ops.alloc_mw = echo_alloc_mw;
  core->context.ops.bind_mw = echo_bind_mw;
  core->context.ops.dealloc_mw = echo_dealloc_mw;
  core->alloc_dm = echo_alloc_dm;
  core->free_dm = echo_free_dm;
  core->reg_dm_mr = echo_reg_dm_mr;
  core->alloc_null_mr = echo_alloc_null_mr;
  core->advise_mr = echo_advise_mr;
}
