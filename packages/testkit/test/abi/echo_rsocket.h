/* rsockets: a section of echo.c. The numbers of rsockets begin with 1000, those of sets with 2000. */

#include <poll.h>
#include <rdma/rsocket.h>
#include <sys/epoll.h>

static int next_rsocket = 1000;

static int make_number(const char *name, int entry_errno, int *next) {
  int result;
  if (scripted(name, &result, entry_errno)) return result;
  live++;
  return (*next)++;
}

#define ON_SOCKET(name)                                                                                                \
  int entry_errno = errno;                                                                                             \
  op(name);                                                                                                            \
  field("socket", "%d", socket);

int rsocket(int domain, int type, int protocol) {
  int entry_errno = errno;
  op("rsocket");
  field("domain", "%d", domain);
  field("type", "%d", type);
  field("protocol", "%d", protocol);
  return make_number("rsocket", entry_errno, &next_rsocket);
}

/* Its errno is what it returns. */
int rclose(int socket) {
  ON_SOCKET("rclose")
  int result = number("rclose", entry_errno, 0);
  if (result == 0) live--;
  return result;
}

int rbind(int socket, const struct sockaddr *addr, socklen_t addrlen) {
  ON_SOCKET("rbind")
  bytes("addr", addr, addrlen);
  return number("rbind", entry_errno, 0);
}

int rlisten(int socket, int backlog) {
  ON_SOCKET("rlisten")
  field("backlog", "%d", backlog);
  return number("rlisten", entry_errno, 0);
}

int raccept(int socket, struct sockaddr *addr, socklen_t *addrlen) {
  ON_SOCKET("raccept")
  ADDRESS("addr", addr);
  ADDRESS("addrlen", addrlen);
  return make_number("raccept", entry_errno, &next_rsocket);
}

int rconnect(int socket, const struct sockaddr *addr, socklen_t addrlen) {
  ON_SOCKET("rconnect")
  bytes("addr", addr, addrlen);
  return number("rconnect", entry_errno, 0);
}

/* Every second one is readable, the others are hung up and broken. */
int rpoll(struct pollfd *fds, nfds_t nfds, int timeout) {
  int entry_errno = errno;
  op("rpoll");
  field("nfds", "%lu", (unsigned long)nfds);
  field("timeout", "%d", timeout);
  for (nfds_t i = 0; i < nfds; i++) {
    char name[32];
    snprintf(name, sizeof name, "fd%lu", (unsigned long)i);
    field(name, "%d", fds[i].fd);
    snprintf(name, sizeof name, "events%lu", (unsigned long)i);
    field(name, "%d", fds[i].events);
    fds[i].revents = fds[i].fd % 2 == 0 ? fds[i].events & POLLIN : POLLHUP | POLLERR;
  }
  return number("rpoll", entry_errno, (int)nfds);
}

ssize_t rsend(int socket, const void *buf, size_t len, int flags) {
  ON_SOCKET("rsend")
  bytes("buf", buf, len);
  field("len", "%zu", len);
  field("flags", "%d", flags);
  return number("rsend", entry_errno, (int)len);
}

ssize_t rrecv(int socket, void *buf, size_t len, int flags) {
  ON_SOCKET("rrecv")
  field("len", "%zu", len);
  field("flags", "%d", flags);
  memset(buf, 0x5a, len);
  return number("rrecv", entry_errno, (int)len);
}

int rshutdown(int socket, int how) {
  ON_SOCKET("rshutdown")
  field("how", "%d", how);
  return number("rshutdown", entry_errno, 0);
}

int rgetsockname(int socket, struct sockaddr *addr, socklen_t *addrlen) {
  ON_SOCKET("rgetsockname")
  field("addrlen", "%u", *addrlen);
  struct sockaddr_in *in = (struct sockaddr_in *)addr;
  in->sin_family = AF_INET;
  in->sin_port = htobe16(0x1234);
  in->sin_addr.s_addr = htobe32(0x0a000001);
  *addrlen = sizeof *in;
  return number("rgetsockname", entry_errno, 0);
}

int rgetpeername(int socket, struct sockaddr *addr, socklen_t *addrlen) {
  ON_SOCKET("rgetpeername")
  field("addrlen", "%u", *addrlen);
  memset(addr, 0, *addrlen);
  return number("rgetpeername", entry_errno, 0);
}

int rsetsockopt(int socket, int level, int optname, const void *optval, socklen_t optlen) {
  ON_SOCKET("rsetsockopt")
  field("level", "%d", level);
  field("optname", "%d", optname);
  bytes("optval", optval, optlen);
  return number("rsetsockopt", entry_errno, 0);
}

int rgetsockopt(int socket, int level, int optname, void *optval, socklen_t *optlen) {
  ON_SOCKET("rgetsockopt")
  field("level", "%d", level);
  field("optname", "%d", optname);
  field("optlen", "%u", *optlen);
  *(int *)optval = 0x12345;
  return number("rgetsockopt", entry_errno, 0);
}

int rfcntl(int socket, int cmd, ...) {
  ON_SOCKET("rfcntl")
  va_list arguments;
  va_start(arguments, cmd);
  field("cmd", "%d", cmd);
  field("arg", "%d", va_arg(arguments, int));
  va_end(arguments);
  return number("rfcntl", entry_errno, 0);
}

off_t riomap(int socket, void *buf, size_t len, int prot, int flags, off_t offset) {
  ON_SOCKET("riomap")
  ADDRESS("address", buf);
  bytes("buf", buf, len);
  field("len", "%zu", len);
  field("prot", "%d", prot);
  field("flags", "%d", flags);
  field("offset", "%lld", (long long)offset);
  int result;
  if (scripted("riomap", &result, entry_errno)) return result;
  live++;
  return offset == -1 ? (off_t)(uintptr_t)buf : offset;
}

int riounmap(int socket, void *buf, size_t len) {
  ON_SOCKET("riounmap")
  ADDRESS("address", buf);
  field("len", "%zu", len);
  int result = number("riounmap", entry_errno, 0);
  if (result == 0) live--;
  return result;
}

size_t riowrite(int socket, const void *buf, size_t count, off_t offset, int flags) {
  ON_SOCKET("riowrite")
  bytes("buf", buf, count);
  field("offset", "%lld", (long long)offset);
  field("flags", "%d", flags);
  return (ssize_t)number("riowrite", entry_errno, (int)count);
}

/* Sets, of which the headers do not know yet. */
#ifndef OLD_LIBRARY
static int next_repoll = 2000;

int repoll_create(int flags) {
  int entry_errno = errno;
  op("repoll_create");
  field("cloexec", "%d", flags == O_CLOEXEC);
  return make_number("repoll_create", entry_errno, &next_repoll);
}

int repoll_ctl(int epfd, int operation, int fd, struct epoll_event *event) {
  int entry_errno = errno;
  op("repoll_ctl");
  field("epfd", "%d", epfd);
  field("operation", "%d", operation);
  field("fd", "%d", fd);
  field("events", "%u", event->events);
  field("data", "%llu", (unsigned long long)event->data.u64);
  return number("repoll_ctl", entry_errno, 0);
}

/* An errno stands where a count does. */
int repoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout) {
  int entry_errno = errno;
  op("repoll_wait");
  field("epfd", "%d", epfd);
  field("maxevents", "%d", maxevents);
  field("timeout", "%d", timeout);
  events[0].events = EPOLLIN;
  events[0].data.u64 = 1001;
  events[1].events = EPOLLOUT | EPOLLHUP | EPOLLERR;
  events[1].data.u64 = 1002;
  return number("repoll_wait", entry_errno, 2);
}

#endif
