import { GatewayError } from '../contract/errors.ts'
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
