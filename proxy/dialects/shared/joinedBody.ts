import type { CutRequest } from './codec.ts'

/**
 * A body from pieces of JSON: one text, or bytes as soon as one of them is bytes.
 * @param pieces text, or UTF-8 bytes that are not copied
 * @param cut puts back what was cut out of the text; absent where nothing was
 */
export function joinedBody(
  pieces: readonly (string | Uint8Array)[],
  cut?: CutRequest | undefined,
): string | readonly Buffer[] {
  let text = ''
  for (const piece of pieces) {
    if (typeof piece !== 'string') return pieces.map(bytesOf)
    text += piece
  }
  return cut?.fill(text) ?? text
}

function bytesOf(piece: string | Uint8Array): Buffer {
  return typeof piece === 'string' ? Buffer.from(piece) : Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
}
