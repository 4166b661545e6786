import { assert, describe, it } from "@effect/vitest"
import * as NetAddress from "effect/net/NetAddress"
import * as Sockaddr from "../src/internal/sockaddr.ts"

const encoded = (address: NetAddress.InetAddress) => Buffer.from(Sockaddr.encode(address).buffer).toString("hex")

// The bytes are those of a C program with inet_pton, on a little-endian machine.
describe("sockaddr", () => {
  it("encodes IPv4", () => {
    const address = NetAddress.inetAddressFromStringUnsafe("10.0.0.1:7471")
    assert.strictEqual(encoded(address), "02001d2f0a0000010000000000000000")
  })

  it("encodes IPv6 with its scope", () => {
    const address = NetAddress.inetAddressFromStringUnsafe("[fe80::a00:27ff:fe4e:66a1%70000]:18515")
    assert.strictEqual(encoded(address), "0a00485300000000fe800000000000000a0027fffe4e66a170110100")
  })
})
