import { Deque } from "./deque.ts"

/** What one thing that happens on the fabric leads to, one after the other: nothing recurs, however long the chain. */
export interface WorkList {
  /** Runs it, then what it put off; at once, unless something is being run. */
  readonly run: (job: () => void) => void
  /** Puts something off until what is being run is done. */
  readonly later: (job: () => void) => void
}

export const make = (): WorkList => {
  const jobs = new Deque<() => void>()
  let isRunning = false
  const later = (job: () => void): void => jobs.push(job)
  return {
    later,
    run: (job) => {
      jobs.push(job)
      if (isRunning) return
      isRunning = true
      try {
        for (let next = jobs.shift(); next !== undefined; next = jobs.shift()) next()
      } finally {
        isRunning = false
      }
    }
  }
}
