/**
 * The xz-compressed ELF image inside a Linux bzImage, or undefined if there is none. QEMU boots such an image directly
 * (PVH), which spares the guest from unpacking it with an emulated processor: 4 s of every boot.
 *
 * The offsets are those of the x86 boot protocol: setup_sects at 0x1f1, the magic HdrS at 0x202,
 * payload_offset at 0x248, payload_length at 0x24c.
 */
export const compressedImage = (bzImage: Uint8Array): Uint8Array | undefined => {
  const view = new DataView(bzImage.buffer, bzImage.byteOffset, bzImage.byteLength)
  if (view.byteLength < 0x250 || view.getUint32(0x202, true) !== 0x53726448) return undefined
  const start = (view.getUint8(0x1f1) + 1) * 512 + view.getUint32(0x248, true)
  // The last four bytes are the unpacked size, which is not part of the xz stream.
  const payload = bzImage.subarray(start, start + view.getUint32(0x24c, true) - 4)
  return xzMagic.every((byte, index) => payload[index] === byte) ? payload : undefined
}

const xzMagic = [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]
