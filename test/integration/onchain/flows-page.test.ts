// Goal: movements are listed in the order of their ids, which sort by time, and a page stays cheap in a book of many. Method: rows
// of each kind, and the plans of the server.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { idBound, idTimeMs } from '../../../control/book/partitions/idTime.ts'
import { pageOfFlows } from '../../../control/products/payments/flows/flows.ts'
import { migrate } from '../../../control/runtime/db/migrate.ts'
import { createPool, type Pool } from '../../../control/runtime/db/pool.ts'
import { ledgerLimits as limits } from '../../support/limits.ts'
import { freshDatabase } from '../../support/services.ts'

const HOUR_MS = 3_600_000
const FIRST = Date.UTC(2026, 0, 1)
const ROWS = 20_000
const TREASURY = `0x${'11'.repeat(20)}`
const all = { kind: undefined, from: '', below: 'flow_~' }

const at = (hour: number): string => new Date(FIRST + hour * HOUR_MS).toISOString()

async function emptyBook(t: TestContext): Promise<Pool> {
  const pool = createPool(await freshDatabase(), limits)
  t.after(() => pool.end())
  await migrate(pool)
  return pool
}

test('flows are listed by their time, without those that are not on the chain', async (t) => {
  const pool = await emptyBook(t)
  await pool.query(
    `INSERT INTO chain_identity (chain_id, genesis_hash, treasury, quote_secret, scanned_block)
     VALUES (1, '0x', '${TREASURY}', '', 100)`,
  )
  await pool.query(
    `INSERT INTO chain_transactions (purpose, ref, token, transfer_from, transfer_to, amount, state, hash, block_number,
       block_hash, flow_id)
     VALUES ('payment', 'a', 't', 'x', '${TREASURY}', 5, 'mined', '0xa', 10, 'b', new_flow_id($1)),
       ('refund', 'b', 't', '${TREASURY}', 'x', 6, 'mined', '0xb', 20, 'b', new_flow_id($2)),
       ('refund', 'c', 't', '${TREASURY}', 'x', 6, 'reverted', '0xc', 20, 'b', NULL),
       ('payment', 'd', 't', 'x', 'y', 7, 'pending', NULL, NULL, NULL, NULL)`,
    [at(1), at(3)],
  )
  await pool.query(
    `INSERT INTO chain_transfers (hash, log_index, block_number, token, transfer_from, transfer_to, amount, purpose, ref, place,
       equals, flow_id)
     VALUES ('0xd', 0, 15, 't', 'x', '${TREASURY}', 8, 'deposit', 'acct', 1, 1, new_flow_id($1)),
       ('0xe', 1, 16, 't', 'x', 'y', 9, 'other', '', 1, 1, new_flow_id($2))`,
    [at(2), at(0)],
  )
  const flows = await pageOfFlows(pool, all, 10)
  assert.deepEqual(
    flows.map(({ id, kind, hash, moved }) => [idTimeMs(id), kind, hash, moved?.amount, moved?.isIn]),
    [
      [FIRST + 3 * HOUR_MS, 'refund', '0xb', 6n, false],
      [FIRST + 2 * HOUR_MS, 'deposit', '0xd', 8n, true],
      [FIRST + HOUR_MS, 'payment', '0xa', 5n, true],
      [FIRST, 'other', '0xe', 9n, false],
    ],
  )
  const since = await pageOfFlows(pool, { ...all, from: idBound(FIRST + 3 * HOUR_MS, 'flow') }, 10)
  assert.deepEqual(
    since.map(({ hash }) => hash),
    ['0xb'],
  )
})

test('a page reads only its own rows, also for a rare kind', async (t) => {
  const pool = await emptyBook(t)
  await pool.query(
    `INSERT INTO chain_transactions (purpose, ref, token, transfer_from, transfer_to, amount, state, hash, block_number,
       block_hash)
     SELECT CASE WHEN n % 5000 = 0 THEN 'withdrawal' ELSE 'payment' END, 'n' || n, 't', 'x', 'y', 1, 'pending', NULL, NULL, NULL
     FROM generate_series(1, ${ROWS}) AS n`,
  )
  await pool.query(
    `UPDATE chain_transactions SET state = 'mined', hash = '0x' || id, block_number = id, block_hash = 'b'
     WHERE state = 'pending'`,
  )
  await pool.query('VACUUM ANALYZE chain_transactions, chain_transfers')
  for (const kind of [undefined, 'withdrawal', 'payment'] as const) {
    const plan = await planOf(pool, (db) => pageOfFlows(db, { ...all, kind }, 21))
    const rows = [...plan.matchAll(/"(?:Actual Rows|Rows Removed by Filter)": ([\d.]+)/g)].map(([, count]) =>
      Number(count),
    )
    assert.ok(Math.max(...rows) <= 100, `${kind}: ${Math.max(...rows)} rows`)
  }
})

/** The plan of the one statement that `work` makes, with what it really read. */
async function planOf(pool: Pool, work: (db: Pick<Pool, 'query'>) => Promise<unknown>): Promise<string> {
  let plan = ''
  const query = async (text: string, values: unknown[]) => {
    const found = await pool.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values)
    plan = JSON.stringify(found.rows, undefined, 0)
    return { rows: [] }
  }
  await work({ query } as unknown as Pick<Pool, 'query'>)
  return plan.replaceAll('":', '": ')
}
