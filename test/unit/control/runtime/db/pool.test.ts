import assert from 'node:assert/strict'
import test from 'node:test'
import { createPool } from '../../../../../control/runtime/db/pool.ts'
import { limitsWith } from '../../../../support/limits.ts'
import { freshDatabase } from '../../../../support/services.ts'
import { until } from '../../../../support/until.ts'

const CONNECTIONS = 3

test('connections that nothing uses are closed after limits.databaseIdleMs, those that hold locks too', async (t) => {
  const pool = createPool(await freshDatabase({ empty: true }), limitsWith({ databaseIdleMs: 1_000 }))
  t.after(() => pool.end())
  for (const connections of [pool, pool.locks]) {
    const queries = Array.from({ length: CONNECTIONS }, () => connections.query('SELECT pg_sleep(0.05)'))
    await Promise.all(queries)
    assert.equal(connections.totalCount, CONNECTIONS)
    await until('the connections are closed', () => connections.totalCount === 0)
  }
})
