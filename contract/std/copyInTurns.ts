import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * Copies bytes one after the other, so that the event loop serves others in between.
 * @param whole as long as all pieces together
 * @param turnBytes that one turn of the event loop copies
 */
export async function copyInTurns(pieces: readonly Buffer[], whole: Buffer, turnBytes: number): Promise<void> {
  let copied = 0
  let copiedInTurn = 0
  for (const piece of pieces) {
    for (let from = 0; from < piece.length; from += turnBytes) {
      const part = piece.subarray(from, from + turnBytes)
      copied += part.copy(whole, copied)
      copiedInTurn += part.length
      if (copiedInTurn < turnBytes) continue
      copiedInTurn = 0
      await nextTurn()
    }
  }
}
