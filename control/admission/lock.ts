import type { Client, Pool } from '../db/pool.ts'

/** Any constant will do, as long as nothing else in this database locks it. */
const ADMISSION_LOCK = 7_204_002
const DEBIT_LOCK = 7_204_003

/**
 * Runs `work` while no other control writes balances into the admission state.
 * @returns the result, or undefined when another one is at it
 */
export async function tryAdmissionLock<T>(pool: Pool, work: () => Promise<T>): Promise<T | undefined> {
  const client = await pool.connect()
  let broken: Error | undefined
  const onBroken = (error: Error): void => {
    broken = error
  }
  client.on('error', onBroken)
  try {
    const tried = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [ADMISSION_LOCK])
    if (tried.rows[0]?.locked !== true) return undefined
    try {
      return await work()
    } finally {
      // When this fails, the connection is closed below, and the lock goes with it.
      await client.query('SELECT pg_advisory_unlock($1)', [ADMISSION_LOCK]).catch(onBroken)
    }
  } finally {
    client.off('error', onBroken)
    client.release(broken)
  }
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
export async function withoutDebits<T>(pool: Pool, work: () => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  const onBroken = (error: Error): void => {
    broken = error
  }
  client.on('error', onBroken)
  try {
    await client.query('SELECT pg_advisory_lock($1)', [DEBIT_LOCK])
    try {
      return await work()
    } finally {
      await client.query('SELECT pg_advisory_unlock($1)', [DEBIT_LOCK]).catch(onBroken)
    }
  } finally {
    client.off('error', onBroken)
    client.release(broken)
  }
}
