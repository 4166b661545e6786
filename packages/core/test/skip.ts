import { existsSync } from "node:fs"

/** Whether to skip tests; the reason is on standard error, so that nobody takes what did not run for passed. */
export const skipIf = (cannot: boolean, reason: string): boolean => {
  if (cannot) process.stderr.write(`skipped, since ${reason}\n`)
  return cannot
}

/** Whether to skip the tests of a kernel without RDMA. */
export const skipWithRdma = (): boolean =>
  skipIf(existsSync("/sys/class/infiniband"), "the kernel of this machine has RDMA loaded")
