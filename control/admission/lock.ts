import { type Client, type Pool, withClient } from '../runtime/db/pool.ts'
import { tryLock } from '../runtime/db/tryLock.ts'

/** Any constant will do, as long as nothing else in this database locks it. */
const ADMISSION_LOCK = 7_204_002
const DEBIT_LOCK = 7_204_003

/**
 * Runs `work` while no other control writes balances into the admission state.
 * @returns the result, or undefined when another one is at it
 */
export function tryAdmissionLock<T>(pool: Pool, work: () => Promise<T>): Promise<T | undefined> {
  return tryLock(pool, ADMISSION_LOCK, work)
}

/**
 * Keeps shards from being loaded until the end of the transaction, so that what Redis takes for a debit now and the book
 * moves by it at the commit are seen together or not at all.
 * @returns false while a loading is under way or waits to begin
 */
export async function tryDebitLock(client: Client): Promise<boolean> {
  const tried = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_xact_lock_shared($1) AS locked', [
    DEBIT_LOCK,
  ])
  return tried.rows[0]?.locked === true
}

/** Runs `work` while no transaction has taken a debit that it has not committed yet; waits for those that have. */
export function withoutDebits<T>(pool: Pool, work: () => Promise<T>): Promise<T> {
  return withClient(pool, async (client, onBroken) => {
    await client.query('SELECT pg_advisory_lock($1)', [DEBIT_LOCK])
    try {
      return await work()
    } finally {
      await client.query('SELECT pg_advisory_unlock($1)', [DEBIT_LOCK]).catch(onBroken)
    }
  })
}
