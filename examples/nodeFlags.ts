/**
 * With what Node is started on a program in TypeScript. It removes the types by WebAssembly, and V8 ends the process at times
 * where that asks for a better compiled function (`Check failed: it->second.Size() > offset` in `Runtime_WasmTriggerTierUp`, or
 * a SIGSEGV), mostly where the processor is slow. Without the better compiler nothing asks; `--no-wasm-tier-up` leaves the
 * question in the code.
 */
export const nodeFlags = ["--liftoff-only"] as const
