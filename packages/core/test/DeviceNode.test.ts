import { assert, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir, userInfo } from "node:os"
import { join } from "node:path"
import * as DeviceNode from "../src/DeviceNode.ts"
import * as Errno from "../src/Errno.ts"
import { skipIf } from "./skip.ts"

const source = JSON.stringify(new URL("../src/DeviceNode.ts", import.meta.url).href)

const withNode = (name: string, mode: number, use: (path: string) => void) => {
  const folder = mkdtempSync(join(tmpdir(), "effect-rdma-node-"))
  try {
    chmodSync(folder, 0o755)
    const path = join(folder, name)
    writeFileSync(path, "")
    chmodSync(path, mode)
    use(path)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** What a process that may not override modes sees; as root that is one that gave root up. */
const asUser = (path: string, user?: { readonly uid: number; readonly gid: number }) => {
  const drop = user === undefined
    ? ""
    : `process.setgroups([]); process.setegid(${user.gid}); process.seteuid(${user.uid})`
  const program = `
    const { describe, refusal } = await import(${source})
    ${drop}
    const path = ${JSON.stringify(path)}
    process.stdout.write(JSON.stringify({ refusal: refusal(path) ?? null, text: describe(path) }))`
  return JSON.parse(execFileSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" }))
}

const isRoot = process.geteuid?.() === 0
const nobody = isRoot ? { uid: 65534, gid: 65534 } : undefined

describe("DeviceNode", () => {
  it("shows mode and owner, and says how to get in", () => {
    withNode("uverbs12", isRoot ? 0o600 : 0o000, (path) => {
      const { refusal, text } = asUser(path, nobody)
      assert.strictEqual(refusal, Errno.numberOf("EACCES"))
      const { username } = userInfo()
      assert.isTrue(text.startsWith(`${path} has mode ${isRoot ? "0600" : "0000"}, owner ${username}:`), text)
      assert.include(text, `chmod 0666 ${path}.`)
      assert.include(text, `KERNEL=="uverbs*"`)
      if (isRoot) assert.include(text, "this process runs as nobody:nogroup.")
    })
  })

  it.skipIf(skipIf(!isRoot, "only root can take on another user and group"))(
    "judges by the first class that fits",
    () => {
      const member = { uid: 65534, gid: 0 }
      withNode("rdma_cm", 0o606, (path) => {
        assert.include(asUser(path, member).text, "mode 0606, owner root:root, and this process runs as nobody:root")
        assert.strictEqual(asUser(path, member).refusal, Errno.numberOf("EACCES"))
        assert.strictEqual(asUser(path, nobody).refusal, null)
      })
      withNode("rdma_cm", 0o660, (path) => assert.strictEqual(asUser(path, member).refusal, null))
    }
  )

  it("tells when the mode is not what refuses", () => {
    withNode("rdma_cm", 0o666, (path) => {
      assert.strictEqual(DeviceNode.refusal(path), undefined)
      assert.include(DeviceNode.describe(path), "has mode 0666")
      assert.include(DeviceNode.describe(path), `something else refuses. A container needs --device ${path}`)
    })
  })

  it("tells that there is none", () => {
    const path = join(tmpdir(), "effect-rdma-no-such-node")
    assert.strictEqual(DeviceNode.refusal(path), undefined)
    assert.strictEqual(DeviceNode.describe(path), `${path} does not exist; a container needs --device ${path}`)
    assert.strictEqual(DeviceNode.describe("/etc/passwd/x"), "/etc/passwd/x: ENOTDIR")
  })

  it("hints only where the node explains the errno", () => {
    const path = join(tmpdir(), "effect-rdma-no-such-node")
    assert.strictEqual(DeviceNode.hint(Errno.numberOf("EACCES"), path), DeviceNode.describe(path))
    assert.strictEqual(DeviceNode.hint(Errno.numberOf("ENOENT"), path), DeviceNode.describe(path))
    assert.strictEqual(DeviceNode.hint(Errno.numberOf("ENOMEM"), path), undefined)
  })
})
