/**
 * Walks the subnet and prints it, as `ibnetdiscover(8)` does:
 *
 *     node examples/ibnetdiscover.ts > subnet.topo
 */
import { Discovery, SubnetTopology } from "@effect-rdma/umad"
import { Console, DateTime, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { openPort, portFlags, type PortOptions, run } from "./diagnostics.ts"

export interface Options extends PortOptions {
  readonly outstanding: number
}

export const ibnetdiscover = Effect.fnUntraced(function*(options: Options) {
  const { port } = yield* openPort(options)
  const { topology, unanswered } = yield* Discovery.walk(port, { concurrency: options.outstanding })
  for (const { attribute, error, modifier, path } of unanswered) {
    yield* Console.error(
      `no ${attribute} ${modifier} of path 0${path.map((port) => `,${port}`).join("")}: ${error.message}`
    )
  }
  const generatedAt = DateTime.setZone(yield* DateTime.now, DateTime.zoneMakeLocal())
  // What was found last comes first there.
  const nodes = topology.nodes.toReversed()
  yield* Console.log(SubnetTopology.format({ ...topology, nodes }, { generatedAt }).replace(/\n$/, ""))
}, Effect.scoped)

if (import.meta.main) {
  run(Command.make("ibnetdiscover", {
    ...portFlags,
    outstanding: Flag.Int("outstanding_smps").pipe(
      Flag.withAlias("o"),
      Flag.withDefault(8),
      Flag.withDescription("how many MADs are in flight at once (default 8)")
    )
  }, ibnetdiscover))
}
