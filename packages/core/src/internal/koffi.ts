/**
 * koffi, loaded at its first use: what runs in memory alone needs no native module.
 *
 * @since 0.1.0
 */
import type * as Koffi from "koffi"
import { createRequire } from "node:module"

let loaded: typeof Koffi | undefined

export const koffi = (): typeof Koffi => loaded ??= createRequire(import.meta.url)("koffi")
