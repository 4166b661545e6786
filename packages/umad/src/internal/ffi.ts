import type * as Effect from "effect/Effect"
import type * as Library from "@effect-rdma/core/Library"
import type { Umad } from "../Umad.ts"
export declare const make: (options: { readonly path?: string }) => Effect.Effect<Umad["Service"], Library.LibraryNotFound>
