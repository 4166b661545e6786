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

/** Where calls come from: a host of a fabric, or a process on libraries of its own. */
export interface Place {
  readonly host: string | undefined
  readonly fabric: Fabric.Fabric["Service"] | undefined
}

/** Wraps the seams in a context, whichever are there, and those of every host of a fabric in it. */
export const intercept =
  (interceptorsAt: (place: Place) => Interceptors) =>
  <Services>(context: Context.Context<Services>): Context.Context<Services> => {
    const fabric = Context.getOrUndefined(context, Fabric.Fabric)
    const wrapSeams = <Seams>(host: string | undefined, seams: Context.Context<Seams>): Context.Context<Seams> => {
      const { rdmaCm, umad, verbs } = interceptorsAt({ host, fabric })
      return seams.pipe(
        replace(Verbs, (service) => Calls.interceptVerbs(service, verbs)),
        replace(RdmaCm, (service) => Calls.interceptRdmaCm(service, rdmaCm)),
        replace(Umad, (service) => Calls.interceptUmad(service, umad))
      )
    }
    const hosts = new Map<string, Context.Context<Fabric.Seams>>()
    return wrapSeams(fabric?.topology.hosts[0].name, context).pipe(
      replace(Fabric.Fabric, (fabric) => ({
        ...fabric,
        seams: (host) =>
          Effect.map(fabric.seams(host), (seams) => {
            const wrapped = hosts.get(host) ?? wrapSeams(host, seams)
            hosts.set(host, wrapped)
            return wrapped
          })
      }))
    )
  }

const replace =
  <Key, Service>(key: Context.Key<Key, Service>, wrap: (self: Service) => Service) =>
  <Services>(context: Context.Context<Services>): Context.Context<Services> => {
    const found = Context.getOrUndefined(context, key)
    return found === undefined ? context : Context.add(context, key, wrap(found))
  }
