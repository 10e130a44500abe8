import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { newId } from '../../../contract/wire/ids.ts'
import { PAYMENTS_IN } from '../../../control/book/ledger/accounts.ts'
import { balanceOf } from '../../../control/book/ledger/balanceOf.ts'
import { creditCoin } from '../../../control/book/ledger/creditCoin.ts'
import { grantCredits, TooManyGrantsError } from '../../../control/book/ledger/grantCredits.ts'
import { openAccount } from '../../../control/book/ledger/openAccount.ts'
import { postTransfers } from '../../../control/book/ledger/postTransfers.ts'
import { migrate } from '../../../control/runtime/db/migrate.ts'
import { type Client, createPool, withTransaction } from '../../../control/runtime/db/pool.ts'
import { ledgerLimits as limits } from '../../support/limits.ts'
import { type Book, newAccount, scalar, startBook } from '../../support/parts/ledger.ts'
import { freshDatabase } from '../../support/services.ts'
import { until } from '../../support/until.ts'

let book: Book
before(async () => {
  book = await startBook()
})
after(() => book.stop())

const inTransaction = <T>(work: (client: Client) => Promise<T>) => withTransaction(book.pool, work)
const LATER_MS = Date.now() + 86_400_000

test('migrations run once, also when several processes start at the same time', async () => {
  const pool = createPool(await freshDatabase({ empty: true }), limits)
  const runs = await Promise.all([migrate(pool), migrate(pool), migrate(pool)])
  const applied = await pool.query<{ name: string }>('SELECT name FROM schema_migrations')
  assert.deepEqual(runs.flat().sort(), applied.rows.map(({ name }) => name).sort())
  assert.ok(applied.rows.length > 0)
  assert.deepEqual(await migrate(pool), [])
  await pool.end()
})

test('an account opens once, and its first event is number 1', async () => {
  const accountId = newId('acct')
  assert.equal(await inTransaction((client) => openAccount(client, accountId)), true)
  assert.equal(await inTransaction((client) => openAccount(client, accountId)), false)
  const events = await book.pool.query('SELECT seq, coin_delta FROM admission_events WHERE account_id = $1', [
    accountId,
  ])
  assert.deepEqual(events.rows, [{ seq: 1, coin_delta: 0 }])
  assert.deepEqual(await balanceOf(book.pool, accountId), { coinNanos: 0, grants: [] })
  assert.equal(await balanceOf(book.pool, newId('acct')), undefined)
})

test('a payment is credited once, notifies admission once, and never changes its amount', async () => {
  const accountId = await newAccount(book.pool, 0)
  const credit = { accountId, nanos: 700, units: 700, ref: newId('evt') }
  const results = await Promise.all([1, 2, 3].map(() => inTransaction((client) => creditCoin(client, credit))))
  assert.equal(results.filter(Boolean).length, 1)
  await assert.rejects(
    inTransaction((client) => creditCoin(client, { ...credit, nanos: 701 })),
    /another amount/,
  )
  assert.equal((await balanceOf(book.pool, accountId))?.coinNanos, 700)
  assert.equal(await scalar(book.pool, 'SELECT seq FROM admission_accounts WHERE account_id = $1', [accountId]), 2)
})

test('a posting that waited for an account adds to the balance that the other posting left', async () => {
  const customers = [await newAccount(book.pool, 0), await newAccount(book.pool, 0)]
  const paidIn = () => scalar<number>(book.pool, 'SELECT balance FROM ledger_accounts WHERE id = $1', [PAYMENTS_IN])
  const before = await paidIn()
  const credit = (accountId: string) =>
    inTransaction((client) => creditCoin(client, { accountId, nanos: 5, units: 5, ref: newId('evt') }))
  const [first, second] = customers as [string, string]
  let waiting: Promise<unknown> | undefined
  await inTransaction(async (client) => {
    await creditCoin(client, { accountId: first, nanos: 5, units: 5, ref: newId('evt') })
    waiting = credit(second)
    const locks = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
    await until('the second posting waits', async () => (await scalar<number>(book.pool, locks)) > 0)
  })
  await waiting
  assert.equal(await paidIn(), before - 10)
  for (const accountId of customers) assert.equal((await balanceOf(book.pool, accountId))?.coinNanos, 5)
})

test('amounts that are not positive integers, and unknown accounts, are rejected', async () => {
  const accountId = await newAccount(book.pool, 0)
  for (const units of [0, -1, 0.5, Number.NaN, 2 ** 53]) {
    await assert.rejects(
      inTransaction((client) => creditCoin(client, { accountId, nanos: units, units, ref: 'r' })),
      RangeError,
    )
    const grant = { accountId, units, source: 's', expiresAtMs: LATER_MS }
    await assert.rejects(
      inTransaction((client) => grantCredits(client, grant, limits)),
      RangeError,
    )
  }
  const stranger = { accountId: newId('acct'), nanos: 5, units: 5, ref: 'r' }
  await assert.rejects(
    inTransaction((client) => creditCoin(client, stranger)),
    { code: '23503' },
  )
  assert.equal(await scalar(book.pool, `SELECT count(*) FROM transfers WHERE ref = 'r'`), 0)
})

test('grants are listed soonest expiry first, granted once, and bounded also under concurrency', async () => {
  const accountId = await newAccount(book.pool, 0)
  const grant = (expiresAtMs: number, ref?: string) =>
    inTransaction((client) =>
      grantCredits(client, { accountId, units: 10, source: 'welcome', expiresAtMs, ...(ref ? { ref } : {}) }, limits),
    )
  const late = await grant(LATER_MS + 5, 'first')
  const soon = await grant(LATER_MS)
  assert.deepEqual(await grant(LATER_MS + 5, 'first'), { grantId: late.grantId, granted: false })
  const balance = await balanceOf(book.pool, accountId)
  assert.deepEqual(
    balance?.grants.map((open) => open.grantId),
    [soon.grantId, late.grantId],
  )
  const more = await Promise.allSettled([1, 2, 3, 4, 5, 6].map(() => grant(LATER_MS)))
  const refused = more.filter((result) => result.status === 'rejected' && result.reason instanceof TooManyGrantsError)
  assert.equal(refused.length, 3)
  assert.equal((await balanceOf(book.pool, accountId))?.grants.length, 5)
})

test('a grant is named within its account, and never changes its amount', async () => {
  const ref = newId('evt')
  const [first, second] = [await newAccount(book.pool, 0), await newAccount(book.pool, 0)]
  const grant = (accountId: string, units: number) =>
    inTransaction((client) =>
      grantCredits(client, { accountId, units, source: 's', expiresAtMs: LATER_MS, ref }, limits),
    )
  assert.equal((await grant(first, 10)).granted, true)
  assert.equal((await grant(second, 10)).granted, true)
  await assert.rejects(grant(first, 11), /another amount: 0\.00000001 USD of credits then, 0\.000000011 USD now/)
  assert.deepEqual((await balanceOf(book.pool, second))?.grants.length, 1)
})

test('the database rejects changes and deletions of entries, and manual changes of a balance', async () => {
  await newAccount(book.pool, 5)
  const refused = [
    'UPDATE transfers SET units = units + 1',
    'DELETE FROM transfers',
    'TRUNCATE transfers',
    `UPDATE receipts SET status = 'ok'`,
    'DELETE FROM receipts',
    'TRUNCATE receipts',
    'UPDATE grants SET units = 1',
    'TRUNCATE grants',
    'DELETE FROM usage_log_nodes',
    'DELETE FROM usage_log_heads',
    'UPDATE usage_log_heads SET size = size WHERE log = 64',
    'UPDATE usage_log_heads SET size = size - 1 WHERE log = 3',
    'UPDATE ledger_accounts SET balance = 0',
    'DELETE FROM ledger_accounts',
    `INSERT INTO ledger_accounts (id, kind, balance) VALUES ('coin:x', 'coin', 5)`,
  ]
  for (const sql of refused) await assert.rejects(book.pool.query(sql), { code: '23000' }, sql)
})

test('no customer balance becomes negative, and a rejected posting leaves no rows', async () => {
  const accountId = await newAccount(book.pool, 100)
  const charge = (units: number) => ({
    kind: 'charge',
    ref: newId('req'),
    debit: `coin:${accountId}`,
    credit: 'revenue',
    units,
  })
  await assert.rejects(postTransfers(book.pool, [charge(60), charge(41)]), { code: '23514' })
  assert.equal((await balanceOf(book.pool, accountId))?.coinNanos, 100)
  const results = await Promise.allSettled(Array.from({ length: 20 }, () => postTransfers(book.pool, [charge(10)])))
  assert.equal(results.filter((result) => result.status === 'fulfilled').length, 10)
  assert.equal((await balanceOf(book.pool, accountId))?.coinNanos, 0)
})

test('balances follow any sequence of transfers, and postings sum to zero', async () => {
  const accounts = await Promise.all(Array.from({ length: 4 }, () => newAccount(book.pool, 1_000)))
  const ids = [...accounts.map((id) => `coin:${id}`), 'revenue', 'house', 'payments_in']
  const transfer = fc
    .record({
      debit: fc.nat(ids.length - 1),
      credit: fc.nat(ids.length - 1),
      units: fc.integer({ min: 1, max: 400 }),
    })
    .filter(({ debit, credit }) => debit !== credit)
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(transfer, { minLength: 1, maxLength: 6 }), { maxLength: 6 }),
      async (batches) => {
        await Promise.allSettled(
          batches.map((batch) =>
            postTransfers(
              book.pool,
              batch.map(({ debit, credit, units }) => ({
                kind: 'test',
                ref: newId('evt'),
                debit: ids[debit] ?? '',
                credit: ids[credit] ?? '',
                units,
              })),
            ),
          ),
        )
        assert.equal(await scalar(book.pool, 'SELECT sum(amount) FROM postings'), 0)
        const wrong = await book.pool.query(`
        SELECT id FROM ledger_accounts a WHERE balance <>
          (SELECT coalesce(sum(amount), 0) FROM postings p WHERE p.account = a.id) OR (balance < 0 AND kind <> 'system')`)
        assert.deepEqual(wrong.rows, [])
      },
    ),
    { numRuns: 30 },
  )
})
