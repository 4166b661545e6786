/**
 * `rping` between two kernels with a network between them, ours and that of C; in the end one kernel stops in the middle. Runs
 * on the machine itself, which boots both.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import type { Readable } from "node:stream"
import { rping } from "./connectionsTest.ts"
import { nodeFlags } from "./nodeFlags.ts"
import type { Options } from "./rping.ts"
import type { Report } from "./twoHosts.ts"

const root = import.meta.dirname.replace(/\/examples$/, "")

interface Line {
  readonly text: string
  readonly at: number
}

/** Reads lines to the end, of which one can then ask for those that begin so. */
const read = async (stream: Readable) => {
  const lines: Array<Line> = []
  for await (const text of createInterface(stream)) lines.push({ text, at: performance.now() })
  return (start: string): ReadonlyArray<Line> =>
    lines.flatMap(({ at, text }) => text.startsWith(start) ? [{ at, text: text.slice(start.length) }] : [])
}

const textsOf = (lines: ReadonlyArray<Line>) => lines.map(({ text }) => text)

/** Runs a command of the shell on each host, and gives what each printed, and when which host ended. */
const onTwoHosts = (first: string, second: string) =>
  Effect.promise(async (signal) => {
    const sides = ["sh", "-c", first, "---", "sh", "-c", second]
    const child = spawn(
      "node_modules/.bin/rdma-lane",
      ["softroce", "--timeout", "580", "--cpus", "1", "--hosts", "2", "--", ...sides],
      {
        cwd: root,
        stdio: ["ignore", "pipe", "pipe"]
      }
    )
    signal.addEventListener("abort", () => child.kill())
    const [printed, complained] = await Promise.all([read(child.stdout), read(child.stderr)])
    return {
      first: textsOf(printed("host-1: ")),
      second: textsOf(printed("host-2: ")),
      ends: [complained("softroce: host-1: ")[0], complained("softroce: host-2: ")[0]],
      complaints: textsOf(complained("")).join("\n")
    }
  })

const node = ["node", ...nodeFlags].join(" ")

/** Runs ours on a host, with one set of options after the other. */
const ours = (...runs: ReadonlyArray<Options>) =>
  `exec ${node} examples/twoHosts.ts ${runs.map((options) => `'${JSON.stringify(options)}'`).join(" ")}`

/** The other side may not be up yet. */
const untilItWorks = (command: string) => `until ${command}; do sleep 1; done`

const packets = "$(cat /sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts)"

/** Runs a command and stops the kernel at once when it is in the middle of its transfers. */
const stopAmid = (command: string) =>
  `before=${packets}; (${command}) & ` +
  `until [ $((${packets} - before)) -gt 2000 ]; do sleep 0.05; done; echo b >/proc/sysrq-trigger`

const reportsOf = (lines: ReadonlyArray<string>): ReadonlyArray<Report> =>
  lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line))

const assertNothingLeft = ({ after, alive, before }: Report) => {
  assert.strictEqual(alive, 0)
  assert.deepStrictEqual(after, before)
}

const silence = "PeerSilent ETIMEDOUT"

/** One host was stopped. The other one waits for ten seconds, has one more for what is under way, and cleans up. */
const assertOutlived = (stopped: Line | undefined, other: Line | undefined) => {
  assert.strictEqual(stopped?.text, "the guest shut down before the command had ended")
  assert.strictEqual(other?.text, "the command ended with status 0")
  assert.isBelow((other?.at ?? Infinity) - (stopped?.at ?? 0), 45_000)
}

describe("rping between two kernels", () => {
  it.live(
    "ours serves C and C serves ours; then the kernel of the client stops",
    Effect.fnUntraced(function*() {
      const { client, printed, server } = rping({ count: 50 })
      const { complaints, ends, first, second } = yield* onTwoHosts(
        ours(server, { ...client, address: "host-2" }, { ...server, verbose: false }),
        [
          untilItWorks("rping -c -a host-1 -C 50 -v -V"),
          "rping -s -v",
          stopAmid(untilItWorks("rping -c -a host-1 -S 64"))
        ].join("; ")
      )
      const [served, called, left] = reportsOf(first)
      assert(served !== undefined && called !== undefined && left !== undefined, complaints)
      assert.deepStrictEqual([served.ended, called.ended], ["well", "well"])
      assert.deepStrictEqual(served.lines, printed.server)
      assert.deepStrictEqual(called.lines, printed.client)
      assert.deepStrictEqual(second, [...printed.client, ...printed.server])
      assert.strictEqual(left.ended, silence)
      for (const report of [served, called, left]) assertNothingLeft(report)
      assertOutlived(ends[1], ends[0])
    }),
    600_000
  )

  it.live(
    "ours serves ours; then the kernel of the server stops",
    Effect.fnUntraced(function*() {
      const { client, printed, server } = rping({ count: 50 })
      const endless = { ...client, address: "host-1", count: 0, verbose: false, port: 7175 }
      const { complaints, ends, first, second } = yield* onTwoHosts(
        `${node} examples/twoHosts.ts '${JSON.stringify(server)}'; ${stopAmid("rping -s -p 7175")}`,
        ours({ ...client, address: "host-1" }, endless)
      )
      const [served] = reportsOf(first)
      const [called, left] = reportsOf(second)
      assert(served !== undefined && called !== undefined && left !== undefined, complaints)
      assert.deepStrictEqual([served.ended, called.ended, left.ended], ["well", "well", silence])
      assert.deepStrictEqual(served.lines, printed.server)
      assert.deepStrictEqual(called.lines, printed.client)
      for (const report of [served, called, left]) assertNothingLeft(report)
      assertOutlived(ends[0], ends[1])
    }),
    600_000
  )
})
