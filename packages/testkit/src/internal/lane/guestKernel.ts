import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import type * as PlatformError from "effect/PlatformError"
import type * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import type * as Scope from "effect/Scope"
import { createHash } from "node:crypto"
import { homedir } from "node:os"
import * as files from "./files.ts"
import { cannotRunHere, laneBroke, type LaneError } from "./laneError.ts"
import { lastLine, runCommand } from "./runCommand.ts"
import { compressedImage } from "./unpackKernel.ts"

/** What QEMU boots. */
export interface GuestKernel {
  readonly kernel: string
  readonly initramfs: string
}

type Services =
  | FileSystem.FileSystem
  | Path.Path
  | Scope.Scope
  | ChildProcessSpawner.ChildProcessSpawner

/** The report port's modules; the init script loads them before all others. */
const firstModules = ["virtio_pci", "virtio_console"]

const thenModules = [
  "qemu_fw_cfg",
  "9p",
  "9pnet_virtio",
  "overlay",
  "crc32_generic",
  "veth",
  "virtio_net",
  "rdma_rxe",
  "ib_uverbs",
  "ib_umad",
  "ib_cm",
  "rdma_ucm"
]

/**
 * Debian's kernel and an initramfs around it, from the cache folder. A kernel that was fetched once is used from then
 * on, so later runs need no network; remove the cache folder to get the newest one.
 */
export const get: Effect.Effect<GuestKernel, LaneError | PlatformError.PlatformError, Services> = Effect.gen(
  function*() {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const cache = path.join(process.env["XDG_CACHE_HOME"] || path.join(homedir(), ".cache"), "effect-rdma", "softroce")
    yield* fs.makeDirectory(cache, { recursive: true })
    const version = (yield* newestCached(cache)) ?? (yield* fetchKernel(cache))
    const folder = path.join(cache, version)
    return {
      kernel: path.join(folder, "vmlinux"),
      initramfs: yield* getInitramfs(folder, version)
    }
  }
)

const newestCached = (cache: string) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const versions = (yield* fs.readDirectory(cache)).filter((name) => /^\d/.test(name))
    return versions.toSorted((a, b) => a.localeCompare(b, "en", { numeric: true })).at(-1)
  })

/** Fetches and unpacks the kernel package aside and moves it into place whole, so the cache never holds half of one. */
const fetchKernel = (cache: string) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    yield* removeStale(cache)
    const aside = yield* fs.makeTempDirectoryScoped({ directory: cache, prefix: ".partial-" })
    process.stderr.write("softroce: fetching Debian's kernel package (once)\n")
    const name = yield* download(aside).pipe(
      // The package lists are missing or older than the archive: refresh them once.
      Effect.catchTag("LaneError", (error) =>
        process.getuid?.() === 0
          ? Effect.andThen(runCommand("apt-get", ["-qq", "update"]), download(aside))
          : Effect.fail(error))
    )
    const version = name.slice("linux-image-".length)
    const deb = (yield* fs.readDirectory(aside)).find((file) => file.endsWith(".deb"))
    if (deb === undefined) return yield* laneBroke(`apt-get download ${name} left no package`)
    const unpacked = path.join(aside, "unpacked")
    yield* checked("dpkg", ["-x", path.join(aside, deb), unpacked])
    yield* checked("depmod", ["-b", unpacked, version])
    yield* unpackImage(path.join(unpacked, "boot", `vmlinuz-${version}`), path.join(unpacked, "vmlinux"))
    yield* moveIntoPlace(unpacked, path.join(cache, version))
    return version
  }).pipe(Effect.scoped)

/** Downloads the package that the metapackage stands for; returns its name. The cloud flavour lacks the modules. */
const download = (folder: string) =>
  Effect.gen(function*() {
    const depends = yield* runCommand("apt-cache", ["depends", "linux-image-amd64"], { env: { LC_ALL: "C" } })
    const name = /Depends: (linux-image-\d\S+)/.exec(depends.stdout)?.[1]
    if (name === undefined) {
      return yield* cannotRunHere("Debian's kernel package is not known to apt here; run: apt-get update")
    }
    // Without this option apt warns that its own user cannot write to the folder.
    const result = yield* runCommand("apt-get", ["-qq", "-o", "APT::Sandbox::User=root", "download", name], {
      cwd: folder
    })
    if (result.status !== 0) {
      return yield* cannotRunHere(`the kernel package ${name} could not be downloaded: ${lastLine(result.stderr)}`)
    }
    return name
  })

/** A kernel that is packed in another way boots as it is, only more slowly. */
const unpackImage = (from: string, to: string) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const image = compressedImage(yield* fs.readFile(from))
    if (image === undefined) return yield* fs.copyFile(from, to)
    yield* fs.writeFile(`${to}.xz`, image)
    yield* checked("xz", ["-d", `${to}.xz`])
  })

/** The initramfs depends on the kernel, the init script, the module lists and busybox; its name says on which. */
const getInitramfs = (folder: string, version: string) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const init = yield* fs.readFileString(files.init)
    const busybox = yield* fs.readFile("/bin/busybox")
    const key = createHash("sha256").update(JSON.stringify([init, firstModules, thenModules])).update(busybox)
    const file = path.join(folder, `initramfs-${key.digest("hex").slice(0, 16)}`)
    if (!(yield* fs.exists(file))) {
      const aside = yield* fs.makeTempDirectoryScoped({ directory: folder, prefix: ".partial-" })
      yield* fillImage(path.join(aside, "image"), folder, version, init)
      // Uncompressed: the guest would unpack it with an emulated processor.
      yield* checked("sh", ["-ec", "cd image; find . | cpio --quiet -o -H newc > ../initramfs"], aside)
      yield* fs.rename(path.join(aside, "initramfs"), file)
    }
    return file
  }).pipe(Effect.scoped)

const fillImage = (image: string, folder: string, version: string, init: string) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    for (const name of ["bin", "dev", "proc", "sys", "modules"]) {
      yield* fs.makeDirectory(path.join(image, name), { recursive: true })
    }
    yield* fs.copyFile("/bin/busybox", path.join(image, "bin", "busybox"))
    yield* fs.writeFileString(path.join(image, "init"), init, { mode: 0o755 })
    const seen = new Set<string>()
    for (const [list, modules] of [["first", firstModules], ["then", thenModules]] as const) {
      const names: Array<string> = []
      for (const file of (yield* Effect.forEach(modules, (name) => moduleFiles(folder, version, name))).flat()) {
        if (seen.has(file)) continue
        seen.add(file)
        names.push(path.basename(file))
        yield* fs.copyFile(file, path.join(image, "modules", path.basename(file)))
      }
      yield* fs.writeFileString(path.join(image, "modules", list), names.join("\n") + "\n")
    }
  })

/** The files of a module and of those that it needs, in the order in which they have to be loaded. */
const moduleFiles = (folder: string, version: string, name: string) =>
  Effect.map(
    checked("modprobe", ["-d", folder, "-S", version, "--show-depends", name]),
    (text) => text.split("\n").flatMap((line) => line.startsWith("insmod ") ? [line.split(" ")[1]!] : [])
  )

const moveIntoPlace = (from: string, to: string) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    // Another run was faster if this fails; what it left is as good.
    const moved = yield* Effect.option(fs.rename(from, to))
    if (Option.isNone(moved) && !(yield* fs.exists(to))) {
      return yield* laneBroke(`the cache folder ${to} cannot be written`)
    }
  })

/** Folders that a killed run left behind. */
const removeStale = (cache: string) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    for (const name of (yield* fs.readDirectory(cache)).filter((entry) => entry.startsWith(".partial-"))) {
      const folder = path.join(cache, name)
      const modified = Option.getOrUndefined((yield* fs.stat(folder)).mtime)
      if (modified !== undefined && Date.now() - modified.getTime() > 3_600_000) {
        yield* fs.remove(folder, { recursive: true, force: true })
      }
    }
  }).pipe(Effect.ignore)

const checked = (command: string, args: ReadonlyArray<string>, cwd?: string) =>
  Effect.gen(function*() {
    const result = yield* runCommand(command, args, cwd === undefined ? {} : { cwd })
    if (result.status !== 0) {
      return yield* laneBroke(`${command} ended with status ${result.status}: ${lastLine(result.stderr)}`)
    }
    return result.stdout
  })
