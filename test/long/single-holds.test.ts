// Goal: whoever saw a receipt of a paid request, a video or a batch job has it in the book, once and with the same numbers.
// Method: Redis stands still or is emptied between the receipt and its booking, and the process that gave it is killed.
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { ledgerStream, SHARD_COUNT } from '../../contract/wire/redisKeys.ts'
import { pipelineOf } from '../../contract/wire/redisShards.ts'
import { BATCH_PRICE, BATCHING, ended, submitted } from '../support/clients/batchClient.ts'
import type { Reply } from '../support/clients/chatClient.ts'
import { HELLO, payFor, paymentHeader, post, quote } from '../support/clients/paidClient.ts'
import { newVideo, videoIn, videoModel } from '../support/clients/videoClient.ts'
import { type PaidStack, startPaidStack } from '../support/paidStack.ts'
import { present } from '../support/present.ts'
import { until } from '../support/stack.ts'
import { childrenOf } from '../support/workload.ts'

const PAYING = { ...HELLO, model: 'test/slow', stream: true }
/** Far above what the tests take: nobody but the journal ends what a process has left. */
const NEVER_MS = 600_000

let paid: PaidStack

before(async () => {
  paid = await startPaidStack({
    limits: {
      heartbeatTimeoutMs: NEVER_MS,
      redisTimeoutMs: 2_000,
      batchTickMs: 50,
      batchGatherMs: 100,
      batchPollMs: 100,
      batchOpenMs: 500,
      housekeepingMs: 200,
      videoPollMinMs: 50,
      videoPollMaxMs: 200,
    },
    catalog: {
      models: [
        { id: 'test/small' },
        { id: 'test/slow', upstream: 'slow,chunks=20,delay=100' },
        videoModel('test/clip', 'mock,make=300'),
        { id: 'test/batch', upstream: 'quick,prompt=100,completion=10', price: BATCH_PRICE },
      ],
      providers: [BATCHING],
    },
  })
})
afterEach(() => paid.mended())
after(() => paid.stop())

interface Shown {
  readonly requestId: string
  readonly units: string
}

/** The receipt of an answer that was paid for. */
function shownIn(reply: Reply): Shown {
  const [, json = ''] = /^: receipt (.*)$/m.exec(reply.text) ?? assert.fail(reply.text.slice(-500))
  const receipt = JSON.parse(json) as { request_id: string; cost: { units: string } }
  return { requestId: receipt.request_id, units: receipt.cost.units }
}

/** What was shown is in the book once, and paid for by whoever was shown it. */
async function assertBooked(shown: Shown): Promise<void> {
  await paid.audited()
  const found = await paid.pool.query<{ units: string; voided: boolean }>(
    'SELECT charge_units::text AS units, voided FROM receipts WHERE request_id = $1',
    [shown.requestId],
  )
  assert.ok(Number(shown.units) > 0)
  assert.deepEqual(found.rows, [{ units: shown.units, voided: false }])
  const charged = await paid.pool.query<{ units: string }>(
    `SELECT coalesce(sum(units), 0)::text AS units FROM transfers WHERE ref = $1 AND kind = 'charge'`,
    [shown.requestId],
  )
  assert.equal(charged.rows[0]?.units, shown.units)
}

/** Begins a paid stream. Resolves with its answer to come once its provider has begun. */
async function begunStream(): Promise<{ reply: Promise<Reply> }> {
  const payer = await paid.chain.newPayer()
  const header = paymentHeader(await payFor(await quote(paid, PAYING), payer))
  const reply = post(paid, PAYING, header)
  reply.catch(() => undefined)
  await until('it is served', async () => (await paid.stack.provider.open()) > 0)
  return { reply }
}

async function killWorkers(): Promise<void> {
  const pid = present(paid.stack.proxy.pid)
  const before = childrenOf(pid)
  for (const worker of before) process.kill(worker, 'SIGKILL')
  await until('others run', () => childrenOf(pid).some((worker) => !before.includes(worker)))
}

const delivered = (): Promise<void> =>
  until('it is delivered', () =>
    paid.stack.withAnyRedis(async (redis) => {
      const lengths = pipelineOf(redis)
      for (let shard = 0; shard < SHARD_COUNT; shard++) lengths.xlen(ledgerStream(shard))
      return ((await lengths.exec()) ?? []).some(([, length]) => Number(length) > 0)
    }),
  )

const empty = (): Promise<unknown> => paid.stack.withRedis((redis) => redis.flushall())

/** Lets Redis stand still while a receipt is shown and `kill` runs. @returns what was shown */
async function shownWithoutRedis(reply: Promise<Reply>, kill: () => Promise<unknown>): Promise<Shown> {
  const redisPid = present(paid.stack.redis.pid())
  process.kill(redisPid, 'SIGSTOP')
  try {
    const shown = shownIn(await reply)
    await kill()
    return shown
  } finally {
    process.kill(redisPid, 'SIGCONT')
  }
}

async function killProxy(): Promise<void> {
  const workers = childrenOf(present(paid.stack.proxy.pid))
  await paid.stack.proxy.kill9()
  for (const worker of workers) process.kill(worker, 'SIGKILL')
}

test('paid request: the receipt is shown while Redis is paused, and the worker is killed', async () => {
  const { reply } = await begunStream()
  const shown = await shownWithoutRedis(reply, killWorkers)
  await paid.stack.ready()
  await assertBooked(shown)
})

test('paid request: the whole proxy is killed after the receipt, and Redis is emptied', async () => {
  const { reply } = await begunStream()
  const shown = await shownWithoutRedis(reply, killProxy)
  await empty()
  await paid.stack.proxy.start()
  await paid.stack.ready()
  await assertBooked(shown)
})

test('paid request: Redis is emptied after the delivery, before anything is booked', async () => {
  const { reply } = await begunStream()
  await paid.stack.control.kill9()
  const shown = shownIn(await reply)
  await delivered()
  await empty()
  await paid.stack.control.start()
  await paid.stack.ready()
  await assertBooked(shown)
})

test('video: Redis is emptied after the clip was shown, before its charge is booked, and the worker is killed', async () => {
  const { baseUrl } = paid.stack
  const { apiKey } = await paid.stack.createAccount({ credits: '10' })
  const job = await newVideo(baseUrl, apiKey, { model: 'test/clip' })
  await paid.stack.control.kill9()
  const done = await videoIn(baseUrl, apiKey, job.id, ['completed'])
  const units = (done.receipt ?? assert.fail('no receipt is shown')).cost.units
  await delivered()
  await empty()
  await killWorkers()
  await paid.stack.control.start()
  await paid.stack.ready()
  await assertBooked({ requestId: job.request_id, units })
})

test('batch job: Redis is emptied after the job was shown as done, before its charge is booked', async () => {
  const { stack, pool } = paid
  const { apiKey } = await stack.createAccount({ credits: '10' })
  const job = await submitted(stack, apiKey, { model: 'test/batch' })
  const blocker = await pool.connect()
  let units: string
  try {
    await blocker.query('BEGIN')
    // Nothing can be booked.
    await blocker.query('LOCK TABLE receipts IN SHARE ROW EXCLUSIVE MODE')
    units = ((await ended(stack, apiKey, job)).receipt ?? assert.fail('no receipt is shown')).cost.units
    await delivered()
    await stack.control.kill9()
    await empty()
  } finally {
    await blocker.query('ROLLBACK')
    blocker.release()
  }
  await stack.control.start()
  await stack.ready()
  await until('it is booked', async () => {
    const found = await pool.query('SELECT FROM receipts WHERE request_id = $1', [job.request_id])
    return found.rowCount === 1
  })
  await assertBooked({ requestId: job.request_id, units })
})
