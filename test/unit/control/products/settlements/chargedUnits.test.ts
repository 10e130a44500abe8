import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasAccounts } from '../../../../../control/products/settlements/chargedUnits.ts'
import type { Queryable } from '../../../../../control/runtime/db/pool.ts'

const range = (log: number) => ({ log, from: 0, until: 9 })

test('a settlement batch needs receipts of enough accounts over all logs, each counted once', async () => {
  const owners = [['acct_1', 'acct_2'], ['acct_2'], ['acct_3']]
  const db = {
    query: async (_sql: string, [log]: [number]) => ({ rows: owners[log]?.map((owner) => ({ owner })) ?? [] }),
  } as unknown as Queryable
  const ranges = [range(0), range(1), { ...range(2), until: 0 }]
  assert.equal(await hasAccounts(db, ranges, 3), false)
  assert.equal(await hasAccounts(db, [range(0), range(1), range(2)], 3), true)
  assert.equal(await hasAccounts(db, ranges, 2), true)
  assert.equal(await hasAccounts(db, [], 1), true)
})
