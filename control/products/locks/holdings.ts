import type { Queryable } from '../../runtime/db/pool.ts'

/** Tokens of a series that an account has, by the book. */
export interface Holding {
  readonly seriesId: string
  readonly units: number
}

/** One request that burnt tokens. */
export interface LockUse {
  readonly requestId: string
  readonly seriesId: string
  readonly units: number
  readonly atMs: number
}

/** The holdings of an account, soonest end first; series of which it has nothing are left out. */
export async function holdingsOf(db: Queryable, accountId: string): Promise<Holding[]> {
  const found = await db.query<Holding>(
    `SELECT h.series_id AS "seriesId", l.balance AS units
     FROM lock_holdings h JOIN lock_series s ON s.id = h.series_id
       JOIN ledger_accounts l ON l.id = 'lock:' || h.series_id || ':' || h.account_id
     WHERE h.account_id = $1 AND NOT h.is_dropped AND l.balance > 0 ORDER BY s.ends_at_ms, s.id`,
    [accountId],
  )
  return found.rows
}

/** The last requests of an account that burnt tokens, newest first. */
export async function usesOf(db: Queryable, accountId: string, limit: number): Promise<LockUse[]> {
  const found = await db.query<{ ref: string; series_id: string; units: number; at: Date }>(
    `SELECT used.ref, h.series_id, used.units, used.at FROM lock_holdings h, LATERAL (
       SELECT ref, units, at FROM transfers
       WHERE debit = 'lock:' || h.series_id || ':' || h.account_id AND credit = 'lock_issued:' || h.series_id
         AND kind NOT IN ('charge', 'expire') AND starts_with(ref, 'req_')
       ORDER BY at DESC LIMIT $2
     ) AS used WHERE h.account_id = $1 ORDER BY used.at DESC, used.ref DESC LIMIT $2`,
    [accountId, limit],
  )
  return found.rows.map((row) => ({
    requestId: row.ref,
    seriesId: row.series_id,
    units: row.units,
    atMs: row.at.getTime(),
  }))
}
