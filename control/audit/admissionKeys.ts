import { MAX_UNITS } from '../../contract/money/units.ts'
import { SPANS } from '../../contract/money/windows.ts'
import { COUNTERS } from '../../contract/wire/caps.ts'
import type { Redis } from '../../contract/wire/redis.ts'
import { keyCountersKey, shardOf } from '../../contract/wire/redisKeys.ts'
import { pipelineOf } from '../../contract/wire/redisShards.ts'
import type { HeldParts } from '../admission/heldParts.ts'
import {
  addSpending,
  countIn,
  type KeySpending,
  noSpending,
  spendingColumns,
  spendingIn,
} from '../admission/keySpending.ts'
import { answersOf } from '../admission/scripts.ts'
import { readSubKeySpending } from '../admission/subKeySpending.ts'
import type { Windows } from '../admission/windows.ts'
import { textArray } from '../runtime/db/arrays.ts'
import type { Client } from '../runtime/db/pool.ts'
import type { Faults } from './check.ts'
import type { AuditLimits } from './limits.ts'
import type { Unread } from './unread.ts'

interface KeyRow extends KeySpending {
  readonly key_id: string
  readonly shard: number
}

const pageSql = (windows: Windows): string => `
  SELECT key_id, min(shard) AS shard, ${spendingColumns(windows)}
  FROM key_usage WHERE key_id > $1 GROUP BY key_id ORDER BY key_id LIMIT $2`

/** The spending of keys, by the book, the streams and the holds. */
export interface Spent {
  readonly client: Client
  readonly redis: Redis
  readonly windows: Windows
  readonly unread: Unread
  readonly held: HeldParts
}

/**
 * Adds the spending of sub-keys to that of their platform keys: booked spending to the held amounts, charges that wait in the
 * streams to the waiting charges.
 */
export async function shareSpending(client: Client, windows: Windows, unread: Unread, held: HeldParts): Promise<void> {
  for (const { platformKeyId, ...spending } of await readSubKeySpending(client, windows, null)) {
    held.addSpending(platformKeyId, spending)
  }
  const found = await client.query<{ id: string; platform_key_id: string }>(
    'SELECT id, platform_key_id FROM api_keys WHERE id = ANY ($1::text[]) AND platform_key_id IS NOT NULL',
    [textArray([...unread.keyCharges.keys()])],
  )
  for (const { id, platform_key_id } of found.rows) {
    const charges = unread.keyCharges.get(platform_key_id) ?? []
    unread.keyCharges.set(platform_key_id, [...charges, ...(unread.keyCharges.get(id) ?? [])])
  }
}

/**
 * Compares the spending counters of every key: each has to equal the charges in its window, its own and
 * those of its sub-keys, booked or waiting in a stream, plus the open holds.
 * @param spent including the additions of `shareSpending`
 * @returns the number of keys
 */
export async function compareKeys(spent: Spent, faults: Faults, limits: AuditLimits): Promise<number> {
  const sql = pageSql(spent.windows)
  let count = 0
  for (let after = ''; ; ) {
    const page = await spent.client.query<KeyRow>(sql, [after, limits.auditPageMax])
    await comparePage(spent, page.rows, faults)
    count += page.rows.length
    if (page.rows.length < limits.auditPageMax) break
    after = page.rows.at(-1)?.key_id ?? after
  }
  return count + (await compareUncharged(spent, faults, limits))
}

const UNCHARGED = `
  SELECT k.id, k.account_id FROM api_keys k
  WHERE k.id > $1 AND NOT EXISTS (SELECT FROM key_usage u WHERE u.key_id = k.id) ORDER BY k.id LIMIT $2`

/** Keys that were never charged have no counters, but for their holds and waiting endings. @returns their number */
async function compareUncharged(spent: Spent, faults: Faults, limits: AuditLimits): Promise<number> {
  let count = 0
  for (let after = ''; ; ) {
    const { rows } = await spent.client.query<{ id: string; account_id: string }>(UNCHARGED, [
      after,
      limits.auditPageMax,
    ])
    const keys = rows.map(({ id, account_id }) => ({ key_id: id, shard: shardOf(account_id), ...noSpending() }))
    await comparePage(spent, keys, faults)
    count += rows.length
    if (rows.length < limits.auditPageMax) return count
    after = rows.at(-1)?.id ?? after
  }
}

async function comparePage(spent: Spent, rows: readonly KeyRow[], faults: Faults): Promise<void> {
  const pipeline = pipelineOf(spent.redis)
  for (const row of rows) {
    pipeline.hmget(keyCountersKey(row.shard, row.key_id), ...COUNTERS)
  }
  const counters = answersOf(await pipeline.exec()) as (string | null)[][]
  for (const [i, row] of rows.entries()) {
    const inRedis = spendingIn(counters[i] ?? [], spent.windows)
    const expected = expectedOf(row, spent)
    for (const span of SPANS) {
      if (Math.min(inRedis[span], MAX_UNITS) === Math.min(expected[span], MAX_UNITS)) continue
      faults.add(`${row.key_id} spent ${inRedis[span]} in its ${span} by Redis, ${expected[span]} by the book`)
    }
  }
}

function expectedOf({ key_id, shard: _, ...expected }: KeyRow, { windows, unread, held }: Spent): KeySpending {
  addSpending(expected, held.keyUnits.get(key_id) ?? noSpending())
  for (const { hour, units } of unread.keyCharges.get(key_id) ?? []) countIn(expected, hour, units, windows)
  return expected
}
