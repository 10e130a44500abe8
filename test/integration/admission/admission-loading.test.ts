// Goal: what is booked or marked while the admission state is loaded from the book is neither missed nor counted twice, and one
// account that Redis fails for holds up no other.
// Method: the loading over a real book and a real Redis, with a booking that is held up, and with a mark, in its middle.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '../../../contract/wire/ids.ts'
import { accountKey, debitsKey, holdsKey, leasesKey, shardOf } from '../../../contract/wire/redisKeys.ts'
import { Debits } from '../../../control/admission/debits/debit.ts'
import { debitKeeper } from '../../../control/admission/debits/debitKeeper.ts'
import { EventDispatcher } from '../../../control/admission/dispatcher.ts'
import { GrantSweeper } from '../../../control/admission/grantSweeper.ts'
import { ensureAdmission } from '../../../control/admission/keeper.ts'
import { creditCoin } from '../../../control/book/ledger/creditCoin.ts'
import { grantCredits } from '../../../control/book/ledger/grantCredits.ts'
import { bookEntries } from '../../../control/book/settlement/bookEntries.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { ledgerLimits as limits } from '../../support/limits.ts'
import {
  assertCleanAudit,
  type Book,
  dispatchEvents,
  drainAll,
  ensureOpen,
  fundedAccount,
  log,
  newAccount,
  orphanVoider,
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

/** Has Redis fail for an account. @returns what ends that */
async function breakAccount(accountId: string): Promise<() => Promise<unknown>> {
  const key = accountKey(shardOf(accountId), accountId)
  await book.redis.rename(key, `${key}:aside`)
  await book.redis.set(key, 'no hash')
  return () => book.redis.rename(`${key}:aside`, key)
}

/** Two accounts of one shard and one of a later shard, in the order in which shards are looked at. */
async function accountsInOrder(): Promise<[string, string, string]> {
  for (const found: string[] = []; ; found.push(await newAccount(book.pool, 1_000))) {
    for (const first of found) {
      const second = found.find((one) => one !== first && shardOf(one) === shardOf(first))
      const third = found.find((one) => shardOf(one) > shardOf(first))
      if (second !== undefined && third !== undefined) return [first, second, third]
    }
  }
}

/** Leaves the debit of a process that died before it booked it. */
async function leaveDebit(accountId: string): Promise<void> {
  const client = await book.pool.connect()
  await client.query('BEGIN')
  const debit = { id: newId('lnk'), accountId, nanos: 10, units: 10 }
  await new Debits(book.pool, book.redis, limits).take({ client, onRollback: () => undefined }, debit)
  await client.query('ROLLBACK')
  client.release()
}

/** What is left of accounts, and what Redis fails for. */
interface Left {
  readonly of: () => Promise<string[]>
  /** Has Redis fail for the first of the accounts. @returns what ends that */
  readonly fail: () => Promise<() => Promise<unknown>>
}

/** The accounts that are named in hashes of Redis. */
async function namedIn(keyOf: (shard: number) => string, accountIds: readonly string[]): Promise<string[]> {
  const keys = [...new Set(accountIds.map((accountId) => keyOf(shardOf(accountId))))]
  const texts = (await Promise.all(keys.map((key) => book.redis.hvals(key)))).flat()
  return accountIds.filter((accountId) => texts.some((text) => text.includes(accountId)))
}

const CLEANERS: Record<
  string,
  { leave: (accountIds: [string, string, string]) => Promise<Left>; start: () => { stop(): Promise<void> } }
> = {
  'debits that are left behind': {
    leave: async (accountIds) => {
      for (const accountId of accountIds) await leaveDebit(accountId)
      return { of: () => namedIn(debitsKey, accountIds), fail: () => breakAccount(accountIds[0]) }
    },
    start: () => debitKeeper({ ...book, log, debits: new Debits(book.pool, book.redis, limits), limits }),
  },
  'expired grants': {
    leave: async (accountIds) => {
      for (const accountId of accountIds) {
        const grant = { accountId, units: 100, expiresAtMs: Date.now() + 100, source: 'tests' }
        await withTransaction(book.pool, (client) => grantCredits(client, grant, limits))
      }
      await dispatchEvents(book)
      const of = async () => {
        await drainAll(book)
        const found = await book.pool.query<{ account_id: string }>(
          'SELECT account_id FROM open_grants WHERE account_id = ANY ($1)',
          [accountIds],
        )
        return found.rows.map((row) => row.account_id)
      }
      return { of, fail: () => breakAccount(accountIds[0]) }
    },
    start: () => new GrantSweeper({ ...book, log, limits }),
  },
  'holds of a process that is gone': {
    leave: async (accountIds) => {
      const gone = new TestProxy(book.redis)
      await gone.beat()
      for (const accountId of accountIds) await gone.newHold(accountId, 10)
      const fail = async () => {
        const key = leasesKey(shardOf(accountIds[0]), gone.owner)
        await book.redis.set(key, 'no hash')
        return () => book.redis.del(key)
      }
      return { of: () => namedIn((shard) => holdsKey(shard, gone.owner), accountIds), fail }
    },
    start: () => orphanVoider(book),
  },
}

for (const [what, { leave, start }] of Object.entries(CLEANERS)) {
  test(`${what} are ended for the others while Redis fails for one account`, async () => {
    const accountIds = await accountsInOrder()
    const [stuck] = accountIds
    await ensure()
    await dispatchEvents(book)
    const left = await leave(accountIds)
    assert.deepEqual((await left.of()).sort(), [...accountIds].sort())
    const mend = await left.fail()
    const cleaner = start()
    try {
      const ofOthers = async () => (await left.of()).filter((accountId) => accountId !== stuck)
      await until('those of the others are ended', async () => (await ofOthers()).length === 0).finally(mend)
      await until('those of the first, too', async () => (await left.of()).length === 0)
    } finally {
      await cleaner.stop()
    }
    await drainAll(book)
    for (const accountId of accountIds) assert.equal(await proxy.freeCoin(accountId), 1_000)
    await assertCleanAudit(book)
  })
}

test('coin reaches the others while Redis does not take that of one account', async () => {
  const [stuck, other] = [await fundedAccount(book, 1_000), await fundedAccount(book, 1_000)]
  const mend = await breakAccount(stuck)
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
    await mend()
    await until('that of the first, too', async () => (await waiting(stuck)) === 0)
    assert.equal(await proxy.freeCoin(stuck), 1_050)
  } finally {
    await dispatcher.stop()
  }
  await assertCleanAudit(book)
})
