// Goal: usage by agent, by platform key and of a platform key is the same with rollups as without, also while the rollups of an account
// and of its agents end on different days. Method: the same is read before and after each step of rolling up.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '../../../contract/wire/ids.ts'
import { rollUp } from '../../../control/book/rollups/rollUp.ts'
import type { UsageGroup } from '../../../control/book/usage/usageGroups.ts'
import { limitsWith } from '../../support/limits.ts'
import { endedOf } from '../../support/parts/endings.ts'
import { type Book, ensureOpen, fundedAccount, scalar, startBook } from '../../support/parts/ledger.ts'
import { bookEndings, usageGroups } from '../../support/parts/usage.ts'

const DAY_MS = 86_400_000
const TODAY = Math.floor(Date.now() / DAY_MS)
const DAYS = 70
const eager = limitsWith({ usageRollupRowsMin: 1, usageRollupRowsMax: 20 })
const GROUPINGS: readonly (readonly UsageGroup[])[] = [
  ['agent'],
  ['agent', 'month', 'model'],
  ['day', 'agent'],
  ['platform_key'],
  ['model', 'platform_key', 'month'],
  ['platform_key', 'day'],
]

let book: Book
const [platform, sub, own] = [newId('key'), newId('key'), newId('key')]
let accountId: string
before(async () => {
  book = await startBook()
  await ensureOpen(book)
  accountId = await fundedAccount(book, 1_000_000)
  const agentId = await fundedAccount(book, 1_000_000)
  const { pool } = book
  await pool.query('INSERT INTO accounts (id) VALUES ($1), ($2) ON CONFLICT DO NOTHING', [accountId, agentId])
  for (const [id, of] of [
    [platform, accountId],
    [sub, accountId],
    [own, agentId],
  ] as const) {
    await pool.query(`INSERT INTO api_keys (id, account_id, hash, last4) VALUES ($1, $2, $1, '')`, [id, of])
  }
  await pool.query('UPDATE api_keys SET platform_key_id = $2 WHERE id = $1', [sub, platform])
  await pool.query(`INSERT INTO agents (id, owner_id, slug, key_id) VALUES ($1, $2, 'one', $3)`, [
    agentId,
    accountId,
    own,
  ])
  await booked(accountId, sub)
  await booked(accountId, platform)
  await booked(agentId, own)
})
after(() => book.stop())

/** Books a receipt of every day, by two models in turn. */
async function booked(by: string, keyId: string): Promise<void> {
  const endings = Array.from({ length: DAYS }, (_, i) =>
    endedOf({
      accountId: by,
      charge: i + 1,
      heldAtMs: (TODAY - i) * DAY_MS,
      settlement: { keyId, model: i % 2 === 0 ? 'even' : 'odd', holdUnits: 1_000 },
    }),
  )
  await bookEndings(book.pool, by, endings)
}

async function readAll() {
  const days = { accountId, fromDay: TODAY - DAYS + 5, toDay: TODAY }
  const found = []
  for (const groupBy of GROUPINGS) found.push(await usageGroups(book.pool, { ...days, groupBy, limit: 3 }))
  found.push(await usageGroups(book.pool, { ...days, groupBy: ['month', 'key'], limit: 3, platformKeyId: platform }))
  return found
}

test('whatever is rolled up, the same is read', async () => {
  const expected = await readAll()
  assert.deepEqual(
    expected[0]?.map(({ requests }) => requests),
    [DAYS - 4, 2 * (DAYS - 4)].sort((a, b) => (expected[0]?.[0]?.['agent_id'] === null ? b - a : a - b)),
  )
  await book.pool.query('UPDATE usage_rollup_pass SET until_day = 0')
  let steps = 0
  for (; await rollUp(book.pool, eager); steps++) assert.deepEqual(await readAll(), expected)
  assert.ok(steps > 5)
  assert.equal(await scalar<number>(book.pool, 'SELECT count(*) FROM usage_rollup_ends'), 2)
  assert.deepEqual(await readAll(), expected)
  // An agent whose rollups end earlier is read from its days.
  await book.pool.query('DELETE FROM usage_rollups WHERE account_id <> $1 AND span = $2', [accountId, 'month'])
  await book.pool.query('UPDATE usage_rollup_ends SET until_day = until_day - 40 WHERE account_id <> $1', [accountId])
  assert.deepEqual(await readAll(), expected)
})
