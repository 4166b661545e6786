/**
 * What a C program would pay for with a crash, a hang or silent corruption: on the fabric it is a defect.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"

/**
 * A native call that no correct program makes: on an object that was released already, on a pointer that was never
 * given out or is of another kind, on what somebody else owns, or one that would never return. The C libraries check
 * none of it. The scoped modules must never cause one, and a program on them cannot.
 *
 * @category errors
 * @since 0.1.0
 */
export class FabricMisuse extends Data.TaggedError("FabricMisuse")<{
  readonly call: string
  readonly problem: string
}> {
  override get message() {
    return `${this.call}: ${this.problem}`
  }
}
