import { GatewayError } from '../../../contract/errors/errors.ts'
import { isUnanswered } from './chainClient.ts'

/**
 * Does something with each row, one after the other; a row that fails holds up none of those behind it.
 * @throws the first error, after the last row; at once when the node does not answer at all
 */
export async function eachApart<T>(
  rows: readonly T[],
  signal: AbortSignal,
  work: (row: T) => Promise<void>,
): Promise<void> {
  const errors: unknown[] = []
  for (const row of rows) {
    if (signal.aborted) break
    try {
      await work(row)
    } catch (error) {
      if (isUnanswered(error instanceof GatewayError ? error.cause : error)) throw error
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
}

/**
 * Where the next page of rows begins that may have to wait long, so that those behind them have their turn.
 * @param pageMax the most rows that a page has
 * @returns the key of the last row of a full page, else '' for the beginning
 */
export function cursorBehind<T>(rows: readonly T[], pageMax: number, keyOf: (row: T) => string): string {
  const last = rows[pageMax - 1]
  return last === undefined ? '' : keyOf(last)
}
