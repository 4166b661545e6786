/**
 * Open ports and their agents in libibumad.
 *
 * @since 0.1.0
 */
import * as DeviceNode from "@effect-rdma/core/DeviceNode"
import * as Errno from "@effect-rdma/core/Errno"
import type * as Library from "@effect-rdma/core/Library"
import * as Readiness from "@effect-rdma/core/Readiness"
import * as ReturnConvention from "@effect-rdma/core/ReturnConvention"
import * as Brand from "effect/Brand"
import * as Effect from "effect/Effect"
import type { AgentId, PortId, Registration, Umad } from "../../Umad.ts"
import type { UmadError } from "../../UmadError.ts"
import * as Layout from "../Layout.ts"
import { errorOf, hintOf, type Hints, inputOf, lookupErrorOf } from "./error.ts"

type Operations = Pick<
  Umad["Service"],
  | "openPort"
  | "openSmiPort"
  | "closePort"
  | "getFd"
  | "getIssmPath"
  | "register"
  | "registerOui"
  | "register2"
  | "unregister"
>

export const make = (library: Library.Library): Operations => {
  const openPort = library.bind("umad_open_port", ["string", "int"], "int")
  const openSmiPort = library.bindOptional("umad_open_smi_port", ["string", "int"], "int")
  const closePort = library.bind("umad_close_port", ["int"], "int")
  const getFd = library.bind("umad_get_fd", ["int"], "int")
  const getIssmPath = library.bind("umad_get_issm_path", ["string", "int", "buffer", "int"], "int")
  const size = library.bind("umad_size", [], "size")
  const register = library.bind("umad_register", ["int", "int", "int", "u8", "buffer"], "int")
  const registerOui = library.bind("umad_register_oui", ["int", "int", "u8", "buffer", "buffer"], "int")
  const register2 = library.bind("umad_register2", ["int", "buffer", "buffer"], "int")
  const unregister = library.bind("umad_unregister", ["int", "int"], "int")

  const issmPath = (caName: string | null, portNum: number): string | number => {
    const path = new Uint8Array(longestPath)
    const result = getIssmPath(caName, portNum, path, path.length)
    return result < 0 ? -result : new TextDecoder().decode(path.subarray(0, path.indexOf(0)))
  }

  const open = (call: string, native: typeof openPort | undefined): Operations["openPort"] => (caName, portNum) =>
    Effect.suspend(() => {
      const input = { ...inputOf(caName), portNum }
      if (native === undefined) return Effect.fail(errorOf(call, EOPNOTSUPP, input, tooOld))
      return Effect.flatMap(
        ReturnConvention.negativeErrno(
          () => native(caName ?? null, portNum),
          (returned, variable) => {
            if (returned === EINVAL) return errorOf(call, returned, input, noNode)
            if (returned === EOPNOTSUPP) return errorOf(call, returned, input, noModule)
            if (returned !== EIO || variable === 0) return lookupErrorOf(call, returned, input)
            const path = issmPath(caName ?? null, portNum)
            return errorOf(
              call,
              variable,
              input,
              typeof path === "string" ? DeviceNode.hint(variable, path.replace("issm", "umad")) : undefined
            )
          }
        ),
        (portId) => {
          // Everything here is written for the header of 64 bytes.
          if (size() === Layout.UserMad.size) {
            // A simulator's descriptor is none of the kernel's, and no other program gets it.
            return Effect.as(Effect.ignore(Readiness.setCloseOnExec(portId)), portIdOf(portId))
          }
          closePort(portId)
          return Effect.fail(errorOf(call, EOPNOTSUPP, input, "The kernel does not know P_Key indexes of MADs"))
        }
      )
    })

  return {
    openPort: open("umad_open_port", openPort),
    openSmiPort: open("umad_open_smi_port", openSmiPort),
    closePort: (portId) => Effect.sync(() => void closePort(portId)),
    getFd: (portId) => Effect.sync(() => getFd(portId)),
    getIssmPath: (caName, portNum) =>
      Effect.suspend(() => {
        const path = issmPath(caName ?? null, portNum)
        return typeof path === "string"
          ? Effect.succeed(path)
          : Effect.fail(lookupErrorOf("umad_get_issm_path", path, { ...inputOf(caName), portNum }))
      }),

    register: (portId, registration) =>
      Effect.map(
        ReturnConvention.negativeErrno(
          () =>
            register(
              portId,
              registration.mgmtClass,
              registration.mgmtVersion,
              registration.rmppVersion,
              maskOf(registration)
            ),
          (returned, variable) => refused("umad_register", variable || returned, registration)
        ),
        agentIdOf
      ),
    registerOui: (portId, registration) =>
      Effect.map(
        ReturnConvention.negativeErrno(
          () =>
            registerOui(
              portId,
              registration.mgmtClass,
              registration.rmppVersion,
              Uint8Array.of(registration.oui >> 16, registration.oui >> 8, registration.oui),
              maskOf(registration)
            ),
          (returned, variable) => refused("umad_register_oui", variable || returned, registration)
        ),
        agentIdOf
      ),
    register2: (portId, attributes) =>
      Effect.suspend(() => {
        const struct = Layout.RegAttr.allocate()
        const { methodMask, ...fields } = attributes
        Layout.RegAttr.write(struct, { ...fields, methodMask: halves(methodMask) })
        const agentId = new Uint32Array(1)
        return Effect.map(
          ReturnConvention.returnedErrno(
            () => register2(portId, struct, agentId),
            (errno) => refused("umad_register2", errno, attributes)
          ),
          () => agentIdOf(agentId[0] ?? 0)
        )
      }),
    unregister: (portId, agentId) =>
      Effect.asVoid(ReturnConvention.minusOneErrno(
        () => unregister(portId, agentId),
        (errno) => errorOf("umad_unregister", errno, { agentId })
      ))
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const EINVAL = Errno.numberOf("EINVAL")
const EIO = Errno.numberOf("EIO")
const EOPNOTSUPP = Errno.numberOf("EOPNOTSUPP")

const portIdOf = Brand.nominal<PortId>()
const agentIdOf = Brand.nominal<AgentId>()

// UMAD_DEV_FILE_SZ
const longestPath = 256

const tooOld = "libibumad of rdma-core 53 has it"
const noNode = "The adapter has the port, but ib_umad shows no device for it; ls /sys/class/infiniband_mad lists them"
const noModule =
  "Load it with: modprobe ib_umad. libibumad remembers that it was not there for as long as the process " +
  "lives, so start the program again"

const halves = (mask: bigint): ReadonlyArray<bigint> => [BigInt.asUintN(64, mask), BigInt.asUintN(64, mask >> 64n)]

const maskOf = ({ methodMask }: Registration): BigUint64Array => BigUint64Array.from(halves(methodMask))

const refused = (call: string, errno: number, { mgmtClass }: Registration): UmadError =>
  errorOf(
    call,
    errno,
    { mgmtClass: `0x${mgmtClass.toString(16).padStart(2, "0")}` },
    hintOf(errno, registrationHints)
  )

const registrationHints: Hints = {
  EINVAL: "The class, its version or the RMPP version is not one that agents can have, or another agent of the port " +
    "has one of the methods",
  EPROTONOSUPPORT: "The port has no subnet management: it is not an InfiniBand port",
  ENOMEM: "A port takes 32 agents at a time",
  EPIPE: "The adapter is gone"
}
