import assert from 'node:assert/strict'
import test from 'node:test'
import { isDatabaseDown } from '../../../../../control/runtime/db/isDatabaseDown.ts'
import {
  createPool,
  type Pool,
  type Queryable,
  requireWrites,
  withClient,
  withTransaction,
} from '../../../../../control/runtime/db/pool.ts'
import { limitsWith } from '../../../../support/limits.ts'
import { freshDatabase } from '../../../../support/services.ts'
import { until } from '../../../../support/until.ts'

const CONNECTIONS = 3

test('connections that nothing uses are closed after limits.databaseIdleMs, those that hold locks too', async (t) => {
  const pool = createPool(await freshDatabase({ empty: true }), limitsWith({ databaseIdleMs: 1_000 }))
  t.after(() => pool.end())
  for (const connections of [pool, pool.locks]) {
    // Held until all are open: of those that open one after the other on a busy machine, the first would be closed by then.
    const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => connections.connect()))
    for (const client of clients) client.release()
    assert.equal(connections.totalCount, CONNECTIONS)
    await until('the connections are closed', () => connections.totalCount === 0)
  }
})

test('a connection to a server that takes no writes is closed, so that the next one may lead to another server', async (t) => {
  const url = await freshDatabase({ empty: true })
  const [pool, operator] = [1, 2].map((most) => createPool(url, limitsWith({ databaseConnectionsMax: most }))) as [
    Pool,
    Pool,
  ]
  t.after(() => Promise.all([pool.end(), operator.end()]))
  await operator.query('CREATE TABLE written (at integer)')
  const alter = (what: string) => operator.query(`ALTER DATABASE "${new URL(url).pathname.slice(1)}" ${what}`)
  const insert = (client: Queryable) => client.query('INSERT INTO written VALUES (1)')
  const writes = [
    () => withTransaction(pool, insert),
    () => withClient(pool, insert),
    () => withClient(pool.locks, insert),
    () => requireWrites(pool),
  ]
  for (const write of writes) {
    for (const connections of [pool, pool.locks])
      await withClient(connections, async (_, onBroken) => onBroken(new Error('the next session is a new one')))
    await alter('SET default_transaction_read_only = on')
    await assert.rejects(write(), isDatabaseDown)
    await alter('RESET default_transaction_read_only')
    await write()
  }
})
