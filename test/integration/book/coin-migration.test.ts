// Goal: a book that kept coin in units is converted at the price in force: everybody has the coin that was shown, nobody's
// dollars change, and a book whose coin is one dollar keeps every number. Method: a book of the schema before, filled by its
// own rules, then migrated and audited.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditBook } from '../../../control/audit/runAudit.ts'
import { migrate } from '../../../control/runtime/db/migrate.ts'
import type { Pool } from '../../../control/runtime/db/pool.ts'
import { ledgerLimits as limits } from '../../support/limits.ts'
import { oldSchema } from '../../support/oldSchema.ts'

const LAST_BEFORE = '0151'
const PAYER = 'payer_0x00000000000000000000000000000000000000aa'
const WALLET = `0x${'1'.repeat(40)}`

/** A book as it was kept before, at this price of a coin. */
async function oldBook(coinUsd: string): Promise<Pool> {
  const { pool } = await oldSchema(LAST_BEFORE)
  await fill(pool, coinUsd)
  return pool
}

async function fill(pool: Pool, coinUsd: string): Promise<void> {
  await pool.query(
    `INSERT INTO price_sheets (version, published_at, valid_until, content_hash, sheet)
     VALUES (1, now(), now() + interval '30 days', 'h', $1)`,
    [JSON.stringify({ coin: { usd: coinUsd } })],
  )
  await pool.query(`INSERT INTO accounts (id, name) VALUES ('acct_a', ''), ('acct_b', '')`)
  await pool.query(
    `INSERT INTO ledger_accounts (id, kind, owner)
     VALUES ('coin:acct_a', 'coin', 'acct_a'), ('coin:acct_b', 'coin', 'acct_b'), ('coin:${PAYER}', 'coin', '${PAYER}')`,
  )
  await pool.query(`INSERT INTO admission_accounts (account_id, shard, seq) VALUES ('acct_a', 1, 2), ('acct_b', 2, 1)`)
  await pool.query(`INSERT INTO admission_events (account_id, seq, coin_delta) VALUES ('acct_a', 2, 35000000001)`)
  await pool.query(
    `INSERT INTO links (id, token_hash, account_id, units, note, status, expires_at)
     VALUES ('lnk_1', 't', 'acct_a', 3000000000, '', 'open', now() + interval '1 day')`,
  )
  await pool.query(
    `INSERT INTO withdrawals (id, account_id, wallet, asset, token, amount, units)
     VALUES ('wdr_1', 'acct_a', '${WALLET}', 'coin', '${WALLET}', 5, 1000000000)`,
  )
  await pool.query(
    `INSERT INTO transfers (kind, ref, debit, credit, units) VALUES
       ('payment', 'p1', 'payments_in', 'coin:acct_a', 35000000001), ('pay_in', 'p2', 'payments_in', 'coin:${PAYER}', 77),
       ('link', 'lnk_1', 'coin:acct_a', 'escrow', 3000000000), ('withdrawal', 'wdr_1', 'coin:acct_a', 'escrow', 1000000000)`,
  )
}

const balancesOf = async (pool: Pool): Promise<Record<string, number>> => {
  const found = await pool.query<{ id: string; balance: number }>(
    'SELECT id, balance FROM ledger_accounts WHERE balance <> 0 ORDER BY id',
  )
  return Object.fromEntries(found.rows.map(({ id, balance }) => [id, balance]))
}

/** Names of what does not hold; the payment of this test has no row of its own. */
async function brokenBy(pool: Pool): Promise<string[]> {
  const checks = await auditBook(pool, limits)
  return checks
    .filter(({ ok, detail }) => !ok && !detail.includes('p2 is credited'))
    .map(({ name, detail }) => `${name}: ${detail}`)
}

test('at another price, every account keeps the balance of coin that was displayed', async (t) => {
  const pool = await oldBook('2')
  t.after(() => pool.end())
  await migrate(pool)
  assert.deepEqual(await balancesOf(pool), {
    'coin:acct_a': 15_500_000_000,
    [`coin:${PAYER}`]: 77,
    escrow_coin: 2_000_000_000,
    payments_in: -35_000_000_078,
  })
  assert.deepEqual(await brokenBy(pool), [])
  const events = await pool.query('SELECT coin_delta FROM admission_events')
  assert.deepEqual(events.rows, [{ coin_delta: 17_500_000_000 }])
  const held = await pool.query('SELECT coin_nanos FROM links UNION ALL SELECT coin_nanos FROM withdrawals')
  assert.deepEqual(held.rows, [{ coin_nanos: 1_500_000_000 }, { coin_nanos: 500_000_000 }])
  const dirty = await pool.query('SELECT shard FROM admission_dirty')
  assert.equal(dirty.rowCount, 64)
})

test('at one US dollar, no number changes', async (t) => {
  const pool = await oldBook('1')
  t.after(() => pool.end())
  await pool.query(`INSERT INTO proxy_owners (owner) VALUES ('own_1')`)
  const { escrow, ...before } = await balancesOf(pool)
  await migrate(pool)
  assert.deepEqual(await balancesOf(pool), { ...before, escrow_coin: escrow })
  assert.deepEqual(await brokenBy(pool), [])
  assert.equal((await pool.query('SELECT FROM admission_dirty')).rowCount, 0)
})

test('while proxies have leased coin counted in units, another price is not converted', async (t) => {
  const pool = await oldBook('2')
  t.after(() => pool.end())
  await pool.query(`INSERT INTO proxy_owners (owner) VALUES ('own_1')`)
  const before = await balancesOf(pool)
  await assert.rejects(migrate(pool), /0160_coin\.sql failed: .*stop the proxies/)
  assert.deepEqual(await balancesOf(pool), before)
  await pool.query(`UPDATE proxy_owners SET seen_at = now() - interval '2 minutes'`)
  await migrate(pool)
  assert.deepEqual(await brokenBy(pool), [])
})
