// Goal: what is booked or marked while the admission state is loaded from the book is neither missed nor counted twice.
// Method: the loading over a real book and a real Redis, with a booking that is held up, and with a mark, in its middle.
import './ledger-limits.ts'
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { EventDispatcher } from '../../control/admission/dispatcher.ts'
import { drainStream } from '../../control/admission/drainStream.ts'
import { ensureAdmission } from '../../control/admission/keeper.ts'
import { newId } from '../../control/contract/ids.ts'
import { SHARD_COUNT } from '../../control/contract/redisKeys.ts'
import { bookEntries } from '../../control/settlement/bookEntries.ts'
import { parseEntry } from '../../control/settlement/entry.ts'
import { ensureGroups, readGroup } from '../../control/settlement/streamReader.ts'
import { assertCleanAudit, type Book, log, newAccount, scalar, startBook, TestProxy, until } from './ledger-support.ts'

let book: Book
let proxy: TestProxy
before(async () => {
  book = await startBook()
  proxy = new TestProxy(book.redis)
})
after(() => book.stop())

const ensure = () => ensureAdmission({ pool: book.pool, redis: book.redis, log })

async function drainAll(): Promise<void> {
  for (let shard = 0; shard < SHARD_COUNT; shard++) await drainStream(book.redis, book.pool, shard)
}

async function openAccount(coinUnits: number): Promise<string> {
  const accountId = await newAccount(book.pool, coinUnits)
  await ensure()
  const dispatcher = new EventDispatcher({ pool: book.pool, redis: book.redis, log })
  await until('the account is in Redis', () => dispatcher.bring([accountId])).finally(() => dispatcher.stop())
  return accountId
}

test('what is being booked while its shard is loaded is waited for', async () => {
  const accountId = await openAccount(1_000)
  const requestId = newId('req')
  await proxy.hold(accountId, requestId, 100)
  await proxy.settle(accountId, requestId, 100, 100)
  await ensureGroups(book.redis)
  const inHand = (await readGroup(book.redis, 'slow', '>', 100, 0)).map(parseEntry)
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
  const spend = async (): Promise<void> => {
    const next = newId('req')
    await proxy.hold(accountId, next, 10)
    await proxy.settle(accountId, next, 10, 10)
  }
  await until('the shards are loaded, or wait for the booking', async () => isLoaded || (await waiting()) === 2)
  const isEarly = isLoaded
  // An entry of a later time than that which was lost, so that the stream does not seem to be behind the book.
  if (isEarly) await spend()
  await blocker.query('ROLLBACK')
  blocker.release()
  await Promise.all([booking, loading])
  if (!isEarly) await spend()
  await drainAll()
  await ensure()
  assert.equal(await proxy.freeCoin(accountId), 890)
  await assertCleanAudit(book)
})

test('a shard that is marked while all are loaded is loaded once more, whatever the clock of the book says', async () => {
  await openAccount(1_000)
  await book.redis.flushall()
  const beforeOpen = async (): Promise<void> => {
    await book.pool.query(
      `INSERT INTO admission_dirty (shard, reason, at) VALUES (3, 'test', now() - interval '1 hour')`,
    )
  }
  assert.equal(await ensureAdmission({ pool: book.pool, redis: book.redis, log, beforeOpen }), 'rebuilt')
  assert.equal(await ensure(), 'reloaded')
  assert.equal(await ensure(), 'unchanged')
})
