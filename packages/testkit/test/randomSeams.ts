/** The seams that the random programs of `lifetimes.test.ts` run on. */
import { RdmaCm } from "@effect-rdma/rdmacm"
import type { Fabric } from "@effect-rdma/testkit"
import { Umad } from "@effect-rdma/umad"
import { Verbs } from "@effect-rdma/verbs"
import { Context, Effect } from "effect"
import * as Calls from "../src/internal/calls.ts"

// What is a plain function takes no turn.
const slowly = {
  fallible: turnAround,
  infallible: turnAround,
  synchronous: <A>(_call: unknown, _args: ReadonlyArray<unknown>, run: () => A) => run()
}
function turnAround<A, E>(_call: unknown, _args: ReadonlyArray<unknown>, run: Effect.Effect<A, E>) {
  return Effect.andThen(Effect.yieldNow, Effect.ensuring(run, Effect.yieldNow))
}

/** Takes a turn before and after each call, as an asynchronous seam would. */
export const slowSeams = (context: Context.Context<Fabric.Seams>): Context.Context<Fabric.Seams> =>
  Context.make(Verbs.Verbs, Calls.interceptVerbs(Context.get(context, Verbs.Verbs), slowly)).pipe(
    Context.add(RdmaCm.RdmaCm, Calls.interceptRdmaCm(Context.get(context, RdmaCm.RdmaCm), slowly)),
    Context.add(Umad.Umad, Calls.interceptUmad(Context.get(context, Umad.Umad), slowly))
  )

// The calls that release something, by the beginning of their member's name.
const releases = /^(close|dealloc|dereg|destroy|detach|done|free|release|unimport|unregister)/

const releasingAs = <Seam extends object>(seam: Seam, releasing: Seam): Seam => {
  const members = Object.entries(releasing).filter(([name]) => releases.test(name))
  return { ...seam, ...Object.fromEntries(members) }
}

/** Releases through another seam. */
export const seamsReleasingAs = (
  seams: Context.Context<Fabric.Seams>,
  releasing: Context.Context<Fabric.Seams>
): Context.Context<Fabric.Seams> =>
  Context.make(Verbs.Verbs, releasingAs(Context.get(seams, Verbs.Verbs), Context.get(releasing, Verbs.Verbs))).pipe(
    Context.add(RdmaCm.RdmaCm, releasingAs(Context.get(seams, RdmaCm.RdmaCm), Context.get(releasing, RdmaCm.RdmaCm))),
    Context.add(Umad.Umad, releasingAs(Context.get(seams, Umad.Umad), Context.get(releasing, Umad.Umad)))
  )
