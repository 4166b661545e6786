/** Writes the list of known differences between the lanes into `docs/lanes.md`. A test fails when it is out of date. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { withDifferences } from "../packages/testkit/test/lanes/differences.ts"

const file = join(import.meta.dirname, "..", "docs", "lanes.md")
writeFileSync(file, withDifferences(readFileSync(file, "utf8")))
