/**
 * The few functions of the C library that core needs, bound when they are first called, and their Linux constants.
 *
 * @since 0.1.0
 */
import * as Library from "../Library.ts"

const lazy = <const A extends ReadonlyArray<keyof Library.Arguments>, R extends keyof Library.Results>(
  symbol: string,
  argumentTypes: A,
  resultType: R
) => {
  let bound: Library.NativeFunction<A, R> | undefined
  return (...values: Library.ArgumentValues<A>): Library.Results[R] => {
    bound ??= Library.fromProcess().bind(symbol, argumentTypes, resultType)
    return bound(...values)
  }
}

export const mmap = lazy("mmap", ["pointer", "size", "int", "int", "int", "size"], "pointer")
export const munmap = lazy("munmap", ["pointer", "size"], "int")
export const sysconf = lazy("sysconf", ["int"], "ssize")
export const close = lazy("close", ["int"], "int")
export const fcntl = lazy("fcntl", ["int", "int", "int"], "int")
export const epollCreate = lazy("epoll_create1", ["int"], "int")
export const epollControl = lazy("epoll_ctl", ["int", "int", "int", "buffer"], "int")

export const PROT_READ = 1
export const PROT_WRITE = 2
export const MAP_PRIVATE = 0x02
export const MAP_ANONYMOUS = 0x20
export const MAP_FAILED = 0xffff_ffff_ffff_ffffn
export const SC_PAGESIZE = 30

export const F_GETFL = 3
export const F_SETFL = 4
export const F_DUPFD_CLOEXEC = 1030
export const O_NONBLOCK = 0o4000

export const EPOLL_CLOEXEC = 0o2000000
export const EPOLL_CTL_ADD = 1
export const EPOLL_CTL_DEL = 2
