import * as NativeReason from "@effect-rdma/core/NativeReason"
import * as CmAddress from "@effect-rdma/rdmacm/CmAddress"
import { ConnectionTimedOut } from "@effect-rdma/rdmacm/ConnectionError"
import * as Destination from "@effect-rdma/rdmacm/Destination"
import { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import { RdmaCmError } from "@effect-rdma/rdmacm/RdmaCmError"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import * as NetAddress from "effect/net/NetAddress"

const decode = Schema.decodeUnknownEffect(Destination.Destination)

/** Name servers that know these addresses of every name. */
const knowing = (addresses: { readonly ipv4?: string; readonly ipv6?: string }) =>
  Layer.mock(RdmaCm, {
    getaddrinfo: (node, _service, { family, flags = [] }) => {
      const address = family === "ipv4" ? addresses.ipv4 : family === "ipv6" ? addresses.ipv6 : undefined
      if (address === undefined) {
        return Effect.fail(
          new RdmaCmError({ call: "rdma_getaddrinfo", reason: NativeReason.fromErrno(2), input: { node } })
        )
      }
      const found = NetAddress.inetAddressFromStringUnsafe(address)
      const isPassive = flags.includes("passive")
      return Effect.succeed([{
        flags,
        portSpace: "tcp",
        qpType: "rc",
        source: isPassive ? found : undefined,
        destination: isPassive ? undefined : found,
        sourceName: undefined,
        destinationName: undefined,
        route: new Uint8Array(),
        connect: new Uint8Array()
      }])
    }
  })

const name: Destination.Destination = { _tag: "HostName", node: "storage", service: "7471" }

const timedOut = (address: CmAddress.CmAddress) =>
  Effect.fail(new ConnectionTimedOut({ address: CmAddress.format(address), millis: 1 }))

describe("Destination", () => {
  it.effect("takes addresses and names", () =>
    Effect.gen(function*() {
      for (const address of ["10.0.0.1:7471", "[::1]:7471", "[fe80::1%3]:0"]) {
        const decoded = yield* decode(address)
        assert(decoded._tag !== "HostName")
        assert.strictEqual(CmAddress.format(decoded), address)
      }
      assert.deepStrictEqual(yield* decode("node-1.example_com:rdma-echo"), {
        _tag: "HostName",
        node: "node-1.example_com",
        service: "rdma-echo"
      })
    }))

  it.effect.each([
    "",
    ":",
    "host",
    "host:",
    ":7471",
    "10.0.0.1",
    "10.0.0.256:1",
    "10.0.0:1",
    "::1:1",
    "a b:1",
    "host:1:2"
  ])(
    "%j is neither",
    (text) => Effect.map(Effect.flip(decode(text)), (error) => assert.strictEqual(error._tag, "SchemaError"))
  )

  it.effect("an address is its only candidate, and fails as itself", () =>
    Effect.gen(function*() {
      const address = yield* decode("10.0.0.1:1")
      const error = yield* Effect.flip(Destination.firstOf(address, { portSpace: "tcp" }, timedOut))
      assert.strictEqual(error._tag, "ConnectionTimedOut")
    }).pipe(Effect.provide(knowing({}))))

  it.effect("the addresses of a name are tried in turn, until one will do", () =>
    Effect.gen(function*() {
      const tried: Array<string> = []
      const found = yield* Destination.firstOf(name, { portSpace: "tcp" }, (address) => {
        tried.push(CmAddress.format(address))
        return address._tag === "InetAddressV4" ? Effect.succeed("connected") : timedOut(address)
      })
      assert.strictEqual(found, "connected")
      assert.deepStrictEqual(tried, ["[fd00::2]:7471", "10.0.0.2:7471"])
    }).pipe(Effect.provide(knowing({ ipv4: "10.0.0.2:7471", ipv6: "[fd00::2]:7471" }))))

  it.effect("when none will do, the error tells how each of them failed", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Destination.firstOf(name, { portSpace: "tcp" }, timedOut))
      assert(error._tag === "CandidatesFailed", error.message)
      assert.deepStrictEqual(
        error.failures.map(({ address, error }) => [address, error._tag]),
        [["[fd00::2]:7471", "ConnectionTimedOut"], ["10.0.0.2:7471", "ConnectionTimedOut"]]
      )
      assert.include(error.message, "[fd00::2]:7471: ")
      assert.include(error.message, "10.0.0.2:7471: ")
    }).pipe(Effect.provide(knowing({ ipv4: "10.0.0.2:7471", ipv6: "[fd00::2]:7471" }))))

  it.effect("a name with one address fails as that", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Destination.firstOf(name, { portSpace: "tcp", isPassive: true }, timedOut))
      assert.strictEqual(error._tag, "ConnectionTimedOut")
    }).pipe(Effect.provide(knowing({ ipv4: "10.0.0.2:7471" }))))

  it.effect("a name that nobody knows fails as its lookup", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Destination.firstOf(name, { portSpace: "tcp" }, timedOut))
      assert(error._tag === "RdmaCmError", error.message)
      assert.strictEqual(error.reason._tag, "ENOENT")
    }).pipe(Effect.provide(knowing({}))))
})
