// Goal: a batch job ends once and is charged once, whichever process is killed at whichever moment. Method: control is
// stopped in the middle by a slow provider, a lock in the database or a receiver that does not answer, or killed again
// and again under load; then the provider's own books are compared, and the books are audited.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { BATCH_OWNER, holdsKey, SHARD_COUNT } from '../../contract/wire/redisKeys.ts'
import { createPool, type Pool } from '../../control/runtime/db/pool.ts'
import { assertRefused } from '../support/clients/apiClient.ts'
import {
  assertBatchReconciled,
  assertSigned,
  BATCH_PRICE,
  BATCH_PRICES,
  BATCHING,
  type BatchJob,
  ended,
  HookReceiver,
  submit,
  submitted,
  upstreamBatches,
} from '../support/clients/batchClient.ts'
import { limits } from '../support/limits.ts'
import { assertReconciled } from '../support/reconcile.ts'
import { rounds } from '../support/rounds.ts'
import { type Stack, startStack, until } from '../support/stack.ts'

const LIMITS = {
  batchGatherMs: 200,
  batchTickMs: 50,
  batchPollMs: 150,
  batchRetryMs: 100,
  batchRetryMaxMs: 500,
  batchLeaseMs: 2_000,
  batchFindGraceMs: 300,
  batchOpenMs: 4_000,
  batchCallTimeoutMs: 6_000,
  batchCallMarginMs: 200,
  webhookRetryMs: 300,
  webhookTimeoutMs: 500,
  rpcTimeoutMs: 4_000,
  heartbeatTimeoutMs: 3_000,
  apiRequestsPerMinute: 60_000,
  apiRequestBurst: 10_000,
}
const model = (id: string, upstream: string) => ({ id, upstream, price: BATCH_PRICE })
const MODELS = [
  model('test/batch', 'quick,prompt=100,completion=10'),
  model('test/slow-post', 'slowpost,slow_headers=1200,prompt=11,completion=2'),
  model('test/lost-post', 'lostpost,lost_batches=1,prompt=11,completion=3'),
  model('test/working', 'working,work=1500,prompt=12,completion=4'),
  { ...model('test/plain', ''), routes: [{ provider: 'plain', model: 'plain,prompt=30,completion=3' }] },
  { ...model('test/plain-slow', ''), routes: [{ provider: 'plain', model: 'slow,ttft=1500,prompt=30,completion=3' }] },
]

let stack: Stack
let pool: Pool
let key: string

before(async () => {
  const providers = [BATCHING, { id: 'plain' }]
  const env = { SLUICE_WEBHOOKS_PRIVATE: '1' }
  stack = await startStack({ catalog: { models: MODELS, providers }, limits: LIMITS, env })
  pool = createPool(stack.databaseUrl, limits)
  key = (await stack.createAccount({ credits: '100' })).apiKey
})

after(async () => {
  await pool?.end()
  await stack?.finish()
})

async function restart(): Promise<void> {
  await stack.control.kill9()
  await stack.control.start()
}

/** The end of a job, as its key, the provider and the book have it. */
async function assertEndsOnce(job: BatchJob): Promise<BatchJob> {
  const over = await ended(stack, key, job)
  assert.equal(over.status, 'done', over.error?.message)
  assertBatchReconciled(over, await upstreamBatches(stack))
  await stack.settled()
  const receipts = await pool.query<{ charge_units: number; voided: boolean }>(
    'SELECT charge_units, voided FROM receipts WHERE request_id = $1',
    [job.request_id],
  )
  assert.deepEqual(receipts.rows, [{ charge_units: Number(over.receipt?.cost.units), voided: false }])
  return over
}

function batchHolds(): Promise<number> {
  return stack.withRedis(async (redis) => {
    let count = 0
    for (let shard = 0; shard < SHARD_COUNT; shard++) count += await redis.hlen(holdsKey(shard, BATCH_OWNER))
    return count
  })
}

test('control is killed while it submits a batch: the batch is found again and not sent twice', async () => {
  const job = await submitted(stack, key, { model: 'test/slow-post' })
  await until('the provider has it', async () =>
    (await upstreamBatches(stack)).some((batch) => batch.custom_ids.includes(job.id)),
  )
  await restart()
  await assertEndsOnce(job)
})

test('the response to a submission is lost: the batch is found again', async () => {
  await assertEndsOnce(await submitted(stack, key, { model: 'test/lost-post' }))
})

test('control is killed while it waits for a batch', async () => {
  const job = await submitted(stack, key, { model: 'test/working' })
  await until('it is asked for', async () =>
    (await upstreamBatches(stack)).some((b) => b.custom_ids.includes(job.id) && b.polls > 0),
  )
  await stack.audit()
  await restart()
  await assertEndsOnce(job)
})

test('control is killed between the charge in Redis and the end in the book', async () => {
  const receiver = await HookReceiver.start()
  const blocker = await pool.connect()
  try {
    await blocker.query('BEGIN')
    await blocker.query('LOCK TABLE webhooks IN SHARE MODE')
    const job = await submitted(stack, key, { model: 'test/batch', webhook_url: receiver.url })
    await until('the hold is charged', async () => (await batchHolds()) === 0)
    const state = await pool.query<{ state: string }>('SELECT state FROM batch_jobs WHERE id = $1', [job.request_id])
    assert.equal(state.rows[0]?.state, 'ending')
    await stack.control.kill9()
    await blocker.query('ROLLBACK')
    await stack.control.start()
    await assertEndsOnce(job)
    await until('it is told', () => receiver.received.length > 0)
  } finally {
    blocker.release()
    receiver.stop()
  }
})

test('control is killed while a webhook is being delivered: it is retried with the same id', async () => {
  const receiver = await HookReceiver.start()
  try {
    receiver.hang = true
    const job = await submitted(stack, key, { model: 'test/batch', webhook_url: receiver.url })
    await until('it is delivered', () => receiver.received.length > 0)
    await stack.control.kill9()
    const first = receiver.received.at(-1)
    const before = receiver.received.length
    receiver.hang = false
    await stack.control.start()
    await until('it is delivered again', () => receiver.received.length > before)
    const second = receiver.received.at(-1)
    assert.equal(first?.id, second?.id)
    assert.equal(first?.body, second?.body)
    assertSigned(second ?? assert.fail(), job.webhook?.secret ?? '')
    await assertEndsOnce(job)
  } finally {
    receiver.stop()
  }
})

test('control is killed during a call for one job: the call is not repeated, and not charged', async () => {
  await stack.provider.hold()
  const job = await submitted(stack, key, { model: 'test/plain-slow' })
  const calls = async () => (await stack.provider.log()).filter((line) => line.request_id === job.request_id).length
  await until('it is being called', async () => {
    const found = await pool.query<{ state: string }>('SELECT state FROM batch_jobs WHERE id = $1', [job.request_id])
    return found.rows[0]?.state === 'calling'
  })
  await restart()
  await stack.provider.release()
  const over = await ended(stack, key, job)
  assert.deepEqual([over.status, over.receipt?.cost.units], ['failed', '0'])
  assert.ok((await calls()) <= 1)
})

test('the proxy is killed after a job was accepted: the job continues, its hold stays', async () => {
  const job = await submitted(stack, key, { model: 'test/working' })
  await stack.proxy.kill9()
  await stack.proxy.start()
  await stack.ready()
  await assertEndsOnce(job)
})

test('without control no job is accepted and no hold remains', async () => {
  // The proxy knows the key from here on.
  await assertEndsOnce(await submitted(stack, key, { model: 'test/batch' }))
  await stack.control.kill9()
  const answer = await submit(stack, key, { model: 'test/batch' })
  assertRefused(answer, 503, 'batch_unavailable')
  assert.ok(Number(answer.headers.get('retry-after')) > 0)
  await stack.control.start()
  await stack.settled()
})

test('Redis fails between accepting a job and the response: a rejected job is abandoned and not charged', async () => {
  const before = await pool.query<{ id: string }>('SELECT id FROM batch_jobs')
  // The job is written and its hold taken; then control comes to a stand.
  await pool.query(`CREATE FUNCTION stand() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_advisory_xact_lock_shared(77); RETURN NEW; END'`)
  await pool.query('CREATE TRIGGER stand BEFORE UPDATE ON batch_jobs FOR EACH ROW EXECUTE FUNCTION stand()')
  const blocker = await pool.connect()
  try {
    await blocker.query('SELECT pg_advisory_lock(77)')
    const answering = submit(stack, key, { model: 'test/batch' })
    await until('the hold is taken over', async () => (await batchHolds()) === 1)
    await stack.redis.kill9()
    assertRefused(await answering, 503, 'batch_unavailable')
    await stack.redis.restart()
    await until('the hold is given up', async () => (await batchHolds().catch(() => 1)) === 0, 30_000)
  } finally {
    await blocker.query('SELECT pg_advisory_unlock(77)')
    blocker.release()
    await pool.query('DROP TRIGGER stand ON batch_jobs')
    await pool.query('DROP FUNCTION stand()')
  }
  const known = before.rows.map((row) => row.id)
  const ends = async () => {
    const jobs = await pool.query<{ state: string; charge_units: number | null }>(
      'SELECT state, charge_units FROM batch_jobs WHERE id <> ALL ($1::text[])',
      [known],
    )
    return jobs.rows
  }
  await until('the job is over', async () => (await ends()).every(({ state }) => state === 'failed'))
  await stack.settled()
  assert.deepEqual(await ends(), [{ state: 'failed', charge_units: 0 }])
  await stack.audit()
})

test('control and Redis are killed repeatedly: every job ends once, charged once', async () => {
  const jobs: BatchJob[] = []
  let stopped = false
  const client = async (name: string): Promise<void> => {
    while (!stopped) {
      const answer = await submit(stack, key, { model: name }).catch(() => undefined)
      if (answer?.status === 202) jobs.push(answer.body)
      else await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  const clients = ['test/batch', 'test/batch', 'test/working', 'test/plain'].map((name) => client(name))
  for (let round = 0; round < rounds({ short: 3, long: 12 }); round++) {
    const target = jobs.length + 12
    await until('jobs are taken', () => jobs.length >= target, 60_000)
    if (round % 3 === 2) {
      await stack.redis.kill9()
      await stack.redis.restart()
    } else {
      await restart()
    }
  }
  stopped = true
  await Promise.all(clients)
  const over = await Promise.all(jobs.map((job) => ended(stack, key, job)))
  await stack.settled(60_000)
  const batches = await upstreamBatches(stack)
  const served = await stack.provider.log()
  for (const job of over) {
    const isPlain = served.some((line) => line.request_id === job.request_id)
    if (job.status !== 'done') assert.equal(job.receipt?.cost.units ?? '0', '0')
    else if (isPlain) assertReconciled(job.receipt ?? assert.fail(), served, BATCH_PRICES)
    else assertBatchReconciled(job, batches)
  }
  assert.ok(over.filter((job) => job.status === 'done').length > over.length / 2)
  const sent = batches.flatMap((batch) => batch.custom_ids)
  assert.equal(new Set(sent).size, sent.length, 'a job was sent twice')
  await stack.audit()
})
