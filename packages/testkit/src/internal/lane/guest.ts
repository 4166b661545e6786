import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type * as PlatformError from "effect/PlatformError"
import * as ChildProcess from "effect/process/ChildProcess"
import type * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import * as Stream from "effect/Stream"
import type { GuestKernel } from "./guestKernel.ts"
import { laneBroke, type LaneError } from "./laneError.ts"
import { lastLine } from "./runCommand.ts"

export interface GuestOptions {
  readonly kernel: GuestKernel
  /** The shell script that ends in the command. */
  readonly script: string
  /** A folder that the guest may write to, under the same path. */
  readonly out: string | undefined
  readonly bootSeconds: number
  readonly cpus: number
  readonly showConsole: boolean
  /** Which of two hosts on one network it is; by itself a guest is alone. */
  readonly host: Host | undefined
}

/** A host of a network of two. Each frame is a datagram from the socket of one to that of the other, in `network`. */
export interface Host {
  readonly number: 1 | 2
  readonly network: string
}

/**
 * Boots a guest, runs the script in it, streams its output to this process's and returns its exit status. The guest is
 * gone when the effect ends, however it ends.
 */
export const run = (
  options: GuestOptions
): Effect.Effect<
  number,
  LaneError | PlatformError.PlatformError,
  ChildProcessSpawner.ChildProcessSpawner | FileSystem.FileSystem | Path.Path
> =>
  Effect.gen(function*() {
    const qemu = yield* start(options)
    const ready = yield* Deferred.make<void>()
    const result = yield* Deferred.make<number, LaneError>()
    const kernelConsole = new ConsoleText()

    const complaints = yield* Effect.forkChild(Stream.mkString(Stream.decodeText(qemu.stderr)))
    const outputs = yield* Effect.forEach(
      [
        forward(qemu.getOutputFd(fds.stdout), process.stdout, options.host),
        forward(qemu.getOutputFd(fds.stderr), process.stderr, options.host),
        Stream.runForEach(Stream.decodeText(qemu.getOutputFd(fds.console)), (text) =>
          Effect.sync(() => {
            kernelConsole.add(text)
            if (options.showConsole) process.stderr.write(text)
          })),
        Stream.runForEach(Stream.splitLines(Stream.decodeText(qemu.getOutputFd(fds.reports))), (line) =>
          receive(line, ready, result))
      ],
      (output) =>
        Effect.forkChild(output)
    )

    // When QEMU is gone and the last output with it, what was not reported by then never will be.
    const ended = Effect.gen(function*() {
      const status = yield* qemu.exitCode
      yield* Effect.forEach(outputs, Fiber.await)
      const complaint = lastLine(yield* Fiber.join(complaints))
      const panic = kernelConsole.panic()
      return yield* Deferred.fail(
        result,
        laneBroke(
          panic !== undefined
            ? `the guest's kernel panicked: ${panic}`
            : status !== 0
            ? `QEMU ended with status ${status}: ${complaint}`
            : "the guest shut down before the command had ended"
        )
      )
    })
    yield* Effect.forkChild(ended)

    yield* Deferred.await(ready).pipe(
      Effect.raceFirst(Deferred.await(result)),
      Effect.timeoutOrElse({
        duration: `${options.bootSeconds} seconds`,
        orElse: () =>
          Effect.fail(
            laneBroke(
              `the guest did not finish booting in ${options.bootSeconds} s; its last words: ${
                kernelConsole.last() || "none"
              }`
            )
          )
      })
    )
    const status = yield* Deferred.await(result)
    // The guest powers itself off now; whatever is still under way through the pipes arrives before that.
    yield* Effect.forEach(outputs, Fiber.await).pipe(Effect.timeoutOption("5 seconds"))
    return status
  }).pipe(Effect.scoped)

/** Each is a socket of QEMU's that ends in this process. */
const fds = { console: 3, stdout: 4, stderr: 5, reports: 6 } as const

const start = (options: GuestOptions) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const folder = yield* fs.makeTempDirectoryScoped({ prefix: "effect-rdma-softroce-" })
    const script = path.join(folder, "command")
    yield* fs.writeFileString(script, options.script, { mode: 0o600 })
    // setpriv ties QEMU to this process: if that is killed outright, QEMU goes as well.
    return yield* ChildProcess.make("setpriv", [
      "--pdeathsig",
      "KILL",
      "--",
      "qemu-system-x86_64",
      ...qemuArguments(options, script)
    ], {
      stdin: "ignore",
      stdout: "ignore",
      killSignal: "SIGKILL",
      additionalFds: {
        fd3: { type: "output" },
        fd4: { type: "output" },
        fd5: { type: "output" },
        fd6: { type: "output" }
      }
    })
  })

const qemuArguments = (options: GuestOptions, script: string): ReadonlyArray<string> =>
  [
    // Without what takes longer where it is emulated: strings by `rep movsb` go byte by byte, and AVX halves by a call each.
    ["-M", "q35", "-cpu", "max,-erms,-avx,-avx2", "-accel", "tcg,thread=multi", "-smp", `${options.cpus}`, "-m", "4G"],
    ["-nodefaults", "-no-reboot", "-display", "none"],
    ["-kernel", options.kernel.kernel, "-initrd", options.kernel.initramfs],
    // A kernel that went wrong ends at once instead of standing still. Left to itself it takes an emulated device for its
    // clock: Node reads the time often, and each reading would cost as much as a message.
    ["-append", "console=ttyS0 quiet mitigations=off tsc=reliable panic=-1 oops=panic"],
    Object.entries(fds).flatMap(([name, fd]) => ["-chardev", `socket,id=${name},fd=${fd}`]),
    ["-serial", "chardev:console", "-device", "virtio-serial-pci"],
    ["stdout", "stderr", "reports"].flatMap((name, index) => [
      "-device",
      `virtserialport,chardev=${name},nr=${index + 1},name=effect-rdma.${name}`
    ]),
    ["-virtfs", "local,path=/,mount_tag=hostroot,security_model=none,readonly=on,multidevs=remap"],
    ["-fw_cfg", `name=opt/effect-rdma/command,file=${value(script)}`],
    options.host === undefined ? [] : networkArguments(options.host),
    options.out === undefined ? [] : [
      "-virtfs",
      `local,path=${value(options.out)},mount_tag=out,security_model=none,multidevs=remap`,
      "-fw_cfg",
      `name=opt/effect-rdma/out,string=${value(options.out)}`
    ]
  ].flat()

// A datagram has no connection: a host may start, and go, without the other one.
const networkArguments = ({ network, number }: Host): ReadonlyArray<string> => {
  const [own, other] = [number, 3 - number].map((host) => value(`${network}/host-${host}`))
  return [
    "-netdev",
    `dgram,id=network,local.type=unix,local.path=${own},remote.type=unix,remote.path=${other}`,
    "-device",
    `virtio-net-pci,netdev=network,mac=52:54:00:00:00:0${number},romfile=`,
    "-fw_cfg",
    `name=opt/effect-rdma/host,string=${number}`
  ]
}

/** In QEMU's options a comma ends a value unless it is doubled. */
const value = (text: string): string => text.replaceAll(",", ",,")

const receive = (line: string, ready: Deferred.Deferred<void>, result: Deferred.Deferred<number, LaneError>) => {
  const [kind, rest] = [line.split(" ", 1)[0], line.slice(line.indexOf(" ") + 1)]
  if (kind === "ready") return Deferred.succeed(ready, undefined)
  if (kind === "exit") return Deferred.succeed(result, Number(rest))
  if (kind === "failed") return Deferred.fail(result, laneBroke(rest))
  return Effect.void
}

/** As it is, or of two hosts line by line, with the host in front. */
const forward = <E>(from: Stream.Stream<Uint8Array, E>, to: NodeJS.WriteStream, host: Host | undefined) =>
  Stream.runForEach(
    host === undefined
      ? from
      : Stream.map(Stream.splitLines(Stream.decodeText(from)), (line) => `host-${host.number}: ${line}\n`),
    (some: Uint8Array | string) =>
      Effect.callback<void>((resume) => {
        to.write(some, () => resume(Effect.void))
      })
  )

/** The end of what the kernel said, to explain a guest that did not come up or broke. */
class ConsoleText {
  private text = ""

  add(text: string): void {
    this.text = (this.text + text.replaceAll("\r", "")).slice(-65_536)
  }

  panic(): string | undefined {
    return /Kernel panic - not syncing: (.*)/.exec(this.text)?.[1]
  }

  last(): string {
    return lastLine(this.text)
  }
}
