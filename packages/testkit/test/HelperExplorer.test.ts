/** What programs are made of, with calls that fail, in other orders, and interrupted anywhere: nothing is found. */
import { Fabric } from "@effect-rdma/testkit"
import { describe } from "@effect/vitest"
import { connections, subnets } from "./explored/managers.ts"
import { nothingIsFound } from "./explored/program.ts"
import { verbs } from "./explored/verbs.ts"
import { subnetFabric } from "./lanes/subnet.ts"

describe("whatever happens", () => {
  nothingIsFound(verbs, Fabric.layer)
  nothingIsFound(connections, Fabric.layer)
  nothingIsFound(subnets, subnetFabric)
})
