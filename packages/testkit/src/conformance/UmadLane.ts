/**
 * What the suites of libibumad have to know of the host that they run on.
 *
 * @since 0.1.0
 */
import type * as Umad from "@effect-rdma/umad/Umad"
import type * as Lane from "./Lane.ts"

/**
 * A lane with an adapter that libibumad shows.
 *
 * @category models
 * @since 0.1.0
 */
export interface UmadLane<Others = never> extends Lane.Lane<Umad.Umad | Others> {
  /** The adapter that libibumad prefers, and its active port. */
  readonly adapter: string
  readonly port: number
  /** How many adapters the host has, and ports this one. */
  readonly adapters: number
  readonly ports: number
  /** As sysfs says it: libibumad chooses by port number alone among InfiniBand ports only. */
  readonly linkLayer: "InfiniBand" | "IB" | "Ethernet"
  /** Whether agents are kept by the kernel, or by something like it. A simulator takes any, and does not number requests apart. */
  readonly hasKernel: boolean
  /**
   * The LID of a port whose node answers requests of performance management, and one that nobody has. Absent where
   * there is no subnet.
   */
  readonly peers: { readonly answering: number; readonly silent: number } | undefined
}
