/**
 * Completion counters on the real library, where it has them.
 *
 * @since 0.1.0
 */
import type * as Library from "@effect-rdma/core/Library"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as ReturnConvention from "@effect-rdma/core/ReturnConvention"
import * as Effect from "effect/Effect"
import * as CompletionCounterAttributes from "../../CompletionCounterAttributes.ts"
import type * as CompletionCounter from "../../operations/CompletionCounter.ts"
import type { VerbsError } from "../../VerbsError.ts"
import * as Layout from "../CompletionCounterLayout.ts"
import { errorOf, unsupported } from "./error.ts"

export const make = (library: Library.Library): CompletionCounter.Operations => {
  const queryCaps = library.bindOptional("_ibv_query_comp_cntr_caps", ["pointer", "buffer", "size"], "int")
  const create = library.bindOptional("ibv_create_comp_cntr", ["pointer", "buffer"], "pointer")
  const destroy = library.bindOptional("ibv_destroy_comp_cntr", ["pointer"], "int")
  const attach = library.bindOptional("ibv_qp_attach_comp_cntr", ["pointer", "pointer", "buffer"], "int")

  const changing = (name: string) => {
    const change = library.bindOptional(name, ["pointer", "u64"], "int")
    return (counter: Pointer.Pointer<"ibv_comp_cntr">, amount: bigint): Effect.Effect<void, VerbsError> =>
      change === undefined
        ? missing(name)
        : ReturnConvention.returnedErrno(() => change(counter, amount), (errno) => errorOf(name, errno, { amount }))
  }
  const reading = (name: string) => {
    const read = library.bindOptional(name, ["pointer", "buffer"], "int")
    return (counter: Pointer.Pointer<"ibv_comp_cntr">): Effect.Effect<bigint, VerbsError> =>
      read === undefined
        ? missing(name)
        : Effect.suspend(() => {
          const value = new BigUint64Array(1)
          return Effect.map(
            ReturnConvention.returnedErrno(() => read(counter, value), (errno) => errorOf(name, errno)),
            () => value[0] ?? 0n
          )
        })
  }

  return {
    queryCompCntrCaps: (context) =>
      queryCaps === undefined
        ? missing("ibv_query_comp_cntr_caps")
        : Effect.suspend(() => {
          const caps = Layout.CompCntrCaps.allocate()
          return Effect.map(
            ReturnConvention.returnedErrno(
              () => queryCaps(context, caps, caps.byteLength),
              (errno) => errorOf("ibv_query_comp_cntr_caps", errno)
            ),
            () => {
              const { supportedQpAttachOps, ...numbers } = Layout.CompCntrCaps.read(caps)
              return { ...numbers, supportedQpAttachOps: operations.filter((name) => has(supportedQpAttachOps, name)) }
            }
          )
        }),
    createCompCntr: (context, { type }) =>
      create === undefined
        ? missing("ibv_create_comp_cntr")
        : Effect.suspend(() => {
          const attributes = Layout.CompCntrInitAttr.allocate()
          Layout.CompCntrInitAttr.write(attributes, { type: types[type] })
          return ReturnConvention.pointerOrErrno(
            () => create(context, attributes),
            (errno) => errorOf("ibv_create_comp_cntr", errno, { type })
          )
        }),
    destroyCompCntr: (counter) =>
      destroy === undefined
        ? missing("ibv_destroy_comp_cntr")
        : ReturnConvention.returnedErrno(() => destroy(counter), (errno) => errorOf("ibv_destroy_comp_cntr", errno)),
    setCompCntr: changing("ibv_set_comp_cntr"),
    setErrCompCntr: changing("ibv_set_err_comp_cntr"),
    incCompCntr: changing("ibv_inc_comp_cntr"),
    incErrCompCntr: changing("ibv_inc_err_comp_cntr"),
    readCompCntr: reading("ibv_read_comp_cntr"),
    readErrCompCntr: reading("ibv_read_err_comp_cntr"),
    qpAttachCompCntr: (qp, counter, attached) =>
      attach === undefined
        ? missing("ibv_qp_attach_comp_cntr")
        : Effect.suspend(() => {
          const attributes = Layout.QpAttachCompCntrAttr.allocate()
          const opMask = attached.reduce((bits, name) => bits | CompletionCounterAttributes.operationBits[name], 0)
          Layout.QpAttachCompCntrAttr.write(attributes, { opMask })
          return ReturnConvention.returnedErrno(
            () => attach(qp, counter, attributes),
            (errno) => errorOf("ibv_qp_attach_comp_cntr", errno, { operations: attached.join(" ") })
          )
        })
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const missing = (call: string): Effect.Effect<never, VerbsError> => Effect.fail(unsupported(call, "EOPNOTSUPP"))

/** `enum ibv_comp_cntr_type`. */
const types = { wrs: 0, bytes: 1 } as const

const operations: ReadonlyArray<CompletionCounterAttributes.AttachedOperation> = [
  "send",
  "recv",
  "rdmaRead",
  "remoteRdmaRead",
  "rdmaWrite",
  "remoteRdmaWrite"
]

const has = (bits: number, name: CompletionCounterAttributes.AttachedOperation): boolean =>
  (bits & CompletionCounterAttributes.operationBits[name]) !== 0
