/**
 * Work queues, flows, flow actions and counters on the real library: all of them operations below a context.
 *
 * @since 0.1.0
 */
import * as Library from "@effect-rdma/core/Library"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as ReturnConvention from "@effect-rdma/core/ReturnConvention"
import * as Effect from "effect/Effect"
import type * as Steering from "../../operations/Steering.ts"
import type { VerbsError } from "../../VerbsError.ts"
import * as ContextOps from "../contextOps.ts"
import { contextOps } from "../DeviceLayout.ts"
import * as Codec from "../steeringCodec.ts"
import * as Layout from "../SteeringLayout.ts"
import { errorOf, unsupported } from "./error.ts"

export const make = (): Steering.Operations => {
  const libc = Library.fromProcess()
  const initialiseMutex = libc.bind("pthread_mutex_init", ["pointer", "pointer"], "int")
  const initialiseCondition = libc.bind("pthread_cond_init", ["pointer", "pointer"], "int")
  return {
    createWq: (context, attributes) =>
      withOp(context, contextOps.createWq, "ibv_create_wq", (address) => {
        const view = Codec.encodeQueueAttributes(attributes)
        return Effect.map(
          create<"ibv_wq">("ibv_create_wq", address, context, view, {
            maxWr: attributes.maxWr,
            maxSge: attributes.maxSge,
            createFlags: attributes.createFlags.join(" ")
          }),
          (wq) => {
            // What the header does behind the provider's back. Without it the release waits on garbage.
            const made = NativeMemory.view(wq, Layout.Wq.size)
            Layout.Wq.write(made, { wqContext: 0n, eventsCompleted: 0 })
            initialiseMutex(wq + BigInt(Layout.Wq.fields.mutex.offset), null)
            initialiseCondition(wq + BigInt(Layout.Wq.fields.cond.offset), null)
            const { maxSge, maxWr } = Layout.WqInitAttr.read(view)
            return { wq, wqNum: Layout.Wq.get("wqNum", made), maxWr, maxSge }
          }
        )
      }),
    modifyWq: (wq, changes) =>
      withOpOf(wq, contextOps.modifyWq, "ibv_modify_wq", (address) =>
        ReturnConvention.returnedErrno(
          () => Library.fromAddress(address, ["pointer", "buffer"], "int")(wq, Codec.encodeQueueChanges(changes)),
          (errno) => errorOf("ibv_modify_wq", errno, { wqState: changes.wqState, currWqState: changes.currWqState })
        )),
    destroyWq: (wq) => destroy("ibv_destroy_wq", contextOps.destroyWq, wq),
    createRwqIndTable: (context, table) =>
      withOp(context, contextOps.createRwqIndTable, "ibv_create_rwq_ind_table", (address) => {
        const view = Codec.encodeTable(table, addressOf)
        return create("ibv_create_rwq_ind_table", address, context, view, { workQueues: table.length })
      }),
    destroyRwqIndTable: (table) => destroy("ibv_destroy_rwq_ind_table", contextOps.destroyRwqIndTable, table),

    createFlow: (qp, attributes) =>
      withOpOf(
        qp,
        contextOps.createFlow,
        "ibv_create_flow",
        (address) =>
          create("ibv_create_flow", address, qp, Codec.encodeFlow(attributes), {
            type: attributes.type,
            port: attributes.port,
            specs: attributes.specs.map(({ _tag }) => _tag).join(" ")
          })
      ),
    // A flow does not begin with its context.
    destroyFlow: (flow) =>
      destroy(
        "ibv_destroy_flow",
        contextOps.destroyFlow,
        flow,
        () => Layout.Flow.get("context", NativeMemory.view(flow, Layout.Flow.size))
      ),
    createFlowActionEsp: (context, attributes) =>
      withOp(context, contextOps.createFlowActionEsp, "ibv_create_flow_action_esp", (address) => {
        const view = Codec.encodeEsp(attributes, addressOf)
        return create("ibv_create_flow_action_esp", address, context, view)
      }),
    modifyFlowActionEsp: (action, changes) =>
      withOpOf(action, contextOps.modifyFlowActionEsp, "ibv_modify_flow_action_esp", (address) => {
        const view = Codec.encodeEsp(changes, addressOf)
        return ReturnConvention.returnedErrno(
          () => Library.fromAddress(address, ["pointer", "buffer"], "int")(action, view),
          (errno) => errorOf("ibv_modify_flow_action_esp", errno)
        )
      }),
    destroyFlowAction: (action) => destroy("ibv_destroy_flow_action", contextOps.destroyFlowAction, action),

    createCounters: (context) =>
      withOp(
        context,
        contextOps.createCounters,
        "ibv_create_counters",
        (address) => create("ibv_create_counters", address, context, Layout.CountersInitAttr.allocate())
      ),
    destroyCounters: (counters) => destroy("ibv_destroy_counters", contextOps.destroyCounters, counters),
    attachCountersPointFlow: (counters, { counterDesc, index }, flow) =>
      withOpOf(
        counters,
        contextOps.attachCountersPointFlow,
        "ibv_attach_counters_point_flow",
        (address) => {
          const view = Layout.CounterAttachAttr.allocate()
          Layout.CounterAttachAttr.write(view, {
            counterDesc: Codec.counterDescriptions.indexOf(counterDesc),
            index
          })
          return ReturnConvention.returnedErrno(
            () => Library.fromAddress(address, ["pointer", "buffer", "pointer"], "int")(counters, view, flow ?? null),
            (errno) => errorOf("ibv_attach_counters_point_flow", errno, { counterDesc, index })
          )
        }
      ),
    readCounters: (counters, ncounters, { preferCached }) =>
      withOpOf(counters, contextOps.readCounters, "ibv_read_counters", (address) => {
        const values = new BigUint64Array(ncounters)
        return Effect.map(
          ReturnConvention.returnedErrno(
            () =>
              Library.fromAddress(address, ["pointer", "buffer", "u32", "u32"], "int")(
                counters,
                values,
                ncounters,
                preferCached ? Codec.preferCached : 0
              ),
            (errno) => errorOf("ibv_read_counters", errno, { ncounters })
          ),
          () => Array.from(values)
        )
      })
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const addressOf = (view: DataView<ArrayBuffer>): bigint => NativeMemory.addressOf(new Uint8Array(view.buffer))

/** The context that all objects but a flow begin with, and have no other way back to. */
const contextAt = (object: bigint): bigint => NativeMemory.view(object, 8).getBigUint64(0, true)

/** {@link withOp} on the context of an object. */
const withOpOf = <A>(
  object: bigint,
  op: { readonly below: number },
  call: string,
  run: (address: bigint) => Effect.Effect<A, VerbsError>
): Effect.Effect<A, VerbsError> => Effect.suspend(() => withOp(contextAt(object), op, call, run))

const withOp = <A>(
  context: bigint,
  op: { readonly below: number },
  call: string,
  run: (address: bigint) => Effect.Effect<A, VerbsError>
): Effect.Effect<A, VerbsError> =>
  Effect.suspend(() => {
    const address = ContextOps.addressOf(context, op)
    return address === 0n ? Effect.fail(unsupported(call, "EOPNOTSUPP")) : run(address)
  })

/** An operation that makes an object on another from attributes. */
const create = <Struct extends string>(
  call: string,
  address: bigint,
  on: bigint,
  attributes: DataView,
  input: VerbsError["input"] = {}
): Effect.Effect<Pointer.Pointer<Struct>, VerbsError> =>
  ReturnConvention.pointerOrErrno<Struct, VerbsError>(
    () => Library.fromAddress(address, ["pointer", "buffer"], "pointer")(on, attributes),
    (errno) => errorOf(call, errno, input)
  )

const destroy = (
  call: string,
  op: { readonly below: number },
  object: bigint,
  context: () => bigint = () => contextAt(object)
): Effect.Effect<void, VerbsError> =>
  Effect.suspend(() =>
    withOp(context(), op, call, (address) =>
      ReturnConvention.returnedErrno(
        () => Library.fromAddress(address, ["pointer"], "int")(object),
        (errno) => errorOf(call, errno)
      ))
  )
