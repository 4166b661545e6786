/** The kinds of memory in the random programs of `lifetimes.test.ts`. */
import type { Fabric } from "@effect-rdma/testkit"
import { DeviceMemory, DmabufDescriptor, DmaBuffer, DmaHandle, MemoryRegion, MemoryWindow } from "@effect-rdma/verbs"
import { Effect, type Scope } from "effect"
import { kept, onParent, pick, type Place } from "./kinds.ts"

export const memoryKinds = [
  "MemoryRegion",
  "RegisteredMemory",
  "ChangedRegion",
  "NullRegion",
  "MemoryWindow",
  "DeviceMemory",
  "DeviceMemoryRegion",
  "DmaHandle",
  "DmaBuffer",
  "DmabufDescriptor"
] as const

export interface MemoryWorld {
  readonly regions: Array<MemoryRegion.MemoryRegion>
}

export const memoryWorld = (): MemoryWorld => ({ regions: [] })

export const makeMemory = (
  world: MemoryWorld,
  kind: (typeof memoryKinds)[number],
  { context, domain, other, parent }: Place
): Effect.Effect<void, { readonly message: string }, Fabric.Seams | Scope.Scope> => {
  switch (kind) {
    case "MemoryRegion":
      return onParent(domain, (domain) => kept(world.regions, MemoryRegion.alloc(domain, { length: 64 })))
    case "RegisteredMemory":
      // Some of it memory that goes with another region.
      return onParent(domain, (domain) =>
        MemoryRegion.register(
          domain,
          (other % 2 === 0 ? undefined : pick(world.regions, other)?.bytes) ?? new Uint8Array(64)
        ))
    case "ChangedRegion":
      return onParent(pick(world.regions, parent), (region) =>
        MemoryRegion.rereg(region, {
          ...(other % 2 === 0 && domain !== undefined ? { domain } : {}),
          ...(other % 3 === 0 ? { bytes: new Uint8Array(32) } : {})
        }))
    case "NullRegion":
      return onParent(domain, MemoryRegion.allocNull)
    case "MemoryWindow":
      return onParent(domain, (domain) => MemoryWindow.alloc(domain, other % 2 === 0 ? 1 : 2))
    case "DeviceMemory":
      return onParent(context, (context) => DeviceMemory.alloc(context, { length: 64 }))
    case "DeviceMemoryRegion":
      return onParent(domain, (domain) =>
        Effect.flatMap(
          DeviceMemory.alloc(domain.context, { length: 64 }),
          (memory) => MemoryRegion.registerDeviceMemory(domain, memory, { length: 64 })
        ))
    case "DmaHandle":
      return onParent(domain, (domain) =>
        Effect.flatMap(
          DmaHandle.alloc(domain.context),
          (dmaHandle) => MemoryRegion.alloc(domain, { length: 64, dmaHandle })
        ))
    case "DmaBuffer":
      return onParent(domain, (domain) =>
        Effect.flatMap(
          DmaBuffer.alloc(domain, 64),
          (buffer) => MemoryRegion.registerBuffer(domain, buffer, { length: 64 })
        ))
    case "DmabufDescriptor":
      return onParent(
        context,
        (context) => Effect.flatMap(DeviceMemory.alloc(context, { length: 64 }), DmabufDescriptor.fromDeviceMemory)
      )
  }
}
