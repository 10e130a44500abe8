import type { Redis } from 'ioredis'
import type { HeldParts, KeySpending } from '../admission/heldParts.ts'
import { answersOf } from '../admission/scripts.ts'
import type { Windows } from '../admission/windows.ts'
import { limits } from '../contract/limits.ts'
import { keyCountersKey } from '../contract/redisKeys.ts'
import type { Client } from '../db/pool.ts'
import type { Faults } from './check.ts'
import type { Unread } from './unread.ts'

interface KeyRow extends KeySpending {
  key_id: string
  shard: number
}

const PAGE = `
  SELECT key_id, min(shard) AS shard, sum(units) AS life,
    coalesce(sum(units) FILTER (WHERE hour = $1), 0) AS hour,
    coalesce(sum(units) FILTER (WHERE hour >= $2), 0) AS day,
    coalesce(sum(units) FILTER (WHERE hour >= $3), 0) AS month
  FROM key_usage WHERE key_id > $4 GROUP BY key_id ORDER BY key_id LIMIT $5`

const SPANS = ['hour', 'day', 'month', 'life'] as const

/**
 * Compares the spending counters of every key that was ever charged: each has to be the charges of its window, booked or
 * waiting in a stream, and what is held.
 * @returns how many keys there are
 */
export async function compareKeys(
  client: Client,
  redis: Redis,
  windows: Windows,
  unread: Unread,
  held: HeldParts,
  faults: Faults,
): Promise<number> {
  let count = 0
  for (let after = ''; ; ) {
    const { hour, dayFirstHour, monthFirstHour } = windows
    const page = await client.query<KeyRow>(PAGE, [hour, dayFirstHour, monthFirstHour, after, limits.auditPageMax])
    const pipeline = redis.pipeline()
    for (const row of page.rows) {
      pipeline.hmget(keyCountersKey(row.shard, row.key_id), 'hw', 'hs', 'dw', 'ds', 'mw', 'ms', 'bs')
    }
    const counters = answersOf(await pipeline.exec()) as (string | null)[][]
    for (const [i, row] of page.rows.entries()) {
      const inRedis = spendingOf(counters[i] ?? [], windows)
      const expected = expectedOf(row, windows, unread, held)
      for (const span of SPANS) {
        if (inRedis[span] === expected[span]) continue
        faults.add(`${row.key_id} spent ${inRedis[span]} in its ${span} by Redis, ${expected[span]} by the book`)
      }
    }
    count += page.rows.length
    if (page.rows.length < limits.auditPageMax) return count
    after = page.rows.at(-1)?.key_id ?? after
  }
}

/** A counter of an earlier window stands for nothing spent in the current one. */
function spendingOf([hw, hs, dw, ds, mw, ms, bs]: (string | null)[], windows: Windows): KeySpending {
  return {
    hour: Number(hw) === windows.hour ? Number(hs) : 0,
    day: Number(dw) === windows.day ? Number(ds) : 0,
    month: Number(mw) === windows.month ? Number(ms) : 0,
    life: Number(bs ?? 0),
  }
}

function expectedOf(row: KeyRow, windows: Windows, unread: Unread, held: HeldParts): KeySpending {
  const own = held.keyUnits.get(row.key_id)
  const expected = {
    hour: row.hour + (own?.hour ?? 0),
    day: row.day + (own?.day ?? 0),
    month: row.month + (own?.month ?? 0),
    life: row.life + (own?.life ?? 0),
  }
  for (const { hour, units } of unread.keyCharges.get(row.key_id) ?? []) {
    if (hour === windows.hour) expected.hour += units
    if (hour >= windows.dayFirstHour) expected.day += units
    if (hour >= windows.monthFirstHour) expected.month += units
    expected.life += units
  }
  return expected
}
