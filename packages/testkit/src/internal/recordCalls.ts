/**
 * Which C functions a program called, in order: to prove that something never reaches native code.
 *
 * @since 0.1.0
 */
import type { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import type { Umad } from "@effect-rdma/umad/Umad"
import type { Verbs } from "@effect-rdma/verbs/Verbs"
import * as Effect from "effect/Effect"
import * as Calls from "./calls.ts"

/** A call, with the arguments of the seam's member. */
export interface Call {
  readonly call: Calls.FallibleCall | Calls.InfallibleCall
  readonly args: ReadonlyArray<unknown>
}

/** The same seam, and the calls that went through it. A call counts when it starts. */
export interface Recorded<Seam> {
  readonly seam: Seam
  readonly calls: ReadonlyArray<Call>
}

const recorderInto = (calls: Array<Call>) => {
  const record = <A, E>(call: Call["call"], args: ReadonlyArray<unknown>, run: Effect.Effect<A, E>) =>
    Effect.suspend(() => {
      calls.push({ call, args })
      return run
    })
  return { fallible: record, infallible: record }
}

export const recordVerbs = (seam: Verbs["Service"]): Recorded<Verbs["Service"]> => {
  const calls: Array<Call> = []
  return { calls, seam: Calls.interceptVerbs(seam, recorderInto(calls)) }
}

export const recordRdmaCm = (seam: RdmaCm["Service"]): Recorded<RdmaCm["Service"]> => {
  const calls: Array<Call> = []
  return { calls, seam: Calls.interceptRdmaCm(seam, recorderInto(calls)) }
}

export const recordUmad = (seam: Umad["Service"]): Recorded<Umad["Service"]> => {
  const calls: Array<Call> = []
  return { calls, seam: Calls.interceptUmad(seam, recorderInto(calls)) }
}

/** The names of the calls, in order. */
export const namesOf = (calls: ReadonlyArray<Call>): ReadonlyArray<Call["call"]> => calls.map(({ call }) => call)

/** How often a function was called. */
export const timesCalled = (calls: ReadonlyArray<Call>, name: Call["call"]): number =>
  calls.filter(({ call }) => call === name).length
