import * as NativeError from "@effect-rdma/core/NativeError"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import { RdmaCmError } from "@effect-rdma/rdmacm/RdmaCmError"
import { UmadError } from "@effect-rdma/umad/UmadError"
import { VerbsError } from "@effect-rdma/verbs/VerbsError"
import * as Base64 from "effect/encoding/Base64"
import * as NetAddress from "effect/net/NetAddress"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

/** An error of one of the libraries. */
export type LibraryError = VerbsError | RdmaCmError | UmadError

export const isLibraryError = (value: unknown): value is LibraryError =>
  value instanceof VerbsError || value instanceof RdmaCmError || value instanceof UmadError

/** Bytes of which only the number counts: memory that is registered. */
export class Memory {
  readonly length: number
  constructor(length: number) {
    this.length = length
  }
}

/** An argument that is called back; what it did is not seen. */
export const callback = Symbol("callback")

/** A copy of an argument or a result, as it is at the time. */
export const copy = (value: unknown): unknown => {
  if (typeof value === "function") return callback
  if (typeof value !== "object" || value === null) return value
  if (value instanceof Uint8Array) return value.length > longest ? new Memory(value.length) : value.slice()
  if (Array.isArray(value)) return value.map(copy)
  if (NetAddress.isIpAddress(value) || NetAddress.isInetAddress(value) || isLibraryError(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, copy(field)]))
}

/**
 * What stands in a trace for something else in the program that it is played back to: addresses, and the numbers by which
 * libraries call back.
 */
export type Tokens = Map<unknown, unknown>

/** Whether two values are the same, but for tokens: those that differ must differ in the same way each time. */
export const same = (recorded: unknown, actual: unknown, tokens: Tokens, field?: string): boolean => {
  if (recorded === actual) return true
  if (isToken(recorded, field) && isToken(actual, field)) {
    if (!tokens.has(recorded)) tokens.set(recorded, actual)
    return tokens.get(recorded) === actual
  }
  if (recorded instanceof Memory) return actual instanceof Memory && recorded.length === actual.length
  if (typeof recorded !== "object" || recorded === null || typeof actual !== "object" || actual === null) return false
  const asText = textOf(recorded)
  if (asText !== undefined) return textOf(actual)?.[1] === asText[1]
  const names = Object.keys(recorded)
  return names.length === Object.keys(actual).length &&
    names.every((name) => same(Reflect.get(recorded, name), Reflect.get(actual, name), tokens, name))
}

/** A result of a trace, with the tokens of the program in it. */
export const translate = (recorded: unknown, tokens: Tokens, field?: string): unknown => {
  if (isToken(recorded, field)) return tokens.get(recorded) ?? recorded
  if (Array.isArray(recorded)) return recorded.map((item) => translate(item, tokens))
  if (typeof recorded !== "object" || recorded === null) return recorded
  if (recorded instanceof Memory || textOf(recorded) !== undefined || isLibraryError(recorded)) return recorded
  return Object.fromEntries(
    Object.entries(recorded).map(([name, value]) => [name, translate(value, tokens, name)])
  )
}

/** As plain JSON. */
export const encode = (value: unknown): unknown => {
  if (value === undefined) return { $: "undefined" }
  if (value === callback) return { $: "callback" }
  if (typeof value === "bigint") return { $: "bigint", text: value.toString() }
  if (typeof value !== "object" || value === null) return value
  if (value instanceof Memory) return { $: "memory", length: value.length }
  const asText = textOf(value)
  if (asText !== undefined) return { $: asText[0], text: asText[1] }
  if (Array.isArray(value)) return value.map(encode)
  if (isLibraryError(value)) {
    const { _tag, call, hint, input, reason } = value
    return {
      $: _tag,
      call,
      reason: encodeReason(reason),
      input: encode(input),
      ...(hint === undefined ? {} : { hint })
    }
  }
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, encode(field)]))
}

/** The value of {@link encode}. Throws for what that does not write. */
export const decode = (json: unknown): unknown => {
  if (typeof json !== "object" || json === null) return json
  if (Array.isArray(json)) return json.map(decode)
  if (!("$" in json)) return Object.fromEntries(Object.entries(json).map(([name, field]) => [name, decode(field)]))
  if (json.$ === "undefined") return undefined
  if (json.$ === "callback") return callback
  if (json.$ === "memory" && "length" in json && typeof json.length === "number") return new Memory(json.length)
  if (typeof json.$ === "string") {
    const read = texts[json.$]?.read
    if (read !== undefined && "text" in json && typeof json.text === "string") return read(json.text)
    const LibraryError = errors[json.$]
    if (LibraryError !== undefined && "input" in json) {
      return new LibraryError(decodeError({ ...json, input: decode(json.input) }))
    }
  }
  throw new TypeError(`${JSON.stringify(json)} is no value of a trace`)
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

// Private data and headers are shorter, memory that is worth a registration is not.
const longest = 512

// Numbers below are sizes and keys, not addresses.
const firstAddress = 0x1_0000n

const isToken = (value: unknown, field: string | undefined): value is number | bigint =>
  typeof value === "bigint" ? value >= firstAddress : typeof value === "number" && field === "cqContext"

const texts: { readonly [kind: string]: { readonly read: (text: string) => unknown } } = {
  bigint: { read: BigInt },
  bytes: { read: (text) => Result.getOrThrow(Base64.decode(text)) },
  ip: { read: NetAddress.ipFromStringUnsafe },
  inet: { read: NetAddress.inetAddressFromStringUnsafe }
}

const errors: { readonly [tag: string]: new(fields: ErrorFields) => LibraryError } = {
  VerbsError,
  RdmaCmError,
  UmadError
}

const ErrorFields = Schema.Struct(NativeError.fields)
type ErrorFields = typeof ErrorFields.Type

const decodeError = Schema.decodeUnknownSync(ErrorFields)

const encodeReason = Schema.encodeSync(NativeReason.NativeReason)

const textOf = (value: object): readonly [kind: string, text: string] | undefined => {
  if (value instanceof Uint8Array) return ["bytes", Base64.encode(value)]
  if (NetAddress.isIpAddress(value)) return ["ip", NetAddress.formatIp(value)]
  if (NetAddress.isInetAddress(value)) return ["inet", NetAddress.formatInet(value)]
  return undefined
}
