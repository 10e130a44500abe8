// Goal: the holds of a process that has died are voided and its leases taken back, and those of the living are not, whatever
// Redis does meanwhile.
// Method: proxies that beat or stop beating, over a real book and a real Redis.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { epochKey, leasesKey, shardOf } from '../../../contract/wire/redisKeys.ts'
import { LeaseCode, SettleCode } from '../../../contract/wire/scripts.ts'
import { listHolds } from '../../../control/admission/listHolds.ts'
import { balanceOf } from '../../../control/book/ledger/balanceOf.ts'
import { ledgerLimits as limits } from '../../support/limits.ts'
import { eachWithProxy } from '../../support/parts/bookWith.ts'
import { LeaseOwner } from '../../support/parts/leaseOwner.ts'
import { accountState } from '../../support/parts/leaseState.ts'
import { LeaseWorker } from '../../support/parts/leaseWorker.ts'
import {
  assertCleanAudit,
  type Book,
  drainAll,
  ensureOpen,
  fundedAccount,
  orphanVoider,
  TestProxy,
  until,
} from '../../support/parts/ledger.ts'

let book: Book
let proxy: TestProxy
eachWithProxy((parts) => {
  book = parts.book
  proxy = parts.proxy
})

test('holds of a process without a heartbeat are voided, those of live processes are not', async () => {
  const accountId = await fundedAccount(book, 1_000)
  const dead = new TestProxy(book.redis)
  const unknown = new TestProxy(book.redis)
  const beatenMs = performance.now()
  await dead.beat()
  const ofDead = await dead.newHold(accountId, 100)
  const ofUnknown = await unknown.newHold(accountId, 100)
  const ofLiving = await proxy.newHold(accountId, 100)
  const voider = orphanVoider(book)
  try {
    const owners = async () => new Set((await listHolds(book.redis)).map((hold) => hold.owner))
    await until('the orphans are voided', async () => {
      const left = await owners()
      return !left.has(dead.owner) && !left.has(unknown.owner)
    })
    assert.ok(performance.now() - beatenMs >= limits.heartbeatTimeoutMs, 'not before the time is over')
    await sleep(300)
    assert.ok((await owners()).has(proxy.owner))
    assert.equal(await book.redis.zscore('owners', dead.owner), null)
  } finally {
    await voider.stop()
  }
  assert.equal((await dead.settle(accountId, ofDead, 50, 100)).code, SettleCode.ALREADY_VOIDED)
  assert.deepEqual(await proxy.settle(accountId, ofLiving, 50, 100), { code: SettleCode.SETTLED, units: 50 })
  await drainAll(book)
  const rows = await book.pool.query(
    'SELECT request_id, status, voided, model, endpoint FROM receipts WHERE request_id = ANY ($1) ORDER BY request_id',
    [[ofDead, ofUnknown]],
  )
  const orphan = { status: 'orphaned', voided: true, model: 'acme/chat-small', endpoint: 'chat' }
  assert.deepEqual(
    rows.rows,
    [ofDead, ofUnknown].sort().map((request_id) => ({ request_id, ...orphan })),
  )
  assert.equal((await balanceOf(book.pool, accountId))?.coinNanos, 950)
  await assertCleanAudit(book)
})

test('leases of a process without a heartbeat are taken back once, those of live processes are not', async () => {
  const accountId = await fundedAccount(book, 1_000)
  const shard = shardOf(accountId)
  const dead = await LeaseWorker.start(book)
  const unknown = await LeaseWorker.start(book)
  await book.redis.zrem('owners', unknown.owner)
  const living = new LeaseOwner(book.redis, proxy.owner)
  await living.open()
  const lateId = await dead.hold(accountId, 60)
  await unknown.lease({ accountId, want: 200 })
  await living.leaseOne({ accountId, want: 100 })
  const voider = orphanVoider(book)
  try {
    await until('the leases of the dead are free', async () => (await accountState(book.redis, accountId)).out === 100)
    await until('they are forgotten', async () => (await book.redis.zcard('owners')) === 1)
    assert.equal(voider.takenBackUnits, 260)
    await assertCleanAudit(book)
    const keptMs = await book.redis.pttl(leasesKey(shard, dead.owner))
    await sleep(3 * limits.ownerScanMs)
    assert.ok((await book.redis.pttl(leasesKey(shard, dead.owner))) < keptMs, 'what was taken back passes away')
    assert.deepEqual(await accountState(book.redis, accountId), { coin: 900, grants: {}, out: 100 })
    // Its journal may turn up after all.
    dead.end(lateId, 50)
    assert.equal(await dead.deliver(shard), LeaseCode.OWNER_CLOSED)
    await dead.report('')
    await dead.calls.open()
    assert.equal(await dead.deliver(shard), LeaseCode.OK)
    await drainAll(book)
    assert.equal((await balanceOf(book.pool, accountId))?.coinNanos, 950)
    await assertCleanAudit(book)
  } finally {
    await voider.stop()
    for (const worker of [dead, unknown]) worker.stop()
  }
})

test('while admission is closed the leases of dead processes stay, and are taken back when it opens', async () => {
  const accountId = await fundedAccount(book, 1_000)
  const dead = await LeaseWorker.start(book)
  await dead.lease({ accountId, want: 60 })
  dead.stop()
  await book.redis.del(epochKey(shardOf(accountId)))
  const voider = orphanVoider(book)
  try {
    await sleep(limits.heartbeatTimeoutMs + 300)
    assert.equal((await accountState(book.redis, accountId)).out, 60)
    assert.notEqual(await book.redis.zscore('owners', dead.owner), null)
    await ensureOpen(book)
    await until('its leases are free', async () => (await accountState(book.redis, accountId)).out === 0)
  } finally {
    await voider.stop()
  }
  await assertCleanAudit(book)
})

test('an outage of Redis voids no hold of a process that resumes its heartbeat', async () => {
  const accountId = await fundedAccount(book, 1_000)
  const requestId = await proxy.newHold(accountId, 100)
  const voider = orphanVoider(book)
  try {
    await sleep(200)
    await book.redisServer.kill9()
    await sleep(900)
    await book.redisServer.restart()
    await until('Redis answers', async () => book.redis.status === 'ready')
    await ensureOpen(book)
    await sleep(1_000)
    const own = (await listHolds(book.redis)).filter((hold) => hold.owner === proxy.owner)
    assert.deepEqual(
      own.map((hold) => hold.requestId),
      [requestId],
    )
  } finally {
    await voider.stop()
  }
  await proxy.settle(accountId, requestId, 10, 100)
  await drainAll(book)
})
