/**
 * The structs of `rdma/rsocket.h` and what it includes, compared with the C compiler by the ABI test.
 *
 * @since 0.1.0
 */
import * as Struct from "@effect-rdma/core/Struct"

/** One rsocket that is looked at. */
export const Pollfd = Struct.make("struct pollfd", 8, {
  fd: Struct.i32(0, "fd"),
  events: Struct.u16(4, "events"),
  revents: Struct.u16(6, "revents")
})

/** One event of a set; packed on x86-64 alone. */
export const EpollEvent = Struct.make("struct epoll_event", { x64: 12, arm64: 16 }, {
  events: Struct.u32(0, "events"),
  data: Struct.u64({ x64: 4, arm64: 8 }, "data")
})
