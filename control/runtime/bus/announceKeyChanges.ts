import type { Redis } from '../../../contract/wire/redis.ts'
import { intArray } from '../db/arrays.ts'
import type { Pool } from '../db/pool.ts'
import type { RuntimeLimits } from '../limits.ts'
import { publishKeyChanged } from './feed.ts'
import { dropKeyRecords } from './keptKeyRecords.ts'

interface ChangeRow {
  readonly seq: number
  readonly hash: string
}

/**
 * Announces the key changes in the book's outbox to the proxies, and drops their records in Redis. Call it after a change commits and before its response is
 * sent: once this resolves, the change is announced. Concurrent calls are safe: a duplicate announcement only makes a proxy
 * fetch the key once more.
 * @returns false when there was more than limits.keyChangesBatchesMax batches, and the rest is left for the next call
 */
export async function announceKeyChanges(pool: Pool, redis: Redis, limits: RuntimeLimits): Promise<boolean> {
  for (let batch = 0; batch < limits.keyChangesBatchesMax; batch++) {
    if ((await announceBatch(pool, redis, limits)) < limits.keyChangesBatchMax) return true
  }
  return false
}

/** @returns how many changes were read */
async function announceBatch(pool: Pool, redis: Redis, limits: RuntimeLimits): Promise<number> {
  // Newest first, so that a change does not wait for a backlog of other accounts.
  const { rows } = await pool.query<ChangeRow>({
    name: 'key_changes',
    text: 'SELECT seq, hash FROM key_changes ORDER BY seq DESC LIMIT $1',
    values: [limits.keyChangesBatchMax],
  })
  if (rows.length === 0) return 0
  const hashes = [...new Set(rows.map(({ hash }) => hash))]
  // Before the events, so that a proxy that has one does not read the old record again.
  await dropKeyRecords(redis, hashes)
  await Promise.all(hashes.map((hash) => publishKeyChanged(redis, hash, limits)))
  // Deletes only the rows read: a transaction with a lower number may commit later. Locked rows are skipped: another process
  // has announced them and is deleting them, and waiting for its locks could deadlock.
  await pool.query(
    `DELETE FROM key_changes
     WHERE seq IN (SELECT seq FROM key_changes WHERE seq = ANY ($1::bigint[]) FOR UPDATE SKIP LOCKED)`,
    [intArray(rows.map(({ seq }) => seq))],
  )
  return rows.length
}
