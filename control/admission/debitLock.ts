import { tryShareUntilCommit, withLock } from '../runtime/db/locks.ts'
import type { Client, Pool } from '../runtime/db/pool.ts'

/**
 * Prevents shards from being loaded until the end of the transaction, so that a loading sees both the amount that Redis takes
 * for a debit and its booking at the commit, or neither.
 * @returns false while a loading is under way or waits to begin
 */
export function tryDebitLock(client: Client): Promise<boolean> {
  return tryShareUntilCommit(client, 'debits')
}

/** Runs `work` while no transaction has taken a debit that it has not committed yet; waits for those that have. */
export function withoutDebits<T>(pool: Pool, work: () => Promise<T>): Promise<T> {
  return withLock(pool, 'debits', work)
}
