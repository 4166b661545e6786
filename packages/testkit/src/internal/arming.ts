import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type * as Fabric from "../Fabric.ts"
import type { Failure, Fault, Incident, Misdelivery, ObservedCall } from "../Faults.ts"
import * as Calls from "./calls.ts"
import type * as Seams from "./seams.ts"

/** A fault that counts what it fits. */
export interface Armed<F extends Fault, Observed extends ReadonlyArray<unknown>> {
  readonly fault: F
  readonly isDue: (...observed: Observed) => boolean
}

export const onCalls = (
  fault: Failure | Incident
): Effect.Effect<Armed<Failure | Incident, [call: Omit<ObservedCall, "failedWith">, place: Seams.Place]>> => {
  const { call, device, host, where } = fault
  if (call !== undefined && !Calls.isFallible(call)) throw new RangeError(`${call} is not a call that can fail`)
  return Effect.map(counting(fault), (falls) => ({
    fault,
    isDue: (observed, place) =>
      (call === undefined || call === observed.call) &&
      (host === undefined || host === observed.host) &&
      (device === undefined || isOn(device, observed, place)) &&
      (where === undefined || where(observed)) &&
      falls()
  }))
}

export const onArrivals = (fault: Misdelivery): Effect.Effect<Armed<Misdelivery, [arrival: Fabric.Arrival]>> => {
  const { arrival, device, host, where } = fault
  return Effect.map(counting(fault), (falls) => ({
    fault,
    isDue: (observed) =>
      arrival === observed.arrival &&
      (host === undefined || host === observed.host) &&
      (device === undefined || device === observed.device) &&
      (where === undefined || where(observed)) &&
      falls()
  }))
}

/** Lets happen what is to happen before a call. */
export const happen = ({ happens }: Incident, { fabric }: Seams.Place): Effect.Effect<void> => {
  if (fabric === undefined) throw new RangeError(`${happens._tag} can happen on a fabric only`)
  switch (happens._tag) {
    case "unplug":
      return fabric.unplug(happens.host, happens.device)
    case "fatal":
      return fabric.raise(happens.host, happens.device, { _tag: "Device", event: "deviceFatal" })
    case "link":
      return fabric.setLink(happens.host, happens.device, happens.portNum, happens.link, happens)
    case "disturb":
      return fabric.disturb(happens.node, happens.portNum, happens)
    case "node":
      return fabric.setNode(happens.node, happens.state)
    case "die": {
      const devices = fabric.topology.hosts.find(({ name }) => name === happens.host)?.devices ?? []
      return Effect.forEach(
        devices,
        ({ name, ports }) => Effect.forEach(ports, ({ number }) => fabric.setLink(happens.host, name, number, "down")),
        { discard: true }
      )
    }
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** Whether a fault falls on the next one that it fits. */
const counting = (
  { nth, probability, seed = 0 }: Pick<Fault, "nth" | "probability" | "seed">
): Effect.Effect<() => boolean> => {
  if (nth !== undefined && (!Number.isInteger(nth) || nth < 1)) {
    throw new RangeError(`a fault counts calls from 1, not ${nth}`)
  }
  if (probability !== undefined && !(probability >= 0 && probability <= 1)) {
    throw new RangeError(`a probability is from 0 to 1, not ${probability}`)
  }
  return Effect.map(Random.withSeed(Effect.service(Random.Random), seed), (random) => {
    let count = 0
    return () => {
      count++
      if (nth !== undefined && nth !== count) return false
      return probability === undefined || random.nextDoubleUnsafe() < probability
    }
  })
}

const isOn = (
  device: string,
  { args, host }: Omit<ObservedCall, "failedWith">,
  { fabric }: Seams.Place
): boolean =>
  fabric !== undefined &&
  Effect.runSync(fabric.objects).some((object) =>
    object.host === host && object.device === device && args.includes(object.pointer)
  )
