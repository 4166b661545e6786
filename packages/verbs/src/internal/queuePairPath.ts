/**
 * What is looked at around `ibv_modify_qp`: the path before the call, and after a refusal what it may have been.
 *
 * @since 0.1.0
 */
import * as Gid from "@effect-rdma/core/Gid"
import type * as Identifier from "@effect-rdma/core/Identifier"
import type * as Mtu from "@effect-rdma/core/Mtu"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import type * as QueuePair from "../QueuePair.ts"
import type * as QueuePairAttributes from "../QueuePairAttributes.ts"
import * as QueuePairTransition from "../QueuePairTransition.ts"
import { VerbsError } from "../VerbsError.ts"
import * as Completions from "./completions.ts"
import * as Work from "./queuePairWork.ts"
import { refused } from "./refused.ts"

const call = "ibv_modify_qp"

const portOf = (self: QueuePair.QueuePair, portNum: Identifier.PortNumber) =>
  Resource.use(self.context, (context) => self.context.verbs.queryPort(context, portNum))

/** The largest path MTU that a port carries now. */
export const activeMtu = (
  self: QueuePair.QueuePair,
  portNum: Identifier.PortNumber
): Effect.Effect<Mtu.Mtu, VerbsError> =>
  Effect.map(portOf(self, portNum), ({ activeMtu }) => activeMtu === "unknown" ? 1024 : activeMtu)

/** `ibv_modify_qp` with what C leaves to find out by silence, and with an explanation when it fails. */
export const modify = (
  self: QueuePair.QueuePair,
  attributes: QueuePairAttributes.Modification
): Effect.Effect<void, VerbsError> =>
  Effect.andThen(
    checkPath(self, attributes),
    Effect.catch(
      Effect.uninterruptible(Effect.map(
        Resource.use(self, (pointer) => {
          const modified = self.context.verbs.modifyQp(pointer, attributes)
          if (attributes.qpState !== "reset") return modified
          if (self.work.isBuilding) {
            return Effect.fail(
              refused(call, "EBUSY", "A batch of the queue pair is being built: its requests would go")
            )
          }
          const { recvCq } = self
          const cq = recvCq !== undefined && Resource.isLive(recvCq) ? Resource.raw(recvCq) : undefined
          return Effect.andThen(Completions.beforeDrop(self, cq), modified)
        }),
        () => {
          if (attributes.qpState !== undefined) Work.moved(self.work, attributes.qpState)
        }
      )),
      (error) => Effect.flatMap(explain(self, attributes, error), Effect.fail)
    )
  )

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const checkPath = (
  self: QueuePair.QueuePair,
  { ahAttr, pathMtu }: QueuePairAttributes.Modification
): Effect.Effect<void, VerbsError> => {
  if (ahAttr === undefined) return Effect.void
  return Effect.flatMap(Effect.suspend(() => portOf(self, ahAttr.portNum)), ({ activeMtu, linkLayer }) => {
    const input = { qpNum: self.qpNum, portNum: ahAttr.portNum }
    if (linkLayer === "ethernet" && ahAttr.grh === undefined) {
      return Effect.fail(
        refused(call, "EINVAL", "RoCE needs a grh in the ahAttr: the GID of the peer and an own sgidIndex", input)
      )
    }
    if (pathMtu !== undefined && activeMtu !== "unknown" && pathMtu > activeMtu) {
      return Effect.fail(
        refused(call, "EINVAL", `The port carries packets of up to ${activeMtu} bytes`, { ...input, pathMtu })
      )
    }
    return Effect.void
  })
}

const hints: { readonly [Reason in VerbsError["reason"]["_tag"]]?: string } = {
  ETIMEDOUT: "No neighbour answers for the dgid on the network of the sgidIndex",
  ENETUNREACH: "The host has no route to the dgid",
  ENODATA: "Nothing is at the sgidIndex: DeviceContext.gidTable lists what is"
}

const explain = (
  self: QueuePair.QueuePair,
  attributes: QueuePairAttributes.Modification,
  error: VerbsError
): Effect.Effect<VerbsError> =>
  Effect.map(error.reason._tag === "EINVAL" ? tableHint(self, attributes) : Effect.undefined, (found) => {
    const hint = found ?? error.hint ?? hints[error.reason._tag]
    const { ahAttr } = attributes
    return new VerbsError({
      call: error.call,
      reason: error.reason,
      input: {
        ...error.input,
        qpNum: self.qpNum,
        ...(attributes.qpState === undefined ? undefined : { qpState: attributes.qpState }),
        ...(ahAttr?.grh === undefined
          ? undefined
          : { dgid: Gid.formatCompressed(ahAttr.grh.dgid), sgidIndex: ahAttr.grh.sgidIndex })
      },
      ...(hint === undefined ? undefined : { hint })
    })
  })

// The state that the device is in tells more than the one that the program believes in.
const tableHint = (
  self: QueuePair.QueuePair,
  attributes: QueuePairAttributes.Modification
): Effect.Effect<string> =>
  Resource.use(self, self.context.verbs.queryQp).pipe(
    Effect.map(({ attributes: { qpState } }) => {
      if (qpState === "unknown") return "The queue pair is in a state that this version does not know"
      const problem = QueuePairTransition.problemOf(self.qpType, qpState, attributes)
      return problem === undefined
        ? "The attributes make the transition: a value is not the device's own, such as portNum, pkeyIndex, sgidIndex or a depth"
        : QueuePairTransition.formatProblem(self.qpType, problem)
    }),
    Effect.orElseSucceed(() => "The queue pair cannot be asked for its state")
  )
