// Goal: registered providers are paid from coin alone, so that credits never become coin, and the audit finds pay that disagrees
// with the receipts. Method: the parts of control without HTTP, over a real book.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { bookEntries } from '../../../control/book/settlement/bookEntries.ts'
import { openNewAccount } from '../../../control/identity/accounts/accounts.ts'
import { PPM } from '../../../control/products/marketplace/serving/admission.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { ledgerLimits as limits } from '../../support/limits.ts'
import { type Book, scalar } from '../../support/parts/ledger.ts'
import { admit, charge, failed, payAll, register, startProviderBook } from '../../support/parts/providerBook.ts'

let book: Book
before(async () => {
  book = await startProviderBook()
})
after(() => book.stop())

/** What is done to the database, how it is undone, and the check that finds it. */
const TAMPERINGS = [
  [
    'UPDATE provider_admissions SET charged_units = charged_units + 1',
    'UPDATE provider_admissions SET charged_units = charged_units - 1',
    'counts once',
  ],
  [
    'UPDATE provider_admissions SET receipts = receipts + 1',
    'UPDATE provider_admissions SET receipts = receipts - 1',
    'counts once',
  ],
  [
    'UPDATE provider_admissions SET rest = (rest + 1) % 1000000',
    'UPDATE provider_admissions SET rest = (rest + 999999) % 1000000',
    'paid what is due',
  ],
  [
    'UPDATE provider_earnings SET units = units + 1',
    'UPDATE provider_earnings SET units = units - 1',
    'paid what is due',
  ],
  [
    'UPDATE provider_earnings SET due_micros = due_micros + 1',
    'UPDATE provider_earnings SET due_micros = due_micros - 1',
    'counts once',
  ],
  [
    "UPDATE transfers SET credit = 'house' WHERE kind = 'provider_share'",
    `UPDATE transfers t SET credit = 'coin:' || a.account_id FROM provider_admissions a
     WHERE kind = 'provider_share' AND ref LIKE a.id || ':%'`,
    'paid what is due',
  ],
  [
    'UPDATE provider_cursors SET position = position + 1',
    'UPDATE provider_cursors SET position = position - 1',
    'counts once',
  ],
  [
    "INSERT INTO transfers (kind, ref, debit, credit, units) VALUES ('provider_probe', 'prb_x', 'provider_cost', 'house', 1)",
    "DELETE FROM transfers WHERE ref = 'prb_x'",
    'comparison of a registered provider',
  ],
] as const

async function tamper(sql: string): Promise<void> {
  await withTransaction(book.pool, async (client) => {
    await client.query('SET LOCAL session_replication_role = replica')
    await client.query(sql)
  })
}

test('the audit finds pay that disagrees with the receipts', async () => {
  const [earner, accountId] = [
    await openNewAccount(book.pool, limits),
    await openNewAccount(book.pool, limits, { coinNanos: 1_000_000 }),
  ]
  const provider = await register(book, earner)
  await admit(book, provider, { kind: 'share', ppm: 333_333 })
  await bookEntries(book.pool, [charge(accountId, provider, { coin: 999 }, 10)])
  await payAll(book)
  assert.deepEqual(await failed(book), [])
  for (const [change, undo, check] of TAMPERINGS) {
    await tamper(change)
    const found = await failed(book)
    assert.ok(
      found.some((line) => line.includes(check)),
      `${change}: ${found}`,
    )
    await tamper(undo)
  }
  assert.deepEqual(await failed(book), [])
})

test('credits that an account spends at an endpoint of its own person never become coin', async () => {
  const [earner, accomplice] = [
    await openNewAccount(book.pool, limits),
    await openNewAccount(book.pool, limits, { creditUnits: 1_000_000 }),
  ]
  const grantId = await scalar<string>(book.pool, 'SELECT id FROM grants WHERE account_id = $1', [accomplice])
  for (const pay of [
    { kind: 'share', ppm: PPM },
    { kind: 'price', input: 10 ** 12, cachedInput: 10 ** 12, output: 10 ** 12 },
  ] as const) {
    const provider = await register(book, earner)
    await admit(book, provider, pay)
    const spent = Array.from({ length: 9 }, () =>
      charge(accomplice, provider, { coin: 0, credits: 1_000, grantId }, 50),
    )
    await bookEntries(book.pool, spent)
    await payAll(book)
    assert.equal(
      await scalar(book.pool, 'SELECT receipts FROM provider_admissions WHERE provider_id = $1', [provider]),
      9,
    )
  }
  assert.equal(await scalar(book.pool, `SELECT balance FROM ledger_accounts WHERE id = 'coin:' || $1`, [earner]), 0)
  assert.deepEqual(await failed(book), [])
})

/** An account whose receipts lie in a log of their own, because what the migration leaves behind is of a whole log. */
async function accountOfNewLog(): Promise<string> {
  const { rows } = await book.pool.query<{ log: number }>('SELECT DISTINCT log FROM receipts')
  const used = new Set(rows.map(({ log }) => log))
  for (;;) {
    const accountId = await openNewAccount(book.pool, limits, { creditUnits: 10_000 })
    if (!used.has(shardOf(accountId))) return accountId
  }
}

test('receipts that were counted before credits were left out keep their pay', async () => {
  const earner = await openNewAccount(book.pool, limits)
  const accountId = await accountOfNewLog()
  const grantId = await scalar<string>(book.pool, 'SELECT id FROM grants WHERE account_id = $1', [accountId])
  const provider = await register(book, earner)
  await admit(book, provider, { kind: 'share', ppm: PPM / 2 })
  await bookEntries(book.pool, [charge(accountId, provider, { coin: 0, credits: 1_000, grantId }, 50)])
  const [log, position] = await Promise.all(
    ['log', 'position'].map((name) =>
      scalar<number>(book.pool, `SELECT ${name} FROM receipts WHERE provider = $1`, [provider]),
    ),
  )
  // As the migration leaves it behind.
  const until = (place: number) =>
    book.pool.query('UPDATE provider_cursors SET whole_until = $2 WHERE log = $1', [log, place])
  await until((position ?? 0) + 1)
  await payAll(book)
  await bookEntries(book.pool, [charge(accountId, provider, { coin: 0, credits: 1_000, grantId }, 50)])
  await payAll(book)
  assert.equal(await scalar(book.pool, `SELECT balance FROM ledger_accounts WHERE id = 'coin:' || $1`, [earner]), 500)
  assert.deepEqual(await failed(book), [])
})
