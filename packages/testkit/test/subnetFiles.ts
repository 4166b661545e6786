import { Fabric, Topology } from "@effect-rdma/testkit"
import { Effect, Fiber, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { readFileSync } from "node:fs"
import { join } from "node:path"

export const twoHosts = readFileSync(join(import.meta.dirname, "../lanes/two-hosts.net"), "utf8")

/** Runs a program on the first host of a topology file. */
export const on = (text: string, options: Partial<Topology.Input> = {}) =>
  Effect.fnUntraced(function*<A, E>(program: Effect.Effect<A, E, Fabric.Fabric | Fabric.Seams | Scope.Scope>) {
    const topology = yield* Topology.fromText(text)
    return yield* Effect.scoped(program).pipe(Effect.provide(Fabric.layerFrom({ ...topology, ...options })))
  })

/** An effect that may wait for the clock, which passes. */
export const passing = <A, E, R>(program: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(program, { startImmediately: true })
    yield* TestClock.adjust("1 minute")
    return yield* Fiber.join(fiber)
  })

/** A fat tree of `leaves` switches of 36 ports, 18 hosts each, under 18 spines. */
export const fatTree = (leaves: number): string => {
  const lines: Array<string> = []
  for (let leaf = 0; leaf < leaves; leaf++) {
    lines.push("", `Switch 36 "leaf-${leaf}"`)
    for (let host = 1; host <= 18; host++) lines.push(`[${host}] "host-${leaf}-${host}"[1]`)
    for (let spine = 1; spine <= 18; spine++) lines.push(`[${18 + spine}] "spine-${spine}"[${leaf + 1}]`)
    for (let host = 1; host <= 18; host++) lines.push("", `Ca 1 "host-${leaf}-${host}"`, `[1] "leaf-${leaf}"[${host}]`)
  }
  for (let spine = 1; spine <= 18; spine++) {
    lines.push("", `Switch 36 "spine-${spine}"`)
    for (let leaf = 0; leaf < leaves; leaf++) lines.push(`[${leaf + 1}] "leaf-${leaf}"[${18 + spine}]`)
  }
  return lines.join("\n")
}
