import type * as Effect from "effect/Effect"
import type * as Library from "@effect-rdma/core/Library"
import type { RdmaCm } from "../RdmaCm.ts"
export declare const make: (options: { readonly path?: string }) => Effect.Effect<RdmaCm["Service"], Library.LibraryNotFound>
