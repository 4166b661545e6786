import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import * as Effect from "effect/Effect"
import type { CmState, IdState } from "./state.ts"

/** Flushes the queue pair that librdmacm made on an id. librdmacm looks at what comes of it only when it disconnects. */
export const moveToError = ({ verbs }: CmState, { on: { qp } }: IdState): Effect.Effect<void, VerbsError> =>
  Effect.suspend(() => qp === undefined ? Effect.void : verbs.modifyQp(qp, { qpState: "err" }))
