// Goal: every receipt counts for a referral exactly once, however settlement, attaching and several payers interleave, and
// the audit finds what does not agree. Method: random steps at once over the parts of control without HTTP.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { MAX_UNITS } from '../../../contract/money/units.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { auditBook } from '../../../control/audit/runAudit.ts'
import { coinAccount } from '../../../control/book/ledger/accounts.ts'
import { bookEntries } from '../../../control/book/settlement/bookEntries.ts'
import { type Entry, parseEntry } from '../../../control/book/settlement/entry.ts'
import { openNewAccount } from '../../../control/identity/accounts/accounts.ts'
import { referralCode } from '../../../control/products/transfers/referrals/codes.ts'
import { attachReferrer } from '../../../control/products/transfers/referrals/referrals.ts'
import { payShares } from '../../../control/products/transfers/referrals/share.ts'
import { OPERATOR } from '../../../control/runtime/activity/activity.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { ledgerLimits as limits } from '../../support/limits.ts'
import { type Book, scalar, settlementOf, startBook } from '../../support/parts/ledger.ts'

const ACCOUNTS = 3
const COIN_UNITS = 1_000_000

let book: Book

before(async () => {
  book = await startBook()
})
after(() => book.stop())

let entries = 0

/** A charge as it is read from a stream. */
function charge(accountId: string, units: number): Entry {
  const shard = shardOf(accountId)
  const settlement = settlementOf({ requestId: newId('req'), accountId, chargeUnits: units })
  const fields = ['e', settlement, 'c', String(units), 't', String(Date.now()), 's', units > 0 ? `coin=${units}` : '']
  const pairs = fields.map((field) => (typeof field === 'string' ? Buffer.from(field) : field))
  return parseEntry({ shard, id: `${Date.now()}-${++entries}`, fields: pairs })
}

type Step =
  | { readonly kind: 'charge'; readonly of: number; readonly units: number[] }
  | { readonly kind: 'attach'; readonly of: number }
  | { readonly kind: 'pay' }
const of = fc.nat(ACCOUNTS - 1)
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('charge' as const),
    of,
    units: fc.array(fc.integer({ min: 0, max: 333 }), { minLength: 1, maxLength: 9 }),
  }),
  fc.record({ kind: fc.constant('attach' as const), of }),
  fc.record({ kind: fc.constant('pay' as const) }),
)

async function payAll(): Promise<void> {
  while (await payShares(book.pool, limits));
}

async function failed(): Promise<string[]> {
  const checks = await auditBook(book.pool, limits)
  return checks.filter((check) => !check.ok).map((check) => `${check.name}: ${check.detail}`)
}

test('without referrals the position advances immediately, and a referral counts from there', async () => {
  const [referrer, accountId] = [
    await openNewAccount(book.pool, limits),
    await openNewAccount(book.pool, limits, { coinNanos: COIN_UNITS }),
  ]
  await bookEntries(book.pool, [charge(accountId, 500), charge(accountId, 500)])
  assert.equal(await payShares(book.pool, limits), false)
  assert.equal(await scalar<number>(book.pool, 'SELECT sum(position) FROM referral_cursors'), 2)
  const code = await referralCode(book.pool, referrer)
  await withTransaction(book.pool, (client) => attachReferrer(client, OPERATOR, accountId, code, limits))
  await bookEntries(book.pool, [charge(accountId, 39)])
  await payAll()
  const read = 'SELECT earned_units * 10000 + rest FROM referrals WHERE account_id = $1'
  assert.equal(await scalar<number>(book.pool, read, [accountId]), 39 * 500)
})

test('a referrer whose account is full does not keep others from their shares', async () => {
  const earned: string[] = []
  for (const coinNanos of [MAX_UNITS, 1]) {
    const referrer = await openNewAccount(book.pool, limits, { coinNanos })
    const accountId = await openNewAccount(book.pool, limits, { coinNanos: COIN_UNITS })
    const code = await referralCode(book.pool, referrer)
    await withTransaction(book.pool, (client) => attachReferrer(client, OPERATOR, accountId, code, limits))
    await bookEntries(book.pool, [charge(accountId, 10_000)])
    earned.push(coinAccount(referrer))
  }
  await payAll()
  const balance = (id: string | undefined) =>
    scalar<number>(book.pool, 'SELECT balance FROM ledger_accounts WHERE id = $1', [id])
  assert.deepEqual([await balance(earned[0]), await balance(earned[1])], [MAX_UNITS, 501])
  assert.deepEqual(await failed(), [])
})

test('every coin charge counts once, in any interleaving', async () => {
  const batches = fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { minLength: 3, maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(batches, async (plan) => {
      const referrer = await openNewAccount(book.pool, limits)
      const code = await referralCode(book.pool, referrer)
      const accounts = await Promise.all(
        Array.from({ length: ACCOUNTS }, () => openNewAccount(book.pool, limits, { coinNanos: COIN_UNITS })),
      )
      const account = (index: number) => accounts[index] ?? assert.fail()
      const attached = new Set<number>()
      for (const batch of plan) {
        await Promise.all(
          batch.map(async (next) => {
            if (next.kind === 'charge') {
              await bookEntries(
                book.pool,
                next.units.map((units) => charge(account(next.of), units)),
              )
            } else if (next.kind === 'pay') await payShares(book.pool, limits)
            else if (!attached.has(next.of)) {
              attached.add(next.of)
              await withTransaction(book.pool, (client) =>
                attachReferrer(client, OPERATOR, account(next.of), code, limits),
              )
            }
          }),
        )
      }
      await Promise.all([payAll(), payAll(), payAll()])
      assert.deepEqual(await failed(), [])
      const earned = await scalar<number>(book.pool, `SELECT balance FROM ledger_accounts WHERE id = 'coin:' || $1`, [
        referrer,
      ])
      const due = await scalar<number>(
        book.pool,
        `SELECT coalesce(sum(units), 0) FROM (
           SELECT floor(sum(r.charge_units) * 5 / 100) AS units FROM referrals f
           JOIN receipts r ON r.account_id = f.account_id AND r.position >= f.from_positions[r.log + 1]
           WHERE f.referrer_id = $1 GROUP BY f.id) AS shares`,
        [referrer],
      )
      assert.equal(earned, due)
    }),
    { numRuns: 15, endOnFailure: true },
  )
})

const positionsPlus = (more: number) =>
  `(SELECT array_agg(at + ${more} ORDER BY place) FROM unnest(from_positions) WITH ORDINALITY AS p (at, place))`

/** What is done to the database, how it is undone, and the check that finds it. */
const TAMPERINGS = [
  [
    'UPDATE referrals SET base_units = base_units + 1',
    'UPDATE referrals SET base_units = base_units - 1',
    'counts once',
  ],
  [
    'UPDATE referrals SET rest = (rest + 1) % 10000',
    'UPDATE referrals SET rest = (rest + 9999) % 10000',
    'paid its share',
  ],
  ['UPDATE referral_shares SET units = units + 1', 'UPDATE referral_shares SET units = units - 1', 'paid its share'],
  [
    "UPDATE transfers SET credit = 'house' WHERE kind = 'referral'",
    "UPDATE transfers t SET credit = 'coin:' || f.referrer_id FROM referrals f WHERE kind = 'referral' AND ref LIKE f.id || ':%'",
    'paid its share',
  ],
  [
    'UPDATE referral_cursors SET position = position + 1',
    'UPDATE referral_cursors SET position = position - 1',
    'counts once',
  ],
  [
    `UPDATE referrals SET from_positions = ${positionsPlus(1)}`,
    `UPDATE referrals SET from_positions = ${positionsPlus(-1)}`,
    'counts once',
  ],
] as const

async function tamper(sql: string): Promise<void> {
  await withTransaction(book.pool, async (client) => {
    await client.query('SET LOCAL session_replication_role = replica')
    await client.query(sql)
  })
}

test('the audit finds shares that do not agree with the receipts', async () => {
  const referrer = await openNewAccount(book.pool, limits)
  const accountId = await openNewAccount(book.pool, limits, { coinNanos: COIN_UNITS })
  const code = await referralCode(book.pool, referrer)
  await withTransaction(book.pool, (client) => attachReferrer(client, OPERATOR, accountId, code, limits))
  await bookEntries(book.pool, [charge(accountId, 999)])
  await payAll()
  assert.deepEqual(await failed(), [])
  for (const [change, undo, check] of TAMPERINGS) {
    await tamper(change)
    const found = await failed()
    assert.ok(
      found.some((line) => line.includes(check)),
      `${change}: ${found}`,
    )
    await tamper(undo)
  }
  assert.deepEqual(await failed(), [])
})

test('an account gets one code, and an error if every candidate is taken', async () => {
  const [one, two] = [await openNewAccount(book.pool, limits), await openNewAccount(book.pool, limits)]
  const codes = await Promise.all(Array.from({ length: 10 }, () => referralCode(book.pool, one)))
  assert.equal(new Set(codes).size, 1)
  await assert.rejects(
    referralCode(book.pool, two, () => codes[0] ?? ''),
    { code: 'code_unavailable', status: 503 },
  )
  let made = 0
  const second = await referralCode(book.pool, two, () => (made++ === 0 ? (codes[0] ?? '') : '0000000Z'))
  assert.equal(second, '0000000Z')
})
