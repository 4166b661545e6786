import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as Memory from "@effect-rdma/verbs/operations/Memory"
import * as Effect from "effect/Effect"
import { FabricMisuse } from "../../FabricMisuse.ts"
import type * as Heap from "../heap.ts"
import { type DeviceMemoryState, type RegionState } from "./memoryState.ts"
import { type DomainState, fail, query, rootOf, type VerbsState } from "./state.ts"

type Importing = Pick<
  Memory.Operations,
  | "importDevice"
  | "getCmdFd"
  | "importPd"
  | "unimportPd"
  | "getPdHandle"
  | "importMr"
  | "unimportMr"
  | "importDm"
  | "unimportDm"
>

type Context = Pointer.Pointer<"ibv_context">

/** What is imported from another context of the same device file, on one host. Only mlx5 can. */
export const make = (
  state: VerbsState,
  regions: Heap.Store<"ibv_mr", RegionState>,
  memories: Heap.Store<"ibv_dm", DeviceMemoryState>,
  registration: (mr: Pointer.Pointer<"ibv_mr">) => Memory.Registration
): Importing => {
  const { domains, host: { contexts } } = state
  // A context that was imported has the file of the one that it was imported from; each has a descriptor of its own.
  const files = new Map<Context, object>()
  const descriptors = new Map<number, Context>()
  const domainHandles = new WeakMap<DomainState, number>()
  const imports = new WeakMap<DomainState, { local: number }>()
  let nextFd = 20
  let nextDomain = 0
  state.onClose.push((context) => {
    files.delete(context)
    for (const [fd, of] of descriptors) if (of === context) descriptors.delete(fd)
  })

  const fileOf = (context: Context): object => {
    let file = files.get(context)
    if (file === undefined) files.set(context, file = {})
    return file
  }
  const handleOf = (domain: DomainState): number => {
    let handle = domainHandles.get(domain)
    if (handle === undefined) domainHandles.set(domain, handle = nextDomain++)
    return handle
  }
  const sameFile = (self: Context, that: Context): boolean =>
    self !== that && files.has(self) && files.get(self) === files.get(that)

  return {
    getCmdFd: (context) =>
      Effect.sync(() => {
        contexts.get("ibv_context.cmd_fd", context)
        fileOf(context)
        for (const [fd, of] of descriptors) if (of === context) return fd
        descriptors.set(nextFd, context)
        return nextFd++
      }),
    importDevice: (cmdFd) =>
      Effect.suspend(() => {
        const call = "ibv_import_device"
        const from = descriptors.get(cmdFd)
        if (from === undefined) return fail(call, "EBADF", { cmdFd })
        const { device } = contexts.get(call, from)
        if (!device.plugged) return fail(call, "EIO")
        if (device.description.provider !== "mlx5") return fail(call, "EOPNOTSUPP")
        const context = contexts.alloc({ kind: "DeviceContext", device })
        files.set(context, fileOf(from))
        return Effect.succeed(context)
      }),
    getPdHandle: (pd) => Effect.sync(() => handleOf(domains.get("ibv_pd.handle", pd))),
    importPd: (context, handle) =>
      query(state, "ibv_import_pd", context, (device) => {
        const call = "ibv_import_pd"
        if (device.description.provider !== "mlx5") return fail(call, "EOPNOTSUPP")
        const original = Array.from(domains.values(), ([, domain]) => domain).find((domain) =>
          domainHandles.get(domain) === handle && sameFile(domain.context, context)
        )
        if (original === undefined) return fail(call, "ENOENT", { handle })
        const counts = { local: 0 }
        const imported: DomainState = {
          kind: "ProtectionDomain",
          root: rootOf(original),
          device,
          context,
          parts: [],
          // The kernel has one domain, and counts for it.
          get users() {
            return original.users
          },
          set users(users) {
            counts.local += users - original.users
            original.users = users
          }
        }
        imports.set(imported, counts)
        device.pds++
        return Effect.succeed(domains.alloc(imported))
      }),
    unimportPd: (pd) =>
      Effect.sync(() => {
        const call = "ibv_unimport_pd"
        const domain = domains.get(call, pd)
        const counts = imports.get(domain)
        if (counts === undefined) throw new FabricMisuse({ call, problem: "the domain was not imported" })
        if (counts.local > 0 && domain.device.plugged) {
          throw new FabricMisuse({ call, problem: "something made in the domain is left" })
        }
        domain.device.pds--
        domains.free(call, pd)
      }),
    importMr: (pd, handle) =>
      Effect.suspend(() => {
        const call = "ibv_import_mr"
        const domain = domains.get(call, pd)
        const { context, device } = domain
        if (!device.plugged) return fail(call, "EIO")
        if (device.description.provider !== "mlx5") return fail(call, "EOPNOTSUPP")
        const found = Array.from(regions.values()).find(([, region]) =>
          region.handle === handle && region.original === undefined && sameFile(region.context, context)
        )
        if (found === undefined) return fail(call, "ENOENT", { handle })
        const [original, region] = found
        const imported = { ...region, kind: "MemoryRegion", context, domain, original, holders: [], addr: 0n } as const
        return Effect.succeed(registration(regions.alloc(imported)))
      }),
    unimportMr: (mr) =>
      Effect.sync(() => {
        const call = "ibv_unimport_mr"
        if (regions.get(call, mr).original === undefined) {
          throw new FabricMisuse({ call, problem: "the region was not imported" })
        }
        regions.free(call, mr)
      }),
    importDm: (context, handle) =>
      query(state, "ibv_import_dm", context, (device) => {
        const call = "ibv_import_dm"
        if (device.description.provider !== "mlx5") return fail(call, "EOPNOTSUPP")
        const original = Array.from(memories.values(), ([, memory]) => memory).find((memory) =>
          memory.handle === handle && !memory.imported && sameFile(memory.context, context)
        )
        if (original === undefined) return fail(call, "ENOENT", { handle })
        const dm = memories.alloc({ ...original, kind: "DeviceMemory", context, imported: true })
        return Effect.succeed({ dm, handle })
      }),
    unimportDm: (dm) =>
      Effect.sync(() => {
        const call = "ibv_unimport_dm"
        if (!memories.get(call, dm).imported) {
          throw new FabricMisuse({ call, problem: "the memory was not imported" })
        }
        memories.free(call, dm)
      })
  }
}
