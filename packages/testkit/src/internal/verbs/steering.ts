import type * as Errno from "@effect-rdma/core/Errno"
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as FlowActionAttributes from "@effect-rdma/verbs/FlowActionAttributes"
import type * as FlowSpecification from "@effect-rdma/verbs/FlowSpecification"
import type * as Steering from "@effect-rdma/verbs/operations/Steering"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import type * as WorkQueueAttributes from "@effect-rdma/verbs/WorkQueueAttributes"
import * as Effect from "effect/Effect"
import { FabricMisuse } from "../../FabricMisuse.ts"
import type * as Host from "../host.ts"
import {
  type CountersState,
  fail,
  type FlowActionState,
  type FlowState,
  type OfContext,
  portOf,
  query,
  reclaim,
  type VerbsState,
  type WorkQueueState
} from "./state.ts"

/** Work queues, flows, flow actions and counters of one host: mlx5 has them, rxe does not. */
export const make = (state: VerbsState): Steering.Operations => {
  const { completionQueues, domains, host: { heap }, queuePairs, rwqIndTables } = state
  const workQueues = heap.store<"ibv_wq", WorkQueueState>("ibv_wq")
  const flows = heap.store<"ibv_flow", FlowState>("ibv_flow")
  const actions = heap.store<"ibv_flow_action", FlowActionState>("ibv_flow_action")
  const counters = heap.store<"ibv_counters", CountersState>("ibv_counters")
  let wqNum = 1
  state.onClose.push((context) => {
    reclaim(flows, context)
    reclaim(actions, context)
    reclaim(counters, context)
    reclaim(rwqIndTables, context)
    reclaim(workQueues, context)
  })

  /** An operation that a provider without steering does not get to. */
  const steering = <A>(
    call: string,
    context: Pointer.Pointer<"ibv_context">,
    run: (device: Host.DeviceState) => Effect.Effect<A, VerbsError>
  ): Effect.Effect<A, VerbsError> =>
    Effect.suspend(() =>
      hasSteering(state.host.contexts.get(call, context).device)
        ? query(state, call, context, run)
        : fail(call, "EOPNOTSUPP")
    )

  return {
    createWq: (context, { cq, maxSge, maxWr, pd }) =>
      steering("ibv_create_wq", context, (device) => {
        const call = "ibv_create_wq"
        const domain = domains.get(call, pd)
        const queue = completionQueues.get(call, cq)
        if (domain.context !== context || queue.context !== context) {
          throw new FabricMisuse({ call, problem: "the domain or the completion queue is of another context" })
        }
        const attributes = device.description.attributes
        if (maxWr === 0 || maxWr > attributes.maxQpWr || maxSge > attributes.maxSge) {
          return fail(call, "EINVAL", { maxWr, maxSge })
        }
        domain.users++
        queue.users++
        const room = { maxWr: powerOfTwo(maxWr), maxSge: powerOfTwo(Math.max(maxSge, 1)) }
        const wq = workQueues.alloc({
          kind: "WorkQueue",
          device,
          context,
          domain,
          completionQueue: queue,
          state: "reset",
          users: 0
        })
        return Effect.succeed({ wq, wqNum: wqNum++, ...room })
      }),
    modifyWq: (wq, changes) =>
      Effect.suspend(() => {
        const call = "ibv_modify_wq"
        const queue = workQueues.get(call, wq)
        return on(call, queue, () => {
          const refused = refuseChange(queue, changes)
          if (refused !== undefined) return fail(call, refused, { wqState: changes.wqState })
          queue.state = changes.wqState ?? queue.state
          return Effect.void
        })
      }),
    destroyWq: (wq) =>
      destroy("ibv_destroy_wq", workQueues, wq, ({ completionQueue, domain }) => {
        workQueues.free("ibv_destroy_wq", wq)
        domain.users--
        completionQueue.users--
      }),
    createRwqIndTable: (context, table) =>
      steering("ibv_create_rwq_ind_table", context, (device) => {
        const call = "ibv_create_rwq_ind_table"
        if (table.length > maxTable) return fail(call, "EINVAL", { workQueues: table.length })
        const queues = table.map((wq) => workQueues.get(call, wq))
        if (queues.some((queue) => queue.context !== context)) {
          throw new FabricMisuse({ call, problem: "a work queue is of another context" })
        }
        for (const queue of queues) queue.users++
        return Effect.succeed(rwqIndTables.alloc({ kind: "RwqIndTable", device, context, queues, users: 0 }))
      }),
    destroyRwqIndTable: (table) =>
      destroy("ibv_destroy_rwq_ind_table", rwqIndTables, table, ({ queues }) => {
        rwqIndTables.free("ibv_destroy_rwq_ind_table", table)
        for (const queue of queues) queue.users--
      }),

    createFlow: (qp, attributes) =>
      Effect.suspend(() => {
        const call = "ibv_create_flow"
        const pair = queuePairs.get(call, qp)
        if (!hasSteering(pair.device)) return fail(call, "EOPNOTSUPP")
        return on(call, pair, () => {
          const used: Array<FlowActionState | CountersState> = attributes.specs.flatMap((
            spec
          ): ReadonlyArray<FlowActionState | CountersState> =>
            spec._tag === "ActionHandle"
              ? [actions.get(call, spec.action)]
              : spec._tag === "ActionCount"
              ? [counters.get(call, spec.counters)]
              : []
          )
          if (used.some(({ context }) => context !== pair.context)) {
            throw new FabricMisuse({ call, problem: "an action or a set of counters is of another context" })
          }
          const refused = pair.qpType === "ud" || pair.qpType === "rawPacket"
            ? refuseFlow(pair.device, attributes)
            : "EINVAL"
          if (refused !== undefined) return fail(call, refused, { type: attributes.type, port: attributes.port })
          for (const one of used) one.users++
          pair.users++
          return Effect.succeed(
            flows.alloc({ kind: "Flow", device: pair.device, context: pair.context, pair, used })
          )
        })
      }),
    destroyFlow: (flow) =>
      Effect.suspend(() => {
        const call = "ibv_destroy_flow"
        const state = flows.get(call, flow)
        return on(call, state, () => {
          flows.free(call, flow)
          state.pair.users--
          for (const one of state.used) one.users--
          return Effect.void
        })
      }),
    createFlowActionEsp: (context, attributes) =>
      steering("ibv_create_flow_action_esp", context, (device) => {
        const call = "ibv_create_flow_action_esp"
        const refused = refuseAction(attributes)
        if (refused !== undefined) return fail(call, refused)
        return Effect.succeed(
          actions.alloc({ kind: "FlowAction", device, context, hasEsn: attributes.esn !== undefined, users: 0 })
        )
      }),
    modifyFlowActionEsp: (action, changes) =>
      Effect.suspend(() => {
        const call = "ibv_modify_flow_action_esp"
        const state = actions.get(call, action)
        return on(call, state, () => {
          const { espAttr, esn, keymat, replay } = changes
          // Nothing but the sequence number can change.
          if (keymat !== undefined || replay !== undefined || (espAttr !== undefined && !changesWindowOnly(espAttr))) {
            return fail(call, "EOPNOTSUPP")
          }
          return !state.hasEsn && (esn !== undefined || espAttr?.esnNewWindow === true)
            ? fail(call, "EINVAL")
            : Effect.void
        })
      }),
    destroyFlowAction: (action) =>
      destroy(
        "ibv_destroy_flow_action",
        actions,
        action,
        () => actions.free("ibv_destroy_flow_action", action)
      ),

    createCounters: (context) =>
      steering(
        "ibv_create_counters",
        context,
        (device) => Effect.succeed(counters.alloc({ kind: "Counters", device, context, attached: [], users: 0 }))
      ),
    destroyCounters: (pointer) =>
      destroy(
        "ibv_destroy_counters",
        counters,
        pointer,
        () => counters.free("ibv_destroy_counters", pointer)
      ),
    attachCountersPointFlow: (pointer, { index }, flow) =>
      Effect.suspend(() => {
        const call = "ibv_attach_counters_point_flow"
        const set = counters.get(call, pointer)
        // The provider decides by itself: the kernel is not asked, and a device that is gone is not noticed.
        if (flow !== undefined) {
          flows.get(call, flow)
          return fail(call, "EOPNOTSUPP")
        }
        if (set.users > 0) return fail(call, "EBUSY")
        set.attached.push(index)
        return Effect.void
      }),
    readCounters: (pointer, ncounters) =>
      Effect.suspend(() => {
        const call = "ibv_read_counters"
        const set = counters.get(call, pointer)
        return on(call, set, () =>
          set.users === 0 || set.attached.some((index) => index >= ncounters)
            ? fail(call, "EINVAL", { ncounters })
            // No packet of the fabric is matched against flows: all of them stay at zero.
            : Effect.succeed(Array.from({ length: ncounters }, () => 0n)))
      })
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** A release that the users of the object refuse. */
const destroy = <Struct extends string, Value extends OfContext & { readonly users: number }>(
  call: string,
  store: { readonly get: (call: string, pointer: Pointer.Pointer<Struct>) => Value },
  pointer: Pointer.Pointer<Struct>,
  free: (value: Value) => void
): Effect.Effect<void, VerbsError> =>
  Effect.suspend(() => {
    const value = store.get(call, pointer)
    if (!value.device.plugged) return fail(call, "EIO")
    if (value.users > 0) return fail(call, "EBUSY")
    free(value)
    return Effect.void
  })

/** An operation on an object of a device that is there. */
const on = <A>(
  call: string,
  { device }: OfContext,
  run: () => Effect.Effect<A, VerbsError>
): Effect.Effect<A, VerbsError> => device.plugged ? run() : fail(call, "EIO")

const hasSteering = ({ description }: Host.DeviceState): boolean => description.provider === "mlx5"

const powerOfTwo = (atLeast: number): number => 2 ** Math.ceil(Math.log2(atLeast))

/** `max_rwq_indirection_table_size` of the device. */
const maxTable = 2048

/** What the kernel takes at most in one rule. */
const maxSpecifications = 10

const refuseChange = (
  queue: WorkQueueState,
  { currWqState, flags, wqState }: WorkQueueAttributes.WorkQueueChanges
): Errno.ErrnoName | undefined => {
  // The only flag that is looked at and cannot be changed.
  if (flags?.pciWriteEndPadding !== undefined) return "EOPNOTSUPP"
  if (currWqState !== undefined && currWqState !== queue.state) return "EINVAL"
  // From an error there is no way to ready but by a reset.
  return wqState === "rdy" && queue.state === "err" ? "EINVAL" : undefined
}

const refuseFlow = (
  device: Host.DeviceState,
  { flags, port, specs, type }: Steering.RawFlowAttributes
): Errno.ErrnoName | undefined => {
  if (portOf(device, port) === undefined || specs.length > maxSpecifications) return "EINVAL"
  // Rules by default take what is left: their specifications are not looked at, but for what cannot be done for them.
  const isDefault = type === "allDefault" || type === "mcDefault"
  if (isDefault && flags.length > 0) return "EINVAL"
  const count = (tag: FlowSpecification.Raw["_tag"]) => specs.filter(({ _tag }) => _tag === tag).length
  return count("ActionCount") > 1 || (isDefault && count("ActionTag") > 0) ? "EINVAL" : undefined
}

/** As mlx5 before Linux 5.19, when it lost the offload of ESP; of that, one combination. */
const refuseAction = (
  { espAttr, keymat, replay }: FlowActionAttributes.FlowActionAttributes
): Errno.ErrnoName | undefined => {
  if (keymat.icvLen !== 8 && keymat.icvLen !== 12 && keymat.icvLen !== 16) return "EINVAL"
  const isSupported = replay === undefined && keymat.icvLen === 16 && espAttr.offload === "inlineCrypto" &&
    espAttr.mode === "tunnel" && !espAttr.esnNewWindow && hasNoHeader(espAttr)
  return isSupported ? undefined : "EOPNOTSUPP"
}

type Header = FlowActionAttributes.FlowActionAttributes["espAttr"]

const hasNoHeader = ({ hardLimitPkts, seq, spi, tfcPad }: Header): boolean =>
  spi === 0 && seq === 0 && tfcPad === 0 && hardLimitPkts === 0n

const changesWindowOnly = (header: Header): boolean =>
  hasNoHeader(header) && header.offload === "inlineCrypto" && header.mode === "tunnel" &&
  header.direction === "decrypt"
