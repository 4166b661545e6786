/**
 * What the test runs acquired and released, for the coverage table: one line of JSON per pair and test, appended to
 * `<lane>.jsonl` in the folder that `EFFECT_RDMA_COVERAGE` names.
 *
 * @since 0.1.0
 */
import type * as Ledger from "@effect-rdma/core/Ledger"
import { appendFileSync, mkdirSync } from "node:fs"
import { join } from "node:path"

export const recordTotals = (lane: string, totals: ReadonlyArray<Ledger.Totals>): void => {
  const folder = process.env["EFFECT_RDMA_COVERAGE"]
  if (folder === undefined || folder === "") return
  const lines = totals
    .filter(({ acquired, released }) => acquired > 0 && released > 0)
    .map(({ pair }) => `${JSON.stringify({ lane, acquire: pair[0], release: pair[1] })}\n`)
  mkdirSync(folder, { recursive: true })
  appendFileSync(join(folder, `${lane}.jsonl`), lines.join(""))
}
