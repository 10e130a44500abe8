import { setImmediate as nextTurn } from 'node:timers/promises'

/** Bytes that one turn of the event loop copies. */
export const TURN_BYTES = 4_194_304

/** Bytes in one piece; no turn of the event loop copies more than a part of them. */
export async function gatherBytes(pieces: readonly Buffer[]): Promise<Buffer> {
  const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
  if (bytes <= TURN_BYTES) return Buffer.concat(pieces, bytes)
  const whole = Buffer.allocUnsafeSlow(bytes)
  let copied = 0
  let turnBytes = 0
  for (const piece of pieces) {
    for (let from = 0; from < piece.length; from += TURN_BYTES) {
      const part = piece.subarray(from, from + TURN_BYTES)
      copied += part.copy(whole, copied)
      turnBytes += part.length
      if (turnBytes < TURN_BYTES) continue
      turnBytes = 0
      await nextTurn()
    }
  }
  return whole
}
