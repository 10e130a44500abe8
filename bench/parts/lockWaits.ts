import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../../control/runtime/db/pool.ts'

const POLL_MS = 5

/** The work and the waits of the backends of PostgreSQL, as counts of samples. */
export interface LockWaits {
  /** Backends with a statement under way. */
  readonly active: number
  /** Those of them that waited for a lock of a row or table, or for one inside the server. */
  readonly waiting: number
  /** How many of these waited for each of the locks. */
  readonly byLock: ReadonlyMap<string, number>
  /** Backends inside a transaction at the same time, at most. */
  readonly transactionsMax: number
}

/** Samples the waits of all backends while work runs. */
export async function withLockWaits<Result>(pool: Pool, work: () => Promise<Result>): Promise<[Result, LockWaits]> {
  let isDone = false
  const sampled = sample(pool, () => isDone)
  const result = await work().finally(() => {
    isDone = true
  })
  return [result, await sampled]
}

async function sample(pool: Pool, isDone: () => boolean): Promise<LockWaits> {
  let [active, waiting, transactionsMax] = [0, 0, 0]
  const byLock = new Map<string, number>()
  for (; !isDone(); await sleep(POLL_MS)) {
    const { rows } = await pool.query<{ active: boolean; lock: string | null }>({
      name: 'bench_lock_waits',
      text: `SELECT state = 'active' AS active,
          CASE WHEN state = 'active' AND wait_event_type IN ('Lock', 'LWLock') THEN wait_event_type || ' ' || wait_event END AS lock
        FROM pg_stat_activity
        WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND xact_start IS NOT NULL`,
    })
    transactionsMax = Math.max(transactionsMax, rows.length)
    for (const row of rows) {
      if (row.active) active++
      if (row.lock === null) continue
      waiting++
      byLock.set(row.lock, (byLock.get(row.lock) ?? 0) + 1)
    }
  }
  return { active, waiting, byLock, transactionsMax }
}
