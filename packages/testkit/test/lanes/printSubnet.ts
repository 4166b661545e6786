// Prints what the subnet tells through libibumad, as JSON.
import * as Umad from "@effect-rdma/umad/Umad"
import { Effect } from "effect"
import { everything } from "../subnetWalk.ts"

const answers = await Effect.runPromise(everything.pipe(Effect.provide(Umad.Umad.layer)))
process.stdout.write(JSON.stringify(answers))
