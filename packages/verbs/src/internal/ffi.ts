import type * as Effect from "effect/Effect"
import type * as Library from "@effect-rdma/core/Library"
import type { Verbs } from "../Verbs.ts"
export declare const make: (options: { readonly path?: string }) => Effect.Effect<Verbs["Service"], Library.LibraryNotFound>
