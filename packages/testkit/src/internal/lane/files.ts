/**
 * The files that the package brings beside its modules. Their folder is as far from the sources as from what is compiled.
 *
 * @since 0.1.0
 */
import { join } from "node:path"

const folder = join(import.meta.dirname, "..", "..", "..", "lanes")

/** The first process of a guest. */
export const init = join(folder, "softroce-init.sh")

/** The subnet of ibsim where no other is asked for. */
export const twoHosts = join(folder, "two-hosts.net")
