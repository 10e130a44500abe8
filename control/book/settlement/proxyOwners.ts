import type { sluice } from '../../../contract/wire/generated/messages.js'
import type { Queryable } from '../../runtime/db/pool.ts'
import type { BookLimits } from '../limits.ts'

const NOTE = `
  WITH seen AS (
    INSERT INTO proxy_owners (owner, begun) VALUES ($1, $2)
    ON CONFLICT (owner) DO UPDATE SET seen_at = excluded.seen_at, begun = greatest(proxy_owners.begun, excluded.begun)
  )
  SELECT shard, seq FROM owner_positions WHERE owner = $1 ORDER BY shard`

/**
 * How far the endings of a proxy process are booked, by shard; notes that it lives.
 * @param owner '' for a caller that has no leases
 * @param begun the least number of endings that it will have had, over all shards; 0 where it does not say
 */
export async function noteOwner(db: Queryable, owner: string, begun = 0): Promise<sluice.IBookedPosition[]> {
  if (owner === '') {
    await db.query('SELECT 1')
    return []
  }
  const found = await db.query<{ shard: number; seq: number }>({
    name: 'proxy_owner_seen',
    text: NOTE,
    values: [owner, begun],
  })
  return found.rows
}

/** Notes that all endings of a proxy process that is gone are booked, those of its open requests included. */
export async function noteReplayed(db: Queryable, owner: string): Promise<void> {
  await db.query('UPDATE proxy_owners SET replayed_at = now() WHERE owner = $1', [owner])
}

/** How far the endings of a proxy process that has ended are booked, by shard. */
export async function bookedPositions(db: Queryable, owner: string): Promise<sluice.IBookedPosition[]> {
  const found = await db.query<{ shard: number; seq: number }>({
    name: 'proxy_owner_booked',
    text: 'SELECT shard, seq FROM owner_positions WHERE owner = $1 ORDER BY shard',
    values: [owner],
  })
  return found.rows
}

/**
 * Forgets proxy processes that are gone for long, and how far their endings are booked.
 * @returns rows removed, at most limits.housekeepingBatchMax of each kind
 */
export async function forgetOwners(db: Queryable, limits: BookLimits): Promise<number> {
  const most = limits.housekeepingBatchMax
  const owners = await db.query(
    `DELETE FROM proxy_owners WHERE owner IN (
       SELECT owner FROM proxy_owners WHERE seen_at < now() - $1 * interval '1 ms' LIMIT $2)`,
    [limits.ownerKeptMs, most],
  )
  const positions = await db.query(
    `DELETE FROM owner_positions WHERE (owner, shard) IN (
       SELECT owner, shard FROM owner_positions p
       WHERE booked_at < now() - $1 * interval '1 ms' AND NOT EXISTS (SELECT FROM proxy_owners o WHERE o.owner = p.owner)
       LIMIT $2)`,
    [limits.ownerPositionsKeptMs, most],
  )
  return Math.max(owners.rowCount ?? 0, positions.rowCount ?? 0)
}
