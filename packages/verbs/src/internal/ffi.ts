/**
 * The seam of libibverbs on the real library.
 *
 * @since 0.1.0
 */
import * as Library from "@effect-rdma/core/Library"
import * as Effect from "effect/Effect"
import type { Operations } from "../Verbs.ts"
import * as Address from "./ffi/address.ts"
import * as Completion from "./ffi/completion.ts"
import * as CompletionCounter from "./ffi/completionCounter.ts"
import * as DataPath from "./ffi/dataPath.ts"
import * as Device from "./ffi/device.ts"
import * as Domain from "./ffi/domain.ts"
import * as Events from "./ffi/events.ts"
import * as Memory from "./ffi/memory.ts"
import * as Queue from "./ffi/queue.ts"
import * as Steering from "./ffi/steering.ts"

export const make = Effect.fnUntraced(function*(
  options: { readonly path?: string }
): Effect.fn.Return<Operations, Library.LibraryNotFound | Library.SymbolNotFound> {
  const library = yield* Library.open({
    name: "libibverbs",
    soname: ["libibverbs.so.1"],
    environment: "EFFECT_RDMA_LIBIBVERBS",
    debianPackage: "libibverbs1",
    path: options.path
  })
  const { dataPath, forget } = DataPath.make()
  return yield* Library.bindAll(() => ({
    dataPath: Effect.succeed(dataPath),
    ...Device.make(library),
    ...Domain.make(library),
    ...Address.make(library),
    ...Queue.make(library, forget),
    ...Memory.make(library),
    ...Completion.make(library, forget),
    ...CompletionCounter.make(library),
    ...Steering.make(),
    ...Events.make(library)
  }))
})
