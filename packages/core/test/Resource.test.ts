import * as CreationSite from "@effect-rdma/core/CreationSite"
import * as Ledger from "@effect-rdma/core/Ledger"
import type * as NativeError from "@effect-rdma/core/NativeError"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import { ReleaseError } from "@effect-rdma/core/ReleaseError"
import * as Resource from "@effect-rdma/core/Resource"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Equal, Exit, Fiber, HashMap, Option, Scope } from "effect"

const errorOf = (call: string, errno: number): NativeError.NativeError => ({
  _tag: "TestError",
  call,
  reason: NativeReason.fromErrno(errno),
  input: {},
  message: `${call} failed with ${errno}`
})

// A library of one kind of object, that logs what happens to it.
const makeLibrary = () => {
  const log: Array<string> = []
  const make = (
    name: string,
    parents: ReadonlyArray<Resource.Any> = [],
    options: {
      readonly acquire?: Effect.Effect<unknown, NativeError.NativeError>
      readonly release?: Effect.Effect<void, NativeError.NativeError>
      readonly ownership?: "owned" | "borrowed"
      readonly cannotRefuse?: boolean
      readonly goneWithDevice?: boolean
    } = {}
  ): Effect.Effect<
    Resource.Resource<"Thing", string> & { readonly label: string },
    NativeError.NativeError,
    Scope.Scope
  > =>
    Resource.make({
      kind: "Thing",
      pair: ["thing_create", "thing_destroy"],
      site: CreationSite.capture(make),
      parents,
      ownership: options.ownership ?? "owned",
      cannotRefuse: options.cannotRefuse ?? false,
      goneWithDevice: options.goneWithDevice ?? false,
      acquire: Effect.suspend(() => {
        log.push(`+${name}`)
        return Effect.as(options.acquire ?? Effect.void, name)
      }),
      release: () =>
        Effect.suspend(() => {
          log.push(`-${name}`)
          return options.release ?? Effect.void
        }),
      fields: () => ({ label: name })
    })
  return { log, make }
}

const dieOf = (exit: Exit.Exit<unknown, unknown>): unknown =>
  Exit.isFailure(exit) ? exit.cause.reasons.find((reason) => reason._tag === "Die")?.defect : undefined

describe("Resource", () => {
  it.effect("releases with its scope and is struck out of the ledger", () =>
    Effect.gen(function*() {
      const { log, make } = makeLibrary()
      yield* Effect.scoped(Effect.gen(function*() {
        const thing = yield* make("a")
        assert.strictEqual(Resource.raw(thing), "a")
        assert.deepStrictEqual((yield* Ledger.live).map((entry) => entry.name), ["Thing#1"])
      }))
      assert.deepStrictEqual(log, ["+a", "-a"])
      assert.deepStrictEqual(yield* Ledger.live, [])
      assert.deepStrictEqual(yield* Ledger.totals, [
        { pair: ["thing_create", "thing_destroy"], acquired: 1, released: 1, failed: 0 }
      ])
    }).pipe(Effect.provide(Ledger.layer)))

  it.effect("releases a child of an outer scope before a parent of an inner one", () =>
    Effect.gen(function*() {
      const { log, make } = makeLibrary()
      const outer = yield* Scope.make()
      yield* Effect.scoped(Effect.gen(function*() {
        const parent = yield* make("parent")
        yield* make("child", [parent]).pipe(Scope.provide(outer))
      }))
      assert.deepStrictEqual(log, ["+parent", "+child", "-child", "-parent"])
      yield* Scope.close(outer, Exit.void)
      assert.deepStrictEqual(log, ["+parent", "+child", "-child", "-parent"])
    }))

  it.effect("releases the children of two parents once, newest first", () =>
    Effect.gen(function*() {
      const { log, make } = makeLibrary()
      yield* Effect.scoped(Effect.gen(function*() {
        const outer = yield* Effect.scope
        const left = yield* make("left")
        yield* Effect.scoped(Effect.gen(function*() {
          const right = yield* make("right")
          yield* make("one", [left, right]).pipe(Scope.provide(outer))
          yield* make("two", [right, left]).pipe(Scope.provide(outer))
        }))
      }))
      assert.deepStrictEqual(log, ["+left", "+right", "+one", "+two", "-two", "-one", "-right", "-left"])
    }))

  it.effect("goes with the parent that it was moved to, and not with the one that it left", () =>
    Effect.gen(function*() {
      const { log, make } = makeLibrary()
      const [left, right] = [yield* Scope.make(), yield* Scope.make()]
      const from = yield* Scope.provide(make("from"), left)
      const to = yield* Scope.provide(make("to"), right)
      yield* Effect.scoped(Effect.gen(function*() {
        const child = yield* make("child", [from])
        Resource.move(child, from, to)
        yield* Scope.close(left, Exit.void)
        assert.isTrue(Resource.isLive(child))
        yield* Scope.close(right, Exit.void)
        assert.isFalse(Resource.isLive(child))
      }))
      assert.deepStrictEqual(log, ["+from", "+to", "+child", "-from", "-child", "-to"])
    }))

  it.effect("goes with a parent that it got later, and not with one that it lost", () =>
    Effect.gen(function*() {
      const { log, make } = makeLibrary()
      const [left, right] = [yield* Scope.make(), yield* Scope.make()]
      const child = yield* make("child", [yield* make("first")])
      const lost = yield* Scope.provide(make("lost"), left)
      const kept = yield* Scope.provide(make("kept"), right)
      Resource.addParent(child, lost)
      Resource.addParent(child, kept)
      Resource.addParent(child, kept)
      Resource.removeParent(child, lost)
      yield* Scope.close(left, Exit.void)
      assert.isTrue(Resource.isLive(child))
      yield* Scope.close(right, Exit.void)
      assert.isFalse(Resource.isLive(child))
      assert.deepStrictEqual(log, ["+first", "+child", "+lost", "+kept", "-lost", "-child", "-kept"])
    }))

  it.effect("is no longer a child of a parent that it got later once it is released", () =>
    Effect.gen(function*() {
      const { log, make } = makeLibrary()
      yield* Effect.scoped(Effect.gen(function*() {
        const parent = yield* make("parent")
        yield* Effect.scoped(Effect.map(make("child"), (child) => Resource.addParent(child, parent)))
        assert.deepStrictEqual(log, ["+parent", "+child", "-child"])
      }))
      assert.deepStrictEqual(log, ["+parent", "+child", "-child", "-parent"])
    }))

  it.effect("detaches from the caller's scope when it went with its parent", () =>
    Effect.gen(function*() {
      const { make } = makeLibrary()
      const outer = yield* Scope.make()
      for (let index = 0; index < 100; index++) {
        yield* Effect.scoped(
          Effect.flatMap(make("parent"), (parent) => make("child", [parent]).pipe(Scope.provide(outer)))
        )
      }
      assert.strictEqual(outer.state._tag, "Empty")
    }))

  it.effect("makes nothing and keeps no lease when acquiring fails", () =>
    Effect.gen(function*() {
      const { log, make } = makeLibrary()
      yield* Effect.scoped(Effect.gen(function*() {
        const parent = yield* make("parent")
        const exit = yield* Effect.exit(make("child", [parent], { acquire: Effect.fail(errorOf("thing_create", 12)) }))
        const error = Option.getOrThrow(Exit.findErrorOption(exit))
        assert.strictEqual(error.reason._tag, "ENOMEM")
      }))
      assert.deepStrictEqual(log, ["+parent", "+child", "-parent"])
    }))

  it.effect("acquiring cannot be interrupted, and what it made is released", () =>
    Effect.gen(function*() {
      const { log, make } = makeLibrary()
      const started = yield* Deferred.make<void>()
      const gate = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(Effect.scoped(Effect.flatMap(
        make("a", [], { acquire: Effect.andThen(Deferred.succeed(started, undefined), Deferred.await(gate)) }),
        () => Effect.never
      )))
      yield* Deferred.await(started)
      const interruption = yield* Effect.forkChild(Fiber.interrupt(fiber))
      yield* Effect.yieldNow
      assert.deepStrictEqual(log, ["+a"])
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(interruption)
      assert.deepStrictEqual(log, ["+a", "-a"])
    }))

  it.effect("acquiring into a closed scope releases at once", () =>
    Effect.gen(function*() {
      const { log, make } = makeLibrary()
      const scope = yield* Scope.make()
      yield* Scope.close(scope, Exit.void)
      const thing = yield* make("a").pipe(Scope.provide(scope))
      assert.deepStrictEqual(log, ["+a", "-a"])
      assert.isFalse(Resource.isLive(thing))
    }))

  it.effect("using a released handle is a defect that names it", () =>
    Effect.gen(function*() {
      const { make } = makeLibrary()
      const dead = yield* Effect.scoped(make("a"))
      const exits = [
        yield* Effect.exit(Effect.sync(() => Resource.raw(dead))),
        yield* Effect.exit(Effect.scoped(make("b", [dead]))),
        yield* Effect.exit(Resource.withLease(dead, Effect.void)),
        yield* Effect.exit(Resource.whileLive(dead, Effect.void))
      ]
      for (const exit of exits) {
        const defect = dieOf(exit)
        assert.instanceOf(defect, Resource.UseAfterRelease)
        assert.match(String(defect), /Thing#\d+ \(thing_create.*\) released was used after it was released/)
        assert.match(String(defect), /its scope closed with Success/)
      }
      assert.strictEqual(dead.label, "a")
    }))

  it.effect("a second release waits for the first", () =>
    Effect.gen(function*() {
      const { log, make } = makeLibrary()
      const gate = yield* Deferred.make<void>()
      const parents = yield* Scope.make()
      const children = yield* Scope.make()
      const parent = yield* make("parent").pipe(Scope.provide(parents))
      yield* make("child", [parent], { release: Deferred.await(gate) }).pipe(Scope.provide(children))
      const first = yield* Effect.forkChild(Scope.close(children, Exit.void), { startImmediately: true })
      const second = yield* Effect.forkChild(Scope.close(parents, Exit.void), { startImmediately: true })
      yield* Effect.yieldNow
      assert.deepStrictEqual(log, ["+parent", "+child", "-child"])
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.joinAll([first, second])
      assert.deepStrictEqual(log, ["+parent", "+child", "-child", "-parent"])
    }))

  it.effect("release waits for a lease and then takes the child that was being made", () =>
    Effect.gen(function*() {
      const { log, make } = makeLibrary()
      const gate = yield* Deferred.make<void>()
      const outer = yield* Effect.scope
      const parents = yield* Scope.make()
      const parent = yield* make("parent").pipe(Scope.provide(parents))
      const child = yield* Effect.forkChild(
        make("child", [parent], { acquire: Deferred.await(gate) }).pipe(Scope.provide(outer)),
        { startImmediately: true }
      )
      const closing = yield* Effect.forkChild(Scope.close(parents, Exit.void), { startImmediately: true })
      const late = yield* Effect.exit(make("late", [parent]))
      assert.instanceOf(dieOf(late), Resource.UseAfterRelease)
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(closing)
      yield* Fiber.join(child)
      assert.deepStrictEqual(log, ["+parent", "+child", "-child", "-parent"])
    }))

  it.effect("release wakes what waits on the handle", () =>
    Effect.gen(function*() {
      const { log, make } = makeLibrary()
      const scope = yield* Scope.make()
      const thing = yield* make("a").pipe(Scope.provide(scope))
      const waiting = yield* Effect.forkChild(
        Resource.whileLive(thing, Effect.onInterrupt(Effect.never, () => Effect.sync(() => log.push("woken")))),
        { startImmediately: true }
      )
      yield* Effect.yieldNow
      yield* Scope.close(scope, Exit.void)
      assert.instanceOf(dieOf(yield* Fiber.await(waiting)), Resource.UseAfterRelease)
      assert.deepStrictEqual(log, ["+a", "woken", "-a"])
    }))

  it.effect("a failing release leaves a ReleaseError in the cause and stops no other", () =>
    Effect.gen(function*() {
      const { log, make } = makeLibrary()
      const exit = yield* Effect.exit(Effect.scoped(Effect.gen(function*() {
        const parent = yield* make("parent", [], { release: Effect.fail(errorOf("thing_destroy", 16)) })
        yield* make("child", [parent], { release: Effect.fail(errorOf("thing_destroy", 4711)) })
        yield* make("other")
      })))
      assert.deepStrictEqual(log, ["+parent", "+child", "+other", "-other", "-child", "-parent"])
      assert.isTrue(Exit.isFailure(exit))
      const errors = Exit.isFailure(exit)
        ? exit.cause.reasons.map((reason) => reason._tag === "Die" && reason.defect)
        : []
      assert.deepStrictEqual(errors.map((error) => error instanceof ReleaseError && error.errno), [4711, 16])
      assert.match(String(errors[1]), /thing_destroy did not release Thing#1 .*still alive on it: Thing#2/)
      assert.deepStrictEqual((yield* Ledger.live).map(({ name, state }) => [name, state]), [
        ["Thing#1", "leaked"],
        ["Thing#2", "leaked"]
      ])
    }).pipe(Effect.provide(Ledger.layer)))

  it.effect("a release that cannot refuse is not called while a child lives", () =>
    Effect.gen(function*() {
      const { log, make } = makeLibrary()
      const exit = yield* Effect.exit(Effect.scoped(Effect.gen(function*() {
        const parent = yield* make("parent", [], { cannotRefuse: true })
        yield* make("child", [parent], { release: Effect.fail(errorOf("thing_destroy", 16)) })
      })))
      assert.deepStrictEqual(log, ["+parent", "+child", "-child"])
      const errors = Exit.isFailure(exit)
        ? exit.cause.reasons.map((reason) => reason._tag === "Die" && reason.defect)
        : []
      assert.match(
        String(errors[1]),
        /did not release Thing#1 .*not called while a child lives; still alive on it: Thing#2/
      )
    }).pipe(Effect.provide(Ledger.layer)))

  it.effect("a failed release is never run again", () =>
    Effect.gen(function*() {
      const { log, make } = makeLibrary()
      const parents = yield* Scope.make()
      const children = yield* Scope.make()
      const parent = yield* make("parent").pipe(Scope.provide(parents))
      yield* make("child", [parent], { release: Effect.fail(errorOf("thing_destroy", 16)) }).pipe(
        Scope.provide(children)
      )
      assert.instanceOf(dieOf(yield* Effect.exit(Scope.close(children, Exit.void))), ReleaseError)
      yield* Scope.close(parents, Exit.void)
      assert.deepStrictEqual(log, ["+parent", "+child", "-child", "-parent"])
    }))

  it.effect("log instead of die, when the reference says so", () =>
    Effect.gen(function*() {
      const { make } = makeLibrary()
      const exit = yield* Effect.exit(
        Effect.scoped(make("a", [], { release: Effect.fail(errorOf("thing_destroy", 16)) }))
      )
      assert.isTrue(Exit.isSuccess(exit))
      assert.deepStrictEqual((yield* Ledger.totals).map(({ failed }) => failed), [1])
    }).pipe(Effect.provideService(Resource.OnReleaseFailure, "log"), Effect.provide(Ledger.layer)))

  it.effect("a release that dies is a ReleaseError too", () =>
    Effect.gen(function*() {
      const { make } = makeLibrary()
      const exit = yield* Effect.exit(Effect.scoped(make("a", [], { release: Effect.die("broken") })))
      const error = dieOf(exit)
      assert.instanceOf(error, ReleaseError)
      assert.strictEqual(error.cause, "broken")
      assert.strictEqual(error.errno, undefined)
    }))

  it.effect("EIO from a release counts as released where it says that the device is gone", () =>
    Effect.gen(function*() {
      const { make } = makeLibrary()
      const release = Effect.fail(errorOf("thing_destroy", 5))
      yield* Effect.scoped(make("on a device", [], { release, goneWithDevice: true }))
      assert.deepStrictEqual(yield* Ledger.live, [])
      assert.instanceOf(dieOf(yield* Effect.exit(Effect.scoped(make("elsewhere", [], { release })))), ReleaseError)
    }).pipe(Effect.provide(Ledger.layer)))

  it.effect("is released even when its fields cannot be made", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const exit = yield* Effect.exit(Effect.scoped(Resource.make({
        kind: "Thing",
        pair: ["thing_create", "thing_destroy"],
        site: undefined,
        parents: [],
        acquire: Effect.sync(() => log.push("+")),
        release: () => Effect.sync(() => void log.push("-")),
        fields: () => {
          throw new Error("no fields")
        }
      })))
      assert.isTrue(Exit.hasDies(exit))
      assert.deepStrictEqual(log, ["+", "-"])
    }))

  it.effect("a borrowed resource is released in order and not counted", () =>
    Effect.gen(function*() {
      const { log, make } = makeLibrary()
      yield* Effect.scoped(Effect.flatMap(make("a", [], { ownership: "borrowed" }), (a) => make("b", [a])))
      assert.deepStrictEqual(log, ["+a", "+b", "-b", "-a"])
      assert.deepStrictEqual((yield* Ledger.totals).map(({ acquired }) => acquired), [1])
    }).pipe(Effect.provide(Ledger.layer)))

  it.effect("notes where it was made, when asked", () =>
    Effect.gen(function*() {
      const { make } = makeLibrary()
      yield* make("a")
      const [entry] = yield* Ledger.live
      assert.match(Ledger.formatEntry(entry!), /^Thing#1 \(thing_create at .*Resource\.test\.ts:\d+:\d+\)$/)
    }).pipe(Effect.provideService(CreationSite.CaptureSites, true), Effect.provide(Ledger.layer)))

  it.effect("knows no place when Effect called the constructor", () =>
    Effect.gen(function*() {
      const { make } = makeLibrary()
      yield* Effect.flatMap(Effect.succeed("a"), make)
      const [entry] = yield* Ledger.live
      assert.include(Ledger.formatEntry(entry!), "at a place that called it through Effect")
    }).pipe(Effect.provideService(CreationSite.CaptureSites, true), Effect.provide(Ledger.layer)))

  it.effect("notes no site by default", () =>
    Effect.gen(function*() {
      const { make } = makeLibrary()
      yield* make("a")
      assert.deepStrictEqual((yield* Ledger.live).map((entry) => entry.site), [undefined])
    }).pipe(Effect.provide(Ledger.layer)))

  it.effect("is equal to itself alone, whatever it carries", () =>
    Effect.gen(function*() {
      const { make } = makeLibrary()
      const one = yield* make("a")
      const other = yield* make("a")
      assert.isTrue(Equal.equals(one, one))
      assert.isFalse(Equal.equals(one, other))
      const map = HashMap.make([one, 1], [other, 2])
      assert.strictEqual(HashMap.getUnsafe(map, other), 2)
    }))

  it.effect("a thousand closers can wait for each other", () =>
    Effect.gen(function*() {
      const { log, make } = makeLibrary()
      const gate = yield* Deferred.make<void>()
      const scopes: Array<Scope.Closeable> = []
      let parents: ReadonlyArray<Resource.Any> = []
      for (let level = 0; level < 1000; level++) {
        const scope = yield* Scope.make()
        scopes.push(scope)
        parents = [
          yield* make("a", parents, level === 999 ? { release: Deferred.await(gate) } : {}).pipe(Scope.provide(scope))
        ]
      }
      const closers = []
      for (const scope of scopes.toReversed()) {
        closers.push(yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true }))
      }
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.joinAll(closers)
      assert.strictEqual(log.filter((entry) => entry === "-a").length, 1000)
    }))

  it.effect("a use holds a lease: release waits for its end", () =>
    Effect.gen(function*() {
      const { log, make } = makeLibrary()
      const gate = yield* Deferred.make<void>()
      const scope = yield* Scope.make()
      const thing = yield* make("a").pipe(Scope.provide(scope))
      yield* Effect.forkChild(
        Resource.use(
          thing,
          (raw) => Effect.andThen(Deferred.await(gate), Effect.sync(() => log.push(`use of ${raw}`)))
        ),
        { startImmediately: true }
      )
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      yield* Effect.yieldNow
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(closing)
      assert.deepStrictEqual(log, ["+a", "use of a", "-a"])
    }))

  it.effect("prints as its name, without the tree behind it", () =>
    Effect.gen(function*() {
      const { make } = makeLibrary()
      const thing = yield* make("a")
      assert.strictEqual(String(thing), "Thing#1")
      assert.deepStrictEqual(JSON.parse(JSON.stringify(thing)), { _id: "Thing#1", state: "live" })
    }).pipe(Effect.provide(Ledger.layer)))

  it.effect("interrupting the scope releases in order", () =>
    Effect.gen(function*() {
      const { log, make } = makeLibrary()
      const fiber = yield* Effect.forkChild(
        Effect.scoped(Effect.gen(function*() {
          const a = yield* make("a")
          yield* make("b", [a])
          return yield* Effect.never
        })),
        { startImmediately: true }
      )
      yield* Effect.yieldNow
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(log, ["+a", "+b", "-b", "-a"])
      const exit = yield* Fiber.await(fiber)
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
    }))
})
