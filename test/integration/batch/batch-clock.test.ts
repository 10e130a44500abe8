// Goal: a batch job lives for 24 hours, its result for 7 days, and a webhook is delivered once under its id, also when its
// receiver is away for an hour. Method: the parts of control over a real book with a clock that is set by hand.

import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { pino } from 'pino'
import { batchIdOf } from '../../../contract/api/batch.ts'
import type { ApiCall } from '../../../control/api/call.ts'
import { batchHandlers } from '../../../control/batch/batchHandlers.ts'
import { eraseOld } from '../../../control/batch/expiry.ts'
import { packGroups } from '../../../control/batch/groupStore.ts'
import { attemptsOf, listWebhooks } from '../../../control/batch/operatorReads.ts'
import { webhookSecretOf } from '../../../control/batch/webhookSecret.ts'
import { sendWebhooks } from '../../../control/batch/webhookSender.ts'
import { takeDueWebhooks } from '../../../control/batch/webhookStore.ts'
import { migrate } from '../../../control/runtime/db/migrate.ts'
import { createPool, type Pool } from '../../../control/runtime/db/pool.ts'
import { assertSigned, HookReceiver } from '../../support/clients/batchClient.ts'
import { batchLimits as limits } from '../../support/limits.ts'
import { BatchWorld } from '../../support/parts/batchWorld.ts'
import { freshDatabase } from '../../support/services.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const log = pino({ level: 'silent' })

let pool: Pool
let world: BatchWorld

before(async () => {
  pool = createPool(await freshDatabase(), limits)
  await migrate(pool)
})

after(() => pool?.end())

beforeEach(async () => {
  await pool.query('TRUNCATE batch_jobs, batch_groups, webhooks, webhook_attempts')
  world = new BatchWorld(pool)
})

const call = (id: string): ApiCall =>
  ({
    params: { id: batchIdOf(id) },
    part: '',
    caller: { kind: 'key', keyId: 'key_1', accountId: 'acct_1' },
  }) as unknown as ApiCall

/** Passes until nothing changes any more at this time. */
async function settle(): Promise<void> {
  for (let i = 0; i < 4; i++) await world.pass()
}

async function doneJob(webhookUrl = ''): Promise<string> {
  const id = await world.submit('plain', webhookUrl)
  await settle()
  assert.equal((await world.rows())[0]?.state, 'done')
  return id
}

test('an unfinished batch is cancelled in time, and its job expires after 24 hours', async () => {
  const id = await world.submit('packs')
  world.nowMs += 5_000
  await settle()
  const { get_batch: job, get_batch_result: result } = batchHandlers(pool, limits)
  assert.equal(world.provider.batches.length, 1)
  world.nowMs += DAY_MS - 20 * MINUTE_MS
  await settle()
  assert.equal(world.provider.cancels, 0)
  await assert.rejects(result.read(call(id)), { code: 'not_ready' })
  world.nowMs += 6 * MINUTE_MS
  await settle()
  assert.equal(world.provider.cancels, 1)
  world.nowMs += 14 * MINUTE_MS
  await settle()
  assert.equal(JSON.parse((await job.read(call(id))).text ?? '').status, 'expired')
  await assert.rejects(result.read(call(id)), { code: 'batch_expired', status: 409, type: 'upstream_error' })
  await world.assertEnded()
})

test('a job does not expire with jobs that have waited for their provider much longer', async () => {
  const early = await world.submit('packs')
  world.nowMs += DAY_MS / 2
  const late = await world.submit('packs')
  world.nowMs += 5_000
  await settle()
  world.nowMs += DAY_MS / 2 + 10 * MINUTE_MS
  await settle()
  const stateOf = async (id: string) => (await world.rows()).find((row) => row.id === id)?.state
  assert.deepEqual([await stateOf(early), await stateOf(late)], ['expired', 'grouped'])
  for (const batch of world.provider.batches) world.provider.finish(batch, 'completed', () => ({ done: 1, failed: 0 }))
  world.nowMs += MINUTE_MS
  await settle()
  assert.equal(await stateOf(late), 'done')
  await world.assertEnded()
})

test('a job that no provider can be asked about expires after 24 hours', async () => {
  await world.submit('plain')
  for (let hour = 0; hour < 25; hour++) {
    world.provider.faults.push('busy', 'busy')
    await world.pass()
    world.nowMs += DAY_MS / 24
  }
  await settle()
  await world.assertEnded()
  assert.notEqual((await world.rows())[0]?.state, 'done')
})

test('a result is kept for 7 days', async () => {
  const id = await doneJob()
  const { get_batch: job, get_batch_result: result } = batchHandlers(pool, limits)
  const endMs = world.nowMs
  await eraseOld(pool, endMs + 7 * DAY_MS - 1, limits)
  const kept = JSON.parse((await result.read(call(id))).text ?? '') as { id: string; receipt: { request_id: string } }
  assert.deepEqual([kept.id, kept.receipt.request_id], [id, id])
  await eraseOld(pool, endMs + 7 * DAY_MS, limits)
  await assert.rejects(result.read(call(id)), {
    code: 'result_expired',
    status: 410,
    message: /are kept for 7 days/,
  })
  assert.equal(JSON.parse((await job.read(call(id))).text ?? '').status, 'done')
})

test('a receiver that is down for an hour gets the webhook afterwards, once', async () => {
  const receiver = await HookReceiver.start()
  try {
    const secret = await webhookSecretOf(pool, 'key_1')
    const id = await doneJob(receiver.url)
    const options = { pool, log, allowPrivate: true, now: world.now, limits }
    receiver.status = 503
    for (let minute = 0; minute < 60; minute++) {
      await sendWebhooks(options)
      world.nowMs += MINUTE_MS
    }
    const refused = receiver.received.length
    assert.ok(refused >= 5 && refused <= 12, `it was asked ${refused} times in an hour`)
    receiver.status = 204
    for (let minute = 0; minute < 180; minute++) {
      await sendWebhooks(options)
      world.nowMs += MINUTE_MS
    }
    assert.equal(receiver.received.length, refused + 1)
    assert.equal(new Set(receiver.received.map((hook) => hook.id)).size, 1)
    const last = receiver.received.at(-1) ?? assert.fail()
    assertSigned(last, secret)
    assert.equal((JSON.parse(last.body) as { data: { id: string } }).data.id, batchIdOf(id))
    const [hook] = await listWebhooks(pool, { state: '', limit: 10 })
    assert.deepEqual([hook?.state, hook?.attempts], ['delivered', refused + 1])
    const log_ = await attemptsOf(pool, hook?.id ?? '')
    assert.deepEqual(
      log_.map((one) => one.status),
      [...Array.from({ length: refused }, () => 503), 204],
    )
  } finally {
    receiver.stop()
  }
})

test('webhooks are never sent to a private address, however it is named, and this is logged', async () => {
  const receiver = await HookReceiver.start()
  try {
    const { port } = new URL(receiver.url)
    for (const host of ['127.0.0.1', 'localhost', '[::1]']) {
      await pool.query('TRUNCATE batch_jobs, batch_groups, webhooks, webhook_attempts')
      world = new BatchWorld(pool)
      await webhookSecretOf(pool, 'key_1')
      await doneJob(`http://${host}:${port}/`)
      await sendWebhooks({ pool, log, allowPrivate: false, now: world.now, limits })
      const [hook] = await listWebhooks(pool, { state: 'waiting', limit: 10 })
      assert.match(hook?.fault ?? '', /not_public/)
    }
    assert.equal(receiver.received.length, 0)
  } finally {
    receiver.stop()
  }
})

test('a webhook that is never accepted is given up after three days', async () => {
  await webhookSecretOf(pool, 'key_1')
  await doneJob('http://127.0.0.1:9/')
  const options = { pool, log, allowPrivate: true, now: world.now, limits }
  for (let hour = 0; hour < 80; hour++) {
    await sendWebhooks(options)
    world.nowMs += DAY_MS / 24
  }
  const [hook] = await listWebhooks(pool, { state: 'given_up', limit: 10 })
  assert.ok((hook?.attempts ?? 0) > 50)
})

test('the webhooks of an account keep those of another account waiting for one turn at most', async () => {
  await webhookSecretOf(pool, 'key_1')
  for (let i = 0; i < 4; i++) await doneJob('http://127.0.0.1:9/')
  world.nowMs += 1
  const late = await doneJob('http://127.0.0.1:9/')
  await pool.query(`UPDATE batch_jobs SET account_id = 'acct_2' WHERE id = $1`, [late])
  const take = async () =>
    (await takeDueWebhooks(pool, world.nowMs, { ...limits, webhooksAtOnceMax: 2 })).map(({ jobId }) => jobId)
  const first = await take()
  assert.equal(first.length, 2)
  assert.ok(first.includes(late))
  const rest = [...(await take()), ...(await take()), ...(await take())]
  assert.deepEqual([...first, ...rest].sort(), [...world.jobs].sort())
})

/** Three jobs of an account, and then one of another. */
async function jobsOfTwo(provider: 'packs' | 'plain'): Promise<string> {
  for (let i = 0; i < 3; i++) await world.submit(provider)
  world.nowMs += 1
  const late = await world.submit(provider)
  await pool.query(`UPDATE batch_jobs SET account_id = 'acct_2' WHERE id = $1`, [late])
  return late
}

test('calls of the jobs of an account keep a job of another account waiting for one turn at most', async () => {
  const late = await jobsOfTwo('plain')
  const ended: string[] = []
  while (ended.length < 4) {
    await world.pass()
    for (const { id, state } of await world.rows()) if (state === 'done' && !ended.includes(id)) ended.push(id)
  }
  assert.ok(ended.slice(0, 2).includes(late))
})

test('the jobs of an account are packed in turn with those of another account', async () => {
  const late = await jobsOfTwo('packs')
  world.nowMs += limits.batchGatherMs
  const packed = async () => {
    await packGroups(pool, ['packs'], world.nowMs, { ...limits, batchGroupJobsMax: 2 })
    const found = await pool.query<{ id: string }>('SELECT id FROM batch_jobs WHERE group_id IS NOT NULL')
    return found.rows.map(({ id }) => id)
  }
  const first = await packed()
  assert.equal(first.length, 2)
  assert.ok(first.includes(late))
  assert.deepEqual((await packed()).sort(), [...world.jobs].sort())
})
