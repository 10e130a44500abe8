/** serialization_failure and deadlock_detected of https://www.postgresql.org/docs/current/errcodes-appendix.html. */
const CONFLICTS: ReadonlySet<unknown> = new Set(['40001', '40P01'])

/**
 * Runs a transaction, and repeats it where the server has rolled it back because it was in the way of another one.
 * @param attemptsMax how often it is run at most
 * @param run the whole transaction, which leaves nothing behind when it is rolled back
 * @throws what `run` throws, the last time
 */
export async function retryConflicts<T>(attemptsMax: number, run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run()
    } catch (error) {
      if (attempt >= attemptsMax || !CONFLICTS.has((error as { code?: unknown }).code)) throw error
    }
  }
}
