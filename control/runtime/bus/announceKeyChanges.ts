import type { Redis } from '../../../contract/wire/redis.ts'
import type { Limits } from '../../limits.ts'
import { intArray } from '../db/arrays.ts'
import type { Pool } from '../db/pool.ts'
import { publishKeyChanged } from './feed.ts'

interface ChangeRow {
  readonly seq: number
  readonly hash: string
}

/**
 * Tells the proxies of the changes of keys that are in the book's outbox. To be called after the commit of a change, before
 * it is answered for: once this resolves, the change is announced. Several at once do no harm: told twice, a proxy asks
 * for the key once more.
 * @returns false when there was more than limits.keyChangesBatchesMax batches, and the rest is left for the next call
 */
export async function announceKeyChanges(pool: Pool, redis: Redis, limits: Limits): Promise<boolean> {
  for (let batch = 0; batch < limits.keyChangesBatchesMax; batch++) {
    if ((await announceBatch(pool, redis, limits)) < limits.keyChangesBatchMax) return true
  }
  return false
}

/** @returns how many changes were read */
async function announceBatch(pool: Pool, redis: Redis, limits: Limits): Promise<number> {
  // The newest first, so that a change does not wait behind a great many of somebody else.
  const { rows } = await pool.query<ChangeRow>('SELECT seq, hash FROM key_changes ORDER BY seq DESC LIMIT $1', [
    limits.keyChangesBatchMax,
  ])
  if (rows.length === 0) return 0
  await Promise.all([...new Set(rows.map(({ hash }) => hash))].map((hash) => publishKeyChanged(redis, hash, limits)))
  // Only what was read: a transaction that took its number earlier may commit later. What is locked is being deleted by
  // another one, who has announced it as well; two that waited for each other's rows could deadlock.
  await pool.query(
    `DELETE FROM key_changes
     WHERE seq IN (SELECT seq FROM key_changes WHERE seq = ANY ($1::bigint[]) FOR UPDATE SKIP LOCKED)`,
    [intArray(rows.map(({ seq }) => seq))],
  )
  return rows.length
}
