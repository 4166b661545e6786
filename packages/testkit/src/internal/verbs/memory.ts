import type * as Errno from "@effect-rdma/core/Errno"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as AccessFlags from "@effect-rdma/verbs/AccessFlags"
import type * as Memory from "@effect-rdma/verbs/operations/Memory"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import * as Effect from "effect/Effect"
import * as DeviceMemory from "./deviceMemory.ts"
import * as Importing from "./importing.ts"
import * as MemoryState from "./memoryState.ts"
import { unbind } from "./memoryWindow.ts"
import { type DomainState, fail, reclaim, type VerbsState } from "./state.ts"
import { bindWindow } from "./windowBinding.ts"

/** Memory regions and windows of one host, and with them all that the family of memory has. */
export const make = (state: VerbsState): Memory.Operations => {
  const { domains, queuePairs, regions, windows } = state
  const { buffers, bytesOf, dmaHandles, memories, operations } = DeviceMemory.make(state)

  state.onClose.push((context) => {
    reclaim(windows, context, forgetWindow)
    reclaim(regions, context, forgetRegion)
  })

  const registration = (mr: Pointer.Pointer<"ibv_mr">): Memory.Registration => {
    const { addr, handle, length, lkey, rkey } = regions.get("ibv_mr", mr)
    return { mr, handle, lkey, rkey, addr, length }
  }

  const register = (
    call: string,
    domain: DomainState,
    { access, bytes, holders = [], iova, ...request }: Request
  ): Effect.Effect<Memory.Registration, VerbsError> => {
    const { context, device } = domain
    const memory = MemoryState.of(device)
    const refused = refuseAccess(device.description.provider, access)
    if (refused !== undefined) return fail(call, refused, { access: access.join(" ") })
    const addr = request.addr ?? NativeMemory.addressOf(bytes)
    const base = iova ?? addr
    // The device maps whole pages.
    if (request.addr === undefined && ((base ^ addr) & 0xfffn) !== 0n) return fail(call, "EINVAL", { iova: base })
    if (memory.regions.size >= device.description.attributes.maxMr) return fail(call, "ENOMEM")
    const lkey = MemoryState.nextKey(memory)
    const region: MemoryState.RegionState = {
      kind: "MemoryRegion",
      device,
      context,
      handle: memory.nextHandle++,
      original: undefined,
      holders: [domain, ...holders],
      domain,
      access,
      bytes,
      addr,
      base,
      length: BigInt(bytes.length),
      lkey,
      rkey: remoteKey(device.description.provider, access, lkey),
      windows: 0
    }
    for (const holder of region.holders) holder.users++
    memory.regions.set(lkey, region)
    return Effect.succeed(registration(regions.alloc(region)))
  }

  /** Runs a call on a domain whose device is there, and is of mlx5 where `only` says so. */
  const inDomain = <A>(
    call: string,
    pd: Pointer.Pointer<"ibv_pd">,
    only: "mlx5" | "any",
    run: (domain: DomainState) => Effect.Effect<A, VerbsError>
  ): Effect.Effect<A, VerbsError> =>
    Effect.suspend(() => {
      const domain = domains.get(call, pd)
      // The provider's stub answers before anything reaches the kernel.
      if (only === "mlx5" && domain.device.description.provider !== "mlx5") return fail(call, "EOPNOTSUPP")
      return domain.device.plugged ? run(domain) : fail(call, "EIO")
    })

  const registerDmabuf = (
    call: string,
    domain: DomainState,
    { access, fd, holders, iova, length, offset }: {
      readonly access: AccessFlags.AccessFlags
      readonly fd: number
      readonly iova: bigint
      readonly offset: bigint
      readonly length: bigint
      readonly holders?: ReadonlyArray<{ users: number }>
    }
  ) => {
    const dmabuf = bytesOf(fd)
    if (dmabuf === undefined) return fail(call, "EBADF", { fd })
    const bytes = DeviceMemory.partOf(dmabuf, offset, length)
    if (bytes === undefined) return fail(call, "EINVAL", { offset, length })
    return register(call, domain, { access, bytes, iova, addr: offset, ...(holders === undefined ? {} : { holders }) })
  }

  return {
    ...operations,
    ...Importing.make(state, regions, memories, registration),
    regMr: (pd, bytes, access) =>
      inDomain("ibv_reg_mr", pd, "any", (domain) => register("ibv_reg_mr", domain, { access, bytes })),
    regMrIova: (pd, bytes, iova, access) =>
      inDomain("ibv_reg_mr_iova", pd, "any", (domain) => register("ibv_reg_mr_iova", domain, { access, bytes, iova })),
    regDmabufMr: (pd, dmabuf, access) =>
      inDomain(
        "ibv_reg_dmabuf_mr",
        pd,
        "mlx5",
        (domain) => registerDmabuf("ibv_reg_dmabuf_mr", domain, { ...dmabuf, access })
      ),
    regDmMr: (pd, dm, { length, offset }, access) =>
      inDomain("ibv_reg_dm_mr", pd, "mlx5", (domain) => {
        const call = "ibv_reg_dm_mr"
        const { memory } = memories.get(call, dm)
        const bytes = DeviceMemory.partOf(memory.bytes, offset, length)
        const isAllowed = access.includes("zeroBased") && access.every((flag) => allowedOnDeviceMemory.has(flag))
        if (bytes === undefined || !isAllowed) return fail(call, "EINVAL", { offset, length })
        return register(call, domain, { access, bytes, addr: 0n, holders: [memory] })
      }),
    allocNullMr: (pd) =>
      Effect.suspend(() => {
        const call = "ibv_alloc_null_mr"
        const domain = domains.get(call, pd)
        const { context, device } = domain
        if (device.description.provider !== "mlx5") return fail(call, "EOPNOTSUPP")
        // The provider makes it up without the kernel: nobody counts it, and it works without the device too.
        const mr = regions.alloc({
          kind: "MemoryRegion",
          device,
          context,
          handle: 0,
          original: undefined,
          holders: [],
          domain,
          access: ["localWrite"],
          bytes: undefined,
          addr: 0n,
          base: 0n,
          length: 0xffff_ffff_ffff_ffffn,
          lkey: MemoryState.nullKey,
          rkey: 0,
          windows: 0
        })
        return Effect.succeed(registration(mr))
      }),
    regMrEx: (pd, { access, buf, bytes, dmah, fd, fdOffset = 0n, iova, length }) =>
      inDomain("ibv_reg_mr_ex", pd, "mlx5", (domain) => {
        const call = "ibv_reg_mr_ex"
        const holders = [
          ...(dmah === undefined ? [] : [dmaHandles.get(call, dmah)]),
          ...(buf === undefined ? [] : [buffers.get(call, buf)])
        ]
        if (fd !== undefined && bytes === undefined && iova !== undefined) {
          return registerDmabuf(call, domain, { access, fd, iova, offset: fdOffset, length, holders })
        }
        if (bytes === undefined || fd !== undefined || BigInt(bytes.length) !== length) return fail(call, "EINVAL")
        return register(call, domain, { access, bytes, holders, ...(iova === undefined ? {} : { iova }) })
      }),
    regBufMr: (pd, buf, bytes, access) =>
      inDomain("ibv_reg_buf_mr", pd, "mlx5", (domain) => {
        const call = "ibv_reg_buf_mr"
        const buffer = buffers.get(call, buf)
        if (buffer.domain !== domain || bytes.buffer !== buffer.bytes.buffer) return fail(call, "EINVAL")
        return register(call, domain, { access, bytes, holders: [buffer] })
      }),
    reregMr: (mr, { access, bytes, pd }) =>
      Effect.suspend(() => {
        const call = "ibv_rereg_mr"
        const region = regions.get(call, mr)
        const { device } = region
        const { provider } = device.description
        const code = "IBV_REREG_MR_ERR_CMD"
        if (provider !== "mlx5") return fail(call, "EOPNOTSUPP", { code })
        if (!device.plugged) return fail(call, "EIO", { code })
        const refused = access === undefined ? undefined : refuseAccess(provider, access)
        if (refused !== undefined) return fail(call, refused, { code })
        if (pd !== undefined) {
          const domain = domains.get(call, pd)
          region.domain.users--
          domain.users++
          region.holders = region.holders.map((holder) => holder === region.domain ? domain : holder)
          region.domain = domain
        }
        if (bytes !== undefined) {
          region.bytes = bytes
          region.addr = region.base = NativeMemory.addressOf(bytes)
          region.length = BigInt(bytes.length)
          // Another translation is another key, unless the device can rewrite the one that it has.
          const memory = MemoryState.of(device)
          memory.regions.delete(region.lkey)
          region.lkey = MemoryState.nextKey(memory)
          memory.regions.set(region.lkey, region)
        }
        if (access !== undefined) region.access = access
        region.rkey = remoteKey(provider, region.access, region.lkey)
        return Effect.succeed(registration(mr))
      }),
    deregMr: (mr) =>
      Effect.suspend(() => {
        const call = "ibv_dereg_mr"
        const given = regions.get(call, mr)
        const target = given.original ?? mr
        const region = regions.get(call, target)
        const { device } = region
        if (region.holders.length > 0 && !device.plugged) return fail(call, "EIO")
        if (region.windows > 0) return fail(call, device.description.provider === "mlx5" ? "EBUSY" : "EINVAL")
        forgetRegion(region)
        regions.free(call, target)
        if (target !== mr) regions.free(call, mr)
        return Effect.void
      }),
    adviseMr: (pd, advice, _flush, pieces) =>
      inDomain("ibv_advise_mr", pd, "mlx5", (domain) => {
        const call = "ibv_advise_mr"
        for (const { addr, length, lkey } of pieces) {
          const region = MemoryState.of(domain.device).regions.get(lkey)
          if (region === undefined || region.domain !== domain) return fail(call, "ENOENT", { advice })
          if (!region.access.includes("onDemand")) return fail(call, "EINVAL", { advice })
          if (advice === "prefetchWrite" && !region.access.includes("localWrite")) {
            return fail(call, "EPERM", { advice })
          }
          if (addr < region.base || addr + BigInt(length) > region.base + region.length) {
            return fail(call, "EFAULT", { advice })
          }
        }
        return Effect.void
      }),

    allocMw: (pd, type) =>
      inDomain("ibv_alloc_mw", pd, "any", (domain) => {
        const call = "ibv_alloc_mw"
        const { context, device } = domain
        const memory = MemoryState.of(device)
        const { attributes, provider } = device.description
        if (memory.windows.size >= attributes.maxMw) return fail(call, provider === "mlx5" ? "ENOMEM" : "EINVAL")
        const key = MemoryState.nextKey(memory)
        const window: MemoryState.WindowState = {
          kind: "MemoryWindow",
          device,
          context,
          domain,
          type,
          handle: memory.nextHandle++,
          rkey: key,
          key,
          bound: undefined,
          binding: undefined
        }
        domain.users++
        memory.windows.set(key, window)
        return Effect.succeed({ mw: windows.alloc(window), handle: window.handle, rkey: window.rkey })
      }),
    bindMw: (qp, mw, binding) =>
      Effect.suspend(() => {
        const call = "ibv_bind_mw"
        return bindWindow(queuePairs.get(call, qp), windows.get(call, mw), regions.get(call, binding.mr), mw, binding)
      }),
    deallocMw: (mw) =>
      Effect.suspend(() => {
        const call = "ibv_dealloc_mw"
        const window = windows.get(call, mw)
        if (!window.device.plugged) return fail(call, "EIO")
        forgetWindow(window)
        window.domain.users--
        windows.free(call, mw)
        return Effect.void
      })
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const forgetRegion = (region: MemoryState.RegionState) => {
  if (region.original !== undefined) return
  const { regions } = MemoryState.of(region.device)
  if (regions.get(region.lkey) === region) regions.delete(region.lkey)
  for (const holder of region.holders) holder.users--
}
const forgetWindow = (window: MemoryState.WindowState) => {
  MemoryState.of(window.device).windows.delete(window.key)
  unbind(window)
}
interface Request {
  readonly access: AccessFlags.AccessFlags
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly iova?: bigint
  /** Where C says that it is, for what is not memory of the process. */
  readonly addr?: bigint
  readonly holders?: ReadonlyArray<{ users: number }>
}

type Provider = "rxe" | "mlx5"

/** The errno that refuses access; measured on rxe of Linux 6.1. */
const refuseAccess = (provider: Provider, access: AccessFlags.AccessFlags): Errno.ErrnoName | undefined => {
  const has = (flag: AccessFlags.AccessFlag) => access.includes(flag)
  if ((has("remoteWrite") || has("remoteAtomic")) && !has("localWrite")) return "EINVAL"
  if (has("flushGlobal") || has("flushPersistent")) return "EINVAL"
  return has("onDemand") && provider === "rxe" ? "EINVAL" : undefined
}

/** rxe gives a region that no peer may touch no remote key. */
const remoteKey = (provider: Provider, access: AccessFlags.AccessFlags, lkey: number): number =>
  provider === "mlx5" || access.some((flag) => flag.startsWith("remote")) ? lkey : 0

const allowedOnDeviceMemory: ReadonlySet<AccessFlags.AccessFlag> = new Set([
  "localWrite",
  "remoteWrite",
  "remoteRead",
  "remoteAtomic",
  "zeroBased"
])
