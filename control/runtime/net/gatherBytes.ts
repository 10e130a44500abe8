import { copyInTurns } from '../../../contract/std/copyInTurns.ts'

/** Bytes that one turn of the event loop copies. */
export const TURN_BYTES = 4_194_304

/** Bytes in one piece; no turn of the event loop copies more than a part of them. */
export async function gatherBytes(pieces: readonly Buffer[]): Promise<Buffer> {
  const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
  if (bytes <= TURN_BYTES) return Buffer.concat(pieces, bytes)
  const whole = Buffer.allocUnsafeSlow(bytes)
  await copyInTurns(pieces, whole, TURN_BYTES)
  return whole
}
