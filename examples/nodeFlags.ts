/**
 * With what Node is started on a program in TypeScript: it removes the types by WebAssembly, and V8 ends the process at times when it asks for a
 * better compiled function there (`Check failed: it->second.Size() > offset` in `Runtime_WasmTriggerTierUp`, or a SIGSEGV), mostly
 * where the processor is slow.
 */
export const nodeFlags = ["--no-wasm-tier-up"] as const
