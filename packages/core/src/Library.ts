/**
 * Shared libraries and typed functions in them.
 *
 * A library that was opened stays in the process for good: providers, open contexts and threads of the C side keep
 * pointers into it, so it is never closed, not even when a worker thread that opened it ends.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Koffi from "koffi"
import { koffi } from "./internal/koffi.ts"
import * as linux from "./internal/linux.ts"

/**
 * What a C function takes, as seen from JavaScript. A `buffer` lends its bytes for the duration of one synchronous call;
 * memory that C keeps is passed as a `pointer`. Integers are truncated to the C type without a check.
 *
 * @category models
 * @since 0.1.0
 */
export interface Arguments {
  readonly int: number
  readonly uint: number
  readonly u8: number
  readonly u16: number
  readonly u32: number
  readonly u64: bigint
  readonly size: number
  readonly pointer: bigint | null
  readonly buffer: ArrayBufferView | null
  readonly string: string | null
}

/**
 * What a C function returns, as seen from JavaScript. A `string` is copied and not freed.
 *
 * @category models
 * @since 0.1.0
 */
export interface Results {
  readonly void: void
  readonly int: number
  readonly uint: number
  readonly u8: number
  readonly u16: number
  readonly u32: number
  readonly u64: bigint
  readonly size: number
  readonly ssize: number
  readonly pointer: bigint | null
  readonly string: string | null
}

const typeNames = {
  void: "void",
  int: "int",
  uint: "unsigned int",
  u8: "uint8_t",
  u16: "uint16_t",
  u32: "uint32_t",
  u64: "uint64_t",
  size: "size_t",
  ssize: "intptr_t",
  pointer: "void *",
  buffer: "void *",
  string: "str"
} as const

/**
 * The values for a list of argument types.
 *
 * @category models
 * @since 0.1.0
 */
export type ArgumentValues<A extends ReadonlyArray<keyof Arguments>> = { -readonly [I in keyof A]: Arguments[A[I]] }

/**
 * A C function. Calling it blocks the JS thread; `async` runs it on a thread of libuv's pool, which has four for the whole
 * process, and errno can then be read only inside of `done`, where a value left by an earlier call may stand in it.
 *
 * @category models
 * @since 0.1.0
 */
export interface NativeFunction<A extends ReadonlyArray<keyof Arguments>, R extends keyof Results> {
  (...values: ArgumentValues<A>): Results[R]
  async(...values: [...ArgumentValues<A>, done: (error: unknown, result: Results[R]) => void]): void
}

/**
 * An opened library.
 *
 * @category models
 * @since 0.1.0
 */
export interface Library {
  readonly name: string
  /** The path or SONAME that loaded. */
  readonly path: string
  /** Whether the library exports a symbol: the feature test, as there are no version functions. */
  has(symbol: string): boolean
  /** A function that must be there; throws {@link SymbolNotFound}, which {@link bindAll} makes a failure. */
  bind<const A extends ReadonlyArray<keyof Arguments>, R extends keyof Results>(
    symbol: string,
    argumentTypes: A,
    resultType: R
  ): NativeFunction<A, R>
  /** A function that older versions lack. */
  bindOptional<const A extends ReadonlyArray<keyof Arguments>, R extends keyof Results>(
    symbol: string,
    argumentTypes: A,
    resultType: R
  ): NativeFunction<A, R> | undefined
}

/**
 * How to find a library: an explicit path wins over the environment variable, and that over the SONAMEs. What was asked
 * for explicitly is never replaced by something else.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly name: string
  readonly soname: ReadonlyArray<string>
  readonly environment: string
  readonly debianPackage: string
  readonly path?: string | undefined
}

/**
 * No candidate could be loaded. This says nothing about devices or kernel modules.
 *
 * @category errors
 * @since 0.1.0
 */
export class LibraryNotFound extends Schema.TaggedError<LibraryNotFound>("@effect-rdma/core/LibraryNotFound")(
  "LibraryNotFound",
  {
    library: Schema.String,
    tried: Schema.Array(Schema.Struct({ name: Schema.String, message: Schema.String })),
    package: Schema.String,
    environment: Schema.String
  }
) {
  override get message() {
    const tried = this.tried.map(({ name, message }) => `${name}: ${message}`).join("; ")
    return `${this.library} could not be loaded (${tried}). Install it, on Debian with: apt-get install ${this.package}, ` +
      `or set ${this.environment} to its path`
  }
}

/**
 * The library is there but lacks a function: it is too old, or not the library it was taken for.
 *
 * @category errors
 * @since 0.1.0
 */
export class SymbolNotFound extends Schema.TaggedError<SymbolNotFound>("@effect-rdma/core/SymbolNotFound")(
  "SymbolNotFound",
  { library: Schema.String, path: Schema.String, symbol: Schema.String }
) {
  override get message() {
    return `${this.library} (${this.path}) has no function ${this.symbol}: a newer version is needed`
  }
}

const typed = <A extends ReadonlyArray<keyof Arguments>, R extends keyof Results>(
  native: Koffi.KoffiFunc<(...values: ReadonlyArray<unknown>) => unknown>,
  resultType: R
): NativeFunction<A, R> => {
  if (resultType !== "u64") return native as unknown as NativeFunction<A, R>
  // koffi returns small 64-bit integers as numbers.
  const bigint = (...values: ReadonlyArray<unknown>) => BigInt(native(...values) as number | bigint)
  const async = (...values: ReadonlyArray<unknown>) => {
    const done = values.at(-1) as (error: unknown, result: unknown) => void
    native.async(...values.slice(0, -1), (error, result) => {
      done(error, error ? undefined : BigInt(result as number | bigint))
    })
  }
  return Object.assign(bigint, { async }) as unknown as NativeFunction<A, R>
}

const koffiTypes = (types: ReadonlyArray<keyof Arguments>): Array<string> => types.map((type) => typeNames[type])

const prototypes = new Map<string, Koffi.TypeObject>()

// An address stays the same function, since no library is ever closed.
const decoded = new Map<string, unknown>()

/**
 * A function from its address, for the operation tables that the libraries keep in memory. It is decoded at the first
 * call for an address and kept, since decoding costs more than the call.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromAddress = <const A extends ReadonlyArray<keyof Arguments>, R extends keyof Results>(
  address: bigint,
  argumentTypes: A,
  resultType: R
): NativeFunction<A, R> => {
  if (address === 0n) throw new RangeError("a function cannot be at NULL")
  const signature = `${resultType}(${argumentTypes.join(",")})`
  const key = `${address}:${signature}`
  const known = decoded.get(key)
  if (known !== undefined) return known as NativeFunction<A, R>
  let prototype = prototypes.get(signature)
  if (prototype === undefined) {
    prototype = koffi().proto(typeNames[resultType], koffiTypes(argumentTypes))
    prototypes.set(signature, prototype)
  }
  const made = typed<A, R>(koffi().decode(address, prototype), resultType)
  decoded.set(key, made)
  return made
}

const load = (path: string): Koffi.LibraryHandle => {
  // To C the one is the program itself, and the other ends early.
  if (path === "" || path.includes("\0")) throw new Error("not the name of a library")
  // koffi closes a library when its handle is collected, so the library is pinned first.
  fromProcess().bind("dlopen", ["string", "int"], "pointer")(path, linux.RTLD_NOW | linux.RTLD_NODELETE)
  return koffi().load(path)
}

const fromHandle = (name: string, path: string, handle: Koffi.LibraryHandle): Library => {
  const has = (symbol: string): boolean => {
    try {
      handle.symbol(symbol)
      return true
    } catch {
      return false
    }
  }
  const bindOptional: Library["bindOptional"] = (symbol, argumentTypes, resultType) =>
    has(symbol)
      ? typed(handle.func(symbol, typeNames[resultType], koffiTypes(argumentTypes)), resultType)
      : undefined
  const bind: Library["bind"] = (symbol, argumentTypes, resultType) => {
    const found = bindOptional(symbol, argumentTypes, resultType)
    if (found === undefined) throw new SymbolNotFound({ library: name, path, symbol })
    return found
  }
  return { name, path, has, bind, bindOptional }
}

let own: Library | undefined

/**
 * What is in the process already, the C library above all. Never fails and owns nothing.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromProcess = (): Library => own ??= fromHandle("process", "", koffi().load(null))

const candidates = Effect.fnUntraced(function*(options: Options) {
  if (options.path !== undefined) return [options.path]
  const variable = yield* Effect.orDie(Config.option(Config.String(options.environment)))
  return Option.isSome(variable) && variable.value !== "" ? [variable.value] : options.soname
})

/**
 * Opens a library, once and for good.
 *
 * @category constructors
 * @since 0.1.0
 */
export const open = Effect.fn("Library.open")(function*(options: Options): Effect.fn.Return<Library, LibraryNotFound> {
  const tried: Array<{ name: string; message: string }> = []
  for (const path of yield* candidates(options)) {
    const opened = yield* Effect.result(Effect.try({
      try: () => fromHandle(options.name, path, load(path)),
      catch: (error) => error instanceof Error ? error.message : String(error)
    }))
    if (Result.isSuccess(opened)) return opened.success
    tried.push({ name: path, message: opened.failure })
  }
  return yield* new LibraryNotFound({
    library: options.name,
    tried,
    package: options.debianPackage,
    environment: options.environment
  })
})

/**
 * Binds the functions of a library: one that is missing fails as {@link SymbolNotFound}.
 *
 * @category combinators
 * @since 0.1.0
 */
export const bindAll = <A>(bind: () => A): Effect.Effect<A, SymbolNotFound> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(bind())
    } catch (error) {
      return error instanceof SymbolNotFound ? Effect.fail(error) : Effect.die(error)
    }
  })
