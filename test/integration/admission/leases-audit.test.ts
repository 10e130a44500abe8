// Goal: the audit agrees with a book whose money is partly out in leases, and names what is wrong with leases.
// Method: workers in small over a real book and a real Redis, whose state is falsified.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accountKey, keyCountersKey, leasesKey, shardOf } from '../../../contract/wire/redisKeys.ts'
import { runAudit } from '../../../control/audit/runAudit.ts'
import { ledgerLimits } from '../../support/limits.ts'
import { eachWithWorker } from '../../support/parts/bookWith.ts'
import { keyOf } from '../../support/parts/leaseOwner.ts'
import { LeaseWorker } from '../../support/parts/leaseWorker.ts'
import { assertCleanAudit, type Book, drainAll, fundedAccount } from '../../support/parts/ledger.ts'

const limits = { ...ledgerLimits, auditRechecksMax: 1 }

let book: Book
let worker: LeaseWorker
eachWithWorker((parts) => {
  book = parts.book
  worker = parts.worker
})

async function faults(): Promise<string[]> {
  const checks = await runAudit(book.pool, book.redis, limits)
  return checks.filter((check) => !check.ok).map(({ name, detail }) => `${name}: ${detail}`)
}

test('free, leased and charged amounts equal the book, before and after booking', async () => {
  const accountId = await fundedAccount(book, 1_000)
  const shard = shardOf(accountId)
  worker.end(await worker.hold(accountId, 100), 60)
  await worker.hold(accountId, 200)
  await assertCleanAudit(book)
  await worker.deliver(shard, { giveBack: false })
  await assertCleanAudit(book)
  await drainAll(book)
  await assertCleanAudit(book)
  await worker.deliver(shard)
  await assertCleanAudit(book)
})

test('the audit names leased units without a lease, and leases without an account', async () => {
  const accountId = await fundedAccount(book, 1_000)
  const account = accountKey(shardOf(accountId), accountId)
  await worker.lease({ accountId, want: 300 })
  await book.redis.hincrby(account, 'out', 5)
  const more = `admission balances equal the book: ${accountId} has 305 out in leases, which have 300`
  assert.deepEqual(await faults(), [more])
  await book.redis.hincrby(account, 'out', -5)
  const field = await worker.calls.fieldNow({ accountId })
  const leases = leasesKey(shardOf(accountId), worker.owner)
  const text = (await book.redis.hget(leases, field)) ?? ''
  await book.redis.hdel(leases, field)
  const [balances, counters, ...others] = await faults()
  assert.match(balances ?? '', /has 700 nanos of coin in Redis, 1000 by the book.*has 300 out in leases, which have 0/)
  // A key without a charge in the book is not looked at.
  assert.deepEqual([counters, ...others], [undefined])
  await book.redis.hset(leases, field, text)
  await assertCleanAudit(book)
})

test('the audit names counters that do not include leased amounts', async () => {
  const accountId = await fundedAccount(book, 1_000)
  worker.end(await worker.hold(accountId, 10), 10)
  await worker.deliver(shardOf(accountId))
  await drainAll(book)
  await worker.lease({ accountId, want: 300 })
  await book.redis.hincrby(keyCountersKey(shardOf(accountId), keyOf(accountId)), 'hs', -300)
  const [fault, ...others] = await faults()
  assert.match(fault ?? '', /spent 10 in its hour by Redis, 310 by the book/)
  assert.deepEqual(others, [])
  await book.redis.hincrby(keyCountersKey(shardOf(accountId), keyOf(accountId)), 'hs', 300)
})

test('the audit names leases without an owner, and leases of an owner that has been silent for long', async () => {
  const gone = await LeaseWorker.start(book, { hears: false })
  const accountId = await fundedAccount(book, 1_000)
  await gone.lease({ accountId, want: 300 })
  await assertCleanAudit(book)
  await book.redis.zincrby('owners', -100_000, gone.owner)
  const name = `every lease has a living owner: 300 units of ${accountId} are out with ${gone.owner}`
  const [silent] = await faults()
  assert.match(silent ?? '', new RegExp(`^${name}, silent since \\d+$`))
  await book.redis.zrem('owners', gone.owner)
  assert.deepEqual(await faults(), [`${name}, which is unknown`])
  gone.stop()
})
