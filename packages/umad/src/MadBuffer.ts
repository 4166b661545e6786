/**
 * Memory for a MAD and its address: `umad_alloc(3)` and `umad_free`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { UmadError } from "./UmadError.ts"
import type * as UmadPort from "./UmadPort.ts"

/**
 * A buffer for a MAD of `length` bytes. MADs are copied into it when they are sent and out of it when they are received,
 * so a port needs one at a time, which it makes itself and grows when a message is longer.
 *
 * @category models
 * @since 0.1.0
 */
export interface MadBuffer extends Resource.Resource<"MadBuffer", Pointer.Pointer<"ib_user_mad">> {
  readonly length: number
  /** @internal */
  readonly port: UmadPort.OpenPort
}

/**
 * The longest message that a port receives: the records of a subnet of a hundred thousand nodes.
 *
 * @category constructors
 * @since 0.1.0
 */
export const maximumLength = 0x100_0000

/**
 * How long a MAD can be: one packet, or a message of several.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Length = Schema.Int.check(Schema.isBetween({ minimum: 256, maximum: maximumLength }))

/**
 * Allocates a buffer, owned by the scope and freed before its port is closed. Fails with `ENOMEM`, and as a `SchemaError` for
 * a length that no MAD has.
 *
 * @category constructors
 * @since 0.1.0
 */
export const alloc = (
  port: UmadPort.OpenPort,
  length: number
): Effect.Effect<MadBuffer, UmadError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(alloc)
  return Effect.flatMap(Effect.suspend(() => decodeLength(length)), (length) =>
    Resource.make({
      kind: "MadBuffer",
      pair: ["umad_alloc", "umad_free"],
      site,
      parents: [port],
      acquire: port.umad.alloc(length),
      release: port.umad.free,
      fields: () => ({ length, port })
    }))
}

/**
 * Writes the header of the buffer to standard error: `umad_dump(3)`.
 *
 * @category operations
 * @since 0.1.0
 */
export const dump = (self: MadBuffer): Effect.Effect<void> => Resource.use(self, self.port.umad.dump)

/**
 * Writes the address of the buffer to standard error: `umad_addr_dump(3)`.
 *
 * @category operations
 * @since 0.1.0
 */
export const addrDump = (self: MadBuffer): Effect.Effect<void> => Resource.use(self, self.port.umad.addrDump)

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const decodeLength = Schema.decodeEffect(Length)
