import type * as Fabric from "../Fabric.ts"
import type * as Host from "./host.ts"

/** What is held back of what came to one queue or channel, oldest first. */
export type Held = Array<{
  readonly pair: number | undefined
  readonly among: "all" | "queuePairs"
  /** Behind how many it still is to come. */
  behind: number
  readonly put: Array<() => void>
}>

/** What an arrival is to its queue. */
export interface Handling {
  readonly put: () => void
  /** Puts it in a second time. */
  readonly putAgain: () => void
  /** It never comes. */
  readonly drop: () => void
}

/** Lets something arrive, or what tests want instead. */
export const arrive = (
  fabric: Host.FabricState,
  held: Held,
  arrival: Fabric.Arrival,
  { drop, put, putAgain }: Handling
): void => {
  const pair = arrival.arrival === "completion" ? arrival.completion.qpNum : undefined
  const before = held.find((other) => other.among === "queuePairs" && other.pair === pair)
  if (before !== undefined) return void before.put.push(put)
  const fate = fateOf(fabric, arrival)
  switch (fate?._tag) {
    case "dropped":
      return drop()
    case "delayed":
      fabric.after(fate.by, () =>
        fabric.work.run(() => {
          put()
          release(held)
        }))
      return
    case "reordered":
      held.push({ pair, among: fate.among ?? "all", behind: fate.behind ?? 1, put: [put] })
      return
    case "duplicated":
      put()
      putAgain()
      break
    case undefined:
      put()
  }
  release(held)
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const fateOf = ({ onArrival }: Host.FabricState, arrival: Fabric.Arrival): Fabric.Fate | undefined => {
  for (const { react } of onArrival) {
    const fate = react(arrival)
    if (fate !== undefined) return fate
  }
  return undefined
}

/** Lets what was held back come, as far as what has come was the last that it was behind. */
const release = (held: Held): void => {
  const due = held.filter((one) => --one.behind <= 0)
  for (const one of due) {
    held.splice(held.indexOf(one), 1)
    for (const put of one.put) put()
  }
}
