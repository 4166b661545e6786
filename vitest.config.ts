import { defineConfig } from "vitest/config"

// One project per lane: the file name says where a test runs.
const lanes = ["abi", "ibsim", "softroce"] as const

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "fabric",
          include: ["packages/*/test/**/*.test.ts"],
          exclude: lanes.map((lane) => `**/*.${lane}.test.ts`),
          sequence: { concurrent: true }
        }
      },
      ...lanes.map((lane) => ({
        test: { name: lane, include: [`packages/*/test/**/*.${lane}.test.ts`], testTimeout: 60_000, hookTimeout: 60_000 }
      }))
    ]
  }
})
