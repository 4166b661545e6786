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
  Error.stackTraceLimit = 6
  Error.captureStackTrace(site, constructor)
  Error.stackTraceLimit = limit
  return site
}

/**
 * The first line of a site: `file:line:column` of the call in the user's code.
 *
 * @category getters
 * @since 0.1.0
 */
export const format = (site: CreationSite): string => {
  const frame = site.stack.split("\n").find((line) => line.startsWith("    at ")) ?? "unknown place"
  return frame.trim().replace(/^at (?:.* \((.*)\)|(.*))$/, "$1$2").replace("file://", "")
}
