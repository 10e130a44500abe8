// Goal: locks that are held for long, while a chain or a store answers, keep nobody from the connections of the pool.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newSignal } from '../../../contract/std/signal.ts'
import { LOCK_COUNT, tryLock } from '../../../control/runtime/db/locks.ts'
import { createPool, type Pool } from '../../../control/runtime/db/pool.ts'
import { limits } from '../../support/limits.ts'
import { freshDatabase } from '../../support/services.ts'

const LOCKS = ['chainSweep', 'depositScan', 'withdrawals', 'refunds', 'exports'] as const
let pool: Pool

before(async () => {
  pool = createPool(await freshDatabase(), { ...limits, databaseConnectionsMax: 2 })
})

after(() => pool.end())

test('statements run while more locks are held than the pool has connections', async () => {
  const answered = newSignal()
  let taken = 0
  const all = newSignal()
  const held = LOCKS.map((name) =>
    tryLock(pool, name, async () => {
      if (++taken === LOCKS.length) all.resolve()
      await answered.promise
      // What the lock is for needs a connection as well.
      await pool.query('SELECT 1')
      return name
    }),
  )
  await all.promise
  assert.equal(pool.totalCount, 0)
  await Promise.all(LOCKS.map(() => pool.query('SELECT 1')))
  // A lock is held once, also by one process.
  for (const name of LOCKS) assert.equal(await tryLock(pool, name, () => Promise.resolve(name)), undefined)
  answered.resolve()
  assert.deepEqual(await Promise.all(held), [...LOCKS])
  for (const name of LOCKS) assert.equal(await tryLock(pool, name, () => Promise.resolve(name)), name)
  assert.equal(pool.waitingCount, 0)
})

test('a process has a connection for each lock', () => {
  assert.ok(limits.lockConnectionsMax >= LOCK_COUNT)
})
