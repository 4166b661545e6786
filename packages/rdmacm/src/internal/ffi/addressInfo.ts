/**
 * `rdma_getaddrinfo` on the real library.
 *
 * @since 0.1.0
 */
import * as Errno from "@effect-rdma/core/Errno"
import type * as Library from "@effect-rdma/core/Library"
import * as ReturnConvention from "@effect-rdma/core/ReturnConvention"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import type { RdmaCm } from "../../RdmaCm.ts"
import * as Codec from "../addressInfoCodec.ts"
import { done, errorOf, tooOld } from "./error.ts"

export const make = (library: Library.Library) => {
  const getaddrinfo = library.bind("rdma_getaddrinfo", ["pointer", "pointer", "pointer", "pointer"], "int")
  const freeaddrinfo = library.bind("rdma_freeaddrinfo", ["pointer"], "void")

  const resolveAddrinfo = library.bindOptional(
    "rdma_resolve_addrinfo",
    ["pointer", "pointer", "pointer", "pointer"],
    "int"
  )
  const queryAddrinfo = library.bindOptional("rdma_query_addrinfo", ["pointer", "buffer"], "int")

  const copyAndFree = (head: bigint) => {
    const found = Codec.decodeList(head)
    freeaddrinfo(head)
    return found
  }

  return {
    resolveAddrinfo: (id, node, service, hints) =>
      resolveAddrinfo === undefined
        ? tooOld("rdma_resolve_addrinfo", 60)
        : withArena(Codec.roomOf({}) + 4 * ((node?.length ?? 0) + (service?.length ?? 0)), (arena) =>
          Effect.flatMap(
            ReturnConvention.onWorker<number>((done) =>
              resolveAddrinfo.async(
                id,
                Codec.text(arena, node),
                Codec.text(arena, service),
                Codec.encode(arena, hints),
                done
              )
            ),
            ({ errno, result }) =>
              // What failed inside is in errno, also where it is none: then it is negative.
              result === 0
                ? Effect.void
                : Effect.fail(resolutionError("rdma_resolve_addrinfo", errno < 0 ? errno : -1, errno, node, service))
          )),
    queryAddrinfo: (id) =>
      Effect.suspend(() => {
        if (queryAddrinfo === undefined) return tooOld("rdma_query_addrinfo", 60)
        const out = new BigUint64Array(1)
        return Effect.map(done("rdma_query_addrinfo", () => queryAddrinfo(id, out)), () => copyAndFree(out[0] ?? 0n))
      }),
    getaddrinfo: (node, service, hints) =>
      withArena(Codec.roomOf({}) + 4 * ((node?.length ?? 0) + (service?.length ?? 0)), (arena) => {
        const out = arena.put(new Uint8Array(8))
        return Effect.flatMap(
          ReturnConvention.onWorker<number>((done) =>
            getaddrinfo.async(
              Codec.text(arena, node),
              Codec.text(arena, service),
              Codec.encode(arena, hints),
              out,
              done
            )
          ),
          ({ errno, result }) =>
            Effect.suspend(() => {
              if (result !== 0) {
                return Effect.fail(resolutionError("rdma_getaddrinfo", result, errno, node, service))
              }
              return Effect.succeed(copyAndFree(arena.view(out, 8).getBigUint64(0, true)))
            })
        )
      })
  } satisfies Partial<RdmaCm["Service"]>
}

// libuv has four threads for all that a process does.
const threads = Semaphore.makeUnsafe(2)

/** A call on a worker thread, for which nothing has to be kept. Only the wait for a thread can be interrupted. */
export const onThread = <R>(start: (done: (error: unknown, result: R) => void) => void) =>
  threads.withPermit(ReturnConvention.onWorker(start))

/** Runs a call on a worker thread, and keeps what it reads there until it has returned. Only the wait for a thread can be interrupted. */
export const withArena = <A, E>(
  size: number,
  run: (arena: Codec.Arena) => Effect.Effect<A, E>
): Effect.Effect<A, E> =>
  threads.withPermit(Effect.uninterruptible(Effect.suspend(() => {
    const arena = Codec.makeArena(size)
    return Effect.ensuring(run(arena), Effect.sync(arena.free))
  })))

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** `EAI_*` of `netdb.h`, as the errno that is nearest, and what `gai_strerror` says. -1 is librdmacm's, with an errno. */
const resolutionErrors: { readonly [code: number]: readonly [errno: Errno.ErrnoName, text: string] } = {
  [-2]: ["ENOENT", "EAI_NONAME: the name or the service is not known"],
  [-3]: ["EAGAIN", "EAI_AGAIN: the name server does not answer now"],
  [-4]: ["EIO", "EAI_FAIL: the name server has failed"],
  [-5]: ["ENODATA", "EAI_NODATA: the name has no address"],
  [-6]: ["EAFNOSUPPORT", "EAI_FAMILY: the address family is not supported"],
  [-7]: ["EPROTONOSUPPORT", "EAI_SOCKTYPE: the port space is not supported"],
  [-8]: ["EPROTONOSUPPORT", "EAI_SERVICE: the service is not one of the port space"],
  [-9]: ["ENODATA", "EAI_ADDRFAMILY: the name has no address of the family"],
  [-10]: ["ENOMEM", "EAI_MEMORY: no memory"]
}

const resolutionError = (
  call: string,
  result: number,
  errno: number,
  node: string | undefined,
  service: string | undefined
) => {
  const [name, hint] = resolutionErrors[result] ?? []
  return errorOf(
    call,
    name === undefined ? errno : Errno.numberOf(name),
    { ...(node === undefined ? undefined : { node }), ...(service === undefined ? undefined : { service }) },
    hint
  )
}
