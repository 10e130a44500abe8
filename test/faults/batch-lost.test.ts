// Goal: a batch job that is done is charged once and shows what it was charged, also when Redis loses its hold, or the
// charge that it had accepted. Method: the job, its hold and its end over a real book and a real Redis, which is emptied
// or set back in between.

import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { sluice } from '../../contract/wire/generated/messages.js'
import { BATCH_OWNER, holdsKey, shardOf } from '../../contract/wire/redisKeys.ts'
import { runAudit } from '../../control/audit/runAudit.ts'
import { BatchHolds } from '../../control/batch/batchHolds.ts'
import { BatchService } from '../../control/batch/batchService.ts'
import { endDecided } from '../../control/batch/charger.ts'
import { decide, jobOf } from '../../control/batch/jobStore.ts'
import { openJob } from '../../control/batch/openJob.ts'
import { decideAnswer } from '../../control/batch/outcome.ts'
import { parseCatalog } from '../../control/catalog/pricing/catalogFile.ts'
import { publishCatalog } from '../../control/catalog/pricing/publish.ts'
import { attemptIds } from '../support/attempts.ts'
import { batchLostLimits as limits } from '../support/limits.ts'
import { USAGE } from '../support/parts/batchModels.ts'
import { CHARGE, PROVIDERS } from '../support/parts/batchWorld.ts'
import {
  assertCleanAudit,
  type Book,
  drainAll,
  ensureOpen,
  fundedAccount,
  log,
  scalar,
  startBook,
  TestProxy,
  until,
} from '../support/parts/ledger.ts'
import { testCatalog } from '../support/testCatalog.ts'

const HOLD = 1_000
const RATES = { input: 500_000, output: 1_000_000 }
/** USD per million tokens; the batch rates are those above. */
const PRICE = { input: '0.001', output: '0.002', batch_input: '0.0005', batch_output: '0.001' }

let book: Book
let proxy: TestProxy
let holds: BatchHolds

before(async () => {
  book = await startBook()
  // What the test proxy serves, too.
  const chat = { id: 'acme/chat-small', routes: [{ provider: 'acme', model: 'up' }] }
  const models = [{ id: 'test/model', price: PRICE }, chat]
  const file = testCatalog('http://127.0.0.1:1/v1', {
    models,
    providers: [{ id: 'mock', batch: true }, { id: 'acme' }],
  })
  await publishCatalog(book.pool, parseCatalog('catalog.yaml', file), limits)
  holds = new BatchHolds(book.redis, book.pool, limits)
})
beforeEach(async () => {
  proxy = new TestProxy(book.redis)
  await proxy.beat()
})
after(() => book.stop())

/** A job with its hold. @returns its request id */
async function openedJob(accountId: string): Promise<string> {
  const requestId = await proxy.newHold(accountId, HOLD)
  const request = sluice.SubmitBatchRequest.create({
    requestId,
    accountId,
    keyId: accountId.replace('acct', 'key'),
    owner: proxy.owner,
    model: 'test/model',
    coinUsdUnits: 1_000_000_000,
    holdUnits: HOLD,
    heldAtMs: Date.now(),
    startedAtMs: Date.now(),
    sheetVersion: 1,
    rates: RATES,
    routes: [{ provider: 'packs', model: 'up', limitName: 'max_tokens' }],
    maxTokens: 100,
    context: 1_000,
    maxOutput: 1_000,
    promptBytes: 10,
    webhookUrl: '',
    takeByMs: Date.now() + 60_000,
    body: Buffer.from('{"messages":[]}'),
  } as unknown as sluice.SubmitBatchRequest)
  const parts = { pool: book.pool, holds, now: Date.now, providers: async () => PROVIDERS, allowPrivate: true, limits }
  await openJob(parts, request)
  return requestId
}

/** The same for which the provider has answered. */
async function decidedJob(accountId: string): Promise<string> {
  const requestId = await openedJob(accountId)
  const job = await jobOf(book.pool, requestId)
  assert.ok(job)
  const answer = { choices: [{ index: 0, message: { role: 'assistant', content: 'hi' } }], usage: USAGE }
  assert.equal(await decide(book.pool, requestId, decideAnswer(job, answer, Date.now()), ['queued']), true)
  return requestId
}

const endJobs = () => endDecided({ pool: book.pool, holds, log, now: Date.now, limits })

/** Runs the work of control on batch jobs. */
function startService(): BatchService {
  const service = new BatchService({
    pool: book.pool,
    redis: book.redis,
    log,
    environment: {},
    allowPrivate: true,
    attemptIds,
    limits,
  })
  service.start()
  return service
}

/** Runs it until the book has the receipt of a request. */
async function untilBooked(requestId: string): Promise<void> {
  const service = startService()
  const isBooked = async (): Promise<boolean> => {
    await drainAll(book)
    return (await scalar<number>(book.pool, 'SELECT count(*) FROM receipts WHERE request_id = $1', [requestId])) === 1
  }
  await until('there is a receipt', isBooked).finally(() => service.stop())
}

async function assertDone(requestId: string, charged: number): Promise<void> {
  const job = await jobOf(book.pool, requestId)
  assert.deepEqual([job?.state, job?.chargeUnits], ['done', charged])
  assert.equal(JSON.parse(job?.receipt ?? '{}').cost.units, String(charged))
  const booked = await book.pool.query('SELECT charge_units, voided FROM receipts WHERE request_id = $1', [requestId])
  assert.deepEqual(booked.rows, [{ charge_units: charged, voided: false }])
  await assertCleanAudit(book)
}

test('a job whose hold is lost is charged up to the remaining balance, which may be zero', async () => {
  const accountId = await fundedAccount(book, HOLD)
  const requestId = await decidedJob(accountId)
  await book.redis.flushall()
  await ensureOpen(book)
  await proxy.serve(accountId, HOLD)
  assert.equal(await endJobs(), 1)
  await drainAll(book)
  await assertDone(requestId, 0)
})

test('a completed job is charged although Redis lost its hold and its charge', async () => {
  const accountId = await fundedAccount(book, HOLD)
  const requestId = await decidedJob(accountId)
  assert.equal(await endJobs(), 1)
  await book.redis.flushall()
  await ensureOpen(book)
  const shift = (ms: number) =>
    book.pool.query('UPDATE batch_jobs SET ended_at_ms = ended_at_ms + $2 WHERE id = $1', [requestId, ms])
  await shift(-2 * limits.holdAgeMaxMs)
  const wrong = (await runAudit(book.pool, book.redis, limits)).filter((check) => !check.ok)
  assert.deepEqual(
    wrong.map((check) => check.detail),
    [`${requestId} is done, was charged ${CHARGE} and has no receipt`],
  )
  await shift(2 * limits.holdAgeMaxMs)
  await untilBooked(requestId)
  await assertDone(requestId, CHARGE)
})

test('a completed job keeps its published charge although the money was spent meanwhile; the house bears it', async () => {
  const accountId = await fundedAccount(book, HOLD)
  const requestId = await decidedJob(accountId)
  assert.equal(await endJobs(), 1)
  await book.redis.flushall()
  await ensureOpen(book)
  await proxy.serve(accountId, HOLD)
  await untilBooked(requestId)
  await ensureOpen(book)
  await assertDone(requestId, CHARGE)
})

test('a completed job is charged although Redis was restored to before its charge', async () => {
  const accountId = await fundedAccount(book, HOLD)
  const requestId = await decidedJob(accountId)
  const keys = await book.redis.keys('*')
  const before = await Promise.all(keys.map((key) => book.redis.dumpBuffer(key)))
  assert.equal(await endJobs(), 1)
  await book.redis.flushall()
  for (const [i, key] of keys.entries()) await book.redis.restore(key, 0, before[i] ?? assert.fail())
  await untilBooked(requestId)
  await assertDone(requestId, CHARGE)
})

test('jobs that cannot be ended yet do not delay the jobs after them', async () => {
  const accountId = await fundedAccount(book, 4 * HOLD)
  const waiting: string[] = []
  for (let i = 0; i < limits.batchPassMax; i++) waiting.push(await decidedJob(accountId))
  const last = await decidedJob(accountId)
  const end: BatchHolds['end'] = (job, ...rest) =>
    waiting.includes(job.id) ? Promise.resolve('later') : holds.end(job, ...rest)
  assert.equal(await endDecided({ pool: book.pool, holds: { end }, log, now: Date.now, limits }), 1)
  assert.equal((await jobOf(book.pool, last))?.state, 'done')
  assert.equal(await endJobs(), waiting.length)
  await drainAll(book)
  await assertDone(last, CHARGE)
})

test('jobs of others expire, and their stray holds are voided, while Redis does not say what one account holds', async () => {
  const stuck = await fundedAccount(book, 10_000)
  let other = stuck
  while (shardOf(other) === shardOf(stuck)) other = await fundedAccount(book, 10_000)
  const [opening, overdue, lost] = [await openedJob(stuck), await openedJob(other), await openedJob(other)]
  await book.pool.query(`UPDATE batch_jobs SET state = 'opening', created_at_ms = 0 WHERE id = $1`, [opening])
  await book.pool.query('UPDATE batch_jobs SET deadline_ms = 0 WHERE id = $1', [overdue])
  await book.pool.query('DELETE FROM batch_jobs WHERE id = $1', [lost])
  const key = holdsKey(shardOf(stuck), BATCH_OWNER)
  await book.redis.rename(key, `aside:${key}`)
  await book.redis.set(key, 'no hash')
  const stateOf = async (id: string) => (await jobOf(book.pool, id))?.state
  const service = startService()
  try {
    await until('the other job has expired', async () => (await stateOf(overdue)) === 'expired')
    const isHeld = async () => (await book.redis.hexists(holdsKey(shardOf(other), BATCH_OWNER), lost)) === 1
    await until('the stray hold is voided', async () => !(await isHeld()))
    assert.equal(await stateOf(opening), 'opening')
    await book.redis.rename(`aside:${key}`, key)
    await book.pool.query('UPDATE batch_jobs SET deadline_ms = 0 WHERE id = $1', [opening])
    await until('the first job has expired, too', async () => (await stateOf(opening)) === 'expired')
  } finally {
    await service.stop()
  }
  await drainAll(book)
  for (const accountId of [stuck, other]) assert.equal(await proxy.freeCoin(accountId), 10_000)
  await assertCleanAudit(book)
})
