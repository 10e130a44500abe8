// Goal: what is booked or marked while the admission state is loaded from the book is neither missed nor counted twice.
// Method: the loading over a real book and a real Redis, with a booking that is held up, and with a mark, in its middle.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ensureAdmission } from '../../../control/admission/keeper.ts'
import { bookEntries } from '../../../control/book/settlement/bookEntries.ts'
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
