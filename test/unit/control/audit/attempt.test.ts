import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attempt, attemptIn, broken } from '../../../../control/audit/attempt.ts'
import { type Client, createPool, withTransaction } from '../../../../control/runtime/db/pool.ts'
import { ledgerLimits as limits } from '../../../support/limits.ts'
import { freshDatabase } from '../../../support/services.ts'

const boom = (): never => {
  throw new Error('no table\nat line 5')
}

test('a check that fails to run is broken, never ok, and shows the first line of the reason', async () => {
  assert.deepEqual(await attempt('sums', async () => boom()), [
    { name: 'sums', ok: false, detail: 'could not be checked: no table' },
  ])
  assert.equal(broken('sums', 'text').detail, 'could not be checked: text')
})

test('work in a transaction leaves nothing of itself after an error, and an error of the connection is passed on', async () => {
  const sent: string[] = []
  const client = { query: async (text: string) => void sent.push(text) } as unknown as Client
  assert.equal(
    await attemptIn(
      client,
      async () => 'done',
      () => 'failed',
    ),
    'done',
  )
  assert.equal(
    await attemptIn(
      client,
      async () => boom(),
      (error) => (error as Error).message.slice(0, 8),
    ),
    'no table',
  )
  assert.deepEqual(sent, [
    'SAVEPOINT audit_check',
    'RELEASE SAVEPOINT audit_check',
    'SAVEPOINT audit_check',
    'ROLLBACK TO SAVEPOINT audit_check',
    'RELEASE SAVEPOINT audit_check',
  ])
  const lost = { query: () => Promise.reject(new Error('connection lost')) } as unknown as Client
  await assert.rejects(
    attemptIn(
      lost,
      async () => 'done',
      () => 'failed',
    ),
    /connection lost/,
  )
})

test('the transaction goes on after a statement that fails, reported by the work or not', async (t) => {
  const pool = createPool(await freshDatabase({ empty: true }), limits)
  t.after(() => pool.end())
  await withTransaction(pool, async (client) => {
    const failing = () => client.query('SELECT 1 / 0')
    const works: readonly (() => Promise<unknown>)[] = [
      failing,
      () => Promise.all([failing(), client.query('SELECT 1')]),
      () => failing().catch(() => 'silent'),
    ]
    for (const work of works) {
      assert.equal(await attemptIn(client, work, () => 'failed'), 'failed')
      assert.equal(
        await attemptIn(
          client,
          async () => 'done',
          () => 'failed',
        ),
        'done',
      )
    }
  })
})
