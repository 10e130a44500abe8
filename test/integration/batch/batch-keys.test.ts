// Goal: a job of a provider with several keys ends once, and is kept with each route once. Method: the real stack, whose mock provider
// takes batches, and the row of the job.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createPool } from '../../../control/runtime/db/pool.ts'
import { BATCH_PRICE, ended, submitted } from '../../support/clients/batchClient.ts'
import { limits } from '../../support/limits.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const KEYS = ['A', 'B', 'C'].map((id) => ({ id: id.toLowerCase(), env: `SLUICE_TEST_KEY_${id}` }))

let stack: Stack
let apiKey: string

before(async () => {
  stack = await startStack({
    env: Object.fromEntries(KEYS.slice(1).map(({ id, env }) => [env, `secret-${id}`])),
    limits: { batchGatherMs: 100, batchTickMs: 50, batchPollMs: 100 },
    catalog: {
      providers: [{ id: 'keyed', batch: true, keys: KEYS }],
      models: [
        {
          id: 'test/small',
          price: BATCH_PRICE,
          routes: ['chat-small', 'chat-large'].map((model) => ({ provider: 'keyed', model })),
        },
      ],
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})
after(() => stack.finish())

test('a job has each route once, and is done with a key that can be read', async () => {
  const job = await submitted(stack, apiKey, { model: 'test/small' })
  const pool = createPool(stack.databaseUrl, limits)
  try {
    const { rows } = await pool.query<{ routes: string | { model: string }[] }>('SELECT routes FROM batch_jobs')
    const routes = rows.map(({ routes }) => (typeof routes === 'string' ? JSON.parse(routes) : routes))
    assert.deepEqual(
      routes.map((list: { model: string }[]) => list.map(({ model }) => model)),
      [['chat-small', 'chat-large']],
    )
  } finally {
    await pool.end()
  }
  assert.equal((await ended(stack, apiKey, job)).status, 'done')
})
