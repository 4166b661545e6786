/**
 * The texts of enumerations as the installed libibverbs prints them.
 */
import * as Library from "@effect-rdma/core/Library"
import * as NodeType from "@effect-rdma/core/NodeType"
import * as PortState from "@effect-rdma/core/PortState"
import * as AsyncEvent from "@effect-rdma/verbs/AsyncEvent"
import * as WorkCompletionOpcode from "@effect-rdma/verbs/WorkCompletionOpcode"
import * as WorkCompletionStatus from "@effect-rdma/verbs/WorkCompletionStatus"
import * as WorkRequestOpcode from "@effect-rdma/verbs/WorkRequestOpcode"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Compiler from "./Compiler.ts"
import * as Expectation from "./Expectation.ts"

const opened = Effect.runSync(Effect.result(Library.open({
  name: "libibverbs",
  soname: ["libibverbs.so.1"],
  environment: "EFFECT_RDMA_LIBIBVERBS",
  debianPackage: "libibverbs1"
})))
const library = Result.isSuccess(opened) ? opened.success : undefined

/** Every number of the table, and some that no table has. */
const numbers = Array.from({ length: 40 }, (_, native) => native)

const textOf = (symbol: string) => {
  const call = library?.bind(symbol, ["int"], "string")
  return (native: number): string => call?.(native) ?? ""
}

/** Where a number is newer than the installed library, that says `unknown`, and the table may know more. */
const compare = (symbol: string, format: (native: number) => string) => {
  const expected = textOf(symbol)
  const differences = numbers.filter((native) => {
    const text = expected(native)
    return text !== format(native) && !/^unknown/i.test(text)
  })
  assert.deepStrictEqual(differences.map((native) => [native, format(native), expected(native)]), [])
  assert.isAbove(numbers.filter((native) => expected(native) === format(native)).length, 3)
}

describe.skipIf(library === undefined)("texts of libibverbs", () => {
  it("of ibv_wc_status_str", () => {
    compare("ibv_wc_status_str", (native) => WorkCompletionStatus.format(WorkCompletionStatus.fromNative(native)))
  })

  it("of ibv_event_type_str", () => {
    compare(
      "ibv_event_type_str",
      (native) => AsyncEvent.format(AsyncEvent.fromNative({ eventType: native, element: 1n, portNum: 1 }))
    )
  })

  it("of ibv_node_type_str", () => {
    compare("ibv_node_type_str", (native) => NodeType.format(NodeType.fromNative(native)))
  })

  it("of ibv_port_state_str", () => {
    compare("ibv_port_state_str", (native) => PortState.format(PortState.fromNative(native)))
  })
})

describe.skipIf(Compiler.missing !== undefined)("numbers of opcodes", () => {
  const known = (names: ReadonlyArray<readonly [string, number]>) =>
    // The headers may be older than the table.
    Expectation.refuted(Expectation.constants(Object.fromEntries(names.filter(([name]) => !newer.has(name)))))
  const newer = new Set(["IBV_WR_FLUSH", "IBV_WC_FLUSH"])

  it("of work requests", () => {
    assert.deepStrictEqual(
      known(
        numbers.map(WorkRequestOpcode.fromNative).filter((opcode) => opcode !== "unknown").map((opcode) => [
          WorkRequestOpcode.format(opcode),
          WorkRequestOpcode.toNative(opcode)
        ])
      ),
      []
    )
  })

  it("of work completions", () => {
    const all = Array.from({ length: 200 }, (_, native) => WorkCompletionOpcode.fromNative(native))
    assert.deepStrictEqual(
      known(
        all.filter((opcode) => opcode !== "unknown").map((opcode) => [
          WorkCompletionOpcode.format(opcode),
          WorkCompletionOpcode.toNative(opcode)
        ])
      ),
      []
    )
  })
})
