// Goal: receipts lie in partitions by month, none is lost for want of one, and reads touch the months that they need.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '../../../contract/wire/ids.ts'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { addMonthsAhead } from '../../../control/book/partitions/addMonths.ts'
import { monthStartMs } from '../../../control/book/partitions/idTime.ts'
import { bookBatch } from '../../../control/book/settlement/bookBatch.ts'
import { parseEntries } from '../../../control/book/settlement/openEntry.ts'
import { inclusionProof } from '../../../control/book/usagelog/inclusionProof.ts'
import { openNewAccount } from '../../../control/identity/accounts/accounts.ts'
import { createKey } from '../../../control/identity/keys/keys.ts'
import { receiptPage } from '../../../control/records/receipts/receiptPage.ts'
import { chargesBehind } from '../../../control/records/statements/movements.ts'
import type { Pool, Queryable } from '../../../control/runtime/db/pool.ts'
import { limits } from '../../support/limits.ts'
import { batchOf, endedOf } from '../../support/parts/endings.ts'
import { assertCleanAudit, type Book, ensureOpen, newAccount, scalar, startBook } from '../../support/parts/ledger.ts'

const NOW = Date.now()
const at = (months: number) => monthStartMs(NOW, months) + 3_600_000

let book: Book
before(async () => {
  book = await startBook()
  await ensureOpen(book)
})
after(() => book.stop())

let lastSeq = 0
/** Books requests that arrived then, in one batch. @returns their ids */
async function bookAt(
  pool: Pool,
  accountId: string,
  times: readonly number[],
  { keyId }: { keyId?: string } = {},
): Promise<string[]> {
  const ids = times.map((ms) => newId('req', ms))
  const endings = ids.map((requestId) =>
    endedOf({ accountId, charge: 3, requestId, ...(keyId !== undefined && { settlement: { keyId } }) }),
  )
  const owner = newId('own')
  const fields = [Buffer.from('b'), batchOf(owner, 1, endings)]
  const entries = parseEntries([{ shard: shardOf(accountId), id: `${++lastSeq}-1`, fields }])
  const booked = await bookBatch(pool, entries)
  assert.deepEqual([booked.receipts, booked.rejects], [ids.length, []])
  return ids
}

const partitionOf = (pool: Pool, requestId: string) =>
  scalar<string>(pool, 'SELECT tableoid::regclass::text FROM receipts WHERE request_id = $1', [requestId])
const nameOf = (ms: number) => `receipts_${new Date(ms).toISOString().slice(0, 7).replace('-', '_')}`

/** Runs reads and says which partitions their plans have. */
async function partitionsRead(pool: Pool, read: (db: Queryable) => Promise<unknown>): Promise<string[]> {
  const names = new Set<string>()
  const query = async (statement: string | { text: string; values?: unknown[] }, values?: unknown[]) => {
    const [text, given] =
      typeof statement === 'string' ? [statement, values ?? []] : [statement.text, statement.values ?? []]
    const plan = await pool.query({ text: `EXPLAIN ${text}`, values: given, rowMode: 'array' })
    for (const name of plan.rows
      .flat()
      .join('\n')
      .matchAll(/ on (receipts_\w+)/g))
      names.add(name[1] ?? '')
    return pool.query(text, given)
  }
  await read({ query } as unknown as Queryable)
  return [...names].sort()
}

test('the partitions of the next two months exist, and missing ones are created', async () => {
  for (const months of [0, 1, 2]) {
    const [id = ''] = await bookAt(book.pool, await newAccount(book.pool, 1_000), [at(months)])
    assert.equal(await partitionOf(book.pool, id), nameOf(at(months)))
  }
  assert.equal(await addMonthsAhead(book.pool, NOW), 0)
  const later = monthStartMs(NOW, 14)
  const [one, other] = await Promise.all([addMonthsAhead(book.pool, later), addMonthsAhead(book.pool, later)])
  assert.equal(one + other, 3)
})

test('a receipt whose month is missing is booked with its batch', async () => {
  const accountId = await newAccount(book.pool, 1_000)
  const ids = await bookAt(book.pool, accountId, [at(0), at(7), at(9), at(-40)])
  assert.deepEqual(await Promise.all(ids.map((id) => partitionOf(book.pool, id))), [
    ...[0, 7, 9].map((months) => nameOf(at(months))),
    'receipts_first',
  ])
  await ensureOpen(book)
  await assertCleanAudit(book)
})

test('a request is booked once, in whichever month', async () => {
  const accountId = await newAccount(book.pool, 1_000)
  for (const months of [-3, 0, 1, 5]) {
    const [requestId = ''] = await bookAt(book.pool, accountId, [at(months)])
    const fields = [Buffer.from('b'), batchOf(newId('own'), 1, [endedOf({ accountId, charge: 3, requestId })])]
    const again = parseEntries([{ shard: shardOf(accountId), id: `${++lastSeq}-1`, fields }])
    const booked = await bookBatch(book.pool, again)
    assert.deepEqual([booked.receipts, booked.duplicates], [0, 1])
  }
})

test('partitions are also append only', async () => {
  for (const sql of [
    `UPDATE ${nameOf(NOW)} SET status = 'ok'`,
    'DELETE FROM receipts_first',
    'TRUNCATE receipts_rest',
  ]) {
    await assert.rejects(book.pool.query(sql), /append only/, sql)
  }
})

test('reads access only the months that they need', async () => {
  const accountId = await openNewAccount(book.pool, limits, { coinNanos: 1_000_000 })
  const keyId = (await createKey(book.pool, accountId)).key.id
  for (const months of [3, 4, 6, 7]) await bookAt(book.pool, accountId, [at(months)], { keyId })
  const ids = await bookAt(
    book.pool,
    accountId,
    Array.from({ length: 30 }, () => at(5)),
    { keyId },
  )
  const newest = ids.toSorted().reverse()
  const { pool } = book

  const requestId = ids[4] ?? ''
  const single = await partitionsRead(pool, async (db) => {
    const row = await db.query('SELECT FROM receipts WHERE request_id = $1', [requestId])
    assert.equal(row.rowCount, 1)
  })
  assert.deepEqual(single, [nameOf(at(5))])
  const latest = await partitionsRead(pool, async (db) => {
    const behind = newId('req', monthStartMs(NOW, 6) - 1)
    const page = await receiptPage(db, { accountId, keyId, limit: 0, after: behind }, 21)
    assert.deepEqual(
      page.map((row) => row.requestId),
      newest.slice(0, 21),
    )
  })
  assert.deepEqual(latest, [nameOf(at(5))])
  const statement = await partitionsRead(pool, async (db) => {
    const month = { accountId, startMs: monthStartMs(NOW, 5), endMs: monthStartMs(NOW, 6) }
    await chargesBehind(db, month, '', 100)
  })
  assert.ok(statement.length <= 3 && statement.includes(nameOf(at(5))), statement.join())
  // Its tile has leaves of other months: all are read, and the proof holds.
  assert.ok(await inclusionProof(pool, { log: shardOf(accountId), position: 4 + 4, requestId }))
  const filled = await openNewAccount(pool, limits, { coinNanos: 1_000_000 })
  const log = shardOf(filled)
  const many = await bookAt(
    pool,
    filled,
    Array.from({ length: 900 }, () => at(0)),
  )
  const position = await scalar<number>(pool, 'SELECT position FROM receipts WHERE request_id = $1', [many[400]])
  const proof = await partitionsRead(pool, (db) => inclusionProof(db, { log, position, requestId: many[400] ?? '' }))
  assert.deepEqual(proof, [nameOf(NOW)])
})

test('pagination continues through the months to the last receipt', async () => {
  const accountId = await openNewAccount(book.pool, limits, { coinNanos: 1_000_000 })
  const keyId = (await createKey(book.pool, accountId)).key.id
  const ids: string[] = []
  for (const months of [-30, -13, -12, -4, -3, -1, 0, 1]) {
    ids.push(...(await bookAt(book.pool, accountId, [at(months), at(months) + 1], { keyId })))
  }
  for (const asked of [keyId, '']) {
    const seen: string[] = []
    for (let hasMore = true; hasMore; ) {
      const page = await receiptPage(book.pool, { accountId, keyId: asked, limit: 0, after: seen.at(-1) ?? '' }, 3)
      seen.push(...page.map((receipt) => receipt.requestId))
      hasMore = page.length === 3
    }
    assert.deepEqual(seen, ids.toSorted().reverse())
  }
})
