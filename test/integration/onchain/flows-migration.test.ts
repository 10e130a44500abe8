// Goal: movements from before flows had ids are listed in the order of their time, and a page stays cheap in a book of many.
// Method: the schema of the version before with rows of each kind, then the migration, and the plans of the server.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { idBound, idTimeMs } from '../../../control/book/partitions/idTime.ts'
import { pageOfFlows } from '../../../control/products/payments/flows/flows.ts'
import { migrate } from '../../../control/runtime/db/migrate.ts'
import type { Pool } from '../../../control/runtime/db/pool.ts'
import { oldSchema } from '../../support/oldSchema.ts'

const HOUR_MS = 3_600_000
const FIRST = Date.UTC(2026, 0, 1)
const ROWS = 20_000
let pool: Pool

const at = (hour: number): string => new Date(FIRST + hour * HOUR_MS).toISOString()

before(async () => {
  ;({ pool } = await oldSchema('0200'))
  await pool.query(
    `INSERT INTO chain_identity (chain_id, genesis_hash, treasury, quote_secret, scanned_block)
     VALUES (1, '0x', '0x${'11'.repeat(20)}', '', 100)`,
  )
  await pool.query(
    `INSERT INTO chain_transactions (purpose, ref, token, transfer_from, transfer_to, amount, state, hash, block_number,
       block_hash, created_at)
     VALUES ('payment', 'a', 't', 'x', '0x${'11'.repeat(20)}', 5, 'mined', '0xa', 10, 'b', $1),
       ('refund', 'b', 't', '0x${'11'.repeat(20)}', 'x', 6, 'mined', '0xb', 20, 'b', $2),
       ('refund', 'c', 't', '0x${'11'.repeat(20)}', 'x', 6, 'reverted', '0xc', 20, 'b', $2),
       ('payment', 'd', 't', 'x', 'y', 7, 'pending', NULL, NULL, NULL, $2)`,
    [at(1), at(3)],
  )
  await pool.query(
    `INSERT INTO chain_transfers (hash, log_index, block_number, token, transfer_from, transfer_to, amount, purpose, ref)
     VALUES ('0xd', 0, 15, 't', 'x', '0x${'11'.repeat(20)}', 8, 'deposit', 'acct'), ('0xe', 1, 16, 't', 'x', 'y', 9, 'other', '')`,
  )
  await pool.query(
    `INSERT INTO deposits (id, account_id, source, replay_key, wallet, asset, token, amount, units, coin_nanos, state, created_at)
     VALUES ('dep', 'acct', 'transfer', '0xd:0', '0x${'22'.repeat(20)}', 'coin', 't', 8, 1, 1, 'credited', $1)`,
    [at(2)],
  )
  await migrate(pool)
})
after(() => pool.end())

const all = { kind: undefined, from: '', below: 'flow_~' }

test('flows recorded earlier are listed by their time, without those that are not on the chain', async () => {
  const flows = await pageOfFlows(pool, all, 10)
  assert.deepEqual(
    flows.map(({ kind, hash, moved }) => [kind, hash, moved?.amount, moved?.isIn]),
    [
      ['refund', '0xb', 6n, false],
      ['deposit', '0xd', 8n, true],
      // The hour of the last transaction before it is known alone.
      ...[
        ['payment', '0xa', 5n, true],
        ['other', '0xe', 9n, false],
      ].sort((a, b) => orderOf(flows, b[1]) - orderOf(flows, a[1])),
    ],
  )
  assert.deepEqual(flows.map(({ id }) => idTimeMs(id)).slice(0, 2), [FIRST + 3 * HOUR_MS, FIRST + 2 * HOUR_MS])
  const since = await pageOfFlows(pool, { ...all, from: idBound(FIRST + 3 * HOUR_MS, 'flow') }, 10)
  assert.deepEqual(
    since.map(({ hash }) => hash),
    ['0xb'],
  )
})

/** Which of two with one time stands first is chance. */
function orderOf(flows: readonly { readonly hash: string; readonly id: string }[], hash: unknown): number {
  return -flows.findIndex((flow) => flow.hash === hash)
}

test('a page reads only its own rows, also for a rare kind', async () => {
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
    const plan = await planOf((db) => pageOfFlows(db, { ...all, kind }, 21))
    const rows = [...plan.matchAll(/"(?:Actual Rows|Rows Removed by Filter)": ([\d.]+)/g)].map(([, count]) =>
      Number(count),
    )
    assert.ok(Math.max(...rows) <= 100, `${kind}: ${Math.max(...rows)} rows`)
  }
})

/** The plan of the one statement that `work` makes, with what it really read. */
async function planOf(work: (db: Pick<Pool, 'query'>) => Promise<unknown>): Promise<string> {
  let plan = ''
  const query = async (text: string, values: unknown[]) => {
    const found = await pool.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values)
    plan = JSON.stringify(found.rows, undefined, 0)
    return { rows: [] }
  }
  await work({ query } as unknown as Pick<Pool, 'query'>)
  return plan.replaceAll('":', '": ')
}
