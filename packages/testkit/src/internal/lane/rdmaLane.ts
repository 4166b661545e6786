#!/usr/bin/env node
/**
 * The program `rdma-lane`.
 *
 * @since 0.1.0
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { split } from "./commandLine.ts"
import { ibsim } from "./ibsim.ts"
import { usage } from "./laneError.ts"
import { installLanes } from "./packages.ts"
import { runMain } from "./runMain.ts"
import { softroce } from "./softroce.ts"

const help = `Runs a command where there is RDMA without hardware, and ends with the status of the command.

  rdma-lane softroce [OPTIONS] -- CMD...            on a Linux kernel with Soft-RoCE (in QEMU, without KVM)
  rdma-lane ibsim [NETFILE] [OPTIONS] -- CMD...     on a simulated InfiniBand subnet with opensm
  rdma-lane install LANE...                         installs the Debian packages that a lane lacks, as root

Options of both
  --timeout SECONDS         stops what runs (600)
Options of softroce
  --hosts 2                 two kernels on one network: -- CMD... --- CMD...
  --cpus N                  how many processors the guest has (2): with 1 it disturbs others less, and is hardly slower
  --out DIR                 a folder that the command may write to; its other writes stay in the guest
  --boot-timeout SECONDS    how long the guest may take to boot (120)
  --console                 shows what the kernel says
Options of ibsim
  --host NAME               the host that the command sees the subnet as (the first of NETFILE)

The command finds the name of its lane in EFFECT_RDMA_LANE. Statuses that are not the command's: 2 wrong usage, 3 the lane
cannot run here, 124 the time was over, 125 the lane broke.`

const [verb = "", ...words] = process.argv.slice(2)

const main = Effect.suspend(() => {
  if (split([verb, ...words]).own.includes("--help")) return Effect.as(Console.log(help), 0)
  if (verb === "softroce") return softroce(words)
  if (verb === "ibsim") return ibsim(words)
  if (verb === "install") return installLanes(words)
  return Effect.fail(usage(`the first word is softroce, ibsim or install, not ${JSON.stringify(verb)}`))
})

runMain(verb === "softroce" || verb === "ibsim" ? verb : "rdma-lane", main)
