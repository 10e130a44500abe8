import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  accountKey,
  epochKey,
  keyCountersKey,
  leasesKey,
  ledgerStream,
  shardOf,
} from '../../../contract/wire/redisKeys.ts'
import { runAudit } from '../../../control/audit/runAudit.ts'
import { noteOwner } from '../../../control/book/settlement/proxyOwners.ts'
import { awayFromTheHour } from '../../support/awayFromTheHour.ts'
import { ledgerLimits as limits } from '../../support/limits.ts'
import { appendEndings, endedOf } from '../../support/parts/endings.ts'
import {
  assertCleanAudit,
  type Book,
  drainAll,
  fundedAccount,
  startBook,
  TestProxy,
} from '../../support/parts/ledger.ts'
import { findingsOf, tamperingsAt } from '../../support/parts/tamperings.ts'
import { sampled } from '../../support/rounds.ts'

let book: Book
let accountId: string
let keyId: string
let proxy: TestProxy
let beats: NodeJS.Timeout

before(async () => {
  book = await startBook()
  accountId = await fundedAccount(book, 1_000_000)
  keyId = accountId.replace('acct', 'key')
  proxy = new TestProxy(book.redis)
  beats = setInterval(() => void proxy.beat().catch(() => undefined), 100)
  await serve(300)
  await proxy.newHold(accountId, 100)
})
after(async () => {
  clearInterval(beats)
  await book.stop()
})

/** Of every ten requests the first fails. */
async function serve(requests: number): Promise<void> {
  for (let i = 0; i < requests; i++) await proxy.serve(accountId, i % 10 === 0 ? -1 : 60, 100)
  await drainAll(book)
}

async function failedChecks(): Promise<string[]> {
  const checks = await runAudit(book.pool, book.redis, limits)
  return checks.filter((check) => !check.ok).map((check) => check.name)
}

test('an untouched book passes every check', () => assertCleanAudit(book))

for (const tampering of sampled(tamperingsAt({ charged: 7, failed: 0, last: 299 }), 6)) {
  test(`the audit finds ${tampering.name}`, async () => {
    assert.deepEqual(await findingsOf(book.pool, tampering, failedChecks), tampering.found)
    await assertCleanAudit(book)
  })
}

test('the audit finds faults in Redis', async () => {
  await awayFromTheHour(60_000)
  // Counters of windows that have ended count for nothing.
  await serve(2)
  const account = accountKey(shardOf(accountId), accountId)
  const counters = keyCountersKey(shardOf(accountId), keyId)
  await book.redis.hincrby(account, 'coin', 1)
  assert.deepEqual(await failedChecks(), ['admission balances equal the book'])
  await book.redis.hincrby(account, 'coin', -1)
  await book.redis.hset(account, 'g', 'grt_never,1,5')
  assert.deepEqual(await failedChecks(), ['admission balances equal the book'])
  await book.redis.hset(account, 'g', '')
  for (const counter of ['hs', 'ds', 'ms', 'bs']) {
    await book.redis.hincrby(counters, counter, 1)
    assert.deepEqual(await failedChecks(), ['admission key counters equal the book'], counter)
    await book.redis.hincrby(counters, counter, -1)
  }
  const epoch = String(await book.redis.getset(epochKey(3), 'another'))
  assert.deepEqual(await failedChecks(), ['admission is open with one epoch'])
  await book.redis.set(epochKey(3), epoch)
  clearInterval(beats)
  await book.redis.zadd('owners', 1, proxy.owner)
  assert.deepEqual(await failedChecks(), ['every hold has a living owner'])
  beats = setInterval(() => void proxy.beat().catch(() => undefined), 100)
  await proxy.beat()
  await assertCleanAudit(book)
})

test('the audit finds a request that has both a hold and a receipt', async () => {
  const requestId = await proxy.newHold(accountId, 100)
  const holds = `holds:{s${shardOf(accountId).toString().padStart(2, '0')}}:${proxy.owner}`
  const record = String(await book.redis.hget(holds, requestId))
  await proxy.settle(accountId, requestId, 50, 100)
  await drainAll(book)
  await book.redis.hset(holds, requestId, record)
  const failed = await failedChecks()
  assert.ok(failed.includes('no ended request is held'), String(failed))
  await book.redis.hdel(holds, requestId)
  await assertCleanAudit(book)
})

test('the audit includes charges that wait in a stream', async () => {
  await proxy.serve(accountId, 50, 100)
  const checks = await runAudit(book.pool, book.redis, limits)
  assert.deepEqual(
    checks.filter((check) => !check.ok),
    [],
  )
  assert.match(checks.find((check) => check.name === 'streams are read')?.detail ?? '', /^1 entries not booked yet/)
})

test('the audit finds endings that are missing between delivery and book', async () => {
  const missing = ['every ending that was delivered is booked or waits']
  const shard = shardOf(accountId)
  const charged = () => endedOf({ accountId, charge: -1 })
  await appendEndings(book.redis, accountId, proxy.owner, 1, [charged(), charged()])
  await noteOwner(book.pool, proxy.owner)
  await drainAll(book)
  await book.redis.hset(leasesKey(shard, proxy.owner), 'seq', 3)
  assert.deepEqual(await failedChecks(), missing)
  const id = await appendEndings(book.redis, accountId, proxy.owner, 3, [charged()])
  await assertCleanAudit(book)
  await appendEndings(book.redis, accountId, proxy.owner, 4, [charged()])
  await book.redis.hset(leasesKey(shard, proxy.owner), 'seq', 4)
  await book.redis.xdel(ledgerStream(shard), id)
  assert.deepEqual(await failedChecks(), missing)
  await drainAll(book)
  assert.deepEqual(await failedChecks(), missing)
  await appendEndings(book.redis, accountId, proxy.owner, 3, [charged()])
  await assertCleanAudit(book)
  await drainAll(book)
  await book.redis.del(leasesKey(shard, proxy.owner))
  await assertCleanAudit(book)
})
