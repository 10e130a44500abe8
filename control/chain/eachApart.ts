import { GatewayError } from '../../contract/errors/errors.ts'
import { isUnanswered } from './chainClient.ts'

/**
 * Processes rows one after the other; a row that fails does not block the rows after it.
 * @throws the first error, after the last row; immediately when the node does not answer at all
 */
export async function eachApart<T>(
  rows: Iterable<T> | AsyncIterable<T>,
  signal: AbortSignal,
  work: (row: T) => Promise<void>,
): Promise<void> {
  const errors: unknown[] = []
  for await (const row of rows) {
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
 * Cursor of the next page, so that rows that have to wait long do not starve the rows after them.
 * @param pageMax the most rows of a page
 * @returns the key of the last row of a full page, else '' for the beginning
 */
export function cursorBehind<T>(rows: readonly T[], pageMax: number, keyOf: (row: T) => string): string {
  const last = rows[pageMax - 1]
  return last === undefined ? '' : keyOf(last)
}
