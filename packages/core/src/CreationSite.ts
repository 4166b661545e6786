/**
 * Where in the user's code a resource was made. Captured only where {@link CaptureSites} asks, since a stack costs
 * microseconds; formatted only when read.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Fiber from "effect/Fiber"

/**
 * Whether constructors note where they were called: off by default, on in the testkit.
 *
 * @category references
 * @since 0.1.0
 */
export const CaptureSites = Context.Reference<boolean>("@effect-rdma/core/CaptureSites", { defaultValue: () => false })

/**
 * A captured call site. `stack` is formatted by V8 at the first read.
 *
 * @category models
 * @since 0.1.0
 */
export interface CreationSite {
  readonly stack: string
}

/**
 * The place where `constructor` was called, when the running fiber asks for sites. A constructor that is called while
 * no fiber runs cannot know, so it captures; the site is dropped later if the fiber that acquires does not ask.
 *
 * @category constructors
 * @since 0.1.0
 */
export const capture = (constructor: Function): CreationSite | undefined => {
  const fiber = Fiber.getCurrent()
  if (fiber !== undefined && !fiber.getRef(CaptureSites)) return undefined
  const site = { stack: "" }
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 4
  Error.captureStackTrace(site, constructor)
  Error.stackTraceLimit = limit
  return site
}

/**
 * `file:line:column` of the call in the user's code. A constructor that was passed to a combinator, as in
 * `Effect.flatMap(context, ProtectionDomain.alloc)`, is called by Effect itself: then no place is known.
 *
 * @category getters
 * @since 0.1.0
 */
export const format = (site: CreationSite): string => {
  const frames = site.stack.split("\n").filter((line) => line.startsWith("    at "))
  const caller = frames.map(placeOf).find((place) => !isOurs(place))
  return caller === undefined || isOfEffect.test(caller) ? "a place that called it through Effect" : caller
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const placeOf = (frame: string): string =>
  frame.trim().replace(/^at (?:.* \((.*)\)|(?:async )?(.*))$/, "$1$2").replace("file://", "")

const isOfEffect = /\/node_modules\/effect\//

// The packages lie beside each other, in the repository as well as where they are installed.
const packages = new URL("../../", import.meta.url).pathname

const isOurs = (place: string): boolean =>
  place.includes("/@effect-rdma/") ||
  (place.startsWith(packages) && /^[a-z]+\/(?:src|dist)\//.test(place.slice(packages.length)))
