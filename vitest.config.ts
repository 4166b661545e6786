import { defineConfig } from "vitest/config"

// One project per lane: the file name says where a test runs. `host` is the real libraries on a kernel without RDMA.
// `softroce2` boots two kernels by itself, and runs on the machine.
const lanes = ["abi", "host", "ibsim", "softroce", "softroce2"] as const

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "fabric",
          include: ["packages/*/test/**/*.test.ts", "examples/*.test.ts"],
          exclude: lanes.map((lane) => `**/*.${lane}.test.ts`),
          sequence: { concurrent: true },
          allowOnly: false,
          testTimeout: 60_000
        }
      },
      ...lanes.map((lane) => ({
        test: {
          name: lane,
          include: [`packages/*/test/**/*.${lane}.test.ts`, `examples/*.${lane}.test.ts`],
          // One file after the other, each in a process of its own: what is open is counted per process, and librdmacm
          // keeps every device open for as long as its process lives.
          pool: "forks",
          allowOnly: false,
          fileParallelism: false,
          testTimeout: 60_000,
          hookTimeout: 60_000
        }
      }))
    ]
  }
})
