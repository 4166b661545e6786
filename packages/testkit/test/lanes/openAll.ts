/**
 * A program that opens a device, an event channel and a port for MADs, and prints how each went: for a process of another user. Modules
 * are imported one by one, since reading many files is slow in the guest.
 */
import * as EventChannel from "@effect-rdma/rdmacm/EventChannel"
import * as RdmaCm from "@effect-rdma/rdmacm/RdmaCm"
import * as Umad from "@effect-rdma/umad/Umad"
import * as UmadLibrary from "@effect-rdma/umad/UmadLibrary"
import * as UmadPort from "@effect-rdma/umad/UmadPort"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as Verbs from "@effect-rdma/verbs/Verbs"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

const outcome = <R>(
  open: Effect.Effect<
    unknown,
    { readonly call: string; readonly reason: { readonly _tag: string }; readonly message: string },
    R
  >
) =>
  Effect.suspend(() => {
    const start = performance.now()
    return Effect.scoped(open).pipe(
      Effect.match({
        onSuccess: () => ({ call: "", reason: "none", message: "" }),
        onFailure: ({ call, message, reason }) => ({ call, reason: reason._tag, message })
      }),
      Effect.map((result) => ({ ...result, millis: performance.now() - start }))
    )
  })

const program = Effect.gen(function*() {
  return {
    device: yield* outcome(DeviceContext.openByName(process.argv[2] ?? "")),
    channel: yield* outcome(EventChannel.make()),
    port: yield* outcome(
      Effect.flatMap(UmadLibrary.init(), (library) => UmadPort.open(library)).pipe(
        Effect.catchTag("SchemaError", (error) => Effect.die(error))
      )
    )
  }
})

process.stdout.write(
  JSON.stringify(
    await Effect.runPromise(
      Effect.provide(program, Layer.mergeAll(Verbs.Verbs.layer, RdmaCm.RdmaCm.layer, Umad.Umad.layer))
    )
  )
)
