import { GatewayError } from '../../contract/errors/errors.ts'
import { apart } from '../runtime/apart.ts'
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
  await apart(rows, work, signal, (error) => isUnanswered(error instanceof GatewayError ? error.cause : error))
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
