import * as Library from "@effect-rdma/core/Library"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"

const libc = Library.fromProcess()
const openMemoryStream = libc.bind("open_memstream", ["pointer", "pointer"], "pointer")
const mallocInfo = libc.bind("malloc_info", ["int", "pointer"], "int")
const closeStream = libc.bind("fclose", ["pointer"], "int")
const free = libc.bind("free", ["pointer"], "void")

const stream = NativeMemory.map(16)

const bytes = (heap: string, what: string): number => Number(new RegExp(`${what}.* size="(\\d+)"`).exec(heap)?.[1])

/** How many bytes glibc's malloc has handed out on the main thread and not got back. */
export const heapInUse = (): number => {
  const file = openMemoryStream(stream.address, stream.address + 8n)
  mallocInfo(0, file)
  closeStream(file)
  const [text = 0n, length = 0n] = new BigUint64Array(stream.bytes.buffer)
  const info = NativeMemory.readCString(text, Number(length) + 1)
  free(text)
  const heap = info.slice(0, info.indexOf("</heap>"))
  return bytes(heap, "type=\"current\"") - bytes(heap, "type=\"fast\"") - bytes(heap, "type=\"rest\"")
}
