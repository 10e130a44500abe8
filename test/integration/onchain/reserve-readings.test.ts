// Goal: readings of the reserve are kept by day and say what is known, also without a chain; what they do not account for is
// found by the audit. Method: a real database without a chain.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import type { ApiCall } from '../../../control/api/call.ts'
import { RESERVE_INVARIANTS } from '../../../control/audit/reserveChecks.ts'
import { parseCatalog } from '../../../control/catalog/pricing/catalogFile.ts'
import { publishCatalog } from '../../../control/catalog/pricing/publish.ts'
import { reserveHandlers } from '../../../control/onchain/reserve/reserveHandlers.ts'
import { ReserveKeeper } from '../../../control/onchain/reserve/reserveKeeper.ts'
import { migrate } from '../../../control/runtime/db/migrate.ts'
import { createPool, type Pool } from '../../../control/runtime/db/pool.ts'
import { limits, limitsWith } from '../../support/limits.ts'
import { log, newAccount, until } from '../../support/parts/ledger.ts'
import { freshDatabase } from '../../support/services.ts'
import { testCatalog } from '../../support/testCatalog.ts'

let pool: Pool

before(async () => {
  pool = createPool(await freshDatabase(), limits)
  await migrate(pool)
  const catalog = parseCatalog('catalog.yaml', testCatalog('http://127.0.0.1:9/v1', { coinUsd: '0.5' }))
  await publishCatalog(pool, catalog, limits, Date.now())
  await newAccount(pool, 3_000_000_001)
})
after(() => pool.end())

async function read<T = Record<string, unknown>>(
  operation: 'get_reserve' | 'list_reserve_days',
  query = {},
): Promise<T> {
  const call = { params: {}, query, body: {}, caller: { kind: 'nobody' }, accountId: '' }
  return (await reserveHandlers(pool, limits)[operation].read(call as unknown as ApiCall)).json as T
}

test('without a chain, what is owed is shown and nothing is said to be held', async () => {
  await assert.rejects(read('get_reserve'), { row: 'not_found' })
  const keeper = new ReserveKeeper({ pool, chain: undefined, log, limits: limitsWith({ reserveCheckMs: 20 }) })
  await until('it is read', async () => (await pool.query('SELECT FROM reserve_days')).rowCount === 1)
  await keeper.stop()
  const reserve = await read('get_reserve')
  const { network, block, token, treasury, vault, held, held_usd, ratio, covered, withdrawals } = reserve
  assert.deepEqual([network, block, token, treasury, vault, ratio, covered, withdrawals], Array(8).fill(null))
  assert.deepEqual([held, held_usd], [[], '0'])
  // What is owed is rounded up.
  assert.deepEqual([reserve['owed_usd'], reserve['coin_usd']], ['1.500000001', '0.5'])
  await pool.query(`INSERT INTO reserve_days SELECT day - 1, first_reading, first_at - interval '1 day', last_reading,
    last_at - interval '1 day', 0 FROM reserve_days`)
  const days = await read<{ data: { day: string }[]; has_more: boolean }>('list_reserve_days', { limit: 1 })
  assert.deepEqual([days.data.length, days.has_more], [1, true])
  const older = await read<typeof days>('list_reserve_days', { after: days.data[0]?.day })
  assert.deepEqual([older.data.length, older.has_more], [1, false])
})

test('the audit names an account of coin that no class has, and a reading that does not add up', async () => {
  const faultsOf = async () => {
    const found = await Promise.all(RESERVE_INVARIANTS.map(({ faults }) => pool.query(faults)))
    return found.map(({ rowCount }) => rowCount)
  }
  assert.deepEqual(await faultsOf(), [0, 0])
  await pool.query(`INSERT INTO ledger_accounts (id, kind, currency) VALUES ('escrow_other', 'system', 'coin')`)
  await pool.query(`UPDATE reserve_days SET last_reading = (last_reading::jsonb || '{"owed_usd":"1"}')::json`)
  assert.deepEqual(await faultsOf(), [1, 2])
})
