const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** The head of a PNG of this size, followed by `extraBytes`: enough for whoever reads no further. */
export function pngHead(width: number, height: number, extraBytes = 0): Buffer {
  const chunk = Buffer.alloc(25)
  chunk.writeUInt32BE(13, 0)
  chunk.write('IHDR', 4, 'latin1')
  chunk.writeUInt32BE(width, 8)
  chunk.writeUInt32BE(height, 12)
  chunk.set([8, 2, 0, 0, 0], 16)
  return Buffer.concat([PNG_SIGNATURE, chunk, Buffer.alloc(extraBytes)])
}

/** The head of a JPEG of this size, with a comment segment and fill bytes before the frame header. */
export function jpegHead(width: number, height: number): Buffer {
  const comment = Buffer.concat([Buffer.from([0xff, 0xfe, 0x00, 0x06]), Buffer.from('note')])
  const frame = Buffer.from([0xff, 0xff, 0xc0, 0x00, 0x0b, 8, height >> 8, height & 255, width >> 8, width & 255, 1])
  return Buffer.concat([Buffer.from([0xff, 0xd8]), comment, frame, Buffer.from([1, 0x11, 0, 0xff, 0xd9])])
}

export function dataUrl(type: string, bytes: Buffer): string {
  return `data:image/${type};base64,${bytes.toString('base64')}`
}
