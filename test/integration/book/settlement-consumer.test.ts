import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { newId } from '../../../contract/wire/ids.ts'
import { LEDGER_GROUP, ledgerStream, SHARD_COUNT, shardOf } from '../../../contract/wire/redisKeys.ts'
import { bookEntries } from '../../../control/book/settlement/bookEntries.ts'
import { SettlementConsumer } from '../../../control/book/settlement/consumer.ts'
import { ensureGroups, readGroup } from '../../../control/book/settlement/streamReader.ts'
import { ledgerLimits as limits } from '../../support/limits.ts'
import {
  appendEnded,
  type Book,
  log,
  newAccount,
  scalar,
  settlementOf,
  startBook,
  takeInHand,
  until,
} from '../../support/parts/ledger.ts'
import { startTestPostgres, type TestServer } from '../../support/services.ts'

let postgres: TestServer
let book: Book
let consumer: SettlementConsumer | undefined
before(async () => {
  postgres = await startTestPostgres()
  book = await startBook(postgres.url)
})
afterEach(async () => {
  await consumer?.stop()
  consumer = undefined
})
after(async () => {
  await book.stop()
  await postgres.stop()
})

function startConsumer(name = 'control-1'): SettlementConsumer {
  consumer = new SettlementConsumer({ redisUrl: book.redisServer.url, pool: book.pool, log, consumer: name, limits })
  return consumer
}

async function entriesLeft(): Promise<number> {
  let left = 0
  for (let shard = 0; shard < SHARD_COUNT; shard++) left += await book.redis.xlen(ledgerStream(shard))
  return left
}

const untilDrained = () => until('the streams are empty', async () => (await entriesLeft()) === 0)
const receipts = (accountId: string) =>
  scalar<number>(book.pool, 'SELECT count(*) FROM receipts WHERE account_id = $1', [accountId])
const balance = (account: string) =>
  scalar<number>(book.pool, 'SELECT balance FROM ledger_accounts WHERE id = $1', [account])

async function appendCharge(accountId: string, units: number, requestId = newId('req')): Promise<string> {
  await appendEnded(book.redis, settlementOf({ requestId, accountId, chargeUnits: units }), accountId, units)
  return requestId
}

test('ended requests become receipts, charges, key usage and entries of the usage log', async () => {
  const accountId = await newAccount(book.pool, 10_000)
  const charged = await appendCharge(accountId, 1_200)
  const voided = newId('req')
  const failed = { requestId: voided, accountId, status: sluice.Status.FAILED, errorCode: 'upstream_timeout' }
  await appendEnded(book.redis, settlementOf(failed), accountId, -1)
  startConsumer()
  await untilDrained()
  assert.equal(await balance(`coin:${accountId}`), 8_800)
  const rows = await book.pool.query('SELECT * FROM receipts WHERE account_id = $1 ORDER BY position', [accountId])
  assert.deepEqual(
    rows.rows.map((row) => [row.request_id, row.status, row.charge_units, row.voided, row.split, row.error_code]),
    [
      [charged, 'ok', 1_200, false, 'coin=1200', ''],
      [voided, 'failed', 0, true, '', 'upstream_timeout'],
    ],
  )
  const [first, second] = rows.rows
  assert.equal(second.position, first.position + 1)
  assert.equal(first.input_tokens, 10)
  const usage = await book.pool.query('SELECT units, requests FROM key_usage WHERE account_id = $1', [accountId])
  assert.deepEqual(usage.rows, [{ units: 1_200, requests: 2 }])
})

test('a redelivered entry, and a request that ends twice, are booked once', async () => {
  const accountId = await newAccount(book.pool, 10_000)
  const requestId = await appendCharge(accountId, 100)
  await appendCharge(accountId, 100, requestId)
  startConsumer()
  await untilDrained()
  await appendCharge(accountId, 300, requestId)
  await untilDrained()
  assert.equal(await receipts(accountId), 1)
  assert.equal(await balance(`coin:${accountId}`), 9_900)
  assert.equal(consumer?.tally.stats.duplicates, 2)
  const dirty = await scalar<number>(book.pool, 'SELECT count(*) FROM admission_dirty WHERE shard = $1', [
    shardOf(accountId),
  ])
  assert.equal(dirty, 1, 'Redis took the charge twice, so its shard has to be loaded again')
})

test('after a consumer dies between commit and acknowledgement, no ending is booked twice', async () => {
  const accountId = await newAccount(book.pool, 10_000)
  for (let i = 0; i < 20; i++) await appendCharge(accountId, 10)
  const read = await takeInHand(book, 'crashed')
  assert.equal(read.length, 20)
  await bookEntries(book.pool, read)
  // The same name again: its own pending entries come first.
  startConsumer('crashed')
  await untilDrained()
  assert.equal(await receipts(accountId), 20)
  assert.equal(await balance(`coin:${accountId}`), 9_800)
  assert.equal(consumer?.tally.stats.duplicates, 20)
})

test('entries of a dead consumer are taken over by another one', async () => {
  const accountId = await newAccount(book.pool, 10_000)
  for (let i = 0; i < 20; i++) await appendCharge(accountId, 10)
  await ensureGroups(book.redis)
  assert.equal((await readGroup(book.redis, 'dead', '>', { countPerStream: 100 })).length, 20)
  startConsumer('alive')
  await untilDrained()
  assert.equal(await balance(`coin:${accountId}`), 9_800)
})

test('entries that cannot be read or booked are stored with all their bytes and do not block the stream', async () => {
  const accountId = await newAccount(book.pool, 10_000)
  const stream = ledgerStream(shardOf(accountId))
  const id = () => ({ requestId: newId('req'), accountId })
  const junk = Buffer.from([0, 255, 1, 254])
  await book.redis.xadd(stream, '*', 'e', junk, 'c', '1', 't', '1', 's', 'coin=1')
  await book.redis.xadd(stream, '*', 'nonsense', 'a\0b')
  await appendEnded(book.redis, settlementOf(id()), accountId, 5, 'coin=4')
  await appendEnded(book.redis, settlementOf({ ...id(), model: 'a\0b' }), accountId, 5)
  await appendEnded(book.redis, settlementOf({ ...id(), holdUnits: 4 }), accountId, 5)
  await appendEnded(book.redis, settlementOf({ ...id(), accountId: 'acct_nobody' }), accountId, 5)
  await appendEnded(book.redis, settlementOf({ ...id(), startedAtMs: 2 ** 62 }), accountId, 5)
  await book.redis.xadd(stream, '*', 'x', 'grt_unknown', 'a', accountId, 'c', '5')
  await appendCharge(accountId, 70)
  startConsumer()
  await untilDrained()
  assert.equal(await balance(`coin:${accountId}`), 9_930)
  assert.equal(consumer?.tally.stats.rejects, 8)
  const kept = await book.pool.query('SELECT reason, settlement FROM settlement_rejects WHERE shard = $1', [
    shardOf(accountId),
  ])
  assert.equal(kept.rows.length, 8)
  assert.ok(kept.rows.some((row) => junk.equals(row.settlement)))
})

test('a charge beyond the balance is booked in full, and the house bears the difference', async () => {
  const accountId = await newAccount(book.pool, 100)
  const houseBefore = (await balance('house')) ?? 0
  const requestId = await appendCharge(accountId, 130)
  startConsumer()
  await untilDrained()
  assert.equal(await balance(`coin:${accountId}`), 0)
  assert.equal(await balance('house'), houseBefore - 30)
  const transfers = await book.pool.query('SELECT debit, units FROM transfers WHERE ref = $1 ORDER BY units', [
    requestId,
  ])
  assert.deepEqual(transfers.rows, [
    { debit: 'house', units: 30 },
    { debit: `coin:${accountId}`, units: 100 },
  ])
})

test('while PostgreSQL is down no message is acknowledged; when it is back every ending is booked once', async () => {
  const accountId = await newAccount(book.pool, 1_000_000)
  startConsumer()
  await postgres.kill9()
  for (let i = 0; i < 50; i++) await appendCharge(accountId, 10)
  await until('booking is tried again', async () => (consumer?.tally.stats.retries ?? 0) > 2)
  assert.equal(await entriesLeft(), 50)
  await postgres.restart()
  await untilDrained()
  assert.equal(await receipts(accountId), 50)
  assert.equal(await balance(`coin:${accountId}`), 999_500)
})

test('Redis killed in the middle: the consumer reconnects and continues', async () => {
  const accountId = await newAccount(book.pool, 1_000_000)
  startConsumer()
  for (let i = 0; i < 200; i++) await appendCharge(accountId, 10)
  await book.redisServer.kill9()
  await sleep(50)
  await book.redisServer.restart()
  for (let i = 0; i < 200; i++) await appendCharge(accountId, 10)
  await until('all is booked', async () => (await receipts(accountId)) === 400)
  await untilDrained()
  assert.equal(await balance(`coin:${accountId}`), 996_000)
})

test('streams and groups lost when Redis is emptied are created again', async () => {
  const accountId = await newAccount(book.pool, 1_000)
  startConsumer()
  await until('the consumer reads', async () => (await book.redis.exists(ledgerStream(0))) === 1)
  await book.redis.flushall()
  await appendCharge(accountId, 10)
  await untilDrained()
  assert.equal(await receipts(accountId), 1)
})

test('stopping finishes the current batch and leaves no pending entries in the group', async () => {
  const accountId = await newAccount(book.pool, 1_000_000)
  for (let i = 0; i < 3_000; i++) await appendCharge(accountId, 10)
  const leaving = startConsumer('leaving')
  await until('some are booked', async () => leaving.tally.stats.receipts > 0)
  await leaving.stop()
  for (let shard = 0; shard < SHARD_COUNT; shard++) {
    const [pending] = (await book.redis.xpending(ledgerStream(shard), LEDGER_GROUP)) as [number]
    assert.equal(pending, 0)
  }
  startConsumer('next')
  await untilDrained()
  assert.equal(await receipts(accountId), 3_000)
})
