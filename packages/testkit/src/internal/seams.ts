import { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import type { RdmaCmError } from "@effect-rdma/rdmacm/RdmaCmError"
import { Umad } from "@effect-rdma/umad/Umad"
import type { UmadError } from "@effect-rdma/umad/UmadError"
import { Verbs } from "@effect-rdma/verbs/Verbs"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fabric from "../Fabric.ts"
import * as Calls from "./calls.ts"

/** What happens around each call of the three libraries. */
export interface Interceptors {
  readonly verbs: Calls.Interceptor<VerbsError>
  readonly rdmaCm: Calls.Interceptor<RdmaCmError>
  readonly umad: Calls.Interceptor<UmadError>
}

/** Wraps the seams in a context, whichever are there, and those of every host of a fabric in it. */
export const intercept = (interceptors: Interceptors) => {
  const wrapSeams = <Services>(context: Context.Context<Services>): Context.Context<Services> =>
    context.pipe(
      replace(Verbs, (service) => Calls.interceptVerbs(service, interceptors.verbs)),
      replace(RdmaCm, (service) => Calls.interceptRdmaCm(service, interceptors.rdmaCm)),
      replace(Umad, (service) => Calls.interceptUmad(service, interceptors.umad))
    )
  return <Services>(context: Context.Context<Services>): Context.Context<Services> =>
    wrapSeams(context).pipe(
      replace(Fabric.Fabric, (fabric) => {
        const hosts = new Map<string, Context.Context<Fabric.Seams>>()
        return {
          ...fabric,
          seams: (host) =>
            Effect.map(fabric.seams(host), (seams) => {
              const wrapped = hosts.get(host) ?? wrapSeams(seams)
              hosts.set(host, wrapped)
              return wrapped
            })
        }
      })
    )
}

const replace =
  <Key, Service>(key: Context.Key<Key, Service>, wrap: (self: Service) => Service) =>
  <Services>(context: Context.Context<Services>): Context.Context<Services> => {
    const found = Context.getOrUndefined(context, key)
    return found === undefined ? context : Context.add(context, key, wrap(found))
  }
