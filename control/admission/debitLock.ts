import { tryShareUntilCommit, withLock } from '../runtime/db/locks.ts'
import type { Client, Pool } from '../runtime/db/pool.ts'

/**
 * Keeps shards from being loaded until the end of the transaction, so that what Redis takes for a debit now and the book
 * moves by it at the commit are seen together or not at all.
 * @returns false while a loading is under way or waits to begin
 */
export function tryDebitLock(client: Client): Promise<boolean> {
  return tryShareUntilCommit(client, 'debits')
}

/** Runs `work` while no transaction has taken a debit that it has not committed yet; waits for those that have. */
export function withoutDebits<T>(pool: Pool, work: () => Promise<T>): Promise<T> {
  return withLock(pool, 'debits', work)
}
