import assert from 'node:assert/strict'
import { newId } from '../../../contract/wire/ids.ts'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { bookBatch } from '../../../control/book/settlement/bookBatch.ts'
import { parseEntries } from '../../../control/book/settlement/openEntry.ts'
import { readUsage, type UsageQuery } from '../../../control/book/usage/usageReads.ts'
import type { Pool } from '../../../control/runtime/db/pool.ts'
import { limits } from '../limits.ts'
import { batchOf } from './endings.ts'

let entries = 0

/** Books endings of an account in one batch that Redis knows nothing of. */
export async function bookEndings(pool: Pool, accountId: string, endings: readonly Buffer[]): Promise<void> {
  const raw = {
    shard: shardOf(accountId),
    id: `${++entries}-1`,
    fields: [Buffer.from('b'), batchOf(newId('own'), 1, endings)],
  }
  const { receipts, rejects } = await bookBatch(pool, parseEntries([raw]))
  assert.equal(receipts, endings.length, rejects[0]?.reason)
}

export type UsageGroupRow = Record<string, unknown> & {
  readonly requests: number
  readonly cost: { readonly units: string }
}

/** Every group of usage, page by page. */
export async function usageGroups(
  pool: Pool,
  query: Pick<UsageQuery, 'accountId' | 'groupBy' | 'limit' | 'fromDay' | 'toDay'> & Partial<UsageQuery>,
): Promise<UsageGroupRow[]> {
  const data: UsageGroupRow[] = []
  for (let next: string | null = ''; next !== null; ) {
    const page: Awaited<ReturnType<typeof readUsage>> = await readUsage(
      pool,
      { model: '', keyId: '', platformKeyId: '', ...query, after: next },
      limits,
    )
    data.push(...(page.data as readonly UsageGroupRow[]))
    next = page.next
  }
  return data
}
