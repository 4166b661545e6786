/**
 * Constants of the C library on Linux by their C names, compared with the C compiler by the ABI test. They are the same on
 * x86-64 and aarch64, with glibc and with musl.
 *
 * @since 0.1.0
 */

export const RTLD_NOW = 2
export const RTLD_NODELETE = 0x1000

export const PROT_READ = 1
export const PROT_WRITE = 2
export const MAP_PRIVATE = 0x02
export const MAP_ANONYMOUS = 0x20
export const MAP_FAILED = 0xffff_ffff_ffff_ffffn
export const _SC_PAGESIZE = 30

export const F_SETFD = 2
export const FD_CLOEXEC = 1
export const F_GETFL = 3
export const F_SETFL = 4
export const F_DUPFD_CLOEXEC = 1030
export const O_NONBLOCK = 0o4000

export const EPOLL_CLOEXEC = 0o2000000
export const EPOLL_CTL_ADD = 1
export const EPOLL_CTL_DEL = 2
