// Goal: a loading of the admission state reckons with what proxy processes have leased, whatever Redis has lost of it.
// Method: workers in small over a real book and a real Redis that is emptied, set back or started again; then the audit.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectRedis } from '../../../contract/wire/redis.ts'
import { accountKey, keyCountersKey, leasesKey, shardOf } from '../../../contract/wire/redisKeys.ts'
import { LeaseCode } from '../../../contract/wire/scripts.ts'
import { balanceOf } from '../../../control/book/ledger/balanceOf.ts'
import { grantCredits } from '../../../control/book/ledger/grantCredits.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { ledgerLimits as limits } from '../../support/limits.ts'
import { eachWithWorker } from '../../support/parts/bookWith.ts'
import { keyOf, NO_CAPS } from '../../support/parts/leaseOwner.ts'
import { accountState, everywhere, spentBy } from '../../support/parts/leaseState.ts'
import { LeaseWorker } from '../../support/parts/leaseWorker.ts'
import {
  assertCleanAudit,
  type Book,
  dispatchEvents,
  drainAll,
  ensureOpen,
  ensureReported,
  fundedAccount,
  until,
} from '../../support/parts/ledger.ts'

let book: Book
let worker: LeaseWorker
eachWithWorker((parts) => {
  book = parts.book
  worker = parts.worker
})

interface Leased {
  readonly accountId: string
  readonly shard: number
  /** Of a request that is under way, with 100 units. */
  readonly open: string
}

/** 1,000 of coin, of which 50 are booked, 30 wait in the stream, 20 are charged in memory, 100 held, 300 free in memory. */
async function leased(): Promise<Leased> {
  const accountId = await fundedAccount(book, 1_000)
  const shard = shardOf(accountId)
  const keep = { giveBack: false }
  worker.end(await worker.hold(accountId, 50), 50)
  assert.equal(await worker.deliver(shard, keep), LeaseCode.OK)
  await drainAll(book)
  worker.end(await worker.hold(accountId, 30), 30)
  assert.equal(await worker.deliver(shard, keep), LeaseCode.OK)
  worker.end(await worker.hold(accountId, 20), 20)
  const open = await worker.hold(accountId, 100)
  await worker.lease({ accountId, want: 300 })
  assert.deepEqual(await accountState(book.redis, accountId), { coin: 500, grants: {}, out: 420 })
  return { accountId, shard, open }
}

/** The open request ends with 70; everything is delivered and booked. */
async function finish({ shard, open }: Leased): Promise<void> {
  await worker.calls.open()
  worker.end(open, 70)
  assert.equal(await worker.deliver(shard), LeaseCode.OK)
  await drainAll(book)
  await ensureOpen(book)
}

async function assertBooked({ accountId }: Leased): Promise<void> {
  assert.equal((await balanceOf(book.pool, accountId))?.coinNanos, 830)
  assert.deepEqual(await accountState(book.redis, accountId), { coin: 830, grants: {}, out: 0 })
  const receipts = await book.pool.query('SELECT charge_units FROM receipts WHERE account_id = $1', [accountId])
  assert.deepEqual(receipts.rows.map((row) => row.charge_units).sort(), [20, 30, 50, 70])
  await assertCleanAudit(book)
}

test('Redis emptied: held and unbooked amounts are leased, the rest is free, and no ending is lost', async () => {
  const state = await leased()
  await book.redis.flushall()
  assert.equal(await ensureReported(book), 'rebuilt')
  // The 30 that waited in the stream are delivered again.
  assert.deepEqual(await accountState(book.redis, state.accountId), { coin: 800, grants: {}, out: 150 })
  assert.deepEqual(await spentBy(book.redis, state.accountId), everywhere(200))
  await assertCleanAudit(book)
  await finish(state)
  await assertBooked(state)
})

test('Redis restarted: endings in the stream are booked first and not delivered again', async () => {
  const state = await leased()
  await book.redisServer.restart()
  await until('Redis answers', async () => book.redis.status === 'ready')
  assert.equal(await ensureReported(book), 'rebuilt')
  assert.deepEqual(await accountState(book.redis, state.accountId), { coin: 800, grants: {}, out: 120 })
  assert.equal((await balanceOf(book.pool, state.accountId))?.coinNanos, 920)
  await assertCleanAudit(book)
  await finish(state)
  await assertBooked(state)
})

test('Redis restored to an earlier state: its leases are replaced by the reported ones', async () => {
  const accountId = await fundedAccount(book, 1_000)
  const shard = shardOf(accountId)
  await worker.lease({ accountId, want: 200 })
  const keys = [accountKey(shard, accountId), keyCountersKey(shard, keyOf(accountId)), leasesKey(shard, worker.owner)]
  const earlier = await Promise.all(keys.map((key) => book.redis.callBuffer('DUMP', [key])))
  await worker.deliver(shard)
  const open = await worker.hold(accountId, 70)
  for (const [i, key] of keys.entries()) await book.redis.call('RESTORE', [key, 0, earlier[i] as Buffer, 'REPLACE'])
  await book.pool.query(`UPDATE admission_state SET redis_run_id = 'another'`)
  assert.equal(await ensureReported(book), 'rebuilt')
  assert.deepEqual(await accountState(book.redis, accountId), { coin: 930, grants: {}, out: 70 })
  await finish({ accountId, shard, open })
  assert.deepEqual(await accountState(book.redis, accountId), { coin: 930, grants: {}, out: 0 })
  await assertCleanAudit(book)
})

test('the state in Redis of an owner that has reported is dropped, also in shards that the report does not name', async () => {
  const accountId = await fundedAccount(book, 1_000)
  await worker.lease({ accountId, want: 200 })
  await book.pool.query(`UPDATE admission_state SET redis_run_id = 'another'`)
  assert.equal(await ensureReported(book), 'rebuilt')
  assert.deepEqual(await accountState(book.redis, accountId), { coin: 1_000, grants: {}, out: 0 })
  assert.deepEqual(await worker.calls.leases(shardOf(accountId)), {})
  await assertCleanAudit(book)
})

test('loading stops waiting for a silent owner after a timeout, and its leases stay leased', async () => {
  const deaf = await LeaseWorker.start(book, { hears: false })
  try {
    const accountId = await fundedAccount(book, 1_000)
    const open = await deaf.hold(accountId, 70)
    await deaf.lease({ accountId, want: 200 })
    await book.pool.query(`UPDATE admission_state SET redis_run_id = 'another'`)
    const beganMs = performance.now()
    assert.equal(await ensureOpen(book), 'rebuilt')
    assert.ok(performance.now() - beganMs >= limits.leaseReportMs)
    assert.deepEqual(await accountState(book.redis, accountId), { coin: 730, grants: {}, out: 270 })
    // It reports when it hears of the new epoch.
    deaf.end(open, 50)
    assert.equal(await deaf.deliver(shardOf(accountId)), LeaseCode.UNKNOWN_EPOCH)
    await deaf.calls.open()
    await deaf.report('')
    assert.deepEqual(await accountState(book.redis, accountId), { coin: 950, grants: {}, out: 50 })
    assert.equal(await deaf.deliver(shardOf(accountId)), LeaseCode.OK)
    await drainAll(book)
    await deaf.calls.beat()
    await assertCleanAudit(book)
  } finally {
    deaf.stop()
  }
})

test('a report that arrives after the loading stopped waiting is rejected', async () => {
  const deaf = await LeaseWorker.start(book, { hears: false })
  try {
    const accountId = await fundedAccount(book, 1_000)
    await deaf.hold(accountId, 70)
    await book.redis.flushall()
    const subscriber = connectRedis(book.redisServer.url, 'wait')
    let load = ''
    subscriber.on('message', (_channel: string, text: string) => {
      load = text
    })
    await subscriber.subscribe('report')
    assert.equal(await ensureOpen(book), 'rebuilt')
    subscriber.disconnect()
    assert.notEqual(load, '')
    await deaf.report(load)
    assert.deepEqual(await deaf.calls.leases(shardOf(accountId)), {})
    assert.deepEqual(await accountState(book.redis, accountId), { coin: 1_000, grants: {}, out: 0 })
  } finally {
    deaf.stop()
  }
})

test('if no process is subscribed, a loading does not wait for known owners', async () => {
  worker.stop()
  await book.redis.flushall()
  const beganMs = performance.now()
  assert.equal(await ensureOpen(book), 'rebuilt')
  const tookMs = performance.now() - beganMs
  assert.ok(tookMs >= limits.leaseReportersMs, `${tookMs} ms`)
})

test('a reloaded shard keeps the leases that Redis has, with grants and platform keys', async () => {
  const accountId = await fundedAccount(book, 1_000)
  const grant = { accountId, units: 100, source: 'test', expiresAtMs: Date.now() + 86_400_000 }
  const { grantId } = await withTransaction(book.pool, (client) => grantCredits(client, grant, limits))
  await dispatchEvents(book)
  const shard = shardOf(accountId)
  const platform = { keyId: 'key_of_a_platform', caps: NO_CAPS }
  const open = await worker.hold(accountId, 150, { keyId: 'key_sub', platform })
  await worker.lease({ accountId, want: 40 })
  await book.redis.hset(accountKey(shard, accountId), { coin: 7, out: 3 })
  await book.pool.query(`INSERT INTO admission_dirty (shard, reason) VALUES ($1, 'test')`, [shard])
  assert.equal(await ensureOpen(book), 'reloaded')
  assert.deepEqual(await accountState(book.redis, accountId), { coin: 910, grants: { [grantId]: 0 }, out: 190 })
  assert.deepEqual(await spentBy(book.redis, accountId, 'key_sub'), everywhere(150))
  assert.deepEqual(await spentBy(book.redis, accountId, platform.keyId), everywhere(150))
  assert.deepEqual(await spentBy(book.redis, accountId), everywhere(40))
  await assertCleanAudit(book)
  worker.end(open, 120)
  assert.equal(await worker.deliver(shard), LeaseCode.OK)
  await drainAll(book)
  assert.deepEqual(await accountState(book.redis, accountId), { coin: 980, grants: { [grantId]: 0 }, out: 0 })
})
