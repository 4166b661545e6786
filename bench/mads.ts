/**
 * What it costs to read and to write attributes of MADs: a whole PortInfo, a NodeInfo, and a block of a linear forwarding
 * table.
 */
import { LinearForwardingTable, type MadLayout, NodeInfo, PortInfo } from "@effect-rdma/umad"
import { Console, Effect, Result } from "effect"
import * as Measure from "./measure.ts"

const count = 20_000

/** Bytes as a device sends them, different each time. */
const bytes = Uint8Array.from({ length: 4096 + 64 }, (_, index) => index * 37)

const rows = <F extends MadLayout.Fields>(layout: MadLayout.MadLayout<F>) => {
  const value = Result.getOrThrow(layout.decode(bytes))
  return {
    decode: (count: number) =>
      Effect.sync(() => {
        let decoded = 0
        for (let left = count; left > 0; left--) if (Result.isSuccess(layout.decode(bytes, left & 4095))) decoded++
        return decoded
      }),
    encode: (count: number) =>
      Effect.sync(() => {
        let encoded = 0
        for (let left = count; left > 0; left--) if (Result.isSuccess(layout.encode(value))) encoded++
        return encoded
      })
  }
}

const main = Effect.gen(function*() {
  const portInfo = rows(PortInfo.PortInfo)
  const nodeInfo = rows(NodeInfo.NodeInfo)
  const table = rows(LinearForwardingTable.LinearForwardingTable)
  const times = yield* Measure.medians({
    "decode PortInfo (at most 2.0 µs)": portInfo.decode,
    "encode PortInfo": portInfo.encode,
    "decode NodeInfo": nodeInfo.decode,
    "decode LinearForwardingTable": table.decode
  }, count)
  yield* Console.log(`what attributes of MADs cost, on ${Measure.machine}; medians of ${Measure.runs} runs`)
  for (const [name, nanoseconds] of Object.entries(times)) {
    yield* Console.log(`  ${(nanoseconds / 1000).toFixed(2)} µs: ${name}`)
  }
})

await Effect.runPromise(main)
