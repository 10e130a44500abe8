import type { Logger } from 'pino'
import { forgetCheckpoints } from '../book/checkpoint/forgetCheckpoints.ts'
import { forgetOwners } from '../book/settlement/proxyOwners.ts'
import type { Pool, Queryable } from '../runtime/db/pool.ts'
import { Loop } from '../runtime/loop.ts'
import { forgetIdempotencyKeys } from './idempotency.ts'
import type { ApiLimits } from './limits.ts'

/** Tables whose rows expire at `expires_at`, with their keys. */
const EXPIRING = { sessions: 'id', used_nonces: 'nonce', link_codes: 'hash' } as const

/**
 * Removes expired rows: sessions, used nonces, link codes, Idempotency-Keys, proxies that are gone, old checkpoints.
 */
export function housekeeper({ pool, log, limits }: { pool: Pool; log: Logger; limits: ApiLimits }): Loop {
  return new Loop('housekeeping', limits.housekeepingMs, log, async () => {
    const isMore = await removeExpired(pool, limits)
    return (await forgetCheckpoints(pool, limits)) || isMore
  })
}

/** Removes a bounded number of expired rows of each kind. @returns whether there may be more */
export async function removeExpired(db: Queryable, limits: ApiLimits): Promise<boolean> {
  let removedMost = Math.max(await forgetIdempotencyKeys(db, limits), await forgetOwners(db, limits))
  for (const [table, key] of Object.entries(EXPIRING)) {
    const removed = await db.query(
      `DELETE FROM ${table} WHERE ${key} IN (SELECT ${key} FROM ${table} WHERE expires_at <= now() LIMIT $1)`,
      [limits.housekeepingBatchMax],
    )
    removedMost = Math.max(removedMost, removed.rowCount ?? 0)
  }
  return removedMost >= limits.housekeepingBatchMax
}
