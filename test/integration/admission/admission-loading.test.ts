// Goal: what is booked or marked while the admission state is loaded from the book is neither missed nor counted twice, and one
// account that Redis fails for holds up no other.
// Method: the loading over a real book and a real Redis, with a booking that is held up, and with a mark, in its middle.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '../../../contract/wire/ids.ts'
import { accountKey, shardOf } from '../../../contract/wire/redisKeys.ts'
import { EventDispatcher } from '../../../control/admission/dispatcher.ts'
import { ensureAdmission } from '../../../control/admission/keeper.ts'
import { creditCoin } from '../../../control/book/ledger/creditCoin.ts'
import { bookEntries } from '../../../control/book/settlement/bookEntries.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { ledgerLimits as limits } from '../../support/limits.ts'
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
  takeInHand,
  until,
} from '../../support/parts/ledger.ts'

let book: Book
let proxy: TestProxy
before(async () => {
  book = await startBook()
  proxy = new TestProxy(book.redis)
})
after(() => book.stop())

const ensure = () => ensureOpen(book)

test('loading a shard waits for bookings in progress', async () => {
  const accountId = await fundedAccount(book, 1_000)
  await proxy.serve(accountId, 100)
  const inHand = await takeInHand(book)
  await book.redis.flushall()
  const waiting = (): Promise<number> =>
    scalar(
      book.pool,
      `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    )
  const blocker = await book.pool.connect()
  await blocker.query('BEGIN')
  await blocker.query('SELECT FROM ledger_accounts WHERE id = $1 FOR UPDATE', [`coin:${accountId}`])
  const booking = bookEntries(book.pool, inHand)
  await until('the booking is under way', async () => (await waiting()) === 1)
  let isLoaded = false
  const loading = ensure().finally(() => {
    isLoaded = true
  })
  const spend = () => proxy.serve(accountId, 10)
  await until('the shards are loaded, or wait for the booking', async () => isLoaded || (await waiting()) === 2)
  const isEarly = isLoaded
  // An entry of a later time than that which was lost, so that the stream does not seem to be behind the book.
  if (isEarly) await spend()
  await blocker.query('ROLLBACK')
  blocker.release()
  await Promise.all([booking, loading])
  if (!isEarly) await spend()
  await drainAll(book)
  await ensure()
  assert.equal(await proxy.freeCoin(accountId), 890)
  await assertCleanAudit(book)
})

test('a shard marked while all are loaded is loaded once more, independent of the database clock', async () => {
  await fundedAccount(book, 1_000)
  await book.redis.flushall()
  const beforeOpen = async (): Promise<void> => {
    await book.pool.query(
      `INSERT INTO admission_dirty (shard, reason, at) VALUES (3, 'test', now() - interval '1 hour')`,
    )
  }
  assert.equal(await ensureAdmission({ pool: book.pool, redis: book.redis, log, beforeOpen, limits }), 'rebuilt')
  assert.equal(await ensure(), 'reloaded')
  assert.equal(await ensure(), 'unchanged')
})

test('coin reaches the others while Redis does not take that of one account', async () => {
  const [stuck, other] = [await fundedAccount(book, 1_000), await fundedAccount(book, 1_000)]
  const key = accountKey(shardOf(stuck), stuck)
  await book.redis.rename(key, `${key}:aside`)
  await book.redis.set(key, 'no hash')
  for (const accountId of [stuck, other]) {
    const credit = { accountId, nanos: 50, units: 50, ref: newId('evt') }
    await withTransaction(book.pool, (client) => creditCoin(client, credit))
  }
  const waiting = (accountId: string) =>
    scalar<number>(book.pool, 'SELECT count(*) FROM admission_events WHERE account_id = $1', [accountId])
  const dispatcher = new EventDispatcher({ pool: book.pool, redis: book.redis, log, limits })
  try {
    await until('the coin of the other is told', async () => (await waiting(other)) === 0)
    assert.equal(await proxy.freeCoin(other), 1_050)
    assert.equal(await waiting(stuck), 1)
    await book.redis.rename(`${key}:aside`, key)
    await until('that of the first, too', async () => (await waiting(stuck)) === 0)
    assert.equal(await proxy.freeCoin(stuck), 1_050)
  } finally {
    await dispatcher.stop()
  }
  await assertCleanAudit(book)
})
