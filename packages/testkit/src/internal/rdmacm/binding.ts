import * as Errno from "@effect-rdma/core/Errno"
import * as CmAddress from "@effect-rdma/rdmacm/CmAddress"
import type { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import type { RdmaCmError } from "@effect-rdma/rdmacm/RdmaCmError"
import * as Effect from "effect/Effect"
import * as Address from "./address.ts"
import { deviceOf } from "./onId.ts"
import * as Ports from "./ports.ts"
import { type CmState, errorOf, fail, hold, type IdState, notify, on, outcome } from "./state.ts"

/** Binding ids to addresses, and resolving addresses and routes, on one host. */
export const make = (state: CmState) =>
  ({
    bindAddr: (id, address) =>
      on(state, "rdma_bind_addr", id, (self) =>
        self.step === "idle"
          ? bind(state, "rdma_bind_addr", self, address)
          : fail("rdma_bind_addr", "EINVAL", { address: CmAddress.format(address) })),

    resolveAddr: (id, source, destination, timeoutMillis) =>
      on(state, "rdma_resolve_addr", id, (self) => {
        const call = "rdma_resolve_addr"
        const input = {
          ...(source === undefined ? {} : { source: CmAddress.format(source) }),
          destination: CmAddress.format(destination),
          timeoutMillis
        }
        return outcome(call, resolveAddress(state, self, source, destination, timeoutMillis), input)
      }),

    resolveRoute: (id, timeoutMillis) =>
      on(state, "rdma_resolve_route", id, (self) => {
        const call = "rdma_resolve_route"
        deviceOf(call, self)
        return outcome(call, resolveRoute(state, self, timeoutMillis), { timeoutMillis })
      })
  }) satisfies Partial<RdmaCm["Service"]>

/** Gives an id its address and port, and its device. */
export const bind = (
  state: CmState,
  call: string,
  self: IdState,
  address: CmAddress.CmAddress
): Effect.Effect<void, RdmaCmError> =>
  Effect.suspend(() => {
    const input = { address: CmAddress.format(address) }
    const refused = bindKernel(state, self, address)
    if (refused !== undefined) return fail(call, refused, input)
    self.shown.local = self.local
    return self.place === undefined
      ? Effect.void
      : Effect.mapError(hold(state, self, self.place.device), ({ reason }) => errorOf(call, reason.errno, input))
  })

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** How long the fabric takes to resolve an address or a route. */
const resolutionMillis = 1

const bindKernel = (
  state: CmState,
  self: IdState,
  address: CmAddress.CmAddress
): Errno.ErrnoName | undefined => {
  const own = Address.interfaceOf(state.host, address)
  if (typeof own === "string") return own === "EADDRNOTAVAIL" && self.hasLink ? "ENODEV" : own
  const { place } = own
  if (place !== undefined) self.hasLink = true
  if (place !== undefined && self.portSpace === "ipoib" && place.source.type !== "ib") return "EINVAL"
  const refused = Ports.take(state, self, address)
  if (refused !== undefined) return refused
  self.step = "bound"
  if (place !== undefined) attach(state, self, place)
  return undefined
}

const attach = (state: CmState, self: IdState, place: Address.Interface): void => {
  self.place = place
  state.onDevice.add(self)
}

/** Starts to look for an address, or says what forbids it. */
export const resolveAddress = (
  state: CmState,
  self: IdState,
  source: CmAddress.CmAddress | undefined,
  destination: CmAddress.CmAddress,
  timeoutMillis: number
): Errno.ErrnoName | undefined => {
  if (self.step !== "idle" && self.step !== "bound") return "EINVAL"
  if (source !== undefined && source._tag !== destination._tag) return "EINVAL"
  const from = self.step === "bound" && self.local !== undefined ? self.local : source ?? Address.anyLike(destination)
  if (from._tag !== destination._tag) return "EINVAL"
  const found = Address.resolve(state.fabric, state.host, from, destination)
  if (typeof found === "string") return found
  if (self.step === "idle") {
    const refused = bindKernel(state, self, from)
    if (refused !== undefined) return refused
  }
  const status = found.status === 0 && self.portSpace === "ipoib" && found.route?.from.source.type !== "ib"
    ? "EINVAL"
    : found.status
  self.step = "resolvingAddress"
  self.shown.peer = destination
  self.stop = state.fabric.after(status === "ETIMEDOUT" ? timeoutMillis >>> 0 : resolutionMillis, () => {
    const { route } = found
    if (status === 0 && route !== undefined && route.from.device.plugged) {
      const { from } = route
      self.step = "addressResolved"
      self.route = route
      self.peer = destination
      self.local = Address.at(from, destination, self.local === undefined ? 0 : Address.portOf(self.local))
      attach(state, self, from)
      return notify(
        self,
        { event: "addrResolved", status: 0 },
        (event) =>
          Effect.match(hold(state, self, from.device), {
            onSuccess: () => {
              self.shown.local = self.local
              return event
            },
            onFailure: () => ({ event: "addrError", status: -1 })
          })
      )
    }
    self.step = "bound"
    notify(self, { event: "addrError", status: -Errno.numberOf(status === 0 ? "ENODEV" : status) })
  })
  return undefined
}

/** Starts to look for a path: RoCE knows it, and over InfiniBand the subnet manager does. */
export const resolveRoute = (state: CmState, self: IdState, timeoutMillis: number): Errno.ErrnoName | undefined => {
  const { route } = self
  if (self.step !== "addressResolved" || route === undefined) return "EINVAL"
  if (Address.isLoopback(self.peer)) return "ENODEV"
  const { device, portNum, source } = route.from
  self.step = "resolvingRoute"
  const answers = () =>
    source.type !== "ib" ||
    device.description.ports.some((port) => port.number === portNum && port.state === "active" && port.smLid !== 0)
  const isAnswered = answers()
  self.stop = state.fabric.after(isAnswered ? resolutionMillis : timeoutMillis >>> 0, () => {
    self.step = isAnswered ? "routeResolved" : "addressResolved"
    if (!isAnswered) return notify(self, { event: "routeError", status: -Errno.numberOf("ETIMEDOUT") })
    notify(self, { event: "routeResolved", status: 0 }, (event) =>
      Effect.sync(() => {
        self.shown.numPaths = 1
        return event
      }))
  })
  return undefined
}
