import { isId } from '../../../contract/wire/ids.ts'
import type { Pool } from '../../runtime/db/pool.ts'
import { idTimeMs, monthStartMs } from './idTime.ts'

/** Months ahead of the present one that have their partitions already. */
const AHEAD = 2

/** The code of PostgreSQL for a row that no partition takes; unlike for a failed check, it names no constraint. */
const CHECK_VIOLATION = '23514'

/**
 * Makes the partitions of this month and the next ones, where they are missing.
 * @returns how many were missing
 */
export function addMonthsAhead(pool: Pool, nowMs: number): Promise<number> {
  return addMonths(
    pool,
    Array.from({ length: AHEAD + 1 }, (_, months) => monthStartMs(nowMs, months)),
  )
}

/** Makes the partitions that receipts of these requests go to; a text without the form of an id needs none. */
export function addMonthsOf(pool: Pool, requestIds: readonly string[]): Promise<number> {
  const starts = requestIds.filter((id) => isId('req', id)).map((id) => monthStartMs(idTimeMs(id)))
  return addMonths(pool, [...new Set(starts)])
}

/** Whether an error means that receipts belong to a month without a partition. */
export function isMonthMissing(error: unknown): boolean {
  const { code, table, constraint } = error as { code?: unknown; table?: unknown; constraint?: unknown }
  return code === CHECK_VIOLATION && table === 'receipts' && constraint === undefined
}

async function addMonths(pool: Pool, startsMs: readonly number[]): Promise<number> {
  let added = 0
  for (const startMs of startsMs) {
    const made = await pool.query<{ added: boolean }>('SELECT add_receipt_month(to_timestamp($1)) AS added', [
      startMs / 1_000,
    ])
    if (made.rows[0]?.added === true) added++
  }
  return added
}
