import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { execFileSync } from "node:child_process"
import { closeSync, openSync, readdirSync, readFileSync, readSync, writeSync } from "node:fs"
import * as Library from "../src/Library.ts"
import * as Readiness from "../src/Readiness.ts"

const pipe2 = Library.fromProcess().bind("pipe", ["buffer"], "int")

const pipe = Effect.acquireRelease(
  Effect.sync(() => {
    const fds = new Int32Array(2)
    assert.strictEqual(pipe2(fds), 0)
    return { reader: fds[0]!, writer: fds[1]! }
  }),
  ({ reader, writer }) =>
    Effect.sync(() => {
      closeSync(reader)
      closeSync(writer)
    })
)

const openDescriptors = () => readdirSync("/proc/self/fd").length

const source = (name: string) => JSON.stringify(new URL(`../src/${name}.ts`, import.meta.url).href)

const pending = <A, E>(fiber: Fiber.Fiber<A, E>) =>
  Effect.map(Effect.sleep("20 millis"), () => fiber.pollUnsafe() === undefined)

describe("Readiness", { concurrent: false }, () => {
  it.live("waits until there is something to read", () =>
    Effect.gen(function*() {
      const { reader, writer } = yield* pipe
      const fiber = yield* Effect.forkChild(Readiness.readable(reader), { startImmediately: true })
      assert.isTrue(yield* pending(fiber))
      writeSync(writer, "x")
      yield* Fiber.join(fiber)
      yield* Readiness.readable(reader)
    }))

  it.live("is interrupted at once and leaves nothing open", () =>
    Effect.gen(function*() {
      const { reader } = yield* pipe
      yield* Effect.exit(Readiness.readable(-1))
      const before = openDescriptors()
      for (let i = 0; i < 50; i++) {
        const fiber = yield* Effect.forkChild(Readiness.readable(reader), { startImmediately: true })
        yield* Effect.sleep("1 millis")
        yield* Fiber.interrupt(fiber)
      }
      assert.strictEqual(openDescriptors(), before)
    }))

  it.live("wakes every waiter, on one watcher and on several", () =>
    Effect.gen(function*() {
      const { reader, writer } = yield* pipe
      const watcher = yield* Readiness.make(reader)
      const waits = [watcher.readable, watcher.readable, Readiness.readable(reader), Readiness.readable(reader)]
      const fibers = yield* Effect.forEach(waits, (wait) => Effect.forkChild(wait, { startImmediately: true }))
      yield* Fiber.interrupt(fibers[0]!)
      assert.isTrue(yield* pending(fibers[1]!))
      writeSync(writer, "x")
      yield* Effect.forEach(fibers.slice(1), (fiber) => Fiber.join(fiber))
    }))

  it.live("can be waited for again and again", () =>
    Effect.gen(function*() {
      const { reader, writer } = yield* pipe
      const watcher = yield* Readiness.make(reader)
      for (let i = 0; i < 100; i++) {
        const fiber = yield* Effect.forkChild(watcher.readable, { startImmediately: true })
        writeSync(writer, "x")
        yield* Fiber.join(fiber)
        readSync(reader, new Uint8Array(1))
      }
      const idle = yield* Effect.forkChild(watcher.readable, { startImmediately: true })
      assert.isTrue(yield* pending(idle))
      yield* Fiber.interrupt(idle)
    }))

  it.live("wakes when the other end hangs up", () =>
    Effect.gen(function*() {
      const fds = new Int32Array(2)
      pipe2(fds)
      const fiber = yield* Effect.forkChild(Readiness.readable(fds[0]!), { startImmediately: true })
      closeSync(fds[1]!)
      yield* Fiber.join(fiber)
      closeSync(fds[0]!)
    }))

  it.live("wakes who waits when the watcher is released, and waits no more", () =>
    Effect.gen(function*() {
      const { reader } = yield* pipe
      const scope = yield* Scope.make()
      const watcher = yield* Scope.provide(Readiness.make(reader), scope)
      const fiber = yield* Effect.forkChild(watcher.readable, { startImmediately: true })
      assert.isTrue(yield* pending(fiber))
      yield* Scope.close(scope, Exit.void)
      yield* Fiber.join(fiber)
      assert.isTrue(Exit.hasDies(yield* Effect.exit(watcher.readable)))
    }))

  it.live("survives that the descriptor is closed under it", () =>
    Effect.gen(function*() {
      const fds = new Int32Array(2)
      pipe2(fds)
      const fiber = yield* Effect.forkChild(Readiness.readable(fds[0]!), { startImmediately: true })
      closeSync(fds[0]!)
      assert.isTrue(yield* pending(fiber))
      yield* Fiber.interrupt(fiber)
      closeSync(fds[1]!)
    }))

  it.live("says what cannot be polled", () =>
    Effect.gen(function*() {
      const EPERM = 1
      const EBADF = 9
      const file = openSync(import.meta.filename, "r")
      assert.deepStrictEqual(
        yield* Effect.flip(Readiness.readable(file)),
        new Readiness.NotPollable({ fd: file, errno: EPERM })
      )
      closeSync(file)
      for (const fd of [-1, 1 << 20]) {
        assert.deepStrictEqual(
          yield* Effect.flip(Readiness.readable(fd)),
          new Readiness.NotPollable({ fd, errno: EBADF })
        )
        assert.strictEqual((yield* Effect.flip(Readiness.setNonBlocking(fd))).errno, EBADF)
      }
    }))

  it.live("sets O_NONBLOCK", () =>
    Effect.gen(function*() {
      const { reader } = yield* pipe
      yield* Readiness.setNonBlocking(reader)
      assert.throws(() => readSync(reader, new Uint8Array(1)), /EAGAIN/)
    }))

  it.live("sets FD_CLOEXEC", () =>
    Effect.gen(function*() {
      const { reader } = yield* pipe
      const flags = () =>
        Number.parseInt(/flags:\s+(\d+)/.exec(readFileSync(`/proc/self/fdinfo/${reader}`, "utf8"))?.[1] ?? "", 8)
      const closeOnExec = 0o2000000
      assert.strictEqual(flags() & closeOnExec, 0)
      yield* Readiness.setCloseOnExec(reader)
      assert.strictEqual(flags() & closeOnExec, closeOnExec)
      assert.strictEqual((yield* Effect.flip(Readiness.setCloseOnExec(-1))).errno, 9)
    }))

  it("keeps the process alive while it waits, and only then", () => {
    const program = `
      import * as Effect from ${JSON.stringify(import.meta.resolve("effect/Effect"))}
      import * as Fiber from ${JSON.stringify(import.meta.resolve("effect/Fiber"))}
      const Library = await import(${source("Library")})
      const Readiness = await import(${source("Readiness")})
      const fds = new Int32Array(2)
      Library.fromProcess().bind("pipe", ["buffer"], "int")(fds)
      await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
        const watcher = yield* Readiness.make(fds[0])
        const fiber = yield* Effect.forkChild(watcher.readable, { startImmediately: true })
        gc()
        yield* Effect.sleep("5 millis")
        yield* Fiber.interrupt(fiber)
        process.stdout.write("interrupted ")
      })))
      for (let i = 0; i < 20; i++) {
        const fiber = Effect.runFork(Readiness.readable(fds[0]))
        gc()
        await new Promise((resolve) => setTimeout(resolve, 1))
        await Effect.runPromise(Fiber.interrupt(fiber))
      }
      gc()
      Effect.runFork(Effect.andThen(Readiness.readable(fds[0]), Effect.sync(() => process.stdout.write("woken"))))
      setTimeout(() => Library.fromProcess().bind("write", ["int", "buffer", "size"], "ssize")(fds[1], Uint8Array.of(1), 1), 20).unref()`
    const options = { encoding: "utf8", timeout: 20_000 } as const
    assert.strictEqual(
      execFileSync(process.execPath, ["--expose-gc", "--input-type=module", "--eval", program], options),
      "interrupted woken"
    )
  })
})
