import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COUNTERS } from '../../../contract/wire/caps.ts'
import { newId } from '../../../contract/wire/ids.ts'
import {
  accountKey,
  epochKey,
  holdsKey,
  keyCountersKey,
  SHARD_COUNT,
  shardOf,
} from '../../../contract/wire/redisKeys.ts'
import { HoldCode, SettleCode } from '../../../contract/wire/scripts.ts'
import { EventDispatcher } from '../../../control/admission/dispatcher.ts'
import { GrantSweeper } from '../../../control/admission/grantSweeper.ts'
import { closeMarked, ensureAdmission } from '../../../control/admission/keeper.ts'
import { listHolds } from '../../../control/admission/listHolds.ts'
import { settleLost } from '../../../control/admission/settleLost.ts'
import { LostShardError } from '../../../control/admission/shardWriter.ts'
import { balanceOf } from '../../../control/book/ledger/balanceOf.ts'
import { creditCoin } from '../../../control/book/ledger/creditCoin.ts'
import { grantCredits } from '../../../control/book/ledger/grantCredits.ts'
import { bookEntries } from '../../../control/book/settlement/bookEntries.ts'
import { ensureGroups } from '../../../control/book/settlement/streamReader.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { ledgerLimits as limits } from '../../support/limits.ts'
import { eachWithProxy } from '../../support/parts/bookWith.ts'
import {
  assertCleanAudit,
  type Book,
  dispatchEvents,
  drainAll,
  ensureOpen,
  fundedAccount,
  log,
  newAccount,
  scalar,
  settlementOf,
  TestProxy,
  takeInHand,
  until,
} from '../../support/parts/ledger.ts'

let book: Book
let proxy: TestProxy
eachWithProxy((parts) => {
  book = parts.book
  proxy = parts.proxy
})

const ensure = () => ensureOpen(book)
const dispatch = () => dispatchEvents(book)

function grant(accountId: string, units: number, expiresAtMs: number): Promise<{ grantId: string }> {
  return withTransaction(book.pool, (client) =>
    grantCredits(client, { accountId, units, source: 'test', expiresAtMs }, limits),
  )
}

const lost = (accountId: string, requestId: string, chargeUnits: number) =>
  settleLost(book.redis, book.pool, settlementOf({ accountId, requestId, chargeUnits }), limits)

test('admission opens with one epoch, and events reach Redis in order, once', async () => {
  assert.equal(await ensure(), 'rebuilt')
  assert.equal(await ensure(), 'unchanged')
  const epochs = await Promise.all(Array.from({ length: SHARD_COUNT }, (_, shard) => book.redis.get(epochKey(shard))))
  assert.equal(new Set(epochs).size, 1)
  const accountId = await newAccount(book.pool, 500)
  await withTransaction(book.pool, (client) =>
    creditCoin(client, { accountId, nanos: 11, units: 11, ref: newId('evt') }),
  )
  await dispatch()
  assert.equal(await proxy.freeCoin(accountId), 511)
  assert.equal(await book.redis.hget(accountKey(shardOf(accountId), accountId), 'seq'), '3')
  await assertCleanAudit(book)
})

test('1,000 concurrent holds on a balance for exactly 10: exactly 10 are held, and the balance ends at 0', async () => {
  const accountId = await fundedAccount(book, 1_000)
  const ids = Array.from({ length: 1_000 }, () => newId('req'))
  const results = await Promise.all(ids.map((id) => proxy.hold(accountId, id, 100)))
  const held = ids.filter((_, i) => results[i]?.code === HoldCode.OK)
  assert.equal(held.length, 10)
  assert.equal(results.filter((result) => result.code === HoldCode.BALANCE).length, 990)
  await Promise.all(held.map((id) => proxy.settle(accountId, id, 100, 100)))
  await drainAll(book)
  assert.equal(await proxy.freeCoin(accountId), 0)
  assert.equal((await balanceOf(book.pool, accountId))?.coinNanos, 0)
  await assertCleanAudit(book)
})

test('Redis emptied: admission is closed, then balances, grants and key counters are restored from the book', async () => {
  const accountId = await fundedAccount(book, 1_000)
  await grant(accountId, 300, Date.now() + 86_400_000)
  await dispatch()
  const first = newId('req')
  assert.equal((await proxy.hold(accountId, first, 400)).code, HoldCode.OK)
  assert.equal((await proxy.settle(accountId, first, 350, 400)).code, SettleCode.SETTLED)
  await drainAll(book)
  const account = accountKey(shardOf(accountId), accountId)
  const counters = keyCountersKey(shardOf(accountId), accountId.replace('acct', 'key'))
  const state = () =>
    Promise.all([book.redis.hmget(account, 'coin', 'g', 'seq'), book.redis.hmget(counters, ...COUNTERS)])
  const [accountBefore, countersBefore] = await state()
  await book.redis.flushall()
  assert.equal((await proxy.hold(accountId, newId('req'), 1)).code, HoldCode.CLOSED)
  assert.equal(await ensure(), 'rebuilt')
  const [accountAfter, countersAfter] = await state()
  // A grant with nothing left is not loaded again.
  assert.deepEqual([accountAfter[0], accountAfter[2]], [accountBefore[0], accountBefore[2]])
  assert.deepEqual(countersAfter, countersBefore)
  await proxy.beat()
  assert.equal((await proxy.hold(accountId, newId('req'), 1)).code, HoldCode.OK)
  await assertCleanAudit(book)
})

test('a hold lost with Redis is charged once, up to the free balance, however often it is settled', async () => {
  const accountId = await fundedAccount(book, 1_000)
  const requestId = await proxy.newHold(accountId, 700)
  await book.redis.flushall()
  await assert.rejects(lost(accountId, requestId, 600), { status: 503 })
  await ensure()
  assert.equal((await proxy.settle(accountId, requestId, 600, 700)).code, SettleCode.UNKNOWN)
  const charges = await Promise.all([1, 2, 3, 4, 5].map(() => lost(accountId, requestId, 600)))
  assert.deepEqual(charges, [600, 600, 600, 600, 600])
  const other = newId('req')
  assert.equal(await lost(accountId, other, 600), 400, 'no more than the account has')
  await drainAll(book)
  assert.equal(await lost(accountId, requestId, 600), 600)
  await book.redis.flushall()
  await ensure()
  assert.equal(await lost(accountId, other, 600), 400, 'the book remembers when Redis does not')
  assert.equal((await balanceOf(book.pool, accountId))?.coinNanos, 0)
  await assertCleanAudit(book)
})

test('after a restart Redis has the holds of running requests, less those that the book has as ended', async () => {
  const accountId = await fundedAccount(book, 1_000)
  const open = await proxy.newHold(accountId, 300)
  const ended = await proxy.newHold(accountId, 200)
  // The book booked the end of a request, and the Redis that comes back has not seen it yet.
  await ensureGroups(book.redis)
  const holds = holdsKey(shardOf(accountId), proxy.owner)
  const account = accountKey(shardOf(accountId), accountId)
  const earlier = await Promise.all([holds, account].map((key) => book.redis.callBuffer('DUMP', [key])))
  await proxy.settle(accountId, ended, 150, 200)
  await bookEntries(book.pool, await takeInHand(book, 'c'))
  for (const [i, key] of [holds, account].entries()) {
    await book.redis.call('RESTORE', [key, 0, earlier[i] as Buffer, 'REPLACE'])
  }
  await book.redisServer.restart()
  await until('Redis answers', async () => book.redis.status === 'ready')
  assert.equal(await ensure(), 'rebuilt')
  assert.deepEqual(
    (await listHolds(book.redis)).filter((hold) => hold.owner === proxy.owner).map((hold) => hold.requestId),
    [open],
  )
  assert.equal(await proxy.freeCoin(accountId), 550)
  assert.deepEqual(await proxy.settle(accountId, open, 100, 300), { code: SettleCode.SETTLED, units: 100 })
  await drainAll(book)
  assert.equal((await balanceOf(book.pool, accountId))?.coinNanos, 750)
  await assertCleanAudit(book)
})

test('a stream restored to an earlier state is detected', async () => {
  const accountId = await fundedAccount(book, 1_000)
  await proxy.serve(accountId, 100)
  await drainAll(book)
  assert.equal(await ensure(), 'unchanged')
  await book.redis.del(`ledger:{s${shardOf(accountId).toString().padStart(2, '0')}}`)
  assert.equal(await ensure(), 'rebuilt')
  assert.equal(await ensure(), 'unchanged')
  await assertCleanAudit(book)
})

test('a batch booked only after Redis was lost and reloaded causes its shard to be reloaded', async () => {
  const accountId = await fundedAccount(book, 1_000)
  await proxy.serve(accountId, 100)
  const inHand = await takeInHand(book)
  await book.redis.flushall()
  assert.equal(await ensure(), 'rebuilt')
  assert.equal(await proxy.freeCoin(accountId), 1_000)
  await bookEntries(book.pool, inHand)
  assert.equal(await ensure(), 'rebuilt', 'the stream is behind the book')
  assert.equal(await proxy.freeCoin(accountId), 900)
  await assertCleanAudit(book)
})

test('shards that settlement found to differ are reloaded during traffic, and their holds stay', async () => {
  const accountId = await fundedAccount(book, 1_000)
  const requestId = await proxy.newHold(accountId, 100)
  await book.redis.hset(accountKey(shardOf(accountId), accountId), 'coin', '5')
  await book.pool.query(`INSERT INTO admission_dirty (shard, reason) VALUES ($1, 'test')`, [shardOf(accountId)])
  const epoch = await book.redis.get(epochKey(0))
  assert.equal(await ensure(), 'reloaded')
  assert.equal(await ensure(), 'unchanged')
  assert.equal(await book.redis.get(epochKey(shardOf(accountId))), epoch)
  assert.equal(await proxy.freeCoin(accountId), 900)
  await assertCleanAudit(book)
  await proxy.settle(accountId, requestId, 0, 100)
  await drainAll(book)
})

test('an account whose events Redis lost is loaded from the book', async () => {
  const accountId = await fundedAccount(book, 1_000)
  await book.redis.del(accountKey(shardOf(accountId), accountId))
  await withTransaction(book.pool, (client) =>
    creditCoin(client, { accountId, nanos: 50, units: 50, ref: newId('evt') }),
  )
  const dispatcher = new EventDispatcher({ pool: book.pool, redis: book.redis, log, limits })
  await until('the loss is noticed', async () => (await ensure()) === 'reloaded').finally(() => dispatcher.stop())
  assert.equal(await proxy.freeCoin(accountId), 1_050)
  await dispatch()
  assert.equal(await proxy.freeCoin(accountId), 1_050)
  await assertCleanAudit(book)
})

test('expired grants return to the house, held parts when their holds end, and empty grants are removed from Redis', async () => {
  const accountId = await fundedAccount(book, 1_000)
  const { grantId } = await grant(accountId, 500, Date.now() + 12_000)
  await dispatch()
  const requestId = newId('req')
  assert.equal((await proxy.hold(accountId, requestId, 200)).code, HoldCode.OK)
  const sweeper = new GrantSweeper({ redis: book.redis, pool: book.pool, log, limits })
  const balance = () =>
    scalar<number>(book.pool, 'SELECT balance FROM ledger_accounts WHERE id = $1', [`grant:${grantId}`])
  const drained = (units: number) => async () => {
    await drainAll(book)
    return (await balance()) === units
  }
  try {
    await until('the free part expires', drained(200))
    await proxy.settle(accountId, requestId, 150, 200)
    await until('the rest expires', drained(0))
    const listed = () => book.redis.hget(accountKey(shardOf(accountId), accountId), 'g')
    await until('the grant leaves Redis', async () => (await listed()) === '')
    const open = () => scalar<number>(book.pool, 'SELECT count(*) FROM open_grants WHERE grant_id = $1', [grantId])
    await until('the sweep is done with it', async () => (await open()) === 0)
  } finally {
    await sweeper.stop()
  }
  assert.deepEqual(await balanceOf(book.pool, accountId), { coinNanos: 1_000, grants: [] })
  await assertCleanAudit(book)
})

test('Redis emptied again while the state is loaded: admission stays closed until all is loaded anew', async () => {
  const accountId = await fundedAccount(book, 1_000)
  await book.redis.flushall()
  const options = { ...book, log, limits, beforeOpen: async () => void (await book.redis.flushall()) }
  await assert.rejects(ensureAdmission(options), LostShardError)
  assert.equal((await proxy.hold(accountId, newId('req'), 1)).code, HoldCode.CLOSED)
  assert.equal(await ensureOpen(book), 'rebuilt')
  assert.equal((await proxy.hold(accountId, newId('req'), 1)).code, HoldCode.OK)
})

test('a loading superseded by a later one writes no further state', async () => {
  const { ShardWriter, OutdatedLoadError } = await import('../../../control/admission/shardWriter.ts')
  const [early, late] = [new ShardWriter(book.redis, 1_000_001), new ShardWriter(book.redis, 1_000_002)]
  await early.close(7)
  await early.write(7, [['SET', 'probe:{s07}', 'early']])
  await late.close(7)
  await late.write(7, [['SET', 'probe:{s07}', 'late']])
  await assert.rejects(early.write(7, [['SET', 'probe:{s07}', 'early again']]), OutdatedLoadError)
  assert.equal(await book.redis.get('probe:{s07}'), 'late')
})

test('while every shard is marked, no request is admitted before all are loaded', async () => {
  await book.redis.flushall()
  const accountId = await fundedAccount(book, 1_000)
  await book.pool.query(
    `INSERT INTO admission_dirty (shard, reason) SELECT shard, 'test' FROM generate_series(0, 62) AS shard`,
  )
  await closeMarked(book.pool, book.redis)
  assert.equal((await proxy.hold(accountId, newId('req'), 1)).code, HoldCode.OK)
  await book.pool.query(`INSERT INTO admission_dirty (shard, reason) VALUES (63, 'test')`)
  await closeMarked(book.pool, book.redis)
  assert.equal((await proxy.hold(accountId, newId('req'), 1)).code, HoldCode.CLOSED)
  assert.equal(await ensureOpen(book), 'rebuilt')
  assert.equal((await proxy.hold(accountId, newId('req'), 1)).code, HoldCode.OK)
})
