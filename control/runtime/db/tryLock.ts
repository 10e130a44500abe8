import { type Pool, withClient } from './pool.ts'

/**
 * Runs `work` under a lock of the database that no two processes have at once.
 * @param lock any constant that nothing else in this database locks
 * @returns the result, or undefined when another one has the lock
 */
export function tryLock<T>(pool: Pool, lock: number, work: () => Promise<T>): Promise<T | undefined> {
  return withClient(pool, async (client, onBroken) => {
    const tried = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [lock])
    if (tried.rows[0]?.locked !== true) return undefined
    try {
      return await work()
    } finally {
      // When this fails, the connection is closed, and the lock goes with it.
      await client.query('SELECT pg_advisory_unlock($1)', [lock]).catch(onBroken)
    }
  })
}
