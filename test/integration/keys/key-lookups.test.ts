// Goal: the statement that reads the records of keys is planned once, and reads by index however the tables grow after it was planned.
// Method: the pool of lookups on a book that was empty when it planned the statement; the plan that PostgreSQL kept.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { hashSecret, newSecret } from '../../../contract/wire/ids.ts'
import { openNewAccount } from '../../../control/identity/accounts/accounts.ts'
import { createKey } from '../../../control/identity/keys/keys.ts'
import { migrate } from '../../../control/runtime/db/migrate.ts'
import { createLookupPool, createPool, type Pool } from '../../../control/runtime/db/pool.ts'
import { keyRecords } from '../../../control/service/keyRecords.ts'
import { limits } from '../../support/limits.ts'
import { freshDatabase } from '../../support/services.ts'

const KEYS = 5_000

let pool: Pool
let lookups: Pool
before(async () => {
  const url = await freshDatabase()
  pool = createPool(url, limits)
  lookups = createLookupPool(url, { ...limits, lookupConnectionsMax: 1 })
  await migrate(pool)
})
after(() => Promise.all([pool.end(), lookups.end()]))

interface Plan {
  readonly 'Node Type': string
  readonly Plans?: readonly Plan[]
}

const nodesOf = (plan: Plan): string[] => [plan['Node Type'], ...(plan.Plans ?? []).flatMap(nodesOf)]

test('a plan made over an empty book reads a full one by index', async () => {
  const accountId = await openNewAccount(pool, limits)
  await keyRecords(lookups, [hashSecret(newSecret('sk'))])
  await pool.query(
    `INSERT INTO api_keys (id, account_id, hash, last4) SELECT 'key_' || n, $1, 'hash_' || n, 'last' FROM generate_series(1, $2) AS n`,
    [accountId, KEYS],
  )
  const { secret, key } = await createKey(pool, accountId)
  const records = await keyRecords(lookups, [hashSecret(secret), 'hash_7'])
  assert.deepEqual(new Set([...records.keys()]), new Set([hashSecret(secret), 'hash_7']))
  assert.equal(key.accountId, accountId)
  const { rows } = await lookups.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
    `EXPLAIN (FORMAT JSON) EXECUTE key_records('{hash_1,hash_2}')`,
  )
  const nodes = nodesOf(rows[0]?.['QUERY PLAN'][0].Plan as Plan)
  assert.deepEqual(
    nodes.filter((node) => node === 'Seq Scan' || node === 'Hash Join' || node === 'Merge Join'),
    [],
  )
  const { rows: kept } = await lookups.query<{ generic: number; custom: number }>(
    `SELECT generic_plans AS generic, custom_plans AS custom FROM pg_prepared_statements WHERE name = 'key_records'`,
  )
  assert.deepEqual([kept[0]?.custom, (kept[0]?.generic ?? 0) >= 2], [0, true])
})
