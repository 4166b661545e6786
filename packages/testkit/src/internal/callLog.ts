import { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import { Umad } from "@effect-rdma/umad/Umad"
import { Verbs } from "@effect-rdma/verbs/Verbs"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { NativeCall, Seams } from "../Fabric.ts"
import * as Calls from "./calls.ts"
import type * as Host from "./host.ts"
import * as MakeRdmaCm from "./rdmacm.ts"
import * as MakeUmad from "./umad.ts"
import type { Numbers } from "./umad/openPorts.ts"
import * as MakeVerbs from "./verbs.ts"

/** The last native calls of all hosts. */
export type CallLog = Array<LoggedCall>

export const read = (log: CallLog): ReadonlyArray<NativeCall> => log.slice(-logged).map(copyOf)

/** The libraries of a host, which note their calls. */
export const seamsOf = (
  fabric: Host.FabricState,
  host: Host.HostState,
  log: CallLog,
  numbers: Numbers
): Context.Context<Seams> => {
  const begin = (call: NativeCall["call"], args: ReadonlyArray<unknown>): LoggedCall => {
    const entry: LoggedCall = {
      host: host.name,
      call,
      pointers: pointersIn(args),
      returned: undefined,
      errno: undefined
    }
    log.push(entry)
    if (log.length === 2 * logged) log.splice(0, logged)
    return entry
  }
  const record = <A, E extends { readonly reason: { readonly errno: number } }>(
    call: NativeCall["call"],
    args: ReadonlyArray<unknown>,
    run: Effect.Effect<A, E>
  ): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      const entry = begin(call, args)
      return Effect.onExit(run, (exit) =>
        Effect.sync(() => {
          if (Exit.isSuccess(exit)) entry.returned = pointersIn([exit.value])[0]
          else entry.errno = Option.getOrUndefined(Exit.findErrorOption(exit))?.reason.errno
        }))
    })
  const recordSynchronous = <A extends { readonly error: { readonly reason: { readonly errno: number } } | undefined }>(
    call: NativeCall["call"],
    args: ReadonlyArray<unknown>,
    run: () => A
  ): A => {
    const entry = begin(call, args.slice(0, 1))
    const returned = run()
    entry.errno = returned.error?.reason.errno
    return returned
  }
  const recorder = { fallible: record, infallible: record, synchronous: recordSynchronous }
  const verbs = MakeVerbs.make(fabric, host)
  return Context.make(Verbs, Calls.interceptVerbs(verbs, recorder)).pipe(
    Context.add(RdmaCm, Calls.interceptRdmaCm(MakeRdmaCm.make(fabric, host, verbs), recorder)),
    Context.add(Umad, Calls.interceptUmad(MakeUmad.make(fabric, host, numbers), recorder))
  )
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

interface LoggedCall extends NativeCall {
  returned: bigint | undefined
  errno: number | undefined
}

const logged = 10_000

const copyOf = (call: NativeCall): NativeCall => ({ ...call })

// The pointers among arguments and results: as they are, or one level down (`{ pd, td }`, `{ list, devices }`).
const pointersIn = (values: ReadonlyArray<unknown>): ReadonlyArray<bigint> => {
  const pointers: Array<bigint> = []
  for (const value of values) {
    if (typeof value === "bigint") pointers.push(value)
    else if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value)) {
      for (const inner of Object.values(value)) if (typeof inner === "bigint") pointers.push(inner)
    }
  }
  return pointers
}
