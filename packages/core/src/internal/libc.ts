/**
 * The few functions of the C library that core needs, bound when they are first called.
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
