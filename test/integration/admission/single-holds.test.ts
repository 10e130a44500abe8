// Goal: a hold that Redis keeps by itself ends as safely as one on a lease: whoever was told a charge has it in the book, once,
// with the same numbers, whatever dies or is lost.
// Method: a worker's leases and journal over a real book and a real Redis that is emptied or set back; then the audit.

import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { accountKey, holdsKey, keyCountersKey, leasesKey, shardOf } from '../../../contract/wire/redisKeys.ts'
import { listHolds } from '../../../control/admission/listHolds.ts'
import { grantCredits } from '../../../control/book/ledger/grantCredits.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { awayFromTheHour } from '../../support/awayFromTheHour.ts'
import { ledgerLimits as limits } from '../../support/limits.ts'
import { bookUntil } from '../../support/parts/bookUntil.ts'
import { keyOf } from '../../support/parts/leaseOwner.ts'
import { accountState, everywhere, spentBy } from '../../support/parts/leaseState.ts'
import { type LeasedRequest, LeasingWorker } from '../../support/parts/leasingWorker.ts'
import {
  assertCleanAudit,
  type Book,
  dispatchEvents,
  drainAll,
  ensureOpen,
  ensureReported,
  fundedAccount,
  orphanVoider,
  startBook,
  TestProxy,
  until,
} from '../../support/parts/ledger.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

let book: Book
let folder: string
let worker: LeasingWorker

before(async () => {
  book = await startBook()
})
beforeEach(async () => {
  await book.pool.query('DELETE FROM proxy_owners')
  await ensureOpen(book)
  folder = makeTempDir('singles')
  worker = await newWorker()
})
afterEach(async () => {
  await worker.kill()
  removeTempDir(folder)
})
beforeEach(() => awayFromTheHour())
after(() => book.stop())

const newWorker = (): Promise<LeasingWorker> => LeasingWorker.start(book.redisServer.url, book.pool, folder)

async function held(accountId: string, units: number): Promise<LeasedRequest> {
  const answer = await worker.takeSingly(accountId, keyOf(accountId), units)
  if (answer instanceof GatewayError) throw answer
  return answer
}

const isDelivered = (): Promise<void> => until('Redis has it', async () => worker.undelivered === 0)

/** The receipts of an account, as `status charge split` by request. */
async function receipts(accountId: string): Promise<Record<string, string>> {
  await drainAll(book)
  const found = await book.pool.query<{ id: string; text: string }>(
    `SELECT request_id AS id, status || ' ' || charge_units || ' ' || split AS text FROM receipts WHERE account_id = $1`,
    [accountId],
  )
  return Object.fromEntries(found.rows.map(({ id, text }) => [id, text]))
}

/** Replays a worker that was killed, while its deliveries are booked. */
const replay = (killed: LeasingWorker): Promise<void> => bookUntil(book, killed.replay(book.redis))

test('its charge is taken from the pots of the hold, and the rest is free again in its pots and windows', async () => {
  const accountId = await fundedAccount(book, 1_000)
  const grant = { accountId, units: 100, source: 'test', expiresAtMs: Date.now() + 86_400_000 }
  const { grantId } = await withTransaction(book.pool, (client) => grantCredits(client, grant, limits))
  await dispatchEvents(book)
  const [large, small, none] = [await held(accountId, 150), await held(accountId, 200), await held(accountId, 300)]
  assert.deepEqual(await accountState(book.redis, accountId), { coin: 450, grants: { [grantId]: 0 }, out: 0 })
  await worker.end(large, 120)
  await worker.end(small, 30)
  await worker.end(none, -1)
  await isDelivered()
  assert.deepEqual(await accountState(book.redis, accountId), { coin: 950, grants: { [grantId]: 0 }, out: 0 })
  assert.deepEqual(await spentBy(book.redis, accountId), everywhere(150))
  assert.deepEqual(await receipts(accountId), {
    [large.requestId]: `ok 120 ${grantId}=100,coin=20`,
    [small.requestId]: 'ok 30 coin=30',
    [none.requestId]: 'failed 0 ',
  })
  await assertCleanAudit(book)
})

test('Redis emptied: holds stay held, delivered and unbooked endings are delivered again, once', async () => {
  const accountId = await fundedAccount(book, 1_000)
  const [booked, delivered, open] = [await held(accountId, 100), await held(accountId, 100), await held(accountId, 100)]
  await worker.end(booked, 40)
  await isDelivered()
  await drainAll(book)
  await worker.end(delivered, 50)
  await isDelivered()
  await book.redis.flushall()
  await ensureReported(book)
  await isDelivered()
  // The open hold is out as a lease of its own.
  assert.deepEqual(await accountState(book.redis, accountId), { coin: 810, grants: {}, out: 100 })
  await worker.end(open, 60)
  await isDelivered()
  assert.deepEqual(await accountState(book.redis, accountId), { coin: 850, grants: {}, out: 0 })
  assert.deepEqual(await receipts(accountId), {
    [booked.requestId]: 'ok 40 coin=40',
    [delivered.requestId]: 'ok 50 coin=50',
    [open.requestId]: 'ok 60 coin=60',
  })
  await assertCleanAudit(book)
})

test('Redis emptied while a shard has only one single hold: the hold is restored and ends with its charge', async () => {
  const accountId = await fundedAccount(book, 1_000)
  const open = await held(accountId, 100)
  await book.redis.flushall()
  await ensureReported(book)
  assert.deepEqual(await accountState(book.redis, accountId), { coin: 900, grants: {}, out: 100 })
  await worker.end(open, 60)
  await isDelivered()
  assert.deepEqual(await receipts(accountId), { [open.requestId]: 'ok 60 coin=60' })
  await assertCleanAudit(book)
})

test('Redis restored to before the ending: the hold that reappears is ended again, once', async () => {
  const accountId = await fundedAccount(book, 1_000)
  const shard = shardOf(accountId)
  const [ended, open] = [await held(accountId, 100), await held(accountId, 100)]
  const keys = [
    accountKey(shard, accountId),
    keyCountersKey(shard, keyOf(accountId)),
    holdsKey(shard, worker.owner),
    leasesKey(shard, worker.owner),
  ]
  const earlier = await Promise.all(keys.map((key) => book.redis.callBuffer('DUMP', [key])))
  await worker.end(ended, 70)
  await isDelivered()
  await book.redis.flushall()
  for (const [i, key] of keys.entries()) {
    const value = earlier[i] as Buffer | null
    if (value !== null) await book.redis.call('RESTORE', [key, 0, value, 'REPLACE'])
  }
  await ensureOpen(book)
  await isDelivered()
  assert.deepEqual(
    (await listHolds(book.redis)).map(({ requestId }) => requestId),
    [open.requestId],
  )
  assert.deepEqual(await accountState(book.redis, accountId), { coin: 830, grants: {}, out: 0 })
  await worker.end(open, 10)
  await isDelivered()
  assert.deepEqual(await receipts(accountId), { [ended.requestId]: 'ok 70 coin=70', [open.requestId]: 'ok 10 coin=10' })
  await assertCleanAudit(book)
})

test('a charge whose hold was lost and whose money was spent meanwhile is unchanged; the house bears it', async () => {
  const accountId = await fundedAccount(book, 100)
  const shown = await held(accountId, 100)
  await worker.end(shown, 80)
  await worker.kill()
  await book.redis.flushall()
  await ensureOpen(book)
  const other = new TestProxy(book.redis)
  await other.beat()
  const spent = await other.serve(accountId, 90)
  await replay(worker)
  assert.deepEqual(await receipts(accountId), { [shown.requestId]: 'ok 80 coin=80', [spent]: 'ok 90 coin=90' })
  await ensureOpen(book)
  assert.deepEqual(await accountState(book.redis, accountId), { coin: 0, grants: {}, out: 0 })
  await assertCleanAudit(book)
})

test('killed before the delivery: the replay books endings that were shown and voids open holds', async () => {
  const accountId = await fundedAccount(book, 1_000)
  const [shown, open] = [await held(accountId, 100), await held(accountId, 100)]
  await worker.end(shown, 33)
  await worker.kill()
  assert.equal(worker.undelivered, 1)
  assert.equal((await listHolds(book.redis)).length, 2)
  await replay(worker)
  assert.deepEqual(await listHolds(book.redis), [])
  assert.deepEqual(await receipts(accountId), { [shown.requestId]: 'ok 33 coin=33', [open.requestId]: 'orphaned 0 ' })
  // A second look at the same journal changes nothing.
  await replay(worker)
  assert.deepEqual(await accountState(book.redis, accountId), { coin: 967, grants: {}, out: 0 })
  await assertCleanAudit(book)
})

test('a hold already ended by another process stays as booked and is not charged again', async () => {
  const accountId = await fundedAccount(book, 1_000)
  const [voided, charged] = [await held(accountId, 100), await held(accountId, 100)]
  const other = new TestProxy(book.redis, worker.owner)
  await other.settle(accountId, voided.requestId, -1, 100)
  await other.settle(accountId, charged.requestId, 25, 100)
  await worker.end(voided, -1)
  await worker.end(charged, 99)
  await isDelivered()
  assert.deepEqual(await accountState(book.redis, accountId), { coin: 975, grants: {}, out: 0 })
  assert.deepEqual(await receipts(accountId), { [voided.requestId]: 'failed 0 ', [charged.requestId]: 'ok 25 coin=25' })
  // Admission is compared with the book: it may have taken another charge than the one that is booked.
  await ensureOpen(book)
  assert.deepEqual(await accountState(book.redis, accountId), { coin: 975, grants: {}, out: 0 })
  await assertCleanAudit(book)
})

test('single holds of a dead process stay held while its journal is awaited, and are then voided', async () => {
  const accountId = await fundedAccount(book, 1_000)
  const open = await held(accountId, 100)
  await worker.kill()
  await book.redis.zadd('owners', 0, worker.owner)
  const voider = orphanVoider(book)
  const beganMs = performance.now()
  try {
    await until('the hold is gone', async () => (await listHolds(book.redis)).length === 0)
    assert.ok(performance.now() - beganMs >= limits.orphanVoidMs)
    await until('its owner is forgotten', async () => (await book.redis.zscore('owners', worker.owner)) === null)
  } finally {
    await voider.stop()
  }
  assert.deepEqual(await receipts(accountId), { [open.requestId]: 'orphaned 0 ' })
  await assertCleanAudit(book)
})
