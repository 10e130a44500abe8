/**
 * A body from pieces of JSON: one text, or bytes as soon as one of them is bytes.
 * @param pieces text, or UTF-8 bytes that are not copied
 */
export function joinedBody(pieces: readonly (string | Uint8Array)[]): string | readonly Buffer[] {
  let text = ''
  for (const piece of pieces) {
    if (typeof piece !== 'string') return pieces.map(bytesOf)
    text += piece
  }
  return text
}

function bytesOf(piece: string | Uint8Array): Buffer {
  return typeof piece === 'string' ? Buffer.from(piece) : Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
}
